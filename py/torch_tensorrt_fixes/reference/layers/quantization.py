"""Quantization: quantize, dequantize, dynamic quantize.

Formulas and ranges: TensorRT's IQuantizeLayer and IDequantizeLayer, and its page on quantization schemes.
"""

from __future__ import annotations

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, Array, numpy_dtype, widen
from ..registry import Refused, Run, implements
from ._refusals import at_least, one_type

_RANGES = {"INT8": (-128, 127), "INT4": (-8, 7), "FP8": (-448, 448), "FP4": (-6, 6)}
_QUANTIZED = frozenset(numpy_dtype(getattr(trt.DataType, name)) for name in _RANGES if hasattr(trt.DataType, name))


def quantized(value: Array, dtype: trt.DataType) -> Array:
    """float32 `value` held within the range of `dtype` and rounded to it, halves to even."""
    held = np.clip(value, *_RANGES[dtype.name])
    return (np.rint(held) if dtype.name.startswith("INT") else held).astype(numpy_dtype(dtype))


def _spread(scale: Array, value: Array, axis: int) -> Array:
    """`scale` as float32 that broadcasts to `value`: one for all, one for each index of `axis`, or one a block.

    Blocks are of equal size along one dimension, in which `scale` is the shorter.
    """
    if scale.size == 1:
        return widen(scale).reshape((1,) * value.ndim)
    if scale.ndim == 1 and value.ndim > 1:
        if not 0 <= axis < value.ndim or scale.shape != value.shape[axis : axis + 1]:
            raise Refused(f"{scale.size} scales along axis {axis} do not fit an input of {value.shape}")
        return widen(scale).reshape(-1, *(1 for _ in value.shape[axis + 1 :]))
    blocked = [a for a in range(value.ndim) if scale.ndim == value.ndim and scale.shape[a] != value.shape[a]]
    if scale.ndim != value.ndim or len(blocked) > 1 or any(value.shape[a] % max(scale.shape[a], 1) for a in blocked):
        raise Refused(f"scales of {scale.shape} are not one for each block along one dimension of {value.shape}")
    for a in blocked:
        scale = np.repeat(scale, value.shape[a] // scale.shape[a], a)
    return widen(scale)


def _no_zero_point(zero_point: Array | None) -> None:
    if zero_point is not None and widen(zero_point).any():
        raise Refused("TensorRT quantizes symmetrically: the zero point must be zero")


@implements(trt.LayerType.QUANTIZE)
def quantize(layer: Layer) -> Run:
    """input / scale, rounded to the layer's type and held within its range."""
    axis, to_type = layer.axis, layer.to_type
    one_type(layer, FLOATS, 0)

    def run(value: Array, scale: Array, zero_point: Array | None = None) -> Array:
        _no_zero_point(zero_point)
        if not (widen(scale) > 0).all():
            raise Refused("every scale must be positive")
        return quantized(widen(value) / _spread(scale, value, axis), to_type)

    return run


@implements(trt.LayerType.DEQUANTIZE)
def dequantize(layer: Layer) -> Run:
    """input * scale, in the layer's type."""
    axis = layer.axis
    one_type(layer, _QUANTIZED, 0)

    def run(value: Array, scale: Array, zero_point: Array | None = None) -> Array:
        _no_zero_point(zero_point)
        return value.astype(np.float32) * _spread(scale, value, axis)

    return run


@implements(trt.LayerType.DYNAMIC_QUANTIZE)
def dynamic_quantize(layer: Layer) -> Run:
    """Blocks divided by a scale that takes their largest element to the largest of the type; and these scales.

    The scales are in units of the second input, if there is one. They are rounded to the nearest float8, or up to a
    power of two where they are E8M0. IDynamicQuantizeLayer; rounding up is from cuDNN's page on block scaling.
    """
    axis, size, block = layer.axis, layer.block_size, tuple(layer.block_shape)
    to_type, scale_type = layer.to_type, layer.scale_type
    one_type(layer, FLOATS, 0)

    def run(value: Array, unit: Array | None = None) -> tuple[Array, Array]:
        at_least(2, value)
        lengths = block or tuple(size if a == axis % value.ndim else 1 for a in range(value.ndim))
        lengths = tuple(whole if length == -1 else length for length, whole in zip(lengths, value.shape, strict=True))
        if any(whole % length for whole, length in zip(value.shape, lengths, strict=True)):
            raise Refused(f"blocks of {lengths} do not divide an input of {value.shape}")
        split = [part for whole, length in zip(value.shape, lengths, strict=True) for part in (whole // length, length)]
        wide = widen(value)
        largest = np.abs(wide).reshape(split).max(tuple(range(1, 2 * value.ndim, 2)))
        wanted = largest / _RANGES[to_type.name][1] / (1 if unit is None else widen(unit).reshape(()))
        scales = _rounded_scales(wanted, scale_type)
        steps = scales.astype(np.float32) * (1 if unit is None else widen(unit).reshape(()))
        for a, length in enumerate(lengths):
            steps = np.repeat(steps, length, a)
        return quantized(np.where(steps > 0, wide / steps, 0), to_type), scales

    return run


def _rounded_scales(wanted: Array, dtype: trt.DataType) -> Array:
    if dtype.name == "E8M0":
        return np.asarray(np.exp2(np.clip(np.ceil(np.log2(wanted)), -127, 127)).astype(numpy_dtype(dtype)))
    return wanted.astype(np.float32) if dtype.name == "FLOAT" else quantized(wanted, dtype)
