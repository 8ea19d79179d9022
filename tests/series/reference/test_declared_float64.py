"""The extra declared-float64: what is declared is what comes back, whatever the layout, with and without a retrace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_tensorrt
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from torch_tensorrt_fixes.extras.declared_float64.truncate_double import truncated_metadata
from torch_tensorrt_fixes.reference import runtime

Tensor = torch.Tensor
DTYPES = (torch.float64, torch.float32, torch.float16, torch.int64, torch.bool)


@given(st.permutations(range(3)), st.sampled_from(DTYPES), st.integers(0, 7))
def test_only_float64_changes_and_no_guard_is_added(order: list[int], dtype: torch.dtype, dynamic: int) -> None:
    shapes = ShapeEnv()
    sizes = [DimDynamic.DYNAMIC if dynamic >> dim & 1 else DimDynamic.STATIC for dim in range(3)]
    with FakeTensorMode(shape_env=shapes) as mode:
        fake = mode.from_tensor(
            torch.zeros(2, 3, 4, dtype=dtype), symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes)
        ).permute(order)
    guards = len(shapes.guards)
    for meta in (fake, [fake, None, 3], (fake,)):
        got = truncated_metadata(meta)
        assert type(got) is type(meta)
        val, was = (got, meta) if isinstance(meta, Tensor) else (got[0], meta[0])
        assert val.dtype == (torch.float32 if dtype == torch.float64 else dtype)
        assert str(val.shape) == str(was.shape) and str(val.stride()) == str(was.stride())
    assert len(shapes.guards) == guards


PROGRAMS: dict[str, Callable[[Tensor], Any]] = {
    "one output": lambda x: x.relu() * 2,
    "several": lambda x: (x.relu() * 2, x.float().exp(), x > 0, x.neg()),
    "PyTorch between": lambda x: torch.special.digamma(x.relu() + 9).mm(x).relu(),
    "to two engines": lambda x: (torch.special.digamma(x.relu() + 9) + x.relu()).neg(),
}


class Program(torch.nn.Module):
    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


@pytest.fixture(autouse=True)
def _inside() -> Iterator[None]:
    with torch.no_grad(), runtime():
        yield


@pytest.mark.parametrize("retrace", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_saved_and_loaded_it_gives_what_it_declares(name: str, retrace: bool, tmp_path: Path) -> None:
    module = Program(PROGRAMS[name]).eval()
    x = torch.linspace(-2, 2, 16, dtype=torch.float64).reshape(4, 4)
    program = torch.export.export(module, (x,))
    compiled = torch_tensorrt.dynamo.compile(program, [x], min_block_size=1, truncate_double=True)
    path = str(tmp_path / "saved.pt2")
    torch_tensorrt.save(compiled, path, inputs=[x], retrace=retrace)
    loaded = torch_tensorrt.load(path)
    got, want = loaded.module()(x), module(x)
    got, want = [*got] if isinstance(got, (tuple, list)) else [got], [*want] if isinstance(want, tuple) else [want]
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    (output,) = loaded.graph.find_nodes(op="output")
    assert [node.meta["val"].dtype for node in output.args[0]] == [value.dtype for value in want]
