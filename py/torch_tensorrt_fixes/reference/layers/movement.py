"""Layers that hold, convert, join and choose values.

Sources: the operator documentation of TensorRT for Constant, Cast, Identity, Concatenation, Select, Padding,
ReverseSequence and Assertion, and the docstrings of its Python package.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._trt import Layer, trt
from ..dtypes import Array, numpy_dtype, widen
from ..registry import Refused, Run, implements, same_dtype
from ..weights import array_of

_CASTS = frozenset(
    numpy_dtype(dtype)
    for dtype in (
        *(trt.bool, trt.uint8, trt.int8, trt.int32, trt.int64),
        *(trt.float16, trt.bfloat16, trt.float32),
    )
)


@implements(trt.LayerType.CONSTANT)
def constant(layer: Layer) -> Run:
    """The layer's weights in its shape."""
    shape = tuple(layer.shape)
    dtype = numpy_dtype(layer.get_output(0).dtype)
    if dtype == np.uint8:
        raise Refused("TensorRT has no constants of uint8; make it int32 or float32")
    weights = array_of(layer.weights)
    value = np.empty(0, dtype) if weights is None else weights
    if value.size != np.prod(shape, dtype=np.int64):
        raise Refused(f"{value.size} values do not fill the shape {shape}")
    value = value.reshape(shape)

    def run() -> Array:
        return value

    return run


@implements(trt.LayerType.CAST)
def cast(layer: Layer) -> Run:
    """Every value in another type, any of bool, the integers, uint8 and the floats of 16 and 32 bits."""
    to_type = numpy_dtype(layer.to_type)
    if to_type not in _CASTS:
        raise Refused(f"a cast cannot make {to_type}; quantize and dequantize layers convert it")

    def run(value: Array) -> Array:
        if value.dtype not in _CASTS:
            raise Refused(f"a cast cannot read {value.dtype}; quantize and dequantize layers convert it")
        return converted(value, to_type)

    return run


@implements(trt.LayerType.IDENTITY, trt.LayerType.CONDITIONAL_INPUT)
def identity(layer: Layer) -> Run:
    """The input as it is; in a strongly typed network the output has the input's type."""

    def run(value: Array) -> Array:
        return value

    return run


def converted(value: Array, dtype: np.dtype[Any]) -> Array:
    """`value` as TensorRT converts it: floats are truncated towards zero and held within the integer's range.

    TensorRT leaves open what becomes of a float out of an integer's range. This is what a GPU does: the nearest
    integer, and 0 for NaN. Integers wrap, floats are rounded to the nearest, a bool is whether the value is not zero.
    """
    if value.dtype == dtype:
        return value
    if dtype == np.bool_:
        return np.asarray(value != 0)
    if dtype.kind in "iu" and value.dtype.kind not in "iub":
        bounds = np.iinfo(dtype)
        whole = np.nan_to_num(np.trunc(widen(value).astype(np.float64)), nan=0.0)
        inside = whole.clip(float(bounds.min), float(bounds.max)).astype(dtype)
        return np.where(whole >= float(bounds.max), bounds.max, inside).astype(dtype)
    if dtype.kind in "iu":
        return value.astype(dtype)
    return widen(value).astype(np.float32).astype(dtype)


@implements(trt.LayerType.CONCATENATION)
def concatenation(layer: Layer) -> Run:
    """The inputs one after the other along `axis`; every other dimension is the same in all of them."""
    axis = layer.axis

    def run(*values: Array) -> Array:
        same_dtype(*values)
        others = {(*value.shape[:axis], *value.shape[axis + 1 :]) for value in values}
        if len({value.ndim for value in values}) > 1 or axis >= values[0].ndim or len(others) > 1:
            raise Refused(f"the inputs must be alike in rank and in every dimension but axis {axis}")
        return np.concatenate(values, axis=axis)

    return run


@implements(trt.LayerType.SELECT)
def select(layer: Layer) -> Run:
    """The second input where the first is true, else the third; dimensions of 1 are stretched, ranks are the same."""

    def run(condition: Array, chosen: Array, otherwise: Array) -> Array:
        if condition.dtype != np.bool_:
            raise Refused(f"the condition must be bool, not {condition.dtype}; compare or cast it first")
        same_dtype(chosen, otherwise)
        if not condition.ndim == chosen.ndim == otherwise.ndim:
            raise Refused("the inputs must have one rank; insert dimensions of 1 with a shuffle")
        return np.where(condition, chosen, otherwise)

    return run


@implements(trt.LayerType.PADDING)
def padding(layer: Layer) -> Run:
    """Zeros around the last two dimensions; a negative padding trims."""
    pairs = list(zip(layer.pre_padding_nd, layer.post_padding_nd, strict=True))

    def run(value: Array) -> Array:
        if value.ndim < len(pairs) + 1:
            raise Refused(f"a padding of {len(pairs)} dimensions needs an input of rank {len(pairs) + 1} or more")
        around = [(0, 0)] * (value.ndim - len(pairs)) + pairs
        kept = tuple(
            slice(max(-pre, 0), size - max(-post, 0)) for (pre, post), size in zip(around, value.shape, strict=True)
        )
        if any(place.stop < place.start for place in kept):
            raise Refused(f"the padding {pairs} trims more than there is")
        added = [(max(pre, 0), max(post, 0)) for pre, post in around]
        return np.pad(value[kept], added)

    return run


@implements(trt.LayerType.REVERSE_SEQUENCE)
def reverse_sequence(layer: Layer) -> Run:
    """The first `lengths[i]` elements along the sequence axis reversed in the i-th slice along the batch axis."""
    batch_axis, sequence_axis = layer.batch_axis, layer.sequence_axis

    def run(value: Array, lengths: Array) -> Array:
        batches, steps = value.shape[batch_axis], value.shape[sequence_axis]
        if lengths.shape != (batches,):
            raise Refused(f"there must be one length for each of the {batches} slices along axis {batch_axis}")
        if ((lengths < 0) | (lengths > steps)).any():
            raise Refused(f"the lengths {lengths.tolist()} must be in [0, {steps}], the size of axis {sequence_axis}")
        ordered = np.moveaxis(value, (batch_axis, sequence_axis), (0, 1)).copy()
        for row, length in zip(ordered, lengths.tolist(), strict=True):
            row[:length] = row[:length][::-1].copy()
        return np.moveaxis(ordered, (0, 1), (batch_axis, sequence_axis))

    return run


@implements(trt.LayerType.ASSERTION)
def assertion(layer: Layer) -> Run:
    """Refuse to go on unless every value is true."""
    message = layer.message

    def run(condition: Array) -> tuple[()]:
        if not condition.all():
            raise Refused(f"the assertion does not hold: {message or 'it has no message'}")
        return ()

    return run
