"""A camera history of bytes, of which a policy takes one frame: compiled and run."""

from __future__ import annotations

import time

import torch

from . import Finding


class OneFrame(torch.nn.Module):
    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """frames: (time, height, width, 3) uint8; returns (height, width, 3) float32 in [0, 1]."""
        return frames[1].float() / 255


def reproduce() -> Finding:
    import torch_tensorrt

    from ..reference import runtime
    from ..reference.conversion import BuildRefused

    model = OneFrame()
    frames = torch.arange(4 * 6 * 5 * 3).reshape(4, 6, 5, 3).to(torch.uint8)
    with torch.no_grad(), runtime():
        program = torch.export.export(model, (frames,))
        began = time.process_time()
        try:
            compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=(frames,), min_block_size=1)
            off = float((compiled(frames) - model(frames)).abs().max())
            got = f"{off:.1e}"
        except BuildRefused as error:
            off, got = float("inf"), " ".join(str(error).split())
    return Finding(
        what="frame 1 of a camera history (4, 6, 5, 3) uint8, as float32: off by",
        wanted="less than 1e-6",
        got=got,
        well=off < 1e-6,
        seconds=time.process_time() - began,
    )
