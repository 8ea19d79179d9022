"""TensorRT's data types and NumPy's."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ._trt import DataType, trt

Array = np.ndarray[Any, np.dtype[Any]]

_NUMPY: dict[str, type] = {
    "FLOAT": np.float32,
    "HALF": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "FP8": ml_dtypes.float8_e4m3fn,
    "FP4": ml_dtypes.float4_e2m1fn,
    "E8M0": ml_dtypes.float8_e8m0fnu,
    "INT64": np.int64,
    "INT32": np.int32,
    "INT8": np.int8,
    "INT4": ml_dtypes.int4,
    "UINT8": np.uint8,
    "BOOL": np.bool_,
}

NARROW_FLOATS = frozenset(np.dtype(_NUMPY[name]) for name in ("HALF", "BF16", "FP8", "FP4", "E8M0"))
FLOATS = frozenset(np.dtype(_NUMPY[name]) for name in ("FLOAT", "HALF", "BF16"))
INTEGERS = frozenset(np.dtype(_NUMPY[name]) for name in ("INT64", "INT32", "INT8"))


def numpy_dtype(dtype: DataType) -> np.dtype[Any]:
    """The NumPy type that holds values of TensorRT's `dtype`."""
    return np.dtype(_NUMPY[dtype.name])


def trt_dtype(dtype: Any) -> DataType:
    """TensorRT's name for a NumPy type; TypeError for one that TensorRT has not, as float64."""
    wanted = np.dtype(dtype)
    for name, known in _NUMPY.items():
        if np.dtype(known) == wanted and hasattr(trt.DataType, name):
            return getattr(trt.DataType, name)
    raise TypeError(f"TensorRT has no {wanted}; it has {', '.join(str(np.dtype(known)) for known in _NUMPY.values())}")


def widen(array: Array) -> Array:
    """`array` as a type to compute in: float32 for float16, bfloat16 and the smaller floats, anything else as it is.

    The evaluator rounds a float32 result to the type of the layer's output.
    """
    return array.astype(np.float32) if array.dtype in NARROW_FLOATS else array


def rounded(array: Array, dtype: np.dtype[Any]) -> Array:
    """float32 results rounded to the float type declared for them; anything else as it is."""
    return array.astype(dtype) if array.dtype == np.float32 and dtype in NARROW_FLOATS else array
