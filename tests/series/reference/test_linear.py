"""Matrix multiplication and einsum against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from against_torch import assert_agrees, drawn, few, floats, lengths, seeds, tensor
from hypothesis import given
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt

OP = trt.MatrixOperation


def product(a: Any, op_a: Any, b: Any, op_b: Any) -> Any:
    net = Net()
    return net.run(net.network.add_matrix_multiply(net.input(a), op_a, net.input(b), op_b).get_output(0))


@st.composite
def batches(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Leading dimensions of two operands that broadcast."""
    whole = draw(st.lists(st.integers(1, 3), max_size=2))
    return tuple(draw(st.sampled_from((1, n))) for n in whole), tuple(whole)


@pytest.mark.parametrize("op_a", [OP.NONE, OP.TRANSPOSE, OP.VECTOR])
@pytest.mark.parametrize("op_b", [OP.NONE, OP.TRANSPOSE, OP.VECTOR])
@few
@given(batches(), lengths, lengths, lengths, floats, seeds())
def test_matrix_multiply(op_a: Any, op_b: Any, batch: Any, m: int, k: int, n: int, dtype: Any, rng: Any) -> None:
    last = {OP.NONE: ((m, k), (k, n)), OP.TRANSPOSE: ((k, m), (n, k)), OP.VECTOR: ((k,), (k,))}
    a, b = drawn(rng, batch[0] + last[op_a][0], dtype), drawn(rng, batch[1] + last[op_b][1], dtype)
    x = {OP.NONE: tensor(a), OP.TRANSPOSE: tensor(a).mT if a.ndim > 1 else None, OP.VECTOR: tensor(a)[..., None, :]}[
        op_a
    ]
    y = {OP.NONE: tensor(b), OP.TRANSPOSE: tensor(b).mT if b.ndim > 1 else None, OP.VECTOR: tensor(b)[..., None]}[op_b]
    expected = torch.matmul(x.float(), y.float())
    expected = expected.squeeze(-2) if op_a == OP.VECTOR else expected
    expected = expected.squeeze(-1) if op_b == OP.VECTOR else expected
    assert_agrees(product(a, op_a, b, op_b), expected.to(x.dtype))


@pytest.mark.parametrize(
    ("a", "op_a", "b", "message"),
    [
        ((5, 2, 3), OP.NONE, (3, 4), "differ in rank"),
        ((2, 2, 3), OP.NONE, (3, 3, 4), "do not fit at axis 0"),
        ((2, 3), OP.NONE, (4, 4), "3 columns on the left do not meet 4 rows"),
        ((2, 1), OP.NONE, (4, 4), "1 columns on the left do not meet 4 rows"),
        ((3, 2), OP.NONE, (3, 4), "2 columns"),
        ((3,), OP.NONE, (3, 4), "at least 2 dimensions"),
    ],
)
def test_refused_matrices(a: Any, op_a: Any, b: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        product(np.ones(a, np.float32), op_a, np.ones(b, np.float32), OP.NONE)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [(np.float32, np.float16, "one type"), (np.int32, np.int32, "not in int32"), (np.int8, np.int8, "not in int8")],
)
def test_refused_types(left: Any, right: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        product(np.ones((2, 2), left), OP.NONE, np.ones((2, 2), right), OP.NONE)


EQUATIONS = [
    "ij,jk->ik",
    "ij,jk",
    "bij,bjk->bik",
    "ij->ji",
    "ij->",
    "i,i->",
    "ij,j->i",
    "i,j->ij",
    "ij,jk,kl->il",
    "ii->i",
]


@pytest.mark.parametrize("equation", EQUATIONS)
@few
@given(st.data(), floats, seeds())
def test_einsum(equation: str, data: Any, dtype: Any, rng: Any) -> None:
    size = {label: data.draw(lengths) for label in "bijkl"}
    operands = [drawn(rng, tuple(size[c] for c in term), dtype) for term in equation.split("->")[0].split(",")]
    net = Net()
    layer = net.network.add_einsum([net.input(operand) for operand in operands], equation)
    expected = torch.einsum(equation, *(tensor(operand).float() for operand in operands))
    assert_agrees(net.run(layer.get_output(0)), expected.to(tensor(operands[0]).dtype))


def test_einsum_broadcasts_ones() -> None:
    rng = np.random.default_rng(0)
    a, b = drawn(rng, (2, 3)), drawn(rng, (1, 4))
    net = Net()
    layer = net.network.add_einsum([net.input(a), net.input(b)], "ij,jk->ik")
    assert_agrees(net.run(layer.get_output(0)), torch.einsum("ij,jk->ik", tensor(a), tensor(b)))


def test_refused_einsum() -> None:
    net = Net()
    layer = net.network.add_einsum(
        [net.input(np.ones((2, 3), np.float32)), net.input(np.ones((5, 4), np.float32))], "ij,jk->ik"
    )
    with pytest.raises(EvaluationError, match="'ij,jk->ik' does not fit"):
        net.run(layer.get_output(0))
    net = Net()
    layer = net.network.add_einsum([net.input(np.ones(2, np.float32)), net.input(np.ones(2, np.float16))], "i,i->")
    with pytest.raises(EvaluationError, match="one type"):
        net.run(layer.get_output(0))
