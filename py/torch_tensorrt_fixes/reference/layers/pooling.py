"""Pooling over windows of the last two or three dimensions."""

from __future__ import annotations

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, Array, widen
from ..registry import Refused, Run, implements
from ._refusals import at_least, one_type
from ._windows import Windows


@implements(trt.LayerType.POOLING)
def pooling(layer: Layer) -> Run:
    """The largest element of each window, the average, or a blend of both. IPoolingLayer.

    The average is over the elements of the input that the window meets, or, with average_count_excludes_padding off,
    over those of the padded input; what rounding the output up adds to the end never counts.
    """
    windows = Windows.of(layer, layer.window_size_nd, (1,) * len(layer.window_size_nd))
    kind, blend, excludes = layer.type.name, layer.blend_factor, layer.average_count_excludes_padding
    axes = tuple(range(-len(windows.kernel), 0))
    one_type(layer, FLOATS)
    if kind != "MAX" and excludes and windows.explicit:
        pairs = zip((*windows.before, *windows.after), windows.kernel * 2, strict=True)
        if any(padding >= length for padding, length in pairs):
            raise Refused("padding as large as the window leaves an average that excludes padding without elements")

    def largest(value: Array) -> Array:
        return np.asarray(windows.over(value, -np.inf).max(axes))

    def average(value: Array) -> Array:
        padding = windows.padding(value.shape[axes[0] :])
        counted = windows.padded(np.ones_like(value), padding, 0 if excludes else 1)
        return np.asarray(windows.over(value, 0).sum(axes) / windows.slide(counted, 0).sum(axes))

    def blended(value: Array) -> Array:
        return np.asarray((1 - blend) * largest(value) + blend * average(value))

    pool = {"MAX": largest, "AVERAGE": average, "MAX_AVERAGE_BLEND": blended}[kind]

    def run(value: Array) -> Array:
        at_least(2 + len(axes), value)
        return pool(widen(value))

    return run
