"""Binary operations, element by element.

Types and shapes: TensorRT's ElementWiseOperation and IElementWiseLayer. The signs of quotients and the value of an
integer power are those of TensorRT's own folding of shape arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, INTEGERS, Array, widen
from ..registry import Refused, Run, implements
from ._refusals import Types, conformable, one_type

_NUMBERS: Types = FLOATS | INTEGERS
_BOOL: Types = frozenset({np.dtype(np.bool_)})


def _nonzero(divisor: Array) -> None:
    if not divisor.all():
        raise Refused("integer division by zero")


def _divide(a: Array, b: Array) -> Array:
    """The quotient, of integers the one truncated towards zero."""
    if a.dtype not in INTEGERS:
        return a / b
    _nonzero(b)
    quotient: Array = a // b
    rounded_down: Array = (quotient < 0) & (quotient * b != a)
    return np.add(quotient, rounded_down, dtype=quotient.dtype)


def _floor_divide(a: Array, b: Array) -> Array:
    if a.dtype not in INTEGERS:
        return np.floor(a / b)  # NumPy's floor_divide corrects the rounding of a / b, which TensorRT does not
    _nonzero(b)
    return a // b


def _power(base: Array, exponent: Array) -> Array:
    """The power, of integers truncated towards zero: a negative exponent gives 0, but for a base of 1 or -1."""
    if base.dtype not in INTEGERS:
        return np.power(base, exponent)
    if ((base == 0) & (exponent < 0)).any():
        raise Refused("zero to a negative integer power")
    whole = (exponent >= 0) | (np.abs(base) == 1)
    return np.where(whole, np.power(base, np.abs(exponent)), 0)


_OPERATIONS: dict[str, tuple[Callable[[Array, Array], Array], Types]] = {
    "SUM": (np.add, _NUMBERS),
    "PROD": (np.multiply, _NUMBERS),
    "MAX": (np.maximum, _NUMBERS),
    "MIN": (np.minimum, _NUMBERS),
    "SUB": (np.subtract, _NUMBERS),
    "DIV": (_divide, _NUMBERS),
    "POW": (_power, _NUMBERS - {np.dtype(np.int8)}),
    "FLOOR_DIV": (_floor_divide, _NUMBERS),
    "AND": (np.logical_and, _BOOL),
    "OR": (np.logical_or, _BOOL),
    "XOR": (np.logical_xor, _BOOL),
    "EQUAL": (np.equal, _NUMBERS | _BOOL),
    "GREATER": (np.greater, _NUMBERS),
    "LESS": (np.less, _NUMBERS),
}


@implements(trt.LayerType.ELEMENTWISE)
def elementwise(layer: Layer) -> Run:
    """The operation on two tensors of one type and rank, dimensions of 1 broadcast; integers wrap."""
    operation, types = _OPERATIONS[layer.op.name]
    one_type(layer, types)

    def run(a: Array, b: Array) -> Array:
        conformable(a.shape, b.shape)
        return operation(widen(a), widen(b))

    return run
