"""The fill layer.

Source: the operator documentation of TensorRT for Fill.
"""

from __future__ import annotations

import numpy as np

from .._trt import Layer, trt
from ..dtypes import Array, numpy_dtype
from ..registry import Refused, Run, has_input, implements, random_generator


@implements(trt.LayerType.FILL)
def fill(layer: Layer) -> Run:
    """A new tensor: alpha + beta[0] * i + beta[1] * j + ... at place [i, j, ...], or random values.

    Shape, alpha and beta are attributes, or inputs 0, 1 and 2. Random values are uniform in [alpha, beta), or normal
    with mean alpha and deviation beta; those of an engine are others, so a seed only says that any will do.
    """
    dtype = numpy_dtype(layer.to_type)
    operation = layer.operation
    static_shape = None if has_input(layer, 0) else tuple(layer.shape)
    static_alpha = None if has_input(layer, 1) else np.array(layer.alpha, dtype)
    static_beta = None if has_input(layer, 2) else np.array(layer.beta, dtype)

    def run(shape: Array | None = None, alpha: Array | None = None, beta: Array | None = None) -> Array:
        sizes = static_shape if shape is None else tuple(shape.tolist())
        start = static_alpha if alpha is None else alpha
        delta = static_beta if beta is None else beta
        assert sizes is not None and start is not None and delta is not None
        if any(size < 0 for size in sizes):
            raise Refused(f"the shape {sizes} is negative")
        if start.shape != ():
            raise Refused(f"alpha must be a scalar, not of shape {start.shape}")
        if operation == trt.FillOperation.RANDOM_UNIFORM:
            return random_generator().uniform(float(start), float(delta), sizes).astype(dtype)
        if operation == trt.FillOperation.RANDOM_NORMAL:
            return random_generator().normal(float(start), float(delta), sizes).astype(dtype)
        if start.dtype != dtype or delta.dtype != dtype:
            raise Refused(f"alpha {start.dtype} and beta {delta.dtype} must be {dtype}, as the output")
        deltas = delta.reshape(-1)
        if deltas.size != len(sizes):
            raise Refused(f"beta must have one step for each of the {len(sizes)} dimensions, not {deltas.size}")
        result = np.full(sizes, start, dtype)
        for axis, (size, step) in enumerate(zip(sizes, deltas, strict=True)):
            steps = np.arange(size).astype(dtype) * step
            result += steps.reshape([-1 if place == axis else 1 for place in range(len(sizes))])
        return result

    return run
