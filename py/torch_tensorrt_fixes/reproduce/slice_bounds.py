"""A Gemma 3 prompt shorter than the sliding window: what of it the compiled cache keeps, by shape and value."""

from __future__ import annotations

import time
from itertools import chain
from typing import Any

import torch

from . import Finding

PROMPT, WINDOW = 9, 16


class Prefill(torch.nn.Module):
    """Runs a prompt and returns what the model's cache then holds."""

    def __init__(self) -> None:
        from transformers import Gemma3TextConfig, Gemma3TextModel

        super().__init__()
        torch.manual_seed(0)
        self.config = Gemma3TextConfig(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=6,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            sliding_window=WINDOW,
            max_position_embeddings=64,
        )
        self.model = Gemma3TextModel(self.config).eval()

    def forward(self, tokens: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """tokens: (1, length) int64; returns each layer's keys and values, (1, heads, kept, head_dim)."""
        from transformers import DynamicCache

        cache: Any = DynamicCache(config=self.config)
        self.model(tokens, past_key_values=cache, use_cache=True)
        return [layer.keys for layer in cache.layers], [layer.values for layer in cache.layers]


def reproduce() -> Finding:
    import torch_tensorrt

    from ..reference import runtime

    model = Prefill()
    tokens = torch.arange(PROMPT).unsqueeze(0)
    with torch.no_grad(), runtime():
        keys, values = model(tokens)
        program = torch.export.export(model, (tokens,))
        began = time.process_time()
        compiled = torch_tensorrt.dynamo.compile(program, [tokens], min_block_size=1)
        seconds = time.process_time() - began
        got = compiled(tokens)
    wanted = [*keys, *values]
    same = [g.shape == w.shape and torch.allclose(g, w, atol=1e-4) for g, w in zip(chain(*got), wanted, strict=True)]
    return Finding(
        what=f"Gemma 3, a prompt of {PROMPT} tokens, window {WINDOW}: tokens that each layer's cache keeps",
        wanted=_kept(keys),
        got=_kept(got[0]),
        well=all(same),
        seconds=seconds,
    )


def _kept(keys: list[torch.Tensor]) -> str:
    return " ".join(str(tensor.shape[2]) for tensor in keys)
