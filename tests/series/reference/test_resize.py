"""Resize and grid sample layers against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch.nn.functional as F
from against_torch import assert_agrees, drawn, few, floats, lengths, seeds, tensor
from hypothesis import given
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt

MODE, FROM, ROUND, ONE = (
    trt.InterpolationMode,
    trt.ResizeCoordinateTransformation,
    trt.ResizeRoundMode,
    trt.ResizeSelector,
)
BEYOND = trt.SampleMode


def resized(value: Any, shape: Any = None, as_input: bool = False, **attributes: Any) -> Any:
    net = Net()
    layer = net.network.add_resize(net.input(value))
    if as_input:
        layer.set_input(1, net.input(np.array(shape, np.int32)))
    elif shape is not None:
        layer.shape = shape
    for name, setting in attributes.items():
        setattr(layer, name, setting)
    return net.run(layer.get_output(0))


# What torch_tensorrt sets for each mode of torch.nn.functional.interpolate, and the dimensions that the mode has.
INTERPOLATE = [
    ("nearest", None, 1, MODE.NEAREST, FROM.ASYMMETRIC),
    ("nearest", None, 2, MODE.NEAREST, FROM.ASYMMETRIC),
    ("nearest", None, 3, MODE.NEAREST, FROM.ASYMMETRIC),
    ("linear", False, 1, MODE.LINEAR, FROM.HALF_PIXEL),
    ("linear", True, 1, MODE.LINEAR, FROM.ALIGN_CORNERS),
    ("bilinear", False, 2, MODE.LINEAR, FROM.HALF_PIXEL),
    ("bilinear", True, 2, MODE.LINEAR, FROM.ALIGN_CORNERS),
    ("trilinear", False, 3, MODE.LINEAR, FROM.HALF_PIXEL),
    ("trilinear", True, 3, MODE.LINEAR, FROM.ALIGN_CORNERS),
    ("bicubic", False, 2, MODE.CUBIC, FROM.HALF_PIXEL),
    ("bicubic", True, 2, MODE.CUBIC, FROM.ALIGN_CORNERS),
]


@pytest.mark.parametrize(("name", "corners", "spatial", "mode", "transformation"), INTERPOLATE)
@few
@given(st.data(), floats, seeds(), st.booleans())
def test_interpolate(
    name: str,
    corners: Any,
    spatial: int,
    mode: Any,
    transformation: Any,
    data: Any,
    dtype: Any,
    rng: Any,
    as_input: bool,
) -> None:
    old, new = (tuple(data.draw(st.integers(1, 9)) for _ in range(spatial)) for _ in range(2))
    value = drawn(rng, (2, 3, *old), dtype)
    result = resized(value, (2, 3, *new), as_input, resize_mode=mode, coordinate_transformation=transformation)
    expected = F.interpolate(tensor(value).float(), new, mode=name, align_corners=corners)
    assert_agrees(result, expected.to(tensor(value).dtype))


@few
@given(lengths, lengths, st.sampled_from([0.5, 1, 1.5, 2, 2.7]), st.sampled_from(["nearest", "bilinear"]), seeds())
def test_scales(height: int, width: int, factor: float, mode: str, rng: Any) -> None:
    value = drawn(rng, (1, 2, height + 1, width + 1))
    expected = F.interpolate(tensor(value), scale_factor=factor, mode=mode)
    attributes = {} if mode == "nearest" else {"resize_mode": MODE.LINEAR, "coordinate_transformation": FROM.HALF_PIXEL}
    assert_agrees(resized(value, scales=[1, 1, factor, factor], **attributes), expected)


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        (ROUND.FLOOR, [0, 0, 1, 1]),
        (ROUND.CEIL, [0, 1, 1, 1]),
        (ROUND.HALF_UP, [0, 1, 1, 1]),
        (ROUND.HALF_DOWN, [0, 0, 1, 1]),
    ],
)
def test_nearest_rounding(rounding: Any, expected: list[int]) -> None:
    value = np.array([[0, 1]], np.float32)
    np.testing.assert_array_equal(resized(value, (1, 4), nearest_rounding=rounding)[0], expected)


def test_half_pixels_are_torchs_nearest_exact() -> None:
    value = drawn(np.random.default_rng(0), (1, 1, 7))
    result = resized(value, (1, 1, 5), coordinate_transformation=FROM.HALF_PIXEL, nearest_rounding=ROUND.HALF_UP)
    assert_agrees(result, F.interpolate(tensor(value), 5, mode="nearest-exact"))


@pytest.mark.parametrize(("selector", "expected"), [(ONE.FORMULA, 1.5), (ONE.UPPER, 0)])
def test_single_pixel(selector: Any, expected: float) -> None:
    value = np.array([[0, 1, 2, 3]], np.float32)
    attributes = {"resize_mode": MODE.LINEAR, "coordinate_transformation": FROM.HALF_PIXEL}
    assert resized(value, (1, 1), selector_for_single_pixel=selector, **attributes) == expected


def test_cubic_coefficient_and_what_lies_outside() -> None:
    value = np.array([[[0, 1, 4, 9]]], np.float32)
    cubic = {"resize_mode": MODE.CUBIC, "coordinate_transformation": FROM.ASYMMETRIC, "cubic_coeff": -0.5}
    # Keys' weights half way between two elements with a = -0.5 are -1/16, 9/16, 9/16, -1/16.
    inner = (-0 + 9 * 1 + 9 * 4 - 9) / 16
    first = (-0 + 9 * 0 + 9 * 1 - 4) / 16
    np.testing.assert_allclose(resized(value, (1, 1, 8), **cubic)[0, 0, [1, 3]], [first, inner])
    excluded = (9 * 0 + 9 * 1 - 4) / (9 + 9 - 1)
    np.testing.assert_allclose(resized(value, (1, 1, 8), exclude_outside=True, **cubic)[0, 0, 1], excluded, rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "attributes", "message"),
    [
        ((3, 7, 7), {}, "input's rank 4"),
        ((4, 3, 7, 7), {"resize_mode": MODE.LINEAR}, "LINEAR resizes the last 3 axes, not axis 0"),
        ((2, 4, 7, 7), {"resize_mode": MODE.CUBIC}, "CUBIC resizes the last 2 axes, not axis 1"),
        (None, {"scales": [1, 2]}, "2 scales do not fit"),
    ],
)
def test_refused_resize(shape: Any, attributes: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        resized(np.ones((2, 3, 5, 5), np.float32), shape, **attributes)


def test_nearest_resizes_every_axis() -> None:
    value = np.arange(4, dtype=np.float32).reshape(2, 2)
    np.testing.assert_array_equal(resized(value, (4, 4)), value.repeat(2, 0).repeat(2, 1))


def sampled(value: Any, grid: Any, mode: Any, beyond: Any, aligned: bool) -> Any:
    net = Net()
    layer = net.network.add_grid_sample(net.input(value), net.input(grid))
    layer.interpolation_mode, layer.sample_mode, layer.align_corners = mode, beyond, aligned
    return net.run(layer.get_output(0))


PADDING = {BEYOND.FILL: "zeros", BEYOND.CLAMP: "border", BEYOND.REFLECT: "reflection"}
NAMES = {MODE.NEAREST: "nearest", MODE.LINEAR: "bilinear", MODE.CUBIC: "bicubic"}


@pytest.mark.parametrize("beyond", PADDING)
@pytest.mark.parametrize(
    ("mode", "spatial"), [(MODE.NEAREST, 2), (MODE.LINEAR, 2), (MODE.CUBIC, 2), (MODE.NEAREST, 3), (MODE.LINEAR, 3)]
)
@few
@given(st.data(), floats, seeds(), st.booleans())
def test_grid_sample(beyond: Any, mode: Any, spatial: int, data: Any, dtype: Any, rng: Any, aligned: bool) -> None:
    old, new = (tuple(data.draw(lengths) for _ in range(spatial)) for _ in range(2))
    value = drawn(rng, (2, 3, *old), dtype)
    grid = drawn(rng, (2, *new, spatial), dtype, -2.5, 2.5)
    expected = F.grid_sample(tensor(value).float(), tensor(grid).float(), NAMES[mode], PADDING[beyond], aligned)
    assert_agrees(sampled(value, grid, mode, beyond, aligned), expected.to(tensor(value).dtype))


@pytest.mark.parametrize("grid", [(1, 4, 6, 2), (2, 4, 6, 3)])
def test_refused_grid(grid: Any) -> None:
    net = Net()
    layer = net.network.add_grid_sample(
        net.input(np.ones((2, 3, 5, 5), np.float32)), net.input(np.ones(grid, np.float32))
    )
    with pytest.raises(EvaluationError, match=r"must be \(N, ..., 2\)"):
        net.run(layer.get_output(0))


def test_grid_of_another_type_is_refused() -> None:
    with pytest.raises(EvaluationError, match="one type"):
        sampled(np.ones((1, 1, 2, 2), np.float32), np.ones((1, 1, 1, 2), np.float16), MODE.LINEAR, BEYOND.FILL, False)
