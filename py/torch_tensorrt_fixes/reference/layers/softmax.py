"""Softmax, plain and ragged."""

from __future__ import annotations

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, Array, widen
from ..registry import Refused, Run, axes_of, implements
from ._refusals import at_least, one_type, single, within


def softmax_along(value: Array, axis: int) -> Array:
    """Softmax of float32 `value`, computed so that it cannot overflow."""
    powers = np.exp(value - value.max(axis, keepdims=True, initial=-np.inf))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


@implements(trt.LayerType.SOFTMAX)
def softmax(layer: Layer) -> Run:
    """Softmax along the axis of the layer's mask."""
    axis = single(axes_of(layer.axes))
    one_type(layer, FLOATS)

    def run(value: Array) -> Array:
        at_least(2, value)
        within((axis,), value)
        return softmax_along(widen(value), axis)

    return run


@implements(trt.LayerType.RAGGED_SOFTMAX)
def ragged_softmax(layer: Layer) -> Run:
    """Softmax along the last axis of (B, Z, S) over as many elements as int32 bounds (B, Z, 1) say, and 0 past them."""
    one_type(layer, FLOATS, 0)
    one_type(layer, frozenset({np.dtype(np.int32)}), 1)

    def run(value: Array, bounds: Array) -> Array:
        if value.ndim != 3 or bounds.shape != (*value.shape[:2], 1):
            raise Refused(f"the input must be (B, Z, S) and the bounds (B, Z, 1), not {value.shape} and {bounds.shape}")
        inside = np.arange(value.shape[2]) < bounds
        return np.where(inside, softmax_along(np.where(inside, widen(value), -np.inf), 2), 0)

    return run
