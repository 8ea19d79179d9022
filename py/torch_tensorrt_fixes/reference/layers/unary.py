"""Operations on one tensor, element by element: TensorRT's UnaryOperation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, INTEGERS, Array, widen
from ..registry import Run, implements
from ._refusals import Types, one_type


def erf(value: Array) -> Array:
    """The error function, which NumPy has not."""
    return np.fromiter(map(math.erf, value.ravel().tolist()), np.float32, value.size).reshape(value.shape)


_OPERATIONS: dict[str, Callable[[Array], Array]] = {
    "EXP": np.exp,
    "LOG": np.log,
    "SQRT": np.sqrt,
    "RECIP": lambda x: 1 / x,
    "ABS": np.abs,
    "NEG": np.negative,
    "SIN": np.sin,
    "COS": np.cos,
    "TAN": np.tan,
    "SINH": np.sinh,
    "COSH": np.cosh,
    "ASIN": np.arcsin,
    "ACOS": np.arccos,
    "ATAN": np.arctan,
    "ASINH": np.arcsinh,
    "ACOSH": np.arccosh,
    "ATANH": np.arctanh,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "ERF": erf,
    "NOT": np.logical_not,
    "SIGN": np.sign,
    "ROUND": np.rint,  # halves to even
    "ISINF": np.isinf,
    "ISNAN": np.isnan,
}

_TYPES: dict[str, Types] = {
    "NOT": frozenset({np.dtype(np.bool_)}),
    "ABS": FLOATS | INTEGERS,
    "NEG": FLOATS | INTEGERS,
    "SIGN": FLOATS | INTEGERS,
}


@implements(trt.LayerType.UNARY)
def unary(layer: Layer) -> Run:
    """The operation: on floats, ABS, NEG and SIGN on integers too, NOT on booleans."""
    name = layer.op.name
    operation = _OPERATIONS[name]
    one_type(layer, _TYPES.get(name, FLOATS))

    def run(value: Array) -> Array:
        return operation(widen(value))

    return run
