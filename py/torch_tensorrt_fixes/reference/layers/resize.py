"""Resizing: TensorRT's InterpolationMode, ResizeCoordinateTransformation, ResizeSelector and ResizeRoundMode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, Array, widen
from ..registry import Refused, Run, implements
from ._interpolation import cubic_taps, linear_taps
from ._refusals import one_type

_ROUND: dict[str, Callable[[Array], Array]] = {
    "HALF_UP": lambda x: np.floor(x + 0.5),
    "HALF_DOWN": lambda x: np.ceil(x - 0.5),
    "FLOOR": np.floor,
    "CEIL": np.ceil,
}
_RESIZED_AXES = {"LINEAR": 3, "CUBIC": 2}  # how many of the last axes can change; NEAREST resizes any


@implements(trt.LayerType.RESIZE)
def resize(layer: Layer) -> Run:
    """The input in the shape that the second input, the layer, or its scales give: length times scale, rounded down.

    Axis by axis, an output element is the weighted sum of the input elements around the place it comes from.
    IResizeLayer.
    """
    mode, transformation = layer.resize_mode.name, layer.coordinate_transformation.name
    nearest, upper = _ROUND[layer.nearest_rounding.name], layer.selector_for_single_pixel.name == "UPPER"
    coefficient, excludes = layer.cubic_coeff, layer.exclude_outside
    scales = () if layer.num_inputs > 1 else tuple(layer.scales or ())
    fixed = None if layer.num_inputs > 1 or scales else tuple(layer.shape)
    one_type(layer, FLOATS, 0)

    def wanted(value: Array, shape: Array | None) -> tuple[int, ...]:
        if shape is not None:
            return tuple(shape.tolist())
        if fixed is not None:
            return fixed
        if len(scales) != value.ndim:
            raise Refused(f"{len(scales)} scales do not fit an input of {value.ndim} dimensions")
        return tuple(int(np.float32(length) * np.float32(s)) for length, s in zip(value.shape, scales, strict=True))

    def origins(axis: int, old: int, new: int) -> Array:
        """The place in the input that each output element along an axis comes from."""
        place = np.arange(new, dtype=np.float32)
        if new == 1 and (upper or transformation == "ALIGN_CORNERS"):
            return place
        if transformation == "ALIGN_CORNERS":
            return place * (np.float32(old - 1) / np.float32(new - 1))
        # Scales count as they are, like ONNX's and PyTorch's, though lengths are rounded
        ratio = 1 / np.float32(scales[axis]) if scales else np.float32(old) / np.float32(new)
        return (place + 0.5) * ratio - 0.5 if transformation == "HALF_PIXEL" else place * ratio

    def weights(axis: int, old: int, new: int) -> Array:
        """(new, old): what each input element along an axis counts in each output element."""
        places = origins(axis, old, new)
        if mode == "NEAREST":
            taps, shares = nearest(places)[:, None], np.ones((new, 1), np.float32)
        else:
            taps, shares = linear_taps(places) if mode == "LINEAR" else cubic_taps(places, coefficient)
        if excludes:
            shares = np.where((taps >= 0) & (taps < old), shares, 0)
            shares = shares / shares.sum(1, keepdims=True)
        table = np.zeros((new, old), np.float32)
        np.add.at(table, (np.arange(new)[:, None], np.clip(taps, 0, old - 1).astype(np.int64)), shares)
        return table

    def run(value: Array, shape: Array | None = None) -> Array:
        lengths = wanted(value, shape)
        if len(lengths) != value.ndim:
            raise Refused(f"the output must have the input's rank {value.ndim}, but {lengths} is asked for")
        changed = [axis for axis in range(value.ndim) if lengths[axis] != value.shape[axis]]
        if changed and changed[0] < value.ndim - _RESIZED_AXES.get(mode, value.ndim):
            raise Refused(f"{mode} resizes the last {_RESIZED_AXES[mode]} axes, not axis {changed[0]} of {value.shape}")
        result = widen(value)
        for axis in changed:
            table = weights(axis, value.shape[axis], lengths[axis])
            result = np.moveaxis(np.tensordot(table, result, (1, axis)), 0, axis)
        return result

    return run
