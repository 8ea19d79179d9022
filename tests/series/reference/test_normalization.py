"""Normalization, local response normalization and scale layers against PyTorch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch.nn.functional as F
from against_torch import FLOATS, assert_agrees, drawn, few, floats, lengths, seeds, shapes, tensor
from hypothesis import given
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.dtypes import trt_dtype

MODE = trt.ScaleMode


def normalized(
    value: Any, scale: Any, bias: Any, axes: tuple[int, ...], groups: int = 1, v2: bool = False, epsilon: float = 1e-5
) -> Any:
    net = Net()
    add = net.network.add_normalization_v2 if v2 else net.network.add_normalization
    layer = add(net.input(value), net.input(scale), net.input(bias), sum(1 << axis for axis in axes))
    layer.num_groups, layer.epsilon = groups, epsilon
    return net.run(layer.get_output(0))


@few
@given(shapes(2, 4, shortest=2), floats, seeds(), st.data(), st.sampled_from([1e-5, 1e-2]))
def test_layer_norm(shape: Any, dtype: Any, rng: Any, data: Any, epsilon: float) -> None:
    first = data.draw(st.integers(1, len(shape) - 1))
    weight, bias = (drawn(rng, (*(1,) * first, *shape[first:]), dtype) for _ in range(2))
    value = drawn(rng, shape, dtype)
    result = normalized(value, weight, bias, tuple(range(first, len(shape))), epsilon=epsilon)
    parameters = (tensor(p).reshape(shape[first:]).float() for p in (weight, bias))
    expected = F.layer_norm(tensor(value).float(), shape[first:], *parameters, epsilon)
    assert_agrees(result, expected.to(tensor(value).dtype))


@few
@given(shapes(3, 5, shortest=2), floats, seeds())
def test_instance_and_batch_norm(shape: Any, dtype: Any, rng: Any) -> None:
    value = drawn(rng, shape, dtype)
    weight, bias = (drawn(rng, (1, shape[1], *(1 for _ in shape[2:])), dtype) for _ in range(2))
    x, w, b = tensor(value).float(), tensor(weight).float().flatten(), tensor(bias).float().flatten()
    spatial = tuple(range(2, len(shape)))
    dtype = tensor(value).dtype
    assert_agrees(normalized(value, weight, bias, spatial), F.instance_norm(x, weight=w, bias=b).to(dtype))
    assert_agrees(
        normalized(value, weight, bias, (0, *spatial)), F.batch_norm(x, None, None, w, b, training=True).to(dtype)
    )


@pytest.mark.parametrize("v2", [False, True])
@few
@given(st.integers(1, 3), st.integers(2, 3), st.integers(1, 3), shapes(1, 2, shortest=2), floats, seeds())
def test_group_norm(v2: bool, batch: int, groups: int, each: int, rest: Any, dtype: Any, rng: Any) -> None:
    channels = groups * each
    value = drawn(rng, (batch, channels, *rest), dtype)
    parameters = [drawn(rng, (1, channels if v2 else groups, *(1 for _ in rest)), dtype) for _ in range(2)]
    result = normalized(value, *parameters, tuple(range(2, value.ndim)), groups, v2)
    w, b = (tensor(p).float().flatten().repeat_interleave(1 if v2 else each) for p in parameters)
    assert_agrees(result, F.group_norm(tensor(value).float(), groups, w, b).to(tensor(value).dtype))


ONES = (2, 4, 3, 3), (1, 4, 1, 1)


@pytest.mark.parametrize(
    ("shape", "parameters", "axes", "groups", "v2", "message"),
    [
        (*ONES, (), 1, False, "not axes"),
        (*ONES, (4,), 1, False, "not axes"),
        ((2, 1, 5), (1, 4, 5), (2,), 1, False, "scale has shape"),
        ((2, 4, 5), (5,), (2,), 1, False, "scale has shape"),
        (*ONES, (2, 3), 3, True, "3 groups do not divide 4 channels"),
        (*ONES, (3,), 2, True, "over every axis after the channels"),
        (*ONES, (2, 3), 2, False, r"must be \(1, 2, 1, 1\)"),
        ((2, 4, 3, 3), (1, 2, 1, 1), (2, 3), 2, True, r"must be \(1, 4, 1, 1\)"),
    ],
)
def test_refused_normalization(shape: Any, parameters: Any, axes: Any, groups: int, v2: bool, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        normalized(np.ones(shape, np.float32), *(np.ones(parameters, np.float32),) * 2, axes, groups, v2)


def test_refused_types() -> None:
    with pytest.raises(EvaluationError, match="one type"):
        normalized(np.ones((2, 3), np.float16), *(np.ones((1, 3), np.float32),) * 2, (1,))


@few
@given(lengths, st.integers(1, 9), lengths, lengths, st.sampled_from([1, 3, 5]), floats, seeds())
def test_local_response_norm(n: int, c: int, h: int, w: int, window: int, dtype: Any, rng: Any) -> None:
    value = drawn(rng, (n, c, h, w), dtype)
    net = Net()
    layer = net.network.add_lrn(net.input(value), window, 0.5, 0.75, 2)
    expected = F.local_response_norm(tensor(value).float(), window, 0.5, 0.75, 2)
    assert_agrees(net.run(layer.get_output(0)), expected.to(tensor(value).dtype))


def test_refused_local_response_norm() -> None:
    net = Net()
    layer = net.network.add_lrn(net.input(np.ones((2, 3, 4), np.float32)), 3, 1, 1, 1)
    with pytest.raises(EvaluationError, match="at least 4 dimensions"):
        net.run(layer.get_output(0))


def scaled(value: Any, mode: Any, axis: int, *coefficients: Any) -> Any:
    """`coefficients` are shift, scale and power, None for none."""
    net = Net()
    given = [c if c is None else trt.Weights(trt_dtype(c.dtype), c.ctypes.data, c.size) for c in coefficients]
    return net.run(net.network.add_scale_nd(net.input(value), mode, *given, axis).get_output(0))


@pytest.mark.parametrize("mode", [MODE.UNIFORM, MODE.CHANNEL, MODE.ELEMENTWISE])
@few
@given(shapes(4, 5, longest=3), floats, seeds(), st.data(), st.booleans(), st.booleans())
def test_scale(mode: Any, shape: Any, dtype: Any, rng: Any, data: Any, shifts: bool, raises: bool) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    wanted = {
        MODE.UNIFORM: (1,),
        MODE.CHANNEL: (shape[axis], *(1 for _ in shape[axis + 1 :])),
        MODE.ELEMENTWISE: shape[axis:],
    }[mode]
    value, factor = drawn(rng, shape, dtype, 0.5, 2), drawn(rng, wanted, dtype, 0.5, 2)
    shift = drawn(rng, wanted, dtype, 0.5, 1) if shifts else None
    power = drawn(rng, wanted, dtype, -1, 2) if raises else None
    expected = tensor(value).float() * tensor(factor).float()
    expected = expected if shift is None else expected + tensor(shift).float()
    expected = expected if power is None else expected ** tensor(power).float()
    assert_agrees(scaled(value, mode, axis, shift, factor, power), expected.to(tensor(value).dtype))


def test_scale_without_weights_is_the_input() -> None:
    value = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    np.testing.assert_array_equal(scaled(value, MODE.UNIFORM, 1, None, None, None), value)


def test_refused_scale() -> None:
    with pytest.raises(EvaluationError, match=r"scale has 2 weights, but \(3, 1, 1\) needs 3"):
        scaled(np.ones((2, 3, 4, 4), np.float32), MODE.CHANNEL, 1, None, np.ones(2, np.float32), None)
    with pytest.raises(EvaluationError, match="at least 3 dimensions"):
        scaled(np.ones((2, 3), np.float32), MODE.UNIFORM, 1, None, np.ones(1, np.float32), None)


def test_every_float_is_tried() -> None:
    assert set(FLOATS) == {np.float32, np.float16, ml_dtypes.bfloat16}
