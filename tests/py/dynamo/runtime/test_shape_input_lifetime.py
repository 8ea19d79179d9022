"""The values of shape tensors are read after setup_input_tensors has returned.

The execution context is a fake that reads them from the addresses that it was given, at
the times at which TensorRT does, and first takes all the memory that has become free.
"""

import contextlib
import copy
import ctypes
import pickle
import unittest
from unittest import mock

import numpy as np
import torch
import torch_tensorrt
from parameterized import parameterized
from torch_tensorrt.dynamo.runtime._serialized_engine_layout import (
    ENGINE_IDX,
    SERIALIZATION_LEN,
)
from torch_tensorrt.dynamo.runtime._TRTEngine import TRTEngine, _InputBindingInfo

COUNTS = [(3,), (5,), (20,)]


class Context:
    """Reads one int64 at the address of each shape input."""

    def __init__(self):
        self.addresses = {}
        self.read = []
        self.allocators = {}

    def set_tensor_address(self, name, address):
        self.addresses[name] = address
        return True

    def set_output_allocator(self, name, allocator):
        self.allocators[name] = allocator
        return True

    def values(self):
        taken = [np.full(1, -7, dtype=np.int64) for _ in range(100)]
        found = [
            ctypes.c_int64.from_address(address).value
            for name, address in self.addresses.items()
            if name != "output"
        ]
        del taken
        return found

    def infer_shapes(self):
        self.read.append(("infer_shapes", self.values()))
        return []

    def get_tensor_shape(self, name):
        self.read.append(("get_tensor_shape", self.values()))
        return (2,)

    def execute_async_v3(self, stream):
        self.read.append(("execute_async_v3", self.values()))
        for name, allocator in self.allocators.items():
            allocator.reallocate_output_async(name, 0, 2, 1, stream)
            allocator.notify_shape(name, (2,))
        return True


class Graph:
    """A CUDA graph that reads on replay where the context read when it was recorded."""

    def __init__(self, context):
        self.context = Context()
        self.recorded_from = context
        self.reset = mock.Mock()

    def replay(self):
        if not self.context.addresses:
            self.context.addresses = dict(self.recorded_from.addresses)
        self.recorded_from.read.append(("replay", self.context.values()))


def load_serialized_info(engine, info):
    engine.serialized_info = list(info)
    engine.name = "engine"
    engine.serialized_device_info = ""


def setup_engine(engine):
    """An engine with as many shape inputs as its serialized info says."""
    count = int(engine.serialized_info[ENGINE_IDX])
    engine.in_binding_names = [f"input_{i}" for i in range(count)]
    engine.out_binding_names = ["output"]
    engine.output_dtypes = [torch.float32]
    engine.aliased_io = {}
    engine.num_optimization_profiles = 1
    engine.cuda_engine = mock.Mock()
    engine.requires_output_allocator = False
    engine.target_device_id = 0
    engine._has_nccl_ops = False
    engine._input_binding_infos = [
        _InputBindingInfo(name, torch.int64, True, False)
        for name in engine.in_binding_names
    ]
    engine._input_buffers = [None] * count
    engine._output_buffers = [None]
    engine._context = Context()


def new_engine(count):
    info = [""] * SERIALIZATION_LEN
    info[ENGINE_IDX] = str(count).encode()
    return TRTEngine(info)


def setstate_engine(count):
    engine = TRTEngine.__new__(TRTEngine)
    engine.__setstate__(new_engine(count).__getstate__())
    return engine


def sizes(count, start=3):
    return [torch.tensor([start + i], dtype=torch.int64) for i in range(count)]


