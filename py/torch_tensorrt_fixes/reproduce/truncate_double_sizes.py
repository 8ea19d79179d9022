"""A float64 model with a dynamic size that crosses partitions: whether it compiles with truncate_double."""

from __future__ import annotations

import time

import torch

from . import Finding


class Model(torch.nn.Module):
    """x: (n, 4) float64; digamma runs in PyTorch and cuts the graph in two."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.relu(x).reshape(x.shape[0] * 2, 2)
        return torch.relu(torch.special.digamma(pairs + 9).reshape(x.shape[0] * 4, 1))


def reproduce() -> Finding:
    import torch_tensorrt

    x = torch.linspace(-2, 2, 16, dtype=torch.float64).reshape(4, 4)
    rows = torch.export.Dim("n", min=2, max=8)
    program = torch.export.export(Model().eval(), (x,), dynamic_shapes=({0: rows},))
    began = time.perf_counter()
    try:
        torch_tensorrt.dynamo.compile(program, arg_inputs=[x], min_block_size=1, truncate_double=True)
        got = "compiles"
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
    return Finding(
        what="a float64 model with a dynamic size that crosses partitions, truncate_double=True",
        wanted="compiles",
        got=got,
        well=got == "compiles",
        seconds=time.perf_counter() - began,
    )
