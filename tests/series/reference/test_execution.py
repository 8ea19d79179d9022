"""The stand-ins for an engine and its execution context, without torch_tensorrt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from networks import _BUILDER, Net

from torch_tensorrt_fixes.reference import EvaluationError, host_memory
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.engine import EvaluatedEngine
from torch_tensorrt_fixes.reference.execution import ExecutionContext
from torch_tensorrt_fixes.reference.runtime_config import RuntimeConfig

STREAM = 0


def tiling() -> EvaluatedEngine:
    """`rows` * 3 reshaped to [n, -1], where `rows` is [1 to 9, 4] and n a shape input from 1 to 8."""
    net = Net()
    rows = net.input(np.zeros((2, 4), np.float32), (-1, 4))
    n = net.input([2], dtype=np.int64)
    tripled = net.network.add_elementwise(rows, net.constant([[3]], np.float32), trt.ElementWiseOperation.PROD)
    shuffle = net.network.add_shuffle(tripled.get_output(0))
    shuffle.set_input(1, net.network.add_concatenation([n, net.constant([-1], np.int64)]).get_output(0))
    rows.name, n.name, shuffle.get_output(0).name = "rows", "n", "tiled"
    net.network.mark_output(shuffle.get_output(0))
    profiles = []
    for least, best, greatest in ((1, 2, 4), (4, 6, 9)):
        profile = _BUILDER.create_optimization_profile()
        profile.set_shape("rows", (least, 4), (best, 4), (greatest, 4))
        profile.set_shape_input("n", (1,), (2,), (8,))
        profiles.append(profile)
    return EvaluatedEngine(net.network, b"tiling", profiles, kept=net._kept)


def bound(rows: np.ndarray, n: np.ndarray, profile: int = 0) -> ExecutionContext:
    """A context of `tiling` with its inputs at their addresses."""
    context = tiling().create_execution_context()
    context.set_optimization_profile_async(profile, STREAM)
    context.set_input_shape("rows", rows.shape)
    context.set_tensor_address("rows", rows.ctypes.data)
    context.set_tensor_address("n", n.ctypes.data)
    context.kept = rows, n
    return context


def run(context: ExecutionContext, shape: tuple[int, ...]) -> np.ndarray:
    output = np.full(shape, -1, np.float32)
    context.set_tensor_address("tiled", output.ctypes.data)
    assert context.execute_async_v3(STREAM)
    return output


ROWS = np.arange(8, dtype=np.float32).reshape(2, 4)


# --- what is read and when ---


def test_inputs_are_read_when_the_engine_is_enqueued() -> None:
    rows = np.zeros_like(ROWS)
    context = bound(rows, np.array([4]))
    assert context.infer_shapes() == []
    assert context.get_tensor_shape("tiled") == (4, 2)
    rows[...] = ROWS
    np.testing.assert_array_equal(run(context, (4, 2)), ROWS.reshape(4, 2) * 3)


def test_a_shape_input_is_read_when_shapes_are_asked_for() -> None:
    n = np.array([4])
    context = bound(ROWS, n)
    assert context.get_tensor_shape("tiled") == (4, 2)
    n[0] = 2
    assert context.get_tensor_shape("tiled") == (2, 4)
    np.testing.assert_array_equal(run(context, (2, 4)), ROWS * 3)


def test_a_shape_input_that_changes_after_the_shapes_were_told_is_an_error() -> None:
    n = np.array([4])
    context = bound(ROWS, n)
    assert context.get_tensor_shape("tiled") == (4, 2)
    n[0] = 2
    with pytest.raises(EvaluationError, match=r"'tiled' has the shape \(2, 4\), but the context told \(4, 2\) before"):
        run(context, (4, 2))


def test_an_output_allocator_gets_the_bytes_and_the_shape() -> None:
    class Allocator:
        shape: Any = None
        memory: np.ndarray = np.empty(0)

        def reallocate_output_async(self, name: str, memory: int, size: int, alignment: int, stream: int) -> int:
            assert name == "tiled"
            self.memory = np.empty(size, np.uint8)
            return int(self.memory.ctypes.data)

        def notify_shape(self, name: str, shape: Any) -> None:
            self.shape = tuple(shape)

    context, allocator = bound(ROWS, np.array([8])), Allocator()
    context.set_output_allocator("tiled", allocator)
    context.execute_async_v3(STREAM)
    assert allocator.shape == (8, 1)
    np.testing.assert_array_equal(allocator.memory.view(np.float32).reshape(8, 1), ROWS.reshape(8, 1) * 3)


def test_memory_is_written_element_after_element_whatever_the_result_lies_in() -> None:
    result, place = np.arange(6, dtype=np.int32).reshape(2, 3).T, np.empty((3, 2), np.int32)
    host_memory.write(place.ctypes.data, result)
    np.testing.assert_array_equal(place, result)
    read = host_memory.read(place.ctypes.data, place.dtype, place.shape)
    place[...] = 0
    np.testing.assert_array_equal(read, result)


def test_nothing_is_read_or_written_where_there_are_no_elements() -> None:
    host_memory.write(0, np.empty((0, 3), np.float16))
    assert host_memory.read(0, np.dtype(np.float16), (0, 3)).shape == (0, 3)


# --- shapes and profiles ---


def test_a_size_that_is_not_known_yet_is_minus_one() -> None:
    context = tiling().create_execution_context()
    assert context.get_tensor_shape("rows") == (-1, 4)
    assert context.infer_shapes() == ["rows", "n"]
    context.set_input_shape("rows", (2, 4))
    assert context.get_tensor_shape("tiled") == (-1, -1)
    n = np.array([8])
    context.set_tensor_address("n", n.ctypes.data)
    assert context.get_tensor_shape("tiled") == (8, 1)
    assert context.infer_shapes() == []


def test_the_shapes_of_one_context_leave_those_of_another_alone() -> None:
    engine, n = tiling(), np.array([2])
    contexts = [engine.create_execution_context() for _ in range(2)]
    for rows, context in enumerate(contexts, start=1):
        context.set_input_shape("rows", (rows, 4))
        context.set_tensor_address("n", n.ctypes.data)
    assert [context.get_tensor_shape("tiled") for context in contexts] == [(2, 2), (2, 4)]
    contexts[1].set_input_shape("rows", (4, 4))
    assert [context.get_tensor_shape("tiled") for context in contexts] == [(2, 2), (2, 8)]


def test_each_profile_has_its_own_ranges() -> None:
    rows = np.ones((6, 4), np.float32)
    with pytest.raises(
        EvaluationError, match=r"'rows' is given the shape \(6, 4\), but profile 0 .* \(1, 4\) to \(4, 4\)"
    ):
        bound(rows, np.array([8]))
    context = bound(rows, np.array([8]), profile=1)
    np.testing.assert_array_equal(run(context, (8, 3)), np.full((8, 3), 3, np.float32))
    with pytest.raises(EvaluationError, match="no optimization profile 2: the engine has 2"):
        context.set_optimization_profile_async(2, STREAM)


def test_the_engine_tells_its_bindings_and_profiles() -> None:
    engine = tiling()
    names = [engine.get_tensor_name(place) for place in range(engine.num_io_tensors)]
    assert names == ["rows", "n", "tiled"]
    modes = [engine.get_tensor_mode(name) for name in names]
    assert modes == [trt.TensorIOMode.INPUT, trt.TensorIOMode.INPUT, trt.TensorIOMode.OUTPUT]
    assert [engine.get_tensor_dtype(name) for name in names] == [trt.float32, trt.int64, trt.float32]
    assert [engine.get_tensor_shape(name) for name in names] == [(-1, 4), (1,), (-1, -1)]
    assert [engine.is_shape_inference_io(name) for name in names] == [False, True, False]
    assert engine.get_tensor_profile_shape("rows", 1) == ((4, 4), (6, 4), (9, 4))
    assert engine.get_aliased_input_tensor("tiled") is None


# --- errors ---


def test_a_value_outside_of_the_profile_is_an_error() -> None:
    context = bound(ROWS, np.array([9]))
    with pytest.raises(EvaluationError, match=r"'n' is given the value \(9,\), but profile 0 .* \(1,\) to \(8,\)"):
        context.get_tensor_shape("tiled")


def test_shapes_that_tensorrt_cannot_infer_are_an_error() -> None:
    context = bound(ROWS, np.array([3]))
    with pytest.raises(EvaluationError, match=r"no output shapes from .*'rows': \(2, 4\), 'n': \[3\]"):
        context.get_tensor_shape("tiled")


def test_an_enqueue_without_all_bindings_is_an_error() -> None:
    context = tiling().create_execution_context()
    with pytest.raises(EvaluationError, match="without the shapes or values of rows, n"):
        context.execute_async_v3(STREAM)
    n = np.array([2])
    context.set_input_shape("rows", (2, 4))
    context.set_tensor_address("n", n.ctypes.data)
    with pytest.raises(EvaluationError, match="without an address for input 'rows'"):
        context.execute_async_v3(STREAM)
    context.set_tensor_address("rows", ROWS.ctypes.data)
    with pytest.raises(EvaluationError, match="without an address for output 'tiled'"):
        context.execute_async_v3(STREAM)


@pytest.mark.parametrize(
    "ask",
    [
        lambda context: context.set_input_shape("cols", (2, 4)),
        lambda context: context.set_tensor_address("cols", 0),
        lambda context: context.set_output_allocator("cols", None),
        lambda context: context.get_tensor_shape("cols"),
        lambda context: context.engine.get_tensor_dtype("cols"),
    ],
)
def test_a_name_that_is_none_of_the_bindings_is_an_error(ask: Any) -> None:
    with pytest.raises(EvaluationError, match="the engine has no (input|tensor) 'cols'; it has rows, n"):
        ask(tiling().create_execution_context())


# --- the cache of kernels ---


def test_a_runtime_cache_keeps_the_kernels_of_real_engines() -> None:
    cache = RuntimeConfig().create_runtime_cache()
    assert cache.serialize().nbytes == 0
    cache.deserialize(b"kernels")
    assert bytes(cache.serialize()) == b"kernels"
