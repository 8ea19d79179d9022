"""Matrix multiplication and einsum."""

from __future__ import annotations

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, Array, widen
from ..registry import Refused, Run, implements
from ._refusals import at_least, conformable, one_type


@implements(trt.LayerType.MATRIX_MULTIPLY)
def matrix_multiply(layer: Layer) -> Run:
    """Products of matrices or vectors in the last dimensions, the dimensions before them broadcast where they are 1.

    MatrixOperation says for each input whether its last two dimensions are a matrix, or a transposed one, or its last
    dimension a vector: a row on the left, a column on the right, gone from the result. IMatrixMultiplyLayer.
    """
    operations = layer.op0.name, layer.op1.name
    vectors = tuple(axis for axis, operation in zip((-2, -1), operations, strict=True) if operation == "VECTOR")
    one_type(layer, FLOATS)

    def matrices(value: Array, side: int) -> Array:
        operation = operations[side]
        at_least(1 if operation == "VECTOR" else 2, value)
        if operation == "VECTOR":
            return np.expand_dims(widen(value), (-2, -1)[side])
        return np.swapaxes(widen(value), -1, -2) if operation == "TRANSPOSE" else widen(value)

    def run(left: Array, right: Array) -> Array:
        a, b = matrices(left, 0), matrices(right, 1)
        conformable(a.shape[:-2], b.shape[:-2])
        if a.shape[-1] != b.shape[-2]:
            raise Refused(f"{a.shape[-1]} columns on the left do not meet {b.shape[-2]} rows on the right")
        return np.squeeze(a @ b, vectors)

    return run


@implements(trt.LayerType.EINSUM)
def einsum(layer: Layer) -> Run:
    """The sum that the layer's equation describes in Einstein's notation; lengths of 1 broadcast. IEinsumLayer."""
    equation = layer.equation
    one_type(layer, FLOATS)

    def run(*operands: Array) -> Array:
        try:
            return np.asarray(np.einsum(equation, *map(widen, operands), optimize=True))
        except ValueError as error:
            raise Refused(f"the equation {equation!r} does not fit: {error}") from error

    return run
