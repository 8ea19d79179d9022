"""torch.compile with dynamic shapes: three sizes that the engine gets as inputs."""

from __future__ import annotations

import time
from typing import Any

import torch

from . import Finding


class Sizes(torch.nn.Module):
    """Lays x out in a grid whose three sizes are numbers, and scales it by them."""

    def forward(self, x: torch.Tensor, a: int, b: int, c: int) -> torch.Tensor:
        for size in (a, b, c):
            torch._check(size >= 2)
        return x.reshape(a, b, c) * a + torch.arange(c) * b


def reproduce() -> Finding:
    import torch_tensorrt  # noqa: F401  (the backend)

    from ..reference import EvaluationError, runtime

    sizes = (3, 4, 5)
    x, model = torch.arange(60.0), Sizes()
    with torch.no_grad(), runtime():
        wanted = model(x, *sizes)
        options: Any = {"min_block_size": 1, "pass_through_build_failures": True}
        compiled = torch.compile(model, backend="tensorrt", dynamic=True, options=options)
        began = time.process_time()
        try:
            well = torch.equal(compiled(x, *sizes), wanted)
            got = "PyTorch's values" if well else "other values"
        except (EvaluationError, RuntimeError) as error:
            well, got = False, str(error).partition("\n")[0]
    return Finding(
        what=f"torch.compile(dynamic=True), an engine that lays 60 numbers out as {sizes}",
        wanted="PyTorch's values",
        got=got,
        well=well,
        seconds=time.process_time() - began,
    )
