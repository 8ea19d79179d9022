"""Windows that slide over the last dimensions of a tensor, for convolution and pooling: TensorRT's PaddingMode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .._trt import Layer
from ..dtypes import Array
from ..registry import Refused

Lengths = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Windows:
    """Windows of `kernel` elements, `dilation` apart, at positions `stride` apart.

    `before` and `after` are the padding of the explicit modes.
    """

    kernel: Lengths
    stride: Lengths
    dilation: Lengths
    mode: str
    before: Lengths
    after: Lengths

    @classmethod
    def of(cls, layer: Layer, kernel: Lengths, dilation: Lengths) -> Windows:
        return cls(
            tuple(kernel),
            tuple(layer.stride_nd),
            tuple(dilation),
            layer.padding_mode.name,
            tuple(layer.pre_padding),
            tuple(layer.post_padding),
        )

    @property
    def extents(self) -> Lengths:
        """How far a window reaches in each dimension."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    @property
    def explicit(self) -> bool:
        return self.mode.startswith("EXPLICIT")

    def padding(self, lengths: Lengths) -> Padding:
        """The padding of an input of `lengths`, without what rounding the output up adds to the end."""
        if self.explicit:
            return tuple(zip(self.before, self.after, strict=True))
        each = zip(lengths, self.stride, self.extents, strict=True)
        totals = (max((length - 1) // stride * stride + extent - length, 0) for length, stride, extent in each)
        return tuple(self.shared(total) for total in totals)

    def shared(self, amount: int) -> tuple[int, int]:
        """`amount` on both sides, the odd one after with SAME_UPPER and before with SAME_LOWER."""
        return (amount // 2, amount - amount // 2) if self.mode == "SAME_UPPER" else (amount - amount // 2, amount // 2)

    def beyond(self, lengths: Lengths) -> Padding:
        """What rounding the output up adds to the end of an input that was padded to `lengths`."""
        if self.mode != "EXPLICIT_ROUND_UP":
            return tuple((0, 0) for _ in lengths)
        each = zip(lengths, self.stride, self.extents, strict=True)
        return tuple((0, (extent - length) % stride) for length, stride, extent in each)

    def over(self, value: Array, fill: float) -> Array:
        """(..., *positions, *kernel): every window of `value` padded with `fill`. Refused where none fits."""
        return self.slide(self.padded(value, self.padding(value.shape[-len(self.kernel) :]), fill), fill)

    def padded(self, value: Array, padding: Padding, fill: float) -> Array:
        leading = [(0, 0)] * (value.ndim - len(padding))
        return np.pad(value, [*leading, *padding], constant_values=fill)

    def slide(self, value: Array, fill: float) -> Array:
        """The windows of `value`, which has its padding already, but for what rounding up adds."""
        count = len(self.kernel)
        value = self.padded(value, self.beyond(value.shape[-count:]), fill)
        lengths = value.shape[-count:]
        if any(extent > length for extent, length in zip(self.extents, lengths, strict=True)):
            raise Refused(f"windows of {self.extents} do not fit in {lengths}, the input with its padding")
        windows = sliding_window_view(value, self.extents, tuple(range(-count, 0)))
        leading = (slice(None),) * (value.ndim - count)
        steps = (slice(None, None, step) for step in (*self.stride, *self.dilation))
        return windows[(*leading, *steps)]
