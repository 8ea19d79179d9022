"""The weights that a layer holds itself, in shape."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..dtypes import Array
from ..registry import Refused
from ..weights import array_of


def own_weights(weights: Any, shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> Array | None:
    """A layer's weights, which TensorRT hands out flat, as an array of `shape`; None where the layer has none.

    Refused where their number or their type do not fit.
    """
    flat = array_of(weights)
    if flat is None:
        return None
    if flat.size != prod(shape):
        raise Refused(f"the {what} has {flat.size} weights, but {shape} needs {prod(shape)}")
    if flat.dtype != dtype:
        raise Refused(f"the {what} is {flat.dtype}, but must be of the input's type, {dtype}")
    return flat.reshape(shape)
