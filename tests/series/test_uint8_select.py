"""Fix 12 from end to end: a camera history of bytes, of which the select runs in PyTorch and the rest in an engine."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_tensorrt_fixes

torch_tensorrt_fixes.install("all")

import torch_tensorrt  # noqa: E402
from torch_tensorrt.dynamo.runtime import TorchTensorRTModule  # noqa: E402

from torch_tensorrt_fixes.reference import runtime  # noqa: E402


class CameraHistory(torch.nn.Module):
    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """frames: (time, height, width, 3) uint8; returns one of them, (height, width, 3) float32 in [0, 1]."""
        return frames[self.index].float() / 255


def frames_of(time: int) -> torch.Tensor:
    return torch.randint(256, (time, 6, 5, 3), dtype=torch.uint8)


def engines_of(module: torch.nn.Module) -> list[TorchTensorRTModule]:
    return [part for part in module.modules() if isinstance(part, TorchTensorRTModule)]


def targets_of(module: Any) -> set[Any]:
    """What PyTorch calls in the compiled module."""
    graphs = [part.graph for part in module.modules() if isinstance(part, torch.fx.GraphModule)]
    return {node.target for graph in graphs for node in graph.nodes if node.op == "call_function"}


@pytest.mark.parametrize("partitioner", ["fast", "global"])
@pytest.mark.parametrize("index", [1, -1])
def test_exported_camera_history(index: int, partitioner: str) -> None:
    module, frames = CameraHistory(index), frames_of(4)
    with torch.no_grad(), runtime():
        program = torch.export.export(module, (frames,))
        compiled = torch_tensorrt.dynamo.compile(
            program, arg_inputs=[frames], min_block_size=1, use_fast_partitioner=partitioner == "fast"
        )
        assert len(engines_of(compiled)) == 1
        assert torch.ops.aten.select.int in targets_of(compiled)
        for _ in range(2):
            frames = frames_of(4)
            torch.testing.assert_close(compiled(frames), module(frames))


def test_camera_history_of_any_length() -> None:
    module, frames = CameraHistory(-1), frames_of(4)
    spec = torch_tensorrt.Input(
        min_shape=(2, 6, 5, 3), opt_shape=(4, 6, 5, 3), max_shape=(8, 6, 5, 3), dtype=torch.uint8
    )
    dynamic = {"frames": {0: torch.export.Dim("time", min=2, max=8)}}
    with torch.no_grad(), runtime():
        program = torch.export.export(module, (frames,), dynamic_shapes=dynamic)
        compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=[spec], min_block_size=1)
        assert len(engines_of(compiled)) == 1
        for time in (2, 5, 8):
            frames = frames_of(time)
            torch.testing.assert_close(compiled(frames), module(frames))


def test_torch_compile() -> None:
    torch._dynamo.reset()
    module, frames = CameraHistory(1), frames_of(4)
    with torch.no_grad(), runtime():
        compiled = torch.compile(
            module, backend="tensorrt", options={"min_block_size": 1, "pass_through_build_failures": True}
        )
        torch.testing.assert_close(compiled(frames), module(frames))
