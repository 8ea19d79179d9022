"""Qwen3-VL's deepstack: visual embeddings added at the masked positions of the hidden states, compiled and run."""

from __future__ import annotations

import time

import torch

from . import Finding

LENGTH, VISUAL, HIDDEN = 10, 5, 32


class Deepstack(torch.nn.Module):
    """A small text model that gets visual embeddings for its first two layers."""

    def __init__(self) -> None:
        from transformers import Qwen3VLTextConfig, Qwen3VLTextModel

        super().__init__()
        torch.manual_seed(0)
        config = Qwen3VLTextConfig(
            vocab_size=64,
            hidden_size=HIDDEN,
            intermediate_size=48,
            num_hidden_layers=3,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            max_position_embeddings=64,
            rope_parameters={"rope_type": "default", "mrope_section": [4, 2, 2], "rope_theta": 10000.0},
        )
        self.model = Qwen3VLTextModel(config).eval()

    def forward(self, embeds: torch.Tensor, mask: torch.Tensor, *visual: torch.Tensor) -> torch.Tensor:
        """embeds: (1, length, hidden); mask: (1, length) bool; visual: (visual, hidden) each; like embeds."""
        hidden: torch.Tensor = self.model(
            inputs_embeds=embeds, visual_pos_masks=mask, deepstack_visual_embeds=list(visual), use_cache=False
        ).last_hidden_state
        return hidden


def reproduce() -> Finding:
    import torch_tensorrt

    from ..reference import runtime, standard_tensorrt

    model = Deepstack()
    mask = torch.zeros(1, LENGTH, dtype=torch.bool)
    mask[0, 2 : 2 + VISUAL] = True
    inputs = (torch.randn(1, LENGTH, HIDDEN), mask, torch.randn(VISUAL, HIDDEN), torch.randn(VISUAL, HIDDEN))
    with torch.no_grad(), runtime(), standard_tensorrt():
        wanted = model(*inputs)
        program = torch.export.export(model, inputs)
        began = time.process_time()
        try:
            compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=inputs, min_block_size=1)
            off = float((compiled(*inputs) - wanted).abs().max())
            got = f"{off:.1e}"
        except ValueError as error:
            off, got = float("inf"), str(error).partition("\n")[0]
    return Finding(
        what=f"Qwen3-VL, {VISUAL} visual embeddings among {LENGTH} positions, in two layers: hidden states off by",
        wanted="less than 1e-4",
        got=got,
        well=off < 1e-4,
        seconds=time.process_time() - began,
    )
