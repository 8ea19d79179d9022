"""Shape tensors are bound in their own type, and new values of them are noticed.

The execution context is a fake that reads the values where the engine bound them, as
TensorRT does, and whose output has them as its sizes.
"""

import contextlib
import ctypes
import unittest
from unittest import mock

import torch
import torch_tensorrt
from parameterized import parameterized
from torch_tensorrt.dynamo.runtime._TRTEngine import TRTEngine, _InputBindingInfo

CTYPES = {torch.int32: ctypes.c_int32, torch.int64: ctypes.c_int64}


class Context:
    """Reads the sizes at the address of the one shape input."""

    def __init__(self, ctype):
        self.ctype = ctype
        self.address = None
        self.calls = []
        self.sizes = None

    def set_input_shape(self, name, shape):
        return True

    def set_tensor_address(self, name, address):
        if name == "sizes":
            self.address = address
            # At once, so that the test does not depend on the lifetime of the memory
            self.sizes = tuple((self.ctype * 3).from_address(address))
        return True

    def infer_shapes(self):
        self.calls.append("infer_shapes")
        return []

    def get_tensor_shape(self, name):
        return self.sizes

    def execute_async_v3(self, stream):
        self.calls.append("execute_async_v3")
        return True


def setup_engine(dtype):
    def setup(engine):
        engine.in_binding_names = ["x", "sizes"]
        engine.out_binding_names = ["output"]
        engine.output_dtypes = [torch.float32]
        engine.aliased_io = {}
        engine.num_optimization_profiles = 1
        engine.cuda_engine = mock.Mock()
        engine.serialized_device_info = ""
        engine.name = "engine"
        engine.requires_output_allocator = False
        engine.target_device_id = 0
        engine._has_nccl_ops = False
        engine._input_binding_infos = [
            _InputBindingInfo("x", torch.float32, False, False),
            _InputBindingInfo("sizes", dtype, True, False),
        ]
        engine._input_buffers = [None, None]
        engine._output_buffers = [None]
        engine._context = Context(CTYPES[dtype])

    return setup


class TestShapeValues(unittest.TestCase):
    def setUp(self):
        stream = mock.Mock(cuda_stream=0)
        self.recorded = []
        for target, attributes in (
            (
                TRTEngine,
                {
                    "_load_serialized_info": lambda engine, info: None,
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
                    "CUDAGraph": self.record,
                },
            ),
        ):
            patch = mock.patch.multiple(target, **attributes)
            patch.start()
            self.addCleanup(patch.stop)

    def record(self):
        self.recorded.append(mock.Mock())
        return self.recorded[-1]

    def engine(self, dtype):
        with mock.patch.object(TRTEngine, "_setup_engine", setup_engine(dtype)):
            return TRTEngine([])

    def run_engine(self, engine, sizes, dtype):
        output = engine.execute([torch.ones(2), torch.tensor(sizes, dtype=dtype)])
        self.assertEqual(tuple(output.shape), tuple(sizes))
        return output

    @parameterized.expand([("int32", torch.int32), ("int64", torch.int64)])
    def test_values_then_other_values(self, _, dtype):
        engine = self.engine(dtype)
        self.run_engine(engine, [5, 6, 7], dtype)
        self.run_engine(engine, [5, 6, 7], dtype)
        self.run_engine(engine, [5, 6, 8], dtype)
        self.assertEqual(
            engine.context.calls,
            [
                "infer_shapes",
                "execute_async_v3",
                "execute_async_v3",
                "infer_shapes",
                "execute_async_v3",
            ],
        )

    @parameterized.expand([("int32", torch.int32), ("int64", torch.int64)])
    def test_pre_allocated_outputs(self, _, dtype):
        engine = self.engine(dtype)
        engine.use_pre_allocated_outputs = True
        self.run_engine(engine, [5, 6, 7], dtype)
        second = self.run_engine(engine, [5, 6, 7], dtype)
        third = self.run_engine(engine, [5, 6, 7], dtype)
        self.assertEqual(second.data_ptr(), third.data_ptr())
        for sizes in ([1, 2, 3], [3, 2, 1], [3, 2, 1]):
            self.run_engine(engine, sizes, dtype)

    @parameterized.expand([("int32", torch.int32), ("int64", torch.int64)])
    def test_cuda_graph_is_recorded_again(self, _, dtype):
        engine = self.engine(dtype)
        with (
            mock.patch.object(
                torch_tensorrt.runtime, "get_cudagraphs_mode", lambda: True
            ),
            mock.patch.object(engine, "_enable_rtx_native_cudagraphs", lambda: None),
        ):
            engine.runtime_states.context_changed = True
            for sizes in ([5, 6, 7], [5, 6, 7], [5, 7, 6], [5, 7, 6]):
                self.run_engine(engine, sizes, dtype)
        self.assertEqual(len(self.recorded), 2)
        self.assertEqual([graph.replay.call_count for graph in self.recorded], [2, 2])
        self.recorded[0].reset.assert_called_once()


if __name__ == "__main__":
    unittest.main()
