"""A step of a sampler that keeps a noised copy beside the original, through torch.compile with default options."""

from __future__ import annotations

import time

import torch

from . import Finding


def step(latents: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """latents: (n,) floats; returns those before and after the step, each of that shape."""
    scaled = latents * 2
    noised = scaled.clone()
    noised.add_(1)
    return scaled - 1, noised


def reproduce() -> Finding:
    import torch_tensorrt  # noqa: F401

    latents = torch.tensor([0.0, 1.0, 2.0])
    wanted = step(latents)
    began = time.process_time()
    got = torch.compile(step, backend="tensorrt")(latents)
    return Finding(
        what="a copy of a tensor is written to: the tensor itself, and its copy",
        wanted=str([value.tolist() for value in wanted]),
        got=str([value.tolist() for value in got]),
        well=all(torch.equal(one, other) for one, other in zip(got, wanted, strict=True)),
        seconds=time.process_time() - began,
    )
