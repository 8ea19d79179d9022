"""Convolution and deconvolution, in two or three dimensions: TensorRT has no others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, Array, widen
from ..registry import Refused, Run, implements
from ._refusals import one_type
from ._weights import own_weights
from ._windows import Windows

KernelAxes = Callable[[int], tuple[int, int]]
Convolve = Callable[[Array, Array], Array]


def _with_weights(layer: Layer, kernel_axes: KernelAxes, convolve: Convolve) -> Run:
    """What runs for `layer`: `convolve(input, kernel)` group by group, and the bias.

    Kernel and bias are the layer's own, or its inputs 1 and 2. `kernel_axes` gives the kernel's first two lengths for a
    number of input channels.
    """
    maps, groups, size = layer.num_output_maps, layer.num_groups, tuple(layer.kernel_size_nd)
    own_kernel, own_bias = layer.kernel, layer.bias
    one_type(layer, FLOATS)

    def run(value: Array, kernel: Array | None = None, bias: Array | None = None) -> Array:
        if value.ndim != 2 + len(size):
            raise Refused(f"a kernel of {size} needs an input of {2 + len(size)} dimensions, not {value.shape}")
        if value.shape[1] % groups or maps % groups:
            raise Refused(f"{groups} groups do not divide both {value.shape[1]} channels and {maps} output maps")
        shape = (*kernel_axes(value.shape[1]), *size)
        if kernel is None:
            kernel = own_weights(own_kernel, shape, value.dtype, "kernel")
        if bias is None:
            bias = own_weights(own_bias, (maps,), value.dtype, "bias")
        if kernel is None or kernel.shape != shape or (bias is not None and bias.shape != (maps,)):
            found, other = (None if weights is None else weights.shape for weights in (kernel, bias))
            raise Refused(f"the kernel must be {shape} and the bias, if any, {(maps,)}; they are {found} and {other}")
        parts = zip(np.split(widen(value), groups, 1), np.split(widen(kernel), groups), strict=True)
        result = np.concatenate([convolve(*part) for part in parts], 1)
        return result if bias is None else result + widen(bias).reshape(-1, *(1 for _ in size))

    return run


@implements(trt.LayerType.CONVOLUTION)
def convolution(layer: Layer) -> Run:
    """Correlation of (N, C, ...) with a kernel (K, C / groups, ...), and a bias (K,). IConvolutionLayer."""
    windows = Windows.of(layer, layer.kernel_size_nd, layer.dilation_nd)
    spatial = len(windows.kernel)

    def convolve(value: Array, kernel: Array) -> Array:
        taken = (1, *range(-spatial, 0))
        return np.moveaxis(np.tensordot(windows.over(value, 0), kernel, (taken, range(1, 2 + spatial))), -1, 1)

    return _with_weights(layer, lambda channels: (layer.num_output_maps, channels // layer.num_groups), convolve)


@implements(trt.LayerType.DECONVOLUTION)
def deconvolution(layer: Layer) -> Run:
    """The transpose of convolution: each element of the input adds itself times the kernel (C, K / groups, ...) to the
    output. IDeconvolutionLayer.

    The padding is cut off the result.
    """
    windows = Windows.of(layer, layer.kernel_size_nd, layer.dilation_nd)

    def cut(lengths: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        if windows.explicit:
            return windows.padding(lengths)
        pairs = zip(windows.extents, windows.stride, strict=True)
        return tuple(windows.shared(max(extent - stride, 0)) for extent, stride in pairs)

    def convolve(value: Array, kernel: Array) -> Array:
        lengths = value.shape[2:]
        whole = tuple((n - 1) * s + e for n, s, e in zip(lengths, windows.stride, windows.extents, strict=True))
        result = np.zeros((value.shape[0], kernel.shape[1], *whole), np.float32)
        for offset in np.ndindex(windows.kernel):
            reached = tuple(
                slice(o * d, o * d + (n - 1) * s + 1, s)
                for o, d, n, s in zip(offset, windows.dilation, lengths, windows.stride, strict=True)
            )
            taps = kernel[(slice(None), slice(None), *offset)]
            result[(slice(None), slice(None), *reached)] += np.moveaxis(np.tensordot(value, taps, (1, 0)), -1, 1)
        pairs = zip(whole, cut(lengths), strict=True)
        kept = (slice(before, length - after) for length, (before, after) in pairs)
        return result[(slice(None), slice(None), *kept)]

    return _with_weights(layer, lambda channels: (channels, layer.num_output_maps // layer.num_groups), convolve)
