"""Fix 3 for every order of dimensions that a kernel may choose, and through real engines."""

from __future__ import annotations

import math

import pytest
import torch
import torch_tensorrt
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.lowering.passes.keep_attention_layout import keep_attention_layout

from torch_tensorrt_fixes.reference import runtime

DECOMPOSE = CompilationSettings(decompose_attention=True)


def laid_out(sizes: list[int], order: list[int]) -> torch.Tensor:
    """A tensor whose dimensions lie in memory in that order, outermost first."""
    return torch.empty([sizes[dim] for dim in order]).permute([order.index(dim) for dim in range(len(order))])


def recorded(sizes: list[int], order: list[int]) -> torch.fx.GraphModule:
    """An attention of q, k, v (n, h, l, e) whose output is recorded in that order, returned, and read by as_strided."""
    graph = torch.fx.Graph()
    with FakeTensorMode():
        q, k, v = (graph.placeholder(name) for name in "qkv")
        attention = graph.call_function(torch.ops.aten.scaled_dot_product_attention.default, (q, k, v))
        attention.meta["val"] = laid_out(sizes, order)
        flat = graph.call_function(torch.ops.aten.as_strided.default, (attention, [math.prod(sizes)], [1]))
        flat.meta["val"] = torch.empty(math.prod(sizes))
    graph.output((attention, flat))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


@settings(max_examples=60)
@given(st.lists(st.integers(1, 4), min_size=4, max_size=4), st.permutations(range(4)))
@example([2, 1, 3, 4], [0, 2, 1, 3])
@example([1, 3, 1, 4], [2, 0, 1, 3])
def test_output_is_laid_out_as_recorded(sizes: list[int], order: list[int]) -> None:
    module = keep_attention_layout(recorded(sizes, order), DECOMPOSE)
    q, k, v = torch.randn(3, *sizes)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    got, flat = module(q, k, v)
    assert torch.equal(got, wanted)
    assert torch.equal(flat, wanted.permute(order).flatten())
    for dim, size in enumerate(sizes):
        if size > 1:
            assert got.stride(dim) == laid_out(sizes, order).stride(dim)


class Strided(torch.nn.Module):
    """Attention read by as_strided: itself, part of it, and after a pointwise operator."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """q, k, v: (n, 5, 4, 8) float32."""
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        x = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        whole = x.as_strided((2, 5, 32), (160, 32, 1))
        return whole, x.as_strided((3, 16), (32, 1), 8), (x * 2).as_strided((2, 5, 32), (160, 32, 1))


@pytest.mark.parametrize("dynamic", [False, True])
def test_as_strided_reads_the_same_in_an_engine_and_behind_one(dynamic: bool) -> None:
    # With a dynamic batch as_strided stays in PyTorch and reads what an engine returned.
    q, k, v = torch.randn(3, 3, 5, 4, 8)
    batch = {0: torch.export.Dim("batch", min=2, max=9)} if dynamic else None
    program = torch.export.export(Strided(), (q, k, v), dynamic_shapes=(batch,) * 3)
    sizes = {f"{which}_shape": (n, 5, 4, 8) for which, n in (("min", 2), ("opt", 3), ("max", 9))}
    inputs = [torch_tensorrt.Input(**sizes) if dynamic else x for x in (q, k, v)]
    with torch.no_grad(), runtime():
        compiled = torch_tensorrt.dynamo.compile(program, inputs, min_block_size=1, decompose_attention=True)
        got = compiled(q, k, v)
    torch.testing.assert_close(got, Strided()(q, k, v), atol=1e-5, rtol=1e-5)
