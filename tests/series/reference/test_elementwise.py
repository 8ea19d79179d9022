"""Elementwise, unary, activation and parametric ReLU layers against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from against_torch import FLOATS, WHOLE, assert_agrees, drawn, few, floats, numbers, seeds, shapes, tensor
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.layers import activation, elementwise, unary

EW, UN, ACT = trt.ElementWiseOperation, trt.UnaryOperation, trt.ActivationType


def applied(operation: Any, a: Any, b: Any) -> Any:
    net = Net()
    return net.run(net.network.add_elementwise(net.input(a), net.input(b), operation).get_output(0))


def test_every_operation_is_there() -> None:
    assert set(elementwise._OPERATIONS) == set(EW.__members__)
    assert set(unary._OPERATIONS) == set(UN.__members__)
    assert set(activation._ACTIVATIONS) == set(ACT.__members__)


ARITHMETIC = {
    EW.SUM: torch.add,
    EW.PROD: torch.mul,
    EW.MAX: torch.maximum,
    EW.MIN: torch.minimum,
    EW.SUB: torch.sub,
    EW.EQUAL: torch.eq,
    EW.GREATER: torch.gt,
    EW.LESS: torch.lt,
}


@pytest.mark.parametrize("operation", ARITHMETIC)
@few
@given(hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=4, max_side=4), numbers, seeds())
def test_arithmetic_and_comparison(operation: Any, broadcast: Any, dtype: Any, rng: Any) -> None:
    rank = max(map(len, broadcast.input_shapes))
    a, b = (drawn(rng, (1,) * (rank - len(shape)) + shape, dtype) for shape in broadcast.input_shapes)
    assert_agrees(applied(operation, a, b), ARITHMETIC[operation](tensor(a), tensor(b)))


@few
@given(shapes(), numbers, seeds())
def test_division(shape: Any, dtype: Any, rng: Any) -> None:
    a, b = drawn(rng, shape, dtype, -9, 9), drawn(rng, shape, dtype, 1, 4) * rng.choice([-1, 1], shape).astype(dtype)
    rounding = "trunc" if dtype in WHOLE else None
    assert_agrees(applied(EW.DIV, a, b), torch.div(tensor(a), tensor(b), rounding_mode=rounding))
    quotient = torch.div(tensor(a).float(), tensor(b).float()).floor() if dtype in FLOATS else tensor(a) // tensor(b)
    assert_agrees(applied(EW.FLOOR_DIV, a, b), quotient.to(tensor(a).dtype))


@few
@given(shapes(), numbers, seeds())
def test_power(shape: Any, dtype: Any, rng: Any) -> None:
    base = drawn(rng, shape, dtype, -4 if dtype in WHOLE else 0.5, 4)
    exponent = drawn(rng, shape, dtype, 0 if dtype in WHOLE else -3, 3)
    assert_agrees(applied(EW.POW, base, exponent), torch.pow(tensor(base), tensor(exponent)))


@pytest.mark.parametrize(
    ("operation", "expected"), [(EW.AND, torch.logical_and), (EW.OR, torch.logical_or), (EW.XOR, torch.logical_xor)]
)
def test_logic(operation: Any, expected: Any) -> None:
    a, b = np.array([[True, True, False, False]]), np.array([[True, False, True, False]])
    assert_agrees(applied(operation, a, b), expected(tensor(a), tensor(b)))
    assert_agrees(applied(EW.EQUAL, a, b), tensor(a) == tensor(b))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_integers_wrap(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    most, least, two = (np.array([x], dtype) for x in (limits.max, limits.min, 2))
    assert applied(EW.SUM, most, two) == limits.min + 1
    assert applied(EW.SUB, least, two) == limits.max - 1
    assert applied(EW.PROD, most, two) == -2
    assert applied(EW.DIV, least, np.array([-1], dtype)) == limits.min


@pytest.mark.parametrize(
    ("operation", "a", "b", "message"),
    [
        (EW.SUM, np.ones((2, 3), np.float32), np.ones(3, np.float32), "differ in rank"),
        (EW.SUM, np.ones((2, 3), np.float32), np.ones((2, 2), np.float32), "do not fit at axis 1"),
        (EW.SUM, np.ones(2, np.float32), np.ones(2, np.float16), "one type, not float32, float16"),
        (EW.SUM, np.ones(2, np.int32), np.ones(2, np.int64), "one type, not int32, int64"),
        (EW.SUM, np.ones(2, np.bool_), np.ones(2, np.bool_), "not in bool"),
        (EW.AND, np.ones(2, np.int32), np.ones(2, np.int32), "not in int32"),
        (EW.POW, np.ones(2, np.int8), np.ones(2, np.int8), "not in int8"),
        (EW.SUM, np.ones(2, np.uint8), np.ones(2, np.uint8), "uint8"),
        (EW.DIV, np.ones(2, np.int32), np.zeros(2, np.int32), "division by zero"),
        (EW.FLOOR_DIV, np.ones(2, np.int64), np.zeros(2, np.int64), "division by zero"),
        (EW.POW, np.zeros(2, np.int32), np.full(2, -1, np.int32), "zero to a negative"),
    ],
)
def test_refused_operands(operation: Any, a: Any, b: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        applied(operation, a, b)


def test_broadcasting_is_checked_where_only_the_run_knows() -> None:
    net = Net()
    a, b = net.input(np.ones((2, 3), np.float32), (-1, 3)), net.input(np.ones((3, 3), np.float32), (-1, 3))
    added = net.network.add_elementwise(a, b, EW.SUM)
    added.name, added.metadata = "sum", "torch.ops.aten.add.Tensor"
    with pytest.raises(
        EvaluationError, match=r"'sum' \(torch target torch.ops.aten.add.Tensor\).*do not fit at axis 0"
    ):
        net.run(added.get_output(0))


UNARY: dict[Any, tuple[Any, float, float]] = {
    UN.EXP: (torch.exp, -4, 4),
    UN.LOG: (torch.log, -1, 4),
    UN.SQRT: (torch.sqrt, -1, 4),
    UN.RECIP: (torch.reciprocal, -4, 4),
    UN.ABS: (torch.abs, -4, 4),
    UN.NEG: (torch.neg, -4, 4),
    UN.SIN: (torch.sin, -4, 4),
    UN.COS: (torch.cos, -4, 4),
    UN.TAN: (torch.tan, -1, 1),
    UN.SINH: (torch.sinh, -4, 4),
    UN.COSH: (torch.cosh, -4, 4),
    UN.ASIN: (torch.asin, -1.2, 1.2),
    UN.ACOS: (torch.acos, -1.2, 1.2),
    UN.ATAN: (torch.atan, -4, 4),
    UN.ASINH: (torch.asinh, -4, 4),
    UN.ACOSH: (torch.acosh, 0, 4),
    UN.ATANH: (torch.atanh, -0.9, 1.2),
    UN.CEIL: (torch.ceil, -4, 4),
    UN.FLOOR: (torch.floor, -4, 4),
    UN.ERF: (torch.erf, -4, 4),
    UN.SIGN: (torch.sign, -4, 4),
    UN.ROUND: (torch.round, -4, 4),
    UN.ISINF: (torch.isinf, -4, 4),
    UN.ISNAN: (torch.isnan, -4, 4),
}


def unary_of(operation: Any, value: Any) -> Any:
    net = Net()
    return net.run(net.network.add_unary(net.input(value), operation).get_output(0))


@pytest.mark.parametrize("operation", UNARY)
@few
@given(shapes(0), floats, seeds())
def test_unary(operation: Any, shape: Any, dtype: Any, rng: Any) -> None:
    expected, low, high = UNARY[operation]
    value = drawn(rng, shape, dtype, low, high)
    assert_agrees(unary_of(operation, value), expected(tensor(value)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_unary_at_the_edges(dtype: Any) -> None:
    value = np.array([np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, 0]).astype(dtype)
    for operation in (UN.ISINF, UN.ISNAN, UN.ROUND, UN.ABS, UN.EXP, UN.RECIP):
        assert_agrees(unary_of(operation, value), UNARY[operation][0](tensor(value)))


@pytest.mark.parametrize("operation", [UN.ABS, UN.NEG, UN.SIGN])
@pytest.mark.parametrize("dtype", [np.int8, *WHOLE])
def test_unary_of_integers(operation: Any, dtype: Any) -> None:
    value = np.array([np.iinfo(dtype).min, -3, 0, 4], dtype)
    assert_agrees(unary_of(operation, value), UNARY[operation][0](tensor(value)))


def test_not() -> None:
    value = np.array([True, False])
    assert_agrees(unary_of(UN.NOT, value), ~tensor(value))


ACTIVATIONS: dict[Any, Any] = {
    ACT.RELU: lambda x, a, b: F.relu(x),
    ACT.SIGMOID: lambda x, a, b: torch.sigmoid(x),
    ACT.TANH: lambda x, a, b: torch.tanh(x),
    ACT.LEAKY_RELU: lambda x, a, b: F.leaky_relu(x, a),
    ACT.ELU: lambda x, a, b: F.elu(x, a),
    ACT.SELU: lambda x, a, b: torch.where(x > 0, b * x, b * (a * torch.exp(x) - a)),
    ACT.SOFTSIGN: lambda x, a, b: F.softsign(x),
    ACT.SOFTPLUS: lambda x, a, b: a * torch.log(torch.exp(b * x) + 1),
    ACT.CLIP: lambda x, a, b: torch.clamp(x, a, b),
    ACT.HARD_SIGMOID: lambda x, a, b: torch.clamp(a * x + b, 0, 1),
    ACT.SCALED_TANH: lambda x, a, b: a * torch.tanh(b * x),
    ACT.THRESHOLDED_RELU: lambda x, a, b: F.threshold(x, a, 0),
    ACT.GELU_ERF: lambda x, a, b: F.gelu(x),
    ACT.GELU_TANH: lambda x, a, b: F.gelu(x, approximate="tanh"),
}


@pytest.mark.parametrize("kind", ACTIVATIONS)
@few
@given(shapes(0), floats, seeds(), st.floats(0.125, 1, width=16), st.floats(1, 2, width=16))
def test_activation(kind: Any, shape: Any, dtype: Any, rng: Any, alpha: float, beta: float) -> None:
    value = drawn(rng, shape, dtype)
    net = Net()
    layer = net.network.add_activation(net.input(value), kind)
    layer.alpha, layer.beta = alpha, beta
    expected = ACTIVATIONS[kind](tensor(value).float(), alpha, beta)
    assert_agrees(net.run(layer.get_output(0)), expected.to(tensor(value).dtype))


def test_softplus_does_not_overflow() -> None:
    net = Net()
    layer = net.network.add_activation(net.input(np.array([500, -500], np.float32)), ACT.SOFTPLUS)
    layer.alpha = layer.beta = 1
    np.testing.assert_array_equal(net.run(layer.get_output(0)), np.array([500, 0], np.float32))


def test_relu_of_integers() -> None:
    net = Net()
    layer = net.network.add_activation(net.input(np.array([-3, 4], np.int64)), ACT.RELU)
    np.testing.assert_array_equal(net.run(layer.get_output(0)), np.array([0, 4]))


@few
@given(shapes(2, 4), floats, seeds(), st.data())
def test_parametric_relu(shape: Any, dtype: Any, rng: Any, data: Any) -> None:
    slope_shape = tuple(data.draw(st.sampled_from((1, length))) for length in shape)
    value, slopes = drawn(rng, shape, dtype), drawn(rng, slope_shape, dtype)
    net = Net()
    layer = net.network.add_parametric_relu(net.input(value), net.input(slopes))
    x = tensor(value)
    assert_agrees(net.run(layer.get_output(0)), torch.where(x >= 0, x, x * tensor(slopes)))


@pytest.mark.parametrize("shape", [(2, 3), (3,)])
def test_slopes_do_not_widen_the_input(shape: tuple[int, ...]) -> None:
    net = Net()
    layer = net.network.add_parametric_relu(
        net.input(np.ones((1, 3), np.float32)), net.input(np.ones(shape, np.float32))
    )
    with pytest.raises(EvaluationError, match="slope has shape"):
        net.run(layer.get_output(0))
