"""torch.compile with dynamic shapes and pre-allocated outputs: a size changes and no shape does."""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

import torch

from . import Finding


class Rows(torch.nn.Module):
    """Lays x out in n rows; n reaches the engine as an input."""

    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        return x.reshape(n, -1) + torch.arange(n)[:, None] * n


def reproduce() -> Finding:
    from torch_tensorrt.dynamo.runtime._TRTEngine import TRTEngine

    from ..reference import EvaluationError, runtime

    x, model = torch.arange(60.0), Rows()
    execute = TRTEngine.execute

    def pre_allocated(engine: TRTEngine, inputs: list[torch.Tensor]) -> object:
        engine.use_pre_allocated_outputs = True
        return execute(engine, inputs)

    with torch.no_grad(), runtime(), mock.patch.object(TRTEngine, "execute", pre_allocated):
        options: Any = {"min_block_size": 1, "pass_through_build_failures": True}
        compiled = torch.compile(model, backend="tensorrt", dynamic=True, options=options)
        began = time.process_time()
        try:
            got = [tuple(compiled(x, n).shape) for n in (4, 6)]
            found = f"{got[0]}, then {got[1]}"
        except (EvaluationError, RuntimeError) as error:
            found = str(error).partition("\n")[0]
    return Finding(
        what="torch.compile(dynamic=True), pre-allocated outputs, 60 numbers in 4 rows, then in 6: output shapes",
        wanted="(4, 15), then (6, 10)",
        got=found,
        well=found == "(4, 15), then (6, 10)",
        seconds=time.process_time() - began,
    )
