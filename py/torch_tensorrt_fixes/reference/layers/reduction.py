"""Layers that reduce along axes: reduce, cumulative, top-k."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, INTEGERS, Array, numpy_dtype, widen
from ..registry import Refused, Run, axes_of, implements
from ._refusals import at_least, one_type, single, within

Axes = tuple[int, ...]

_MOST_TOP = 3840  # TensorRT's limit on k


def _extremes(value: Array) -> tuple[float, float]:
    """The least and the greatest value of the type."""
    if value.dtype == np.float32:
        return -np.inf, np.inf
    limits = np.iinfo(value.dtype)
    return limits.min, limits.max


def _average(value: Array, axes: Axes) -> Array:
    """The mean; of integers truncated towards zero, and 0 of none."""
    count = int(np.prod([value.shape[axis] for axis in axes]))
    total = np.sum(value, axes, value.dtype, keepdims=True)
    if value.dtype == np.float32:
        return np.asarray(total / np.float32(count))
    return np.asarray(np.sign(total) * (np.abs(total) // max(count, 1)))


# What an empty volume reduces to is in TensorRT's table at ReduceOperation.
_OPERATIONS: dict[str, Callable[[Array, Axes], Array]] = {
    "SUM": lambda x, axes: np.sum(x, axes, x.dtype, keepdims=True),
    "PROD": lambda x, axes: np.prod(x, axes, x.dtype, keepdims=True),
    "MAX": lambda x, axes: np.max(x, axes, keepdims=True, initial=_extremes(x)[0]),
    "MIN": lambda x, axes: np.min(x, axes, keepdims=True, initial=_extremes(x)[1]),
    "AVG": _average,
}


@implements(trt.LayerType.REDUCE)
def reduce(layer: Layer) -> Run:
    """The reduction over the axes of the layer's mask; sums and products of integers wrap."""
    name, axes, keep = layer.op.name, axes_of(layer.axes), layer.keep_dims
    operation = _OPERATIONS[name]
    one_type(layer, FLOATS | INTEGERS - ({np.dtype(np.int8)} if name == "AVG" else set()))

    def run(value: Array) -> Array:
        within(axes, value)
        reduced = operation(widen(value), axes)
        return reduced if keep else np.squeeze(reduced, axes)

    return run


@implements(trt.LayerType.CUMULATIVE)
def cumulative(layer: Layer) -> Run:
    """Running sums along one axis, from either end, with or without the element itself: TensorRT's ICumulativeLayer."""
    exclusive, reverse = layer.exclusive, layer.reverse
    one_type(layer, FLOATS | INTEGERS - {np.dtype(np.int8)}, 0)

    def run(value: Array, axis: Array) -> Array:
        if not -value.ndim <= axis < value.ndim:
            raise Refused(f"axis {axis} is not an axis of an input of {value.ndim} dimensions")
        wide = np.moveaxis(widen(value), int(axis), 0)
        if reverse:
            wide = wide[::-1]
        total = np.cumsum(wide, 0, wide.dtype)
        if exclusive:
            total = np.concatenate([np.zeros_like(total[:1]), total[:-1]])
        if reverse:
            total = total[::-1]
        return np.moveaxis(total, 0, int(axis))

    return run


@implements(trt.LayerType.TOPK)
def topk(layer: Layer) -> Run:
    """The k largest or smallest along an axis, the best first, and their indices; of equals the first comes first.

    k is the layer's, or its second input. TensorRT promises no order of equals, so none should be relied on.
    """
    largest, axis, fixed = layer.op.name == "MAX", single(axes_of(layer.axes)), layer.k
    indices_dtype = numpy_dtype(layer.get_output(1).dtype)
    one_type(layer, FLOATS | INTEGERS, 0)

    def run(value: Array, given: Array | None = None) -> tuple[Array, Array]:
        at_least(2, value)
        within((axis,), value)
        k = fixed if given is None else int(given)
        if not 0 <= k <= min(_MOST_TOP, value.shape[axis]):
            raise Refused(f"k is {k}, but must be from 0 to {min(_MOST_TOP, value.shape[axis])}")
        wide = widen(value)
        if largest:  # a stable sort of the reversed axis, read backwards, puts the first of equals first
            order = value.shape[axis] - 1 - np.flip(np.argsort(np.flip(wide, axis), axis, kind="stable"), axis)
        else:
            order = np.argsort(wide, axis, kind="stable")
        best = np.take(order, np.arange(k), axis)
        return np.take_along_axis(value, best, axis), best.astype(indices_dtype)

    return run
