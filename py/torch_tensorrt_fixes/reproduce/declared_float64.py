"""A float64 model compiled with truncate_double: whether it can be saved without a retrace."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import torch

from . import Finding


class Model(torch.nn.Module):
    """x: (4, 4) float64."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * 2


def reproduce() -> Finding:
    import torch_tensorrt

    x = torch.linspace(-2, 2, 16, dtype=torch.float64).reshape(4, 4)
    program = torch.export.export(Model().eval(), (x,))
    compiled = torch_tensorrt.dynamo.compile(program, [x], min_block_size=1, truncate_double=True)
    began = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "saved.pt2")
            torch_tensorrt.save(compiled, path, inputs=[x], retrace=False)
            (output,) = torch.export.load(path).graph.find_nodes(op="output")
        got = str(output.args[0][0].meta["val"].dtype)
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
    return Finding(
        what="a float64 model, truncate_double=True, saved with retrace=False: the dtype that it declares",
        wanted="torch.float64",
        got=got,
        well=got == "torch.float64",
        seconds=time.perf_counter() - began,
    )
