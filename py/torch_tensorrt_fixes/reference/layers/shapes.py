"""Layers about shapes: shape, shuffle, squeeze, unsqueeze.

Sources: the operator documentation of TensorRT for Shape, Shuffle, Squeeze and Unsqueeze, and the docstrings of its
Python package.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from .._trt import Layer, trt
from ..dtypes import Array
from ..registry import Refused, Run, has_input, implements


@implements(trt.LayerType.SHAPE)
def shape(layer: Layer) -> Run:
    """The dimensions of the input, int64 [rank]."""

    def run(value: Array) -> Array:
        return np.array(value.shape, np.int64)

    return run


@implements(trt.LayerType.SHUFFLE)
def shuffle(layer: Layer) -> Run:
    """A transposition, then a reshape, then a second transposition; the new shape may come as a second input."""
    first, second = tuple(layer.first_transpose), tuple(layer.second_transpose)
    static = None if has_input(layer, 1) else layer.reshape_dims  # None: keep the shape
    zero_copies = layer.zero_is_placeholder

    def run(value: Array, dims: Array | None = None) -> Array:
        value = _transposed(value, first)
        wanted = static if dims is None else dims.tolist()
        if wanted is not None:
            value = value.reshape(_new_shape(value.shape, tuple(wanted), zero_copies))
        return _transposed(value, second)

    return run


def _transposed(value: Array, permutation: Sequence[int]) -> Array:
    axes = permutation[: value.ndim]
    if sorted(axes) != list(range(value.ndim)):
        raise Refused(f"{axes} is no permutation of the {value.ndim} dimensions of {value.shape}")
    return value.transpose(axes)


def _new_shape(old: tuple[int, ...], dims: tuple[int, ...], zero_copies: bool) -> tuple[int, ...]:
    """`dims` with 0 standing for the dimension of `old` at that place (if it is a placeholder) and -1 for what is
    left."""
    if zero_copies and any(size == 0 for size in dims[len(old) :]):
        raise Refused(f"the reshape to {dims} copies a dimension that the input of shape {old} does not have")
    sizes = [old[place] if size == 0 and zero_copies else size for place, size in enumerate(dims)]
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise Refused(f"the reshape to {dims} must have no negative dimension but one -1")
    known = prod(size for size in sizes if size != -1)
    if -1 in sizes:
        if known == 0:
            raise Refused(f"the reshape of {old} to {dims} leaves -1 open: the other dimensions hold nothing")
        sizes[sizes.index(-1)] = prod(old) // known
    if prod(sizes) != prod(old):
        raise Refused(f"the reshape does not fit: {old} has {prod(old)} elements, {dims} makes {prod(sizes)} of them")
    return tuple(sizes)


@implements(trt.LayerType.SQUEEZE)
def squeeze(layer: Layer) -> Run:
    """The input without the dimensions of 1 that the second input names."""

    def run(value: Array, axes: Array) -> Array:
        places = _places(axes, value.ndim)
        if any(value.shape[place] != 1 for place in places):
            raise Refused(f"only dimensions of 1 can be squeezed, not axes {places} of {value.shape}")
        return value.squeeze(places)

    return run


@implements(trt.LayerType.UNSQUEEZE)
def unsqueeze(layer: Layer) -> Run:
    """The input with dimensions of 1 where, counted in the output, the second input says."""

    def run(value: Array, axes: Array) -> Array:
        return np.expand_dims(value, _places(axes, value.ndim + axes.size))

    return run


def _places(axes: Array, rank: int) -> tuple[int, ...]:
    named = axes.reshape(-1).tolist()
    places = tuple(axis % rank for axis in named if -rank <= axis < rank)
    if len(set(places)) != len(named):
        raise Refused(f"the axes {named} must be different ones of [-{rank}, {rank})")
    return places
