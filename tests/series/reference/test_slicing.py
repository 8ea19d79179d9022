"""The slice layer: each mode against the formula of its documentation, element by element."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt

QUICK = settings(max_examples=25, deadline=None)
GRID = np.arange(12, dtype=np.float32).reshape(3, 4)


def source_of(place: int, size: int, mode: Any) -> int | None:
    """Where TensorRT's documentation has output places come from; None is the fill value."""
    if 0 <= place < size:
        return place
    match mode:
        case trt.SampleMode.WRAP:
            return place % size
        case trt.SampleMode.CLAMP:
            return 0 if place < 0 else size - 1
        case trt.SampleMode.REFLECT:
            folded = 0 if size == 1 else abs(place) % (2 * size - 2)
            return folded if folded < size else 2 * size - 2 - folded
    return None


@QUICK
@given(
    size=st.integers(1, 5),
    start=st.integers(-7, 9),
    count=st.integers(0, 6),
    stride=st.integers(-3, 3),
    mode=st.sampled_from([trt.SampleMode.WRAP, trt.SampleMode.CLAMP, trt.SampleMode.REFLECT, trt.SampleMode.FILL]),
    dynamic=st.booleans(),
)
def test_out_of_bounds_places_are_as_documented(
    size: int, start: int, count: int, stride: int, mode: Any, dynamic: bool
) -> None:
    net = Net()
    value = np.arange(2 * size, dtype=np.int32).reshape(2, size)
    layer = net.network.add_slice(net.input(value), (0, start), (2, count), (1, stride))
    layer.mode = mode
    if dynamic:
        for place, dims in enumerate([(0, start), (2, count), (1, stride)], start=1):
            layer.set_input(place, net.input(dims, dtype=np.int64))
    if mode == trt.SampleMode.FILL:
        layer.set_input(4, net.constant(np.int32(-5)))
    sources = [source_of(start + stride * i, size, mode) for i in range(count)]
    expected = [[-5 if source is None else row[source] for source in sources] for row in value]
    result = net.run(layer.get_output(0))
    assert result.dtype == np.int32 and result.shape == (2, count)
    assert result.tolist() == expected


@QUICK
@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    dtype=st.sampled_from([torch.float32, torch.float16, torch.int64, torch.bool]),
    data=st.data(),
)
def test_strict_slices_are_pytorchs(shape: list[int], dtype: torch.dtype, data: st.DataObject) -> None:
    value = torch.randint(0, 2, shape).to(dtype)
    starts = [data.draw(st.integers(0, size - 1)) for size in shape]
    strides = [data.draw(st.integers(1, 3)) for _ in shape]
    sizes = [data.draw(st.integers(0, (d - 1 - s) // t + 1)) for d, s, t in zip(shape, starts, strides, strict=True)]
    net = Net()
    layer = net.network.add_slice(net.input(value.numpy()), starts, sizes, strides)
    expected = value[tuple(slice(s, s + n * t, t) for s, n, t in zip(starts, sizes, strides, strict=True))]
    np.testing.assert_array_equal(net.run(layer.get_output(0)), expected.numpy())


def test_axes_name_the_dimensions_to_slice() -> None:
    for dynamic in (False, True):
        net = Net()
        layer = net.network.add_slice(net.input(GRID), (1,), (2,), (2,))
        layer.axes = (1,)
        if dynamic:
            layer.set_input(5, net.constant([1], np.int64))
        np.testing.assert_array_equal(net.run(layer.get_output(0)), GRID[:, 1::2])


def test_a_stride_of_0_repeats_and_a_negative_one_reverses() -> None:
    net = Net()
    layer = net.network.add_slice(net.input(GRID), (1, 3), (5, 4), (0, -1))
    np.testing.assert_array_equal(net.run(layer.get_output(0)), np.repeat(GRID[1:2, ::-1], 5, axis=0))


def test_one_network_slices_every_shape_with_computed_bounds() -> None:
    net = Net()
    rows = net.input(GRID, (-1, 4))
    size = net.network.add_shape(rows).get_output(0)
    layer = net.network.add_slice(rows, (0, 0), (0, 0), (1, 1))
    layer.set_input(2, size)
    net.network.mark_output(layer.get_output(0))
    np.testing.assert_array_equal(net.run(layer.get_output(0)), GRID)
    net.inputs = {"input0": GRID[:0]}
    assert net.run(layer.get_output(0)).shape == (0, 4)


def test_a_fill_is_0_unless_given_and_takes_the_inputs_type() -> None:
    for fill, expected in ((None, 0), (np.float32(1.5), 1.5)):
        net = Net()
        layer = net.network.add_slice(net.input(np.ones((1,), ml_dtypes.bfloat16)), (0,), (2,), (1,))
        layer.mode = trt.SampleMode.FILL
        if fill is not None:
            layer.set_input(4, net.constant(fill))
        result = net.run(layer.get_output(0))
        assert result.dtype == ml_dtypes.bfloat16 and result.tolist() == [1, expected]


@pytest.mark.parametrize(
    ("start", "size", "stride"),
    [((0, 0), (4, 4), (1, 1)), ((-1, 0), (1, 4), (1, 1)), ((0, 3), (3, 2), (1, 1)), ((0, 0), (3, 3), (1, 2))],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_strict_slice_out_of_bounds_is_refused(
    start: tuple[int, int], size: tuple[int, int], stride: tuple[int, int], dynamic: bool
) -> None:
    net = Net()
    layer = net.network.add_slice(net.input(GRID), start, size, stride)
    if dynamic:
        for place, dims in enumerate([start, size, stride], start=1):
            layer.set_input(place, net.input(dims, dtype=np.int64))
    with pytest.raises(EvaluationError, match=r"SLICE layer.*out of bounds: axis \d has \d elements"):
        net.run(layer.get_output(0))


def test_a_negative_size_is_refused() -> None:
    net = Net()
    layer = net.network.add_slice(net.input(GRID), (0, 0), (1, 1), (1, 1))
    layer.set_input(2, net.input((1, -2), dtype=np.int64))
    with pytest.raises(EvaluationError, match=r"size \(1, -2\) is negative"):
        net.run(layer.get_output(0))


def test_nothing_can_be_clamped_out_of_an_empty_axis() -> None:
    net = Net()
    layer = net.network.add_slice(net.input(GRID[:0], (-1, 4)), (0, 0), (1, 4), (1, 1))
    layer.mode = trt.SampleMode.CLAMP
    with pytest.raises(EvaluationError, match="CLAMP has nothing to take from: axis 0 is empty"):
        net.run(layer.get_output(0))


def test_a_fill_value_without_the_mode_is_refused() -> None:
    net = Net()
    layer = net.network.add_slice(net.input(GRID), (0, 0), (1, 1), (1, 1))
    layer.set_input(4, net.constant(np.float32(0)))
    with pytest.raises(EvaluationError, match="fill value is for the mode FILL, not STRICT_BOUNDS"):
        net.run(layer.get_output(0))


def test_starts_for_another_rank_are_refused() -> None:
    net = Net()
    layer = net.network.add_slice(net.input(GRID), (0,), (1,), (1,))
    with pytest.raises(EvaluationError, match=r"one entry for each axis \(0, 1\)"):
        net.run(layer.get_output(0))
