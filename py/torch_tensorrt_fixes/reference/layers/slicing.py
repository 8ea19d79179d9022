"""The slice layer in all its sample modes.

Source: the operator documentation of TensorRT for Slice. Output place y comes from input place start + y * stride; the
mode says what to do with one that is out of bounds. Nothing is clamped as in Python: what reaches over the end is an
error or a mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._trt import Layer, trt
from ..dtypes import Array
from ..registry import Refused, Run, has_input, implements
from .movement import converted


@implements(trt.LayerType.SLICE)
def slice_(layer: Layer) -> Run:
    """A regular pick of elements: size[i] of them along axis i, from start[i], stride[i] apart (0 repeats one)."""
    fixed_start = None if has_input(layer, 1) else layer.start
    fixed_size = None if has_input(layer, 2) else layer.shape
    fixed_stride = None if has_input(layer, 3) else layer.stride
    fixed_axes = None if has_input(layer, 5) else layer.axes
    mode = layer.mode
    if has_input(layer, 4) and mode != trt.SampleMode.FILL:
        raise Refused(f"a fill value is for the mode FILL, not {mode.name}")

    def run(
        value: Array,
        start: Array | None = None,
        size: Array | None = None,
        stride: Array | None = None,
        fill: Array | None = None,
        axes: Array | None = None,
    ) -> Array:
        starts, sizes, strides = _either(fixed_start, start), _either(fixed_size, size), _either(fixed_stride, stride)
        named = _named_axes(value.ndim, fixed_axes if axes is None else axes.tolist(), starts, sizes, strides)
        if any(count < 0 for count in sizes):
            raise Refused(f"the size {sizes} is negative (start {starts}, stride {strides})")
        picks = {
            axis: first + step * np.arange(count, dtype=np.int64)
            for axis, first, count, step in zip(named, starts, sizes, strides, strict=True)
        }
        if mode == trt.SampleMode.FILL:
            return _filled(value, picks, np.zeros((), value.dtype) if fill is None else converted(fill, value.dtype))
        for axis, pick in picks.items():
            value = value.take(_in_bounds(pick, value.shape[axis], axis, mode), axis=axis)
        return value

    return run


def _either(fixed: Any, dynamic: Array | None) -> tuple[int, ...]:
    return tuple(fixed if dynamic is None else dynamic.tolist())


def _named_axes(rank: int, axes: Any, *chosen: tuple[int, ...]) -> tuple[int, ...]:
    named = tuple(range(rank)) if axes is None else tuple(axis % rank for axis in axes if -rank <= axis < rank)
    if axes is not None and len(set(named)) != len(tuple(axes)):
        raise Refused(f"the axes {tuple(axes)} must be different ones of an input of rank {rank}")
    if any(len(part) != len(named) for part in chosen):
        raise Refused(
            f"start {chosen[0]}, size {chosen[1]} and stride {chosen[2]} must have one entry for each axis {named}"
        )
    return named


def _in_bounds(pick: Array, size: int, axis: int, mode: Any) -> Array:
    """The places of `pick` brought into [0, size) as `mode` has it."""
    if pick.size == 0 or (pick.min() >= 0 and pick.max() < size):
        return pick
    if mode == trt.SampleMode.STRICT_BOUNDS:
        raise Refused(
            f"the slice is out of bounds: axis {axis} has {size} elements, and it takes {pick.size} from {pick[0]} to"
            f" {pick[-1]}. TensorRT clamps nothing; compute the bounds first"
        )
    if size == 0:
        raise Refused(f"the mode {mode.name} has nothing to take from: axis {axis} is empty")
    if mode == trt.SampleMode.WRAP:
        return pick % size
    if mode == trt.SampleMode.CLAMP:
        return pick.clip(0, size - 1)
    if mode == trt.SampleMode.REFLECT:
        period = max(2 * size - 2, 1)
        folded = np.abs(pick) % period
        return np.where(folded >= size, period - folded, folded)
    raise Refused(f"the slice mode {mode} is not known")


def _filled(value: Array, picks: dict[int, Array], fill: Array) -> Array:
    """`fill` where a place is out of bounds, the input's element where it is not."""
    sources = [picks.get(axis, np.arange(size)) for axis, size in enumerate(value.shape)]
    valid = [np.flatnonzero((pick >= 0) & (pick < size)) for pick, size in zip(sources, value.shape, strict=True)]
    result = np.full([pick.size for pick in sources], fill.reshape(()), value.dtype)
    result[np.ix_(*valid)] = value[np.ix_(*(pick[inside] for pick, inside in zip(sources, valid, strict=True)))]
    return result
