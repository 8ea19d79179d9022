"""What layers of several files refuse alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._trt import Layer
from ..dtypes import Array, numpy_dtype
from ..registry import Refused

Types = frozenset[np.dtype[Any]]


def one_type(layer: Layer, allowed: Types, *indices: int) -> None:
    """Refuse the inputs at `indices`, all of them by default, unless they are of one type and that is among `allowed`.

    A strongly typed network converts nothing by itself.
    """
    inputs = [layer.get_input(i) for i in indices or range(layer.num_inputs)]
    dtypes = [numpy_dtype(tensor.dtype) for tensor in inputs if tensor is not None]
    if len(set(dtypes)) > 1:
        raise Refused(
            f"the inputs must have one type, not {', '.join(map(str, dtypes))}; cast them to a common type first"
        )
    if not allowed.issuperset(dtypes):
        known = ", ".join(sorted(map(str, allowed)))
        raise Refused(f"TensorRT computes this in {known}, not in {dtypes[0]}; cast the input first")


def conformable(*shapes: tuple[int, ...]) -> None:
    """Refuse to broadcast what TensorRT does not: ranks must be equal, and so must dimensions other than 1."""
    if len({len(shape) for shape in shapes}) > 1:
        raise Refused(
            f"the shapes {shapes} differ in rank; TensorRT adds no dimensions by itself, so reshape to one rank"
        )
    for axis, lengths in enumerate(zip(*shapes, strict=True)):
        if len(set(lengths) - {1}) > 1:
            raise Refused(f"the shapes {shapes} do not fit at axis {axis}: dimensions must be equal, or 1")


def broadcasts_to(array: Array, target: Array, what: str) -> None:
    """Refuse `array` unless it can be broadcast to the shape of `target`, which must not grow for it."""
    fits = array.ndim == target.ndim and all(a in (1, t) for a, t in zip(array.shape, target.shape, strict=True))
    if not fits:
        raise Refused(
            f"the {what} has shape {array.shape}, which does not broadcast to the input's {target.shape}: it needs the"
            " same rank, and in each dimension the same length or 1"
        )


def at_least(rank: int, array: Array) -> None:
    """Refuse an input of fewer than `rank` dimensions."""
    if array.ndim < rank:
        raise Refused(f"the input must have at least {rank} dimensions, not {array.ndim}; reshape it first")


def within(axes: tuple[int, ...], array: Array) -> None:
    """Refuse `axes` that `array` does not have, and no axes at all."""
    if not axes or max(axes) >= array.ndim:
        raise Refused(f"the axes {axes} are not axes of an input of {array.ndim} dimensions")


def single(axes: tuple[int, ...]) -> int:
    """The one axis of `axes`; Refused for none or several."""
    if len(axes) != 1:
        raise Refused(f"TensorRT works along one axis here, not along {axes}")
    return axes[0]
