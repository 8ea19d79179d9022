"""Layers that read and write at computed places: gather, scatter, nonzero, one-hot.

Sources: the operator documentation of TensorRT for Gather, Scatter, NonZero and OneHot. That of Gather wants every
index in [0, size), but where TensorRT folds a gather of constants it counts a negative one from the end and refuses
what is not in [-size, size). torch_tensorrt's converters rely on that, so it is the rule here. Nothing is clamped.
"""

from __future__ import annotations

import numpy as np

from .._trt import Layer, trt
from ..dtypes import Array, numpy_dtype
from ..registry import Refused, Run, implements, same_dtype


@implements(trt.LayerType.GATHER)
def gather(layer: Layer) -> Run:
    """Elements of the first input at the indices in the second, in one of three modes."""
    axis, batch_dims, mode = layer.axis, layer.num_elementwise_dims, layer.mode
    if mode != trt.GatherMode.ND and axis < batch_dims:
        raise Refused(f"the axis {axis} must be at least num_elementwise_dims, {batch_dims}")

    def default(value: Array, indices: Array) -> Array:
        _check(indices, value.shape[axis], f"axis {axis}")
        if batch_dims == 0:
            return value.take(indices, axis=axis)
        (count,) = np.broadcast_shapes(value.shape[:1], indices.shape[:1])
        value = np.broadcast_to(value, (count, *value.shape[1:]))
        indices = np.broadcast_to(indices, (count, *indices.shape[1:]))
        result = np.empty((*value.shape[:axis], *indices.shape[1:], *value.shape[axis + 1 :]), value.dtype)
        for row, data, places in zip(result, value, indices, strict=True):
            row[...] = data.take(places, axis=axis - 1)
        return result

    def element(value: Array, indices: Array) -> Array:
        _check(indices, value.shape[axis], f"axis {axis}")
        return np.take_along_axis(value[_corner(value, indices, axis)], indices, axis)

    def nd(value: Array, indices: Array) -> Array:
        batch = value.shape[:batch_dims]
        if indices.shape[:batch_dims] != batch or not batch_dims <= indices.ndim - 1:
            raise Refused(f"the first {batch_dims} dimensions of the indices must be {batch}, as the data's")
        depth = indices.shape[-1]
        if not 1 <= depth <= value.ndim - batch_dims:
            raise Refused(f"an index of {depth} numbers does not address data of rank {value.ndim - batch_dims}")
        for place in range(depth):
            _check(indices[..., place], value.shape[batch_dims + place], f"axis {batch_dims + place}")
        lead = np.indices(batch).reshape(batch_dims, *batch, *[1] * (indices.ndim - 1 - batch_dims))
        return np.asarray(value[(*lead, *np.moveaxis(indices, -1, 0))])

    modes = {trt.GatherMode.DEFAULT: default, trt.GatherMode.ELEMENT: element, trt.GatherMode.ND: nd}

    def run(value: Array, indices: Array) -> Array:
        if mode != trt.GatherMode.ND and not axis < value.ndim:
            raise Refused(f"the axis {axis} is not one of an input of rank {value.ndim}")
        return modes[mode](value, indices)

    return run


@implements(trt.LayerType.SCATTER)
def scatter(layer: Layer) -> Run:
    """The first input with the third written over it at the places in the second.

    TensorRT writes in any order where places are named twice; here the last one stands.
    """
    axis, by_element = layer.axis, layer.mode == trt.ScatterMode.ELEMENT

    def run(value: Array, indices: Array, updates: Array) -> Array:
        same_dtype(value, updates)
        result = value.copy()
        if by_element:
            if updates.shape != indices.shape:
                raise Refused("the updates must have the shape of the indices")
            if not -value.ndim <= axis < value.ndim:
                raise Refused(f"the axis {axis} is not one of an input of rank {value.ndim}")
            _corner(value, indices)
            _check(indices, value.shape[axis], f"axis {axis}")
            np.put_along_axis(result[_corner(value, indices, axis)], indices, updates, axis)
            return result
        depth = indices.shape[-1]
        if not 1 <= depth <= value.ndim:
            raise Refused(f"an index of {depth} numbers does not address data of rank {value.ndim}")
        wanted = (*indices.shape[:-1], *value.shape[depth:])
        if updates.shape != wanted:
            raise Refused(f"the updates must have the shape {wanted}: one slice of the data for each index")
        for place in range(depth):
            _check(indices[..., place], value.shape[place], f"axis {place}")
        result[tuple(np.moveaxis(indices, -1, 0))] = updates
        return result

    return run


def _check(indices: Array, size: int, where: str, lowest: int | None = None) -> None:
    lowest = -size if lowest is None else lowest
    if indices.dtype not in (np.int32, np.int64):
        raise Refused(f"the indices must be int32 or int64, not {indices.dtype}; cast them first")
    outside = indices[(indices < lowest) | (indices >= size)]
    if outside.size:
        raise Refused(
            f"{outside.size} of {indices.size} indices are out of bounds, the first is {outside[0]}: {where} takes"
            f" [{lowest}, {size}). TensorRT clamps nothing; bring them into that range first"
        )


def _corner(value: Array, indices: Array, axis: int | None = None) -> tuple[slice, ...]:
    """The part of `value` that indices of a smaller shape reach, whole along `axis`."""
    axis = None if axis is None else axis % value.ndim
    if indices.ndim != value.ndim or any(
        indices.shape[place] > value.shape[place] for place in range(value.ndim) if place != axis
    ):
        raise Refused(f"the indices {indices.shape} must have the rank of the data {value.shape} and reach no further")
    return tuple(slice(None if place == axis else size) for place, size in enumerate(indices.shape))


@implements(trt.LayerType.NON_ZERO)
def nonzero(layer: Layer) -> Run:
    """Where the input is not zero, in row-major order: [rank, number of them]."""
    dtype = numpy_dtype(layer.get_output(0).dtype)

    def run(value: Array) -> Array:
        return np.asarray(np.argwhere(value != 0).T, dtype)

    return run


@implements(trt.LayerType.ONE_HOT)
def one_hot(layer: Layer) -> Run:
    """`values[1]` at the index along a new axis of size `depth`, `values[0]` elsewhere."""
    axis = layer.axis

    def run(indices: Array, values: Array, depth: Array) -> Array:
        if values.shape != (2,):
            raise Refused(f"the values must be [off, on], not of shape {values.shape}")
        if depth.shape != () or depth <= 0:
            raise Refused(f"the depth must be one positive number, not {depth.tolist()}")
        _check(indices, int(depth), "the new axis", lowest=0)
        hot = indices[..., np.newaxis] == np.arange(int(depth))
        return np.asarray(np.where(np.moveaxis(hot, -1, axis), values[1], values[0]))

    return run
