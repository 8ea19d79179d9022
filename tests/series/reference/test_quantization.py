"""Quantize, dequantize and dynamic quantize layers against PyTorch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from against_torch import FLOATS, assert_agrees, drawn, few, floats, seeds, tensor
from hypothesis import given
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.dtypes import trt_dtype

TYPE = trt.DataType
FP4 = np.array([0, 1, 2, 4, -1, -2, -4, 0.5, 1.5, 3, 6, -0.5, -1.5, -3, -6], np.float32)  # first those of even mantissa


def rounded(value: torch.Tensor, to_type: Any) -> torch.Tensor:
    """float32 `value` as the nearest that `to_type` has."""
    if to_type == TYPE.FP8:
        return value.clamp(-448, 448).to(torch.float8_e4m3fn).float()
    if to_type == TYPE.FP4:
        return torch.from_numpy(FP4[np.abs(value.numpy()[..., None] - FP4).argmin(-1)])  # the first of equally near
    return value.round().clamp(*((-128, 127) if to_type == TYPE.INT8 else (-8, 7)))


def there_and_back(value: Any, scale: Any, to_type: Any, axis: int | None = None) -> tuple[Any, Any]:
    """`value` quantized, and dequantized to its own type."""
    net = Net()
    scales = net.input(scale)
    quantize = net.network.add_quantize(net.input(value), scales, to_type)
    dequantize = net.network.add_dequantize(quantize.get_output(0), scales, trt_dtype(value.dtype))
    if axis is not None:
        quantize.axis = dequantize.axis = axis
    return net.run(quantize.get_output(0), dequantize.get_output(0))


def assert_quantizes(value: Any, scale: Any, spread: torch.Tensor, to_type: Any, axis: int | None = None) -> None:
    code, back = there_and_back(value, scale, to_type, axis)
    expected = rounded(tensor(value).float() / spread, to_type)
    torch.testing.assert_close(tensor(code.astype(np.float32)), expected, rtol=0, atol=0)
    assert_agrees(back, (expected * spread).to(tensor(value).dtype))


TYPES = [TYPE.INT8, TYPE.INT4, TYPE.FP8, TYPE.FP4]


def scales(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> tuple[Any, torch.Tensor]:
    scale = drawn(rng, shape, dtype, 0.05, 1)
    return scale, tensor(scale).float()


@pytest.mark.parametrize("to_type", TYPES)
@few
@given(st.sampled_from([(6,), (2, 16), (2, 3, 8)]), floats, seeds(), st.booleans())
def test_one_scale(to_type: Any, shape: Any, dtype: Any, rng: Any, wide_scale: bool) -> None:
    scale, spread = scales(rng, (), np.float32 if wide_scale else dtype)
    assert_quantizes(drawn(rng, shape, dtype, -9, 9), scale, spread, to_type)


@pytest.mark.parametrize("to_type", TYPES)
@few
@given(st.sampled_from([(2, 16), (3, 2, 8)]), st.data(), floats, seeds())
def test_a_scale_for_each_channel(to_type: Any, shape: Any, data: Any, dtype: Any, rng: Any) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    scale, spread = scales(rng, shape[axis : axis + 1], dtype)
    spread = spread.reshape(-1, *(1 for _ in shape[axis + 1 :]))
    assert_quantizes(drawn(rng, shape, dtype, -9, 9), scale, spread, to_type, axis)


@pytest.mark.parametrize("to_type", [TYPE.INT4, TYPE.FP8, TYPE.FP4])
@pytest.mark.parametrize(("shape", "blocks"), [((4, 32), (4, 2)), ((32, 4), (2, 4)), ((2, 4, 32), (2, 4, 2))])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_scale_for_each_block(to_type: Any, shape: Any, blocks: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    scale, spread = scales(rng, blocks, dtype)
    for axis, (length, count) in enumerate(zip(shape, blocks, strict=True)):
        spread = spread.repeat_interleave(length // count, axis)
    assert_quantizes(drawn(rng, shape, dtype, -9, 9), scale, spread, to_type)


def test_rounds_halves_to_even_and_saturates() -> None:
    value = np.array([0.5, 1.5, 2.5, -0.5, 1e6, -1e6], np.float32)
    for to_type, expected in ((TYPE.INT8, [0, 2, 2, 0, 127, -128]), (TYPE.FP8, [0.5, 1.5, 2.5, -0.5, 448, -448])):
        code, _ = there_and_back(value, np.array(1, np.float32), to_type)
        np.testing.assert_array_equal(code.astype(np.float32), expected)


@pytest.mark.parametrize(
    ("scale", "axis", "message"),
    [
        (np.full(5, 0.1, np.float32), 0, "5 scales along axis 0 do not fit"),
        (np.full(4, 0.1, np.float32), None, "4 scales along axis -1 do not fit"),
        (np.full((2, 2), 0.1, np.float32), None, "not one for each block along one dimension"),
        (np.full((4, 3), 0.1, np.float32), None, "not one for each block"),
        (np.array(0, np.float32), None, "must be positive"),
        (np.array(-1, np.float32), None, "must be positive"),
    ],
)
def test_refused_scales(scale: Any, axis: Any, message: str) -> None:
    net = Net()
    layer = net.network.add_quantize(net.input(np.ones((4, 32), np.float32)), net.input(scale), TYPE.INT8)
    layer.axis = -1 if axis is None else axis
    with pytest.raises(EvaluationError, match=message):
        net.run(layer.get_output(0))


def test_a_zero_point_other_than_zero_is_refused() -> None:
    for point, refused in ((0, False), (1, True)):
        net = Net()
        layer = net.network.add_quantize(
            net.input(np.ones(4, np.float32)), net.input(np.array(0.5, np.float32)), TYPE.INT8
        )
        layer.set_input(2, net.input(np.array(point, np.int8)))
        if refused:
            with pytest.raises(EvaluationError, match="the zero point must be zero"):
                net.run(layer.get_output(0))
        else:
            np.testing.assert_array_equal(net.run(layer.get_output(0)), np.full(4, 2, np.int8))


@pytest.mark.parametrize("value", [np.ones(4, np.int32), np.ones(4, np.int8)])
def test_only_floats_are_quantized(value: Any) -> None:
    net = Net()
    layer = net.network.add_quantize(net.input(value), net.input(np.array(1, np.float32)), TYPE.INT8)
    with pytest.raises(EvaluationError, match=f"not in {value.dtype}"):
        net.run(layer.get_output(0))


def test_only_codes_are_dequantized() -> None:
    net = Net()
    layer = net.network.add_dequantize(net.input(np.ones(4, np.int32)), net.input(np.array(1, np.float32)), TYPE.FLOAT)
    with pytest.raises(EvaluationError, match="not in int32"):
        net.run(layer.get_output(0))


def dynamically(
    value: Any, size: int, to_type: Any, scale_type: Any, unit: Any = None, axis: int = -1
) -> tuple[Any, Any]:
    net = Net()
    layer = net.network.add_dynamic_quantize(net.input(value), axis, size, to_type, scale_type)
    if unit is not None:
        layer.set_input(1, net.constant(unit))
    return net.run(layer.get_output(0), layer.get_output(1))


@few
@given(st.integers(1, 3), st.integers(1, 3), floats, seeds())
def test_dynamic_fp4(rows: int, blocks: int, dtype: Any, rng: Any) -> None:
    value = drawn(rng, (rows, 16 * blocks), dtype, -9, 9)
    unit = np.float32(0.02)
    code, scale = dynamically(value, 16, TYPE.FP4, TYPE.FP8, unit)
    x = tensor(value).float().reshape(rows, blocks, 16)
    wanted = rounded(x.abs().amax(-1) / 6 / unit, TYPE.FP8)
    torch.testing.assert_close(tensor(scale.astype(np.float32)), wanted, rtol=0, atol=0)
    expected = rounded(x / (wanted[..., None] * unit), TYPE.FP4).reshape(rows, -1)
    torch.testing.assert_close(tensor(code.astype(np.float32)), expected, rtol=0, atol=0)


@few
@given(st.integers(1, 3), st.sampled_from([-1, -2, 0, 1]), floats, seeds())
def test_dynamic_fp8_scales_are_powers_of_two(blocks: int, axis: int, dtype: Any, rng: Any) -> None:
    value = drawn(rng, (32 * blocks, 32 * blocks), dtype, -2000, 2000)
    code, scale = dynamically(value, 32, TYPE.FP8, TYPE.E8M0, axis=axis)
    assert scale.dtype == ml_dtypes.float8_e8m0fnu
    largest = np.abs(np.moveaxis(value.astype(np.float32), axis, -1)).reshape(-1, 32).max(-1)
    steps = np.moveaxis(scale.astype(np.float32), axis, -1).reshape(-1)
    # The least power of two by which the largest fits.
    assert (largest <= 448 * steps).all() and (largest > 448 * steps / 2).all()
    exact = tensor(value).float() / tensor(scale.astype(np.float32)).repeat_interleave(32, axis)
    torch.testing.assert_close(tensor(code.astype(np.float32)), rounded(exact, TYPE.FP8), rtol=0, atol=0)


def test_two_dimensional_blocks() -> None:
    net = Net()
    value = drawn(np.random.default_rng(0), (32, 32))
    layer = net.network.add_dynamic_quantize_v2(net.input(value), trt.Dims([16, -1]), TYPE.FP8, TYPE.FLOAT)
    _, scale = net.run(layer.get_output(0), layer.get_output(1))
    np.testing.assert_array_equal(scale, np.abs(value).reshape(2, 16 * 32).max(1)[:, None] / np.float32(448))


def test_a_block_of_zeros_stays_zero() -> None:
    net = Net()
    unit = net.constant(np.array(0.5, np.float32))
    layer = net.network.add_dynamic_quantize(net.input(np.zeros((2, 16), np.float32)), -1, 16, TYPE.FP4, TYPE.FP8)
    layer.set_input(1, unit)
    scale = net.network.add_dequantize(layer.get_output(1), unit, TYPE.FLOAT).get_output(0)
    back = net.network.add_dequantize(layer.get_output(0), scale, TYPE.FLOAT)
    np.testing.assert_array_equal(net.run(back.get_output(0)), np.zeros((2, 16), np.float32))


def test_blocks_must_divide() -> None:
    with pytest.raises(EvaluationError, match=r"blocks of \(1, 16\) do not divide"):
        dynamically(np.ones((2, 30), np.float32), 16, TYPE.FP4, TYPE.FP8, np.float32(1))
