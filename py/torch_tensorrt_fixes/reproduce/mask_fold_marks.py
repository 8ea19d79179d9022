"""The size of an engine of causal attention after rotary embeddings in complex numbers, and what it computes."""

from __future__ import annotations

import time

import torch

from . import Finding

LENGTH, HEADS, HEAD_DIM = 1024, 2, 8
LIMIT = 1e6
"""Bytes: the mask alone has more if it is stored, be it of bools."""


class Attention(torch.nn.Module):
    """Rotates queries and keys in complex numbers, then attends to the past."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """q, k, v and the output: (1, HEADS, LENGTH, HEAD_DIM) float32."""
        positions = torch.arange(q.shape[2])
        angles = positions[:, None] * 0.1 ** torch.arange(HEAD_DIM // 2)
        rotation = torch.polar(torch.ones_like(angles), angles)
        q, k = (_rotated(x, rotation) for x in (q, k))
        causal = positions[:, None] >= positions
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=causal)


def _rotated(x: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation).flatten(-2)


def reproduce() -> Finding:
    import torch_tensorrt

    from ..reference import runtime

    torch.manual_seed(0)
    module = Attention().eval()
    inputs = [torch.randn(1, HEADS, LENGTH, HEAD_DIM) for _ in range(3)]
    options = {"decompose_attention": True, "use_complex_decomposition": True, "min_block_size": 1}
    with torch.no_grad(), runtime():
        wanted = module(*inputs)
        program = torch.export.export(module, tuple(inputs))
        began = time.perf_counter()
        compiled = torch_tensorrt.dynamo.compile(program, inputs, **options)
        seconds = time.perf_counter() - began
        same = torch.allclose(compiled(*inputs), wanted, atol=1e-4)
    engine = torch_tensorrt.dynamo.convert_exported_program_to_serialized_trt_engine(program, inputs=inputs, **options)
    return Finding(
        what=f"causal attention of {LENGTH:,} tokens, rotated in complex numbers: the engine and its values",
        wanted=f"under {LIMIT / 1e6:.1f} MB, PyTorch's values",
        got=f"{len(engine) / 1e6:.2f} MB, {'PyTorch' if same else 'not PyTorch'}'s values",
        well=len(engine) < LIMIT and same,
        seconds=seconds,
    )
