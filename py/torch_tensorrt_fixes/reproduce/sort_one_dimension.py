"""A router that sorts the scores of one token and picks its experts, compiled and run."""

from __future__ import annotations

import time

import torch

from . import Finding


class Router(torch.nn.Module):
    """Ranks the experts for one token."""

    def forward(self, scores: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """scores: (experts,), float; returns the best two and their indices, all scores in order, and the worst's
        index of shape (1,)."""
        values, experts = torch.topk(scores, 2)
        return values, experts, torch.sort(scores).values, torch.argmin(scores, -1, keepdim=True)


def reproduce() -> Finding:
    import torch_tensorrt

    from ..reference import runtime

    model, scores = Router(), torch.tensor([0.5, -1.0, 2.0, 0.25, 4.0, -3.0])
    wanted = model(scores)
    with torch.no_grad(), runtime():
        program = torch.export.export(model, (scores,))
        began = time.process_time()
        well = 0
        try:
            compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=[scores], min_block_size=1)
            well = sum(torch.equal(g, w) for g, w in zip(compiled(scores), wanted, strict=True))
            got = f"{well} of {len(wanted)}"
        except RuntimeError as error:
            got = str(error).partition("\n")[0]
    return Finding(
        what="The scores of one token, sorted and picked from: outputs that are PyTorch's",
        wanted=f"{len(wanted)} of {len(wanted)}",
        got=got,
        well=well == len(wanted),
        seconds=time.process_time() - began,
    )
