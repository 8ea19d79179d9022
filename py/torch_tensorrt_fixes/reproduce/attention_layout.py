"""A Data2Vec vision model, whose attention ends in contiguous().view(), compiled with its attention decomposed."""

from __future__ import annotations

import time
from typing import Any

import torch

from . import Finding


def vision_model() -> torch.nn.Module:
    """Data2Vec vision with two small layers; takes images (n, 3, 32, 32)."""
    from transformers import Data2VecVisionConfig, Data2VecVisionModel

    torch.manual_seed(0)
    config = Data2VecVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=32,
        patch_size=8,
    )
    model: Any = Data2VecVisionModel(config, add_pooling_layer=False)
    return Features(model.eval())


class Features(torch.nn.Module):
    """The model's last hidden state alone."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """images: (n, 3, height, width) float32; returns (n, patches + 1, hidden size)."""
        features: torch.Tensor = self.model(images).last_hidden_state
        return features


def reproduce() -> Finding:
    import torch_tensorrt

    from ..reference import runtime

    model = vision_model()
    images = torch.randn(2, 3, 32, 32)
    with torch.no_grad(), runtime():
        wanted = model(images)
        program = torch.export.export(model, (images,))
        began = time.process_time()
        try:
            compiled = torch_tensorrt.dynamo.compile(program, [images], min_block_size=1, decompose_attention=True)
            got, error = compiled(images), ""
        except ValueError as raised:
            got, error = None, str(raised).partition("\n")[0]
        seconds = time.process_time() - began
    return Finding(
        what="a Data2Vec vision model with decompose_attention=True: features",
        wanted=_summary(wanted),
        got=error if got is None else _summary(got),
        well=got is not None and torch.allclose(got, wanted, atol=1e-4),
        seconds=seconds,
    )


def _summary(features: torch.Tensor) -> str:
    return f"shape {tuple(features.shape)}, norm {features.norm():.4g}"