class TestShapeInputLifetime(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        stream = mock.Mock(cuda_stream=0)
        for target, attributes in (
            (
                TRTEngine,
                {
                    "_load_serialized_info": load_serialized_info,
                    "_setup_engine": setup_engine,
                    "_prepare_streams": lambda engine, inputs: False,
                    "_active_streams": lambda engine: (stream, stream),
                },
            ),
            (
                torch.cuda,
                {
                    "stream": lambda stream: contextlib.nullcontext(),
                    "graph": lambda graph, stream: contextlib.nullcontext(),
                    "current_device": lambda: torch.device("cpu"),
                },
            ),
        ):
            self.stack.enter_context(mock.patch.multiple(target, **attributes))

    def check(self, engine, count, start, calls):
        """Every read of the calls since the last check found the values."""
        read, engine.context.read = engine.context.read, []
        self.assertEqual([call for call, _ in read], calls)
        for call, values in read:
            self.assertEqual(values, list(range(start, start + count)), call)

    @parameterized.expand(COUNTS)
    def test_standard(self, count):
        engine = new_engine(count)
        engine.execute(sizes(count))
        calls = ["infer_shapes", "get_tensor_shape", "execute_async_v3"]
        self.check(engine, count, 3, calls)
        for start in (30, 3):
            engine.shape_key = None
            engine.execute(sizes(count, start))
            self.check(engine, count, start, calls)

    @parameterized.expand(COUNTS)
    def test_output_allocator(self, count):
        engine = new_engine(count)
        engine.use_output_allocator_outputs = True
        for start in (3, 30, 3):
            engine.execute(sizes(count, start))
            self.check(engine, count, start, ["execute_async_v3"])

    @parameterized.expand(
        [
            ("setstate", setstate_engine),
            ("deepcopy", lambda count: copy.deepcopy(new_engine(count))),
            ("deepcopy_of_used", lambda count: copy.deepcopy(used_engine(count))),
            ("state_is_pickled", lambda count: from_pickled_state(used_engine(count))),
        ]
    )
    def test_copies(self, _, make):
        engine = make(3)
        engine.execute(sizes(3))
        calls = ["infer_shapes", "get_tensor_shape", "execute_async_v3"]
        self.check(engine, 3, 3, calls)

    def test_context_outlives_a_set_up_that_fails(self):
        engine = new_engine(5)
        engine.execute(sizes(5))
        inputs = sizes(5, 30)
        inputs[3] = inputs[3].float()
        with self.assertRaisesRegex(AssertionError, "Dtype mismatch for input input_3"):
            engine.execute(inputs)
        # What was bound is new, the rest is of the call before
        self.assertEqual(engine.context.values(), [30, 31, 32, 6, 7])
        engine.context.read = []
        engine.shape_key = None
        engine.execute(sizes(5, 50))
        calls = ["infer_shapes", "get_tensor_shape", "execute_async_v3"]
        self.check(engine, 5, 50, calls)

    def test_cuda_graph_reads_what_it_was_recorded_with(self):
        engine = new_engine(5)
        with (
            mock.patch.object(
                torch_tensorrt.runtime, "get_cudagraphs_mode", lambda: True
            ),
            mock.patch.object(torch.cuda, "CUDAGraph", lambda: Graph(engine.context)),
            mock.patch.object(engine, "_rtx_native_cudagraphs", False),
            mock.patch.object(engine, "_enable_rtx_native_cudagraphs", lambda: None),
        ):
            engine.runtime_states.context_changed = True
            for _ in range(3):
                engine.execute(sizes(5))
        read = engine.context.read
        replays = [values for call, values in read if call == "replay"]
        self.assertEqual(len(replays), 3)
        self.assertEqual([call for call, _ in read].count("execute_async_v3"), 1)
        for call, values in read:
            self.assertEqual(values, [3, 4, 5, 6, 7], call)


def used_engine(count):
    engine = new_engine(count)
    engine.execute(sizes(count, 50))
    return engine


def from_pickled_state(engine):
    other = TRTEngine.__new__(TRTEngine)
    other.__setstate__(pickle.loads(pickle.dumps(engine.__getstate__())))
    return other


if __name__ == "__main__":
    unittest.main()
