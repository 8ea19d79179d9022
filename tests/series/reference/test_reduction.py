"""Reduce, cumulative, top-k and softmax layers against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from against_torch import FLOATS, WHOLE, assert_agrees, drawn, few, floats, numbers, seeds, shapes, tensor
from hypothesis import given
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.layers import reduction

RED, TOP, SUM = trt.ReduceOperation, trt.TopKOperation, trt.CumulativeOperation.SUM


def reduced(value: Any, operation: Any, axes: tuple[int, ...], keep: bool) -> Any:
    net = Net()
    return net.run(net.network.add_reduce(net.input(value), operation, sum(1 << a for a in axes), keep).get_output(0))


def over_each(function: Any, value: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    for axis in axes:
        value = function(value, axis)
    return value


EXPECTED = {
    RED.SUM: lambda x, axes: torch.sum(x, axes, keepdim=True, dtype=x.dtype),
    RED.PROD: lambda x, axes: over_each(lambda y, a: torch.prod(y, a, keepdim=True, dtype=x.dtype), x, axes),
    RED.MAX: lambda x, axes: torch.amax(x, axes, keepdim=True),
    RED.MIN: lambda x, axes: torch.amin(x, axes, keepdim=True),
}


@pytest.mark.parametrize("operation", EXPECTED)
@few
@given(shapes(), numbers, seeds(), st.data())
def test_reduce(operation: Any, shape: Any, dtype: Any, rng: Any, data: Any) -> None:
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    value = drawn(rng, shape, dtype)
    wide = tensor(value).float() if dtype in FLOATS else tensor(value)
    expected = EXPECTED[operation](wide, axes).to(tensor(value).dtype)
    assert_agrees(reduced(value, operation, axes, True), expected)
    assert_agrees(reduced(value, operation, axes, False), expected.squeeze(axes))


@few
@given(shapes(), numbers, seeds(), st.data())
def test_average(shape: Any, dtype: Any, rng: Any, data: Any) -> None:
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    value = drawn(rng, shape, dtype)
    mean = tensor(value).double().mean(axes, keepdim=True)
    expected = (mean.trunc() if dtype in WHOLE else mean).to(tensor(value).dtype)
    assert_agrees(reduced(value, RED.AVG, axes, True), expected)


@pytest.mark.parametrize(
    ("operation", "dtype", "expected"),
    [
        (RED.SUM, np.float32, 0),
        (RED.PROD, np.int32, 1),
        (RED.MAX, np.float16, -np.inf),
        (RED.MAX, np.int32, -(2**31)),
        (RED.MIN, np.float32, np.inf),
        (RED.MIN, np.int64, 2**63 - 1),
        (RED.AVG, np.float32, np.nan),
        (RED.AVG, np.int32, 0),
    ],
)
def test_reduction_of_nothing(operation: Any, dtype: Any, expected: Any) -> None:
    np.testing.assert_array_equal(reduced(np.zeros((2, 0), dtype), operation, (1,), False), np.full(2, expected, dtype))


def test_sums_of_integers_wrap() -> None:
    assert reduced(np.array([2**31 - 1, 1], np.int32), RED.SUM, (0,), False) == -(2**31)


def test_every_reduction_of_a_single_device_is_there() -> None:
    assert set(reduction._OPERATIONS) == set(RED.__members__) - {"NONE"}


@pytest.mark.parametrize("axes", [(), (2,)])
def test_refused_axes_of_a_reduction(axes: tuple[int, ...]) -> None:
    with pytest.raises(EvaluationError, match="not axes of an input of 2 dimensions"):
        reduced(np.ones((2, 3), np.float32), RED.SUM, axes, True)


@few
@given(shapes(), numbers, seeds(), st.data(), st.booleans(), st.booleans())
def test_cumulative(shape: Any, dtype: Any, rng: Any, data: Any, exclusive: bool, reverse: bool) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    value = drawn(rng, shape, dtype)
    net = Net()
    layer = net.network.add_cumulative(net.input(value), net.constant(axis, np.int32), SUM, exclusive, reverse)
    x = tensor(value).double() if dtype in FLOATS else tensor(value)
    x = x.flip(axis) if reverse else x
    total = torch.cumsum(x, axis, dtype=x.dtype)
    total = total - x if exclusive else total
    total = total.flip(axis) if reverse else total
    assert_agrees(net.run(layer.get_output(0)), total.to(tensor(value).dtype))


def test_refused_axis_of_a_running_sum() -> None:
    net = Net()
    layer = net.network.add_cumulative(
        net.input(np.ones((2, 3), np.float32)), net.constant(2, np.int32), SUM, False, False
    )
    with pytest.raises(EvaluationError, match="axis 2 is not an axis"):
        net.run(layer.get_output(0))


@few
@given(shapes(2), numbers, seeds(), st.data(), st.sampled_from([TOP.MAX, TOP.MIN]), st.booleans())
def test_topk(shape: Any, dtype: Any, rng: Any, data: Any, operation: Any, as_input: bool) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    k = data.draw(st.integers(0, shape[axis]))
    value = drawn(rng, shape, dtype, -2, 2)
    net = Net()
    layer = net.network.add_topk(net.input(value), operation, k, 1 << axis)
    if as_input:
        layer.set_input(1, net.input(np.array(k, np.int32)))
    best, indices = net.run(layer.get_output(0), layer.get_output(1))
    # A stable sort is the one order of equals that can be foretold.
    order = torch.sort(tensor(value), dim=axis, descending=operation == TOP.MAX, stable=True)
    assert_agrees(best, order.values.narrow(axis, 0, k))
    assert_agrees(indices, order.indices.narrow(axis, 0, k).int())


def test_topk_indices_of_64_bits() -> None:
    net = Net()
    layer = net.network.add_topk(net.input(np.array([[3, 1, 2]], np.int32)), TOP.MIN, 2, 2, trt.int64)
    np.testing.assert_array_equal(net.run(layer.get_output(1)), np.array([[1, 2]]))
    assert net.run(layer.get_output(1)).dtype == np.int64


@pytest.mark.parametrize(
    ("shape", "axes", "k", "message"),
    [
        ((3,), 1, 1, "at least 2 dimensions"),
        ((2, 3), 3, 1, "along one axis"),
        ((2, 3), 4, 1, "not axes"),
        ((2, 3), 2, 4, "k is 4"),
        ((2, 3), 2, -1, "k is -1"),
        ((2, 4000), 2, 3841, "k is 3841, but must be from 0 to 3840"),
    ],
)
def test_refused_topk(shape: Any, axes: int, k: int, message: str) -> None:
    net = Net()
    layer = net.network.add_topk(net.input(np.ones(shape, np.float32)), TOP.MAX, 1, axes)
    layer.set_input(1, net.input(np.array(k, np.int32)))
    with pytest.raises(EvaluationError, match=message):
        net.run(layer.get_output(0))


@few
@given(shapes(2), floats, seeds(), st.data())
def test_softmax(shape: Any, dtype: Any, rng: Any, data: Any) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    value = drawn(rng, shape, dtype, -50, 50)
    net = Net()
    layer = net.network.add_softmax(net.input(value))
    layer.axes = 1 << axis
    assert_agrees(net.run(layer.get_output(0)), torch.softmax(tensor(value), axis))


@pytest.mark.parametrize(("shape", "axis", "message"), [((3,), 0, "at least 2 dimensions"), ((2, 3), 2, "not axes")])
def test_refused_softmax(shape: Any, axis: int, message: str) -> None:
    net = Net()
    layer = net.network.add_softmax(net.input(np.ones(shape, np.float32)))
    layer.axes = 1 << axis
    with pytest.raises(EvaluationError, match=message):
        net.run(layer.get_output(0))


@few
@given(shapes(3, 3), floats, seeds())
def test_ragged_softmax(shape: Any, dtype: Any, rng: Any) -> None:
    value = drawn(rng, shape, dtype)
    bounds = rng.integers(0, shape[2], (*shape[:2], 1), np.int32, endpoint=True)
    net = Net()
    result = net.run(net.network.add_ragged_softmax(net.input(value), net.input(bounds)).get_output(0))
    inside = torch.arange(shape[2]) < tensor(bounds)
    expected = torch.softmax(tensor(value).masked_fill(~inside, -torch.inf), -1).masked_fill(~inside, 0)
    assert_agrees(result, expected)


@pytest.mark.parametrize(
    ("shape", "bounds", "message"),
    [((2, 3), np.ones((2, 1), np.int32), "must be"), ((1, 2, 3), np.ones((1, 2, 1), np.int64), "not in int64")],
)
def test_refused_ragged_softmax(shape: Any, bounds: Any, message: str) -> None:
    net = Net()
    layer = net.network.add_ragged_softmax(net.input(np.ones(shape, np.float32)), net.input(bounds))
    with pytest.raises(EvaluationError, match=message):
        net.run(layer.get_output(0))
