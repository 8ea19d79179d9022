"""Tokens counted by expert, compiled for any number of tokens: what is counted when there are more than at first."""

from __future__ import annotations

import time

import torch

from . import Finding

EXPERTS, FIRST, THEN = 4, 9, 12


class Count(torch.nn.Module):
    """Adds one to the count of each token's expert."""

    def forward(self, counts: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
        """counts: (experts,) int64; experts: (tokens,) int64."""
        return torch.scatter_add(counts, 0, experts, experts * 0 + 1) * 1


def reproduce() -> Finding:
    import torch_tensorrt

    from ..reference import runtime

    counts, experts = torch.zeros(EXPERTS, dtype=torch.int64), torch.arange(THEN) % EXPERTS
    tokens = {0: torch.export.Dim("tokens", min=2, max=64)}
    spec = torch_tensorrt.Input(min_shape=(2,), opt_shape=(FIRST,), max_shape=(64,), dtype=torch.int64)
    with torch.no_grad(), runtime():
        program = torch.export.export(Count(), (counts, experts[:FIRST]), dynamic_shapes=(None, tokens))
        began = time.perf_counter()
        compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=[counts, spec], min_block_size=1)
        seconds = time.perf_counter() - began
        wanted = _shown(Count()(counts, experts))
        try:
            got = _shown(compiled(counts, experts))
        except Exception as error:  # whatever refuses an engine's input here or on a GPU
            got = f"{type(error).__name__}: {error}"
    return Finding(
        what=f"{THEN} tokens counted by expert, exported with {FIRST}: tokens of each of {EXPERTS} experts",
        wanted=wanted,
        got=got,
        well=got == wanted,
        seconds=seconds,
    )


def _shown(counts: torch.Tensor) -> str:
    return " ".join(map(str, counts.tolist()))
