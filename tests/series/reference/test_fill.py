"""The fill layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.dtypes import trt_dtype

LINSPACE = trt.FillOperation.LINSPACE


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
@pytest.mark.parametrize("dynamic_shape", [False, True])
def test_linspace_counts_from_a_start_in_steps(dtype: Any, dynamic_shape: bool) -> None:
    net = Net()
    layer = net.network.add_fill((2, 3), LINSPACE, trt_dtype(dtype))
    if dynamic_shape:
        layer.set_input(0, net.input([2, 3], dtype=np.int64))
    layer.set_input(1, net.input(np.array(5, dtype)))
    layer.set_input(2, net.input(np.array([100, -10], dtype)))
    result = net.run(layer.get_output(0))
    assert result.dtype == dtype
    assert result.tolist() == [[5, -5, -15], [105, 95, 85]]


@pytest.mark.parametrize(("dtype", "alpha", "beta"), [(trt.float32, 0.5, 0.25), (trt.int64, 2**40, -3)])
def test_linspace_with_attributes(dtype: Any, alpha: float, beta: float) -> None:
    net = Net()
    layer = net.network.add_fill((4,), LINSPACE, dtype)
    layer.alpha, layer.beta = alpha, beta
    assert net.run(layer.get_output(0)).tolist() == [alpha + beta * place for place in range(4)]


def test_an_empty_linspace() -> None:
    net = Net()
    layer = net.network.add_fill((1,), LINSPACE, trt.int64)
    layer.set_input(0, net.input([0], dtype=np.int64))
    layer.set_input(1, net.constant(np.int64(0)))
    layer.set_input(2, net.constant([1], np.int64))
    assert net.run(layer.get_output(0)).shape == (0,)


@pytest.mark.parametrize(
    ("alpha", "beta", "message"),
    [
        (np.float32(0), np.ones(2, np.float32), "one step for each of the 1 dimensions, not 2"),
        (np.int32(0), np.ones(1, np.int32), "alpha int32 and beta int32 must be float32"),
        (np.zeros(1, np.float32), np.ones(1, np.float32), "alpha must be a scalar"),
    ],
)
def test_a_start_or_step_that_does_not_fit_is_refused(alpha: Any, beta: Any, message: str) -> None:
    net = Net()
    layer = net.network.add_fill((3,), LINSPACE, trt.float32)
    layer.set_input(1, net.input(alpha))
    layer.set_input(2, net.input(beta))
    with pytest.raises(EvaluationError, match=f"FILL layer.*{message}"):
        net.run(layer.get_output(0))


def test_a_negative_shape_is_refused() -> None:
    net = Net()
    layer = net.network.add_fill((1,), LINSPACE, trt.float32)
    layer.set_input(0, net.input([-1], dtype=np.int64))
    with pytest.raises(EvaluationError, match=r"the shape \(-1,\) is negative"):
        net.run(layer.get_output(0))


@pytest.mark.parametrize("dtype", [trt.float32, trt.float16])
def test_random_values_have_the_distribution_asked_for(dtype: Any) -> None:
    net = Net()
    uniform = net.network.add_fill((4000,), trt.FillOperation.RANDOM_UNIFORM, dtype)
    normal = net.network.add_fill((4000,), trt.FillOperation.RANDOM_NORMAL, dtype)
    for layer in (uniform, normal):
        layer.alpha, layer.beta = 2.0, 6.0
    flat, bell = net.run(uniform.get_output(0), normal.get_output(0), seed=0)
    assert flat.min() >= 2 and flat.max() <= 6 and abs(flat.astype(float).mean() - 4) < 0.1
    assert abs(bell.astype(float).mean() - 2) < 0.4 and abs(bell.astype(float).std() - 6) < 0.4
