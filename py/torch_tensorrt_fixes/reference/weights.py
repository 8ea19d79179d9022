"""The values of a layer's constant weights as a NumPy array."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from .dtypes import Array, numpy_dtype
from .registry import Refused

_PACKED = {np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.float4_e2m1fn)}  # two to a byte, the low half first


class _Weights(ctypes.Structure):
    """The layout of nvinfer1::Weights."""

    _fields_ = [("type", ctypes.c_int32), ("values", ctypes.c_void_p), ("count", ctypes.c_int64)]


def array_of(weights: Any) -> Array | None:
    """Flat, read-only values of what a layer returns as weights, in their own type; None where there are none.

    TensorRT's Python package hands over an array for the types that NumPy knows by itself. For bfloat16, float8, int4
    and float4 it hands over a `trt.Weights` that does not give its values, so they are read where it points to.
    """
    if weights is None:
        return None
    array = weights if isinstance(weights, np.ndarray) else _pointed_to(weights)
    if array.size == 0:
        return None
    array = array.view()
    array.flags.writeable = False
    return array


def _pointed_to(weights: Any) -> Array:
    dtype = numpy_dtype(weights.dtype)
    if weights.size == 0:
        return np.empty(0, dtype)
    # pybind11 keeps the address of the C++ object right behind the head that every Python object has.
    address = ctypes.c_void_p.from_address(id(weights) + object.__basicsize__).value
    native = _Weights.from_address(address or 0)
    if native.type != int(weights.dtype) or native.count != weights.size or not native.values:
        raise Refused(
            f"the values of {weights.size} {dtype} weights cannot be read with this TensorRT; give them as arrays"
        )
    size = (native.count + 1) // 2 if dtype in _PACKED else native.count * dtype.itemsize
    stored = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(native.values))
    if dtype not in _PACKED:
        return stored.view(dtype)
    halves = np.stack([stored & 15, stored >> 4], axis=-1).reshape(-1)[: native.count]
    if dtype == ml_dtypes.int4:
        return (halves.astype(np.int8) << 4 >> 4).astype(dtype)
    return halves.view(dtype)
