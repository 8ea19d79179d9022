"""Donor for conversion/_TRTInterpreter.py."""

from __future__ import annotations

from typing import Any

import tensorrt as trt


class TRTInterpreter:
    """TRTInterpreter as far as _copy_output, the method that lands, sees it

    Args:
        ctx: The ConversionContext; of it, the network is used
    """

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx

    def _copy_output(self, output: trt.ITensor, position: int) -> trt.ITensor:
        """Return another tensor with the value of ``output``, to be marked instead"""
        layer = self.ctx.net.add_identity(output)
        layer.name = f"Copy {output.name} to output {position}"
        return layer.get_output(0)
