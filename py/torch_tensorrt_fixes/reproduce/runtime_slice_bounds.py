"""A history of run-time length, read through a window that is longer and written from an offset, compiled and run."""

from __future__ import annotations

import time

import torch

from . import Finding

LENGTHS = (5, 12, 16, 19)


class History(torch.nn.Module):
    """Shifts a history by two steps, writes the newest last, and reads a window of it."""

    def forward(self, history: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """history: (batch, length); returns the shifted history, like it, and (batch, up to 16) of it."""
        shifted = history.clone()
        shifted[:, 2:] = history[:, :-2] * 0.5
        shifted[:, -1] = history[:, 0] * 2
        return shifted, history[:, 4:20] + 1


def reproduce() -> Finding:
    import torch_tensorrt

    from ..reference import runtime

    model, history = History(), torch.randn(2, 16)
    with torch.no_grad(), runtime():
        program = torch.export.export(model, (history,), dynamic_shapes=({1: torch.export.Dim.AUTO},))
        spec = torch_tensorrt.Input(min_shape=(2, LENGTHS[0]), opt_shape=(2, 16), max_shape=(2, LENGTHS[-1]))
        began = time.process_time()
        well = 0
        try:
            compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=[spec], min_block_size=1)
            for length in LENGTHS:
                history = torch.randn(2, length)
                pairs = zip(compiled(history), model(history), strict=True)
                well += all(g.shape == w.shape and torch.allclose(g, w) for g, w in pairs)
            got = f"{well} of {len(LENGTHS)}"
        except ValueError as error:
            got = str(error).partition("\n")[0]
    return Finding(
        what="A history of dynamic length, shifted and read through a window: lengths at which values are PyTorch's",
        wanted=f"{len(LENGTHS)} of {len(LENGTHS)}",
        got=got,
        well=well == len(LENGTHS),
        seconds=time.process_time() - began,
    )
