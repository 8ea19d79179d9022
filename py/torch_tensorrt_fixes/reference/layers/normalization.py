"""Layers that rescale: normalization, local response normalization, scale."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .._trt import Layer, trt
from ..dtypes import FLOATS, Array, widen
from ..registry import Refused, Run, axes_of, implements
from ._refusals import at_least, broadcasts_to, one_type, within
from ._weights import own_weights


def _standard(value: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """`value` with mean 0 and variance 1 over `axes`."""
    centred = value - value.mean(axes, keepdims=True)
    return np.asarray(centred / np.sqrt(np.square(centred).mean(axes, keepdims=True) + epsilon))


@implements(trt.LayerType.NORMALIZATION)
def normalization(layer: Layer) -> Run:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, over the axes of the layer's mask. INormalizationLayer.

    With num_groups the channels, axis 1, are split into groups, and each is normalized with all that follows it; the
    mask must then hold every axis after the channels. scale and bias have a value for each group then, or for each
    channel where the layer is from add_normalization_v2.
    """
    axes, epsilon, groups = axes_of(layer.axes), layer.epsilon, layer.num_groups
    by_channel = getattr(layer, "is_v2", False)  # newer than the layer itself
    one_type(layer, FLOATS)

    def grouped(value: Array, scale: Array, bias: Array) -> Array:
        at_least(3, value)
        batch, channels, *rest = value.shape
        if channels % groups:
            raise Refused(f"{groups} groups do not divide {channels} channels")
        if axes != tuple(range(2, value.ndim)):
            raise Refused(f"normalization in {groups} groups is over every axis after the channels, not over {axes}")
        wanted = (1, channels if by_channel else groups, *(1 for _ in rest))
        if scale.shape != wanted or bias.shape != wanted:
            raise Refused(f"scale and bias must be {wanted}, not {scale.shape} and {bias.shape}")
        split = widen(value).reshape(batch, groups, channels // groups, *rest)
        standard = _standard(split, tuple(range(2, split.ndim)), epsilon).reshape(value.shape)
        if not by_channel:
            scale, bias = np.repeat(scale, channels // groups, 1), np.repeat(bias, channels // groups, 1)
        return standard * widen(scale) + widen(bias)

    def run(value: Array, scale: Array, bias: Array) -> Array:
        within(axes, value)
        if groups != 1:
            return grouped(value, scale, bias)
        broadcasts_to(scale, value, "scale")
        broadcasts_to(bias, value, "bias")
        return _standard(widen(value), axes, epsilon) * widen(scale) + widen(bias)

    return run


@implements(trt.LayerType.LRN)
def local_response_normalization(layer: Layer) -> Run:
    """x / (k + alpha / window * sum of squares of the channels in the window) ** beta.

    This is ONNX's LRN, whose parameters TensorRT's parser hands to this layer as they are.
    """
    window, alpha, beta, k = layer.window_size, layer.alpha, layer.beta, layer.k
    one_type(layer, FLOATS)

    def run(value: Array) -> Array:
        at_least(4, value)
        wide = widen(value)
        around = [(0, 0)] * value.ndim
        around[-3] = (window // 2, window // 2)
        squares = sliding_window_view(np.pad(np.square(wide), around), window, -3).sum(-1)
        return np.asarray(wide / np.power(k + alpha / window * squares, beta))

    return run


@implements(trt.LayerType.SCALE)
def scale(layer: Layer) -> Run:
    """(x * scale + shift) ** power; a coefficient without weights is 1, 0 or 1. IScaleLayer.

    ScaleMode says whether there is one coefficient for all, one for each index of channel_axis, or one for each element
    of the axes from there on.
    """
    mode, axis = layer.mode.name, layer.channel_axis
    given = [("scale", layer.scale), ("shift", layer.shift), ("power", layer.power)]
    one_type(layer, FLOATS)

    def run(value: Array) -> Array:
        at_least(3, value)
        shapes: dict[str, tuple[int, ...]] = {
            "UNIFORM": (1,),
            "CHANNEL": (value.shape[axis], *(1 for _ in value.shape[axis + 1 :])),
            "ELEMENTWISE": value.shape[axis:],
        }
        factor, shift, power = (own_weights(weights, shapes[mode], value.dtype, name) for name, weights in given)
        result = widen(value)
        result = result if factor is None else result * widen(factor)
        result = result if shift is None else result + widen(shift)
        return result if power is None else np.power(result, widen(power))

    return run
