"""A Gemma 3 prompt shorter than the sliding window: how many of its tokens the compiled cache keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def built_networks() -> Iterator[list[list[tuple[int, ...]]]]:
    """Collects the output shapes of every TensorRT network that is built inside."""
    from torch_tensorrt.dynamo.conversion import TRTInterpreter

    shapes: list[list[tuple[int, ...]]] = []
    construct = TRTInterpreter._construct_trt_network_def

    def construct_and_note(self: Any) -> None:
        construct(self)
        net = self.ctx.net
        shapes.append([tuple(net.get_output(i).shape) for i in range(net.num_outputs)])

    TRTInterpreter._construct_trt_network_def = construct_and_note
    try:
        yield shapes
    finally:
        TRTInterpreter._construct_trt_network_def = construct


def reproduce() -> Finding:
    import torch_tensorrt

    model = Prefill()
    tokens = torch.arange(PROMPT).unsqueeze(0)
    with torch.no_grad():
        keys, values = model(tokens)
        program = torch.export.export(model, (tokens,))
    began = time.perf_counter()
    with built_networks() as networks:
        compiled = torch_tensorrt.dynamo.compile(program, [tokens], min_block_size=1)
    seconds = time.perf_counter() - began
    got = [shape[2] for shape in output_shapes(compiled, networks)[: len(keys)]]
    wanted = [tensor.shape[2] for tensor in keys]
    return Finding(
        what=f"Gemma 3, a prompt of {PROMPT} tokens, window {WINDOW}: tokens that each layer's cache keeps",
        wanted=" ".join(map(str, wanted)),
        got=" ".join(map(str, got)),
        well=got == wanted,
        seconds=seconds,
    )


def output_shapes(compiled: Any, networks: list[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """The shape of each output: as built where an engine gives it, as exported where a PyTorch block does."""
    engines = (name for name, _ in compiled.named_children() if "_run_on_acc" in name)
    built = dict(zip(engines, networks, strict=True))
    shapes = []
    for item in arguments(compiled.graph.output_node()):
        block, index = item.args  # of a getitem node
        if block.target in built:
            shapes.append(built[block.target][index])
        else:
            traced = arguments(compiled.get_submodule(block.target).graph.output_node())
            shapes.append(tuple(traced[index].meta["val"].shape))
    return shapes


def arguments(output: torch.fx.Node) -> Any:
    """The nodes that a graph returns."""
    return output.args[0]
