"""Activations: TensorRT's ActivationType, and the parametric ReLU, whose slopes are a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, INTEGERS, Array, widen
from ..registry import Run, implements
from ._refusals import broadcasts_to, one_type
from .unary import erf

Activation = Callable[[Array, float, float], Array]

_ACTIVATIONS: dict[str, Activation] = {
    "RELU": lambda x, alpha, beta: np.maximum(x, 0),
    "SIGMOID": lambda x, alpha, beta: 1 / (1 + np.exp(-x)),
    "TANH": lambda x, alpha, beta: np.tanh(x),
    "LEAKY_RELU": lambda x, alpha, beta: np.where(x >= 0, x, alpha * x),
    "ELU": lambda x, alpha, beta: np.where(x >= 0, x, alpha * np.expm1(x)),
    "SELU": lambda x, alpha, beta: beta * np.where(x > 0, x, alpha * np.expm1(x)),
    "SOFTSIGN": lambda x, alpha, beta: x / (1 + np.abs(x)),
    "SOFTPLUS": lambda x, alpha, beta: alpha * np.logaddexp(0, beta * x),  # log(1 + exp(beta * x)) that cannot overflow
    "CLIP": lambda x, alpha, beta: np.maximum(alpha, np.minimum(beta, x)),
    "HARD_SIGMOID": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "SCALED_TANH": lambda x, alpha, beta: alpha * np.tanh(beta * x),
    "THRESHOLDED_RELU": lambda x, alpha, beta: np.where(x > alpha, x, 0),
    "GELU_ERF": lambda x, alpha, beta: 0.5 * x * (1 + erf(math.sqrt(0.5) * x)),
    "GELU_TANH": lambda x, alpha, beta: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (0.044715 * x**3 + x))),
}


@implements(trt.LayerType.ACTIVATION)
def activation(layer: Layer) -> Run:
    """The activation with the layer's alpha and beta: on floats, RELU on integers too."""
    name, alpha, beta = layer.type.name, layer.alpha, layer.beta
    function = _ACTIVATIONS[name]
    one_type(layer, FLOATS | INTEGERS if name == "RELU" else FLOATS)

    def run(value: Array) -> Array:
        return function(widen(value), alpha, beta)

    return run


@implements(trt.LayerType.PARAMETRIC_RELU)
def parametric_relu(layer: Layer) -> Run:
    """x where it is not negative, and x times its slope elsewhere; the slopes broadcast to the input."""
    one_type(layer, FLOATS)

    def run(value: Array, slopes: Array) -> Array:
        broadcasts_to(slopes, value, "slope")
        wide = widen(value)
        return np.where(wide >= 0, wide, wide * widen(slopes))

    return run
