"""A transformer whose rope rotates in float64 in every block: how many engines it becomes."""

from __future__ import annotations

import time

import torch

from . import Finding

BLOCKS, TOKENS, HEADS, HEAD = 4, 12, 2, 16


class Block(torch.nn.Module):
    """Attention with a rope on complex128, as Wan 2.2 has it; x: (1, tokens, heads * head) float32."""

    def __init__(self) -> None:
        super().__init__()
        self.query_key_value = torch.nn.Linear(HEADS * HEAD, 3 * HEADS * HEAD)
        self.output = torch.nn.Linear(HEADS * HEAD, HEADS * HEAD)

    def forward(self, x: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
        query, key, value = self.query_key_value(x).unflatten(-1, (3, HEADS, HEAD)).unbind(2)
        query, key = (rotated(side, rotation).transpose(1, 2) for side in (query, key))
        weights = torch.softmax(query @ key.mT / HEAD**0.5, -1)
        attended: torch.Tensor = weights @ value.transpose(1, 2)
        mixed: torch.Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return x + mixed


def rotated(x: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
    """x: (1, tokens, heads, head) float32, rotation: (tokens, 1, head / 2) complex128."""
    pairs = torch.view_as_complex(x.to(torch.float64).unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(x.dtype)


class Transformer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(BLOCKS))
        frequency = 10_000.0 ** -torch.arange(0, 1, 2 / HEAD, dtype=torch.float64)
        angle = torch.outer(torch.arange(TOKENS, dtype=torch.float64), frequency)[:, None]
        self.rotation = torch.nn.Buffer(torch.polar(torch.ones_like(angle), angle))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x, self.rotation)
        return x


def reproduce() -> Finding:
    import torch_tensorrt

    x = torch.randn(1, TOKENS, HEADS * HEAD)
    program = torch.export.export(Transformer().eval(), (x,))
    began = time.perf_counter()
    compiled = torch_tensorrt.dynamo.compile(program, [x], min_block_size=1, truncate_double=True)
    seconds = time.perf_counter() - began
    engines = sum("_run_on_acc" in name for name, _ in compiled.named_children())
    return Finding(
        what=f"{BLOCKS} transformer blocks whose rope rotates in float64, truncate_double=True: engines",
        wanted="1",
        got=str(engines),
        well=engines == 1,
        seconds=seconds,
    )
