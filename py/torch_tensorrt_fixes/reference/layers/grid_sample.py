"""Sampling at the places of a grid."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, Array, widen
from ..registry import Refused, Run, implements
from ._interpolation import Taps, cubic_taps, linear_taps
from ._refusals import one_type

_CUBIC_COEFFICIENT = -0.75


@implements(trt.LayerType.GRID_SAMPLE)
def grid_sample(layer: Layer) -> Run:
    """(N, C, ...) sampled where the grid (N, ..., 2 or 3) says: x, y (, z) from -1 to 1 across the input.

    -1 and 1 are the centres of the outermost elements with align_corners, and their outer edges without. Beyond the
    input there are zeros (FILL), its border (CLAMP), or its mirror image (REFLECT). IGridSampleLayer, with the meaning
    of ONNX's GridSample.
    """
    mode, aligned, beyond = layer.interpolation_mode.name, layer.align_corners, layer.sample_mode.name
    one_type(layer, FLOATS)

    def inside(places: Array, length: int) -> Array:
        """`places` moved into the input as the sample mode says."""
        if beyond == "REFLECT":
            low, span = (0.0, length - 1) if aligned else (-0.5, length)
            if span == 0:
                return np.zeros_like(places)
            distance = np.abs(places - low) % (2 * span)
            places = np.minimum(distance, 2 * span - distance) + low
        return places if beyond == "FILL" else np.clip(places, 0, length - 1)

    def taps(coordinates: Array, length: int) -> Taps:
        """The elements along one axis that each sample is made of, and their shares."""
        places = (coordinates + 1) / 2 * (length - 1) if aligned else ((coordinates + 1) * length - 1) / 2
        if mode == "CUBIC":
            neighbours, shares = cubic_taps(places, _CUBIC_COEFFICIENT)
            neighbours = inside(neighbours, length)
        elif mode == "LINEAR":
            neighbours, shares = linear_taps(inside(places, length))
        else:
            neighbours = np.rint(inside(places, length))[..., None]
            shares = np.ones_like(neighbours)
        shares = np.where((neighbours >= 0) & (neighbours < length), shares, 0)
        return np.clip(neighbours, 0, length - 1).astype(np.int64), shares

    def run(value: Array, grid: Array) -> Array:
        spatial = value.ndim - 2
        if spatial not in (2, 3) or grid.ndim != value.ndim or grid.shape[-1] != spatial or len(grid) != len(value):
            raise Refused(
                f"the grid {grid.shape} must be (N, ..., {spatial}), of the rank and the N of the input {value.shape}"
            )
        wide, places = widen(value), widen(grid)
        by_axis = [taps(places[..., spatial - 1 - axis], value.shape[2 + axis]) for axis in range(spatial)]
        batch = np.arange(len(value)).reshape(-1, *(1,) * spatial)
        result = np.zeros((len(value), *grid.shape[1:-1], value.shape[1]), np.float32)
        for choice in itertools.product(*(range(shares.shape[-1]) for _, shares in by_axis)):
            chosen = [(where[..., i], shares[..., i]) for i, (where, shares) in zip(choice, by_axis, strict=True)]
            elements = np.moveaxis(wide, 1, -1)[(batch, *(where for where, _ in chosen))]
            result += elements * reduce(np.multiply, (shares for _, shares in chosen))[..., None]
        return np.moveaxis(result, -1, 1)

    return run
