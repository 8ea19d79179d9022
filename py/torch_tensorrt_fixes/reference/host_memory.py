"""Arrays at addresses: what an engine's bindings are made of."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from .dtypes import Array

Shape = tuple[int, ...]


def read(address: int, dtype: np.dtype[Any], shape: Shape) -> Array:
    """A read-only copy of the array of `dtype` and `shape` that lies at `address`, one element after the other."""
    # By way of bytes: a new array could take, and overwrite, the memory of one that was read and is gone.
    return np.frombuffer(bytes(_memory(address, dtype, shape)), np.uint8).view(dtype).reshape(shape)


def write(address: int, array: Array) -> None:
    """Put the elements of `array` at `address`, one after the other."""
    if array.size:
        place = np.frombuffer(_memory(address, array.dtype, array.shape), array.dtype)
        place.reshape(array.shape)[...] = array


def _memory(address: int, dtype: np.dtype[Any], shape: Shape) -> Any:
    size = math.prod(shape) * dtype.itemsize
    return (ctypes.c_uint8 * size).from_address(address) if size else b""
