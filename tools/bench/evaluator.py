"""The time that the NumPy evaluator takes for a stack of transformer blocks, against PyTorch's for the same stack.

    python tools/bench/evaluator.py
    python tools/bench/evaluator.py --blocks 12 --width 256 --tokens 128 --dtype float16

The network is made of TensorRT's own layers, without torch_tensorrt. Seconds are of the wall, the best of several runs
of each side. Where other work keeps the processors busy BLAS threads wait for each other: set OPENBLAS_NUM_THREADS=1
there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table

from torch_tensorrt_fixes.reference import Evaluator
from torch_tensorrt_fixes.reference._trt import Network, Tensor, trt
from torch_tensorrt_fixes.reference.dtypes import Array, trt_dtype

HEADS = 8
EW, MATRIX = trt.ElementWiseOperation, trt.MatrixOperation


class Block(torch.nn.Module):
    """Attention and a feed-forward layer, each behind a layer norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before = torch.nn.LayerNorm(width)
        self.between = torch.nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (torch.nn.Linear(width, width) for _ in range(4))
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.before(x)
        q, k, v = (p(inner).unflatten(-1, (HEADS, -1)).transpose(1, 2) for p in (self.query, self.key, self.value))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))
        x = x + self.down(F.gelu(self.up(self.between(x))))
        return x


class Writer:
    """Adds the layers of a block to a network."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.weights: list[Array] = []  # TensorRT reads them where they are

    def constant(self, value: torch.Tensor, shape: tuple[int, ...]) -> Tensor:
        array = value.detach().numpy().copy()
        self.weights.append(array)
        weights = trt.Weights(trt_dtype(array.dtype), array.ctypes.data, array.size)
        return self.network.add_constant(shape, weights).get_output(0)

    def norm(self, x: Tensor, norm: torch.nn.LayerNorm) -> Tensor:
        scale, bias = (self.constant(p, (1, 1, x.shape[2])) for p in (norm.weight, norm.bias))
        return self.network.add_normalization_v2(x, scale, bias, 4).get_output(0)

    def both(self, a: Tensor, b: Tensor, operation: Any = EW.SUM) -> Tensor:
        return self.network.add_elementwise(a, b, operation).get_output(0)

    def linear(self, x: Tensor, linear: torch.nn.Linear) -> Tensor:
        weight = self.constant(linear.weight, (1, linear.out_features, linear.in_features))
        product = self.network.add_matrix_multiply(x, MATRIX.NONE, weight, MATRIX.TRANSPOSE).get_output(0)
        return self.both(product, self.constant(linear.bias, (1, 1, linear.out_features)))

    def shuffled(self, x: Tensor, shape: tuple[int, ...], order: tuple[int, ...], first: bool) -> Tensor:
        """`x` reshaped to `shape` and its dimensions put in `order`, whichever is `first`."""
        layer = self.network.add_shuffle(x)
        layer.reshape_dims = shape
        if first:
            layer.first_transpose = order
        else:
            layer.second_transpose = order
        return layer.get_output(0)

    def block(self, x: Tensor, block: Block) -> Tensor:
        _, tokens, width = x.shape
        inner = self.norm(x, block.before)
        split = [
            self.shuffled(self.linear(inner, p), (1, tokens, HEADS, width // HEADS), (0, 2, 1, 3), first=False)
            for p in (block.query, block.key, block.value)
        ]
        scale = self.constant(block.up.bias.new_full((1,), math.sqrt(HEADS / width)), (1, 1, 1, 1))
        query = self.both(split[0], scale, EW.PROD)
        attention = self.network.add_attention_v2(
            query, *split[1:], trt.AttentionNormalizationOp.SOFTMAX, trt.CausalMaskKind.LOWER_RIGHT
        )
        joined = self.shuffled(attention.get_output(0), (1, tokens, width), (0, 2, 1, 3), first=True)
        x = self.both(x, self.linear(joined, block.out))
        up = self.linear(self.norm(x, block.between), block.up)
        gelu = self.network.add_activation(up, trt.ActivationType.GELU_ERF).get_output(0)
        return self.both(x, self.linear(gelu, block.down))


def best(work: Callable[[], Any], times: int = 5) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(times))


@click.command(help=__doc__)
@click.option("--blocks", default=12)
@click.option("--width", default=256)
@click.option("--tokens", default=128)
@click.option("--dtype", type=click.Choice(["float32", "float16"]), default="float32")
@torch.no_grad()
def main(blocks: int, width: int, tokens: int, dtype: str) -> None:
    torch.manual_seed(0)
    modules = [Block(width).to(getattr(torch, dtype)) for _ in range(blocks)]
    stack = torch.nn.Sequential(*modules)
    value = torch.randn(1, tokens, width, dtype=getattr(torch, dtype))
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    writer = Writer(network)
    x = network.add_input("x", trt_dtype(np.dtype(dtype)), value.shape)
    for block in modules:
        x = writer.block(x, block)
    network.mark_output(x)
    evaluator = Evaluator(network)
    apart = np.abs(evaluator.run([value.numpy()])[x.name] - stack(value).numpy()).max()
    ours, theirs = best(lambda: evaluator.run([value.numpy()])), best(lambda: stack(value))
    table = Table(title=f"{blocks} blocks of width {width}, {tokens} tokens, {dtype}: {network.num_layers} layers")
    for name in ("evaluator [s]", "PyTorch [s]", "ratio", "largest difference"):
        table.add_column(name, justify="right")
    table.add_row(f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.1f}", f"{apart:.1e}")
    Console().print(table)


if __name__ == "__main__":
    main()
