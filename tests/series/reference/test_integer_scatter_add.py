"""Fix 9 against PyTorch: the decomposition by any shapes, compiled programs by values, and what lands in 2.15."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch_tensorrt
from hypothesis import given
from hypothesis import strategies as st
from torch_tensorrt.dynamo.lowering._decompositions import scatter_add_decomposition
from torch_tensorrt.dynamo.runtime import TorchTensorRTModule

from torch_tensorrt_fixes import series
from torch_tensorrt_fixes.edits import Misfit, apply
from torch_tensorrt_fixes.fixes.integer_scatter_add import FILTER
from torch_tensorrt_fixes.reference import runtime

OPTIONS = {"min_block_size": 1, "pass_through_build_failures": True}


@st.composite
def scatter_adds(draw: st.DrawFn) -> tuple[torch.Tensor, int, torch.Tensor, torch.Tensor]:
    """The arguments of a scatter_add: index no longer than src and, but for dim, than the input."""
    rank = draw(st.integers(0, 4))
    sizes = st.lists(st.integers(1, 4), min_size=rank, max_size=rank)
    shape = draw(sizes)
    dim = draw(st.integers(-max(rank, 1), max(rank, 1) - 1))
    src_shape = draw(sizes)
    along = range(rank)[dim] if rank else None
    index_shape = [
        draw(st.integers(0, src_size if d == along else min(size, src_size)))
        for d, (size, src_size) in enumerate(zip(shape, src_shape, strict=True))
    ]
    dtype = draw(st.sampled_from([torch.int32, torch.int64, torch.int64, torch.int8, torch.bool, torch.float32]))
    random = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))

    def values(of: list[int]) -> torch.Tensor:
        if dtype in (torch.bool, torch.float32):
            return torch.randint(0, 9, of, generator=random).to(dtype)
        info = torch.iinfo(dtype)
        return torch.randint(info.min, info.max, of, generator=random, dtype=dtype)

    index = torch.randint(0, 1 if along is None else shape[along], index_shape, generator=random)
    return values(shape), dim, index, values(src_shape)


@given(scatter_adds())
def test_decomposition_is_pytorchs(arguments: tuple[torch.Tensor, int, torch.Tensor, torch.Tensor]) -> None:
    got, wanted = scatter_add_decomposition(*arguments), torch.scatter_add(*arguments)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert torch.equal(got, wanted)


class Router(torch.nn.Module):
    """Counts the tokens of each expert."""

    def forward(self, counts: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        experts = logits.topk(2, dim=-1).indices.flatten()
        return torch.scatter_add(counts, 0, experts, torch.ones_like(experts)) * 2


class FixedIndex(torch.nn.Module):
    """Adds to every other row, twice to each. The index is a constant under torch.compile, too."""

    def forward(self, x: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        index = torch.arange(src.shape[0]).unsqueeze(-1).expand(src.shape) // 2 * 2
        return torch.scatter_add(x, 0, index, src) * 3


class InBranch(torch.nn.Module):
    def forward(self, which: torch.Tensor, x: torch.Tensor, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        def add(x: torch.Tensor, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
            return x.scatter_add(0, index, src)

        def leave(x: torch.Tensor, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
            return x.clone()

        return torch.cond(which, add, leave, (x * 2, index, src)) + 1


@pytest.fixture
def _inside() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(9)
    with runtime(), torch.no_grad():
        yield


def engines_of(module: torch.nn.Module) -> list[Any]:
    return [part for part in module.modules() if isinstance(part, TorchTensorRTModule)]


def compiled(module: torch.nn.Module, *inputs: torch.Tensor, specs: Any = None, dynamic: Any = None) -> Any:
    program = torch.export.export(module, inputs, dynamic_shapes=dynamic)
    return torch_tensorrt.dynamo.compile(program, arg_inputs=specs or inputs, **OPTIONS)


@pytest.mark.usefixtures("_inside")
def test_router_with_a_dynamic_number_of_tokens() -> None:
    """The number of updates is not specialised: the count runs in PyTorch, what is around it in engines."""
    tokens = {0: torch.export.Dim("tokens", min=2, max=64)}
    counts = torch.zeros(8, dtype=torch.int64)
    spec = torch_tensorrt.Input(min_shape=(2, 8), opt_shape=(9, 8), max_shape=(64, 8), dtype=torch.float32)
    program = compiled(Router(), counts, torch.randn(9, 8), specs=[counts, spec], dynamic=(None, tokens))
    for length in (9, 12, 64):
        logits = torch.randn(length, 8)
        assert torch.equal(program(counts, logits), Router()(counts, logits))
    assert len(engines_of(program)) == 2


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile(dynamic: bool) -> None:
    module = torch.compile(Router(), backend="tensorrt", dynamic=dynamic, options=OPTIONS)
    counts = torch.zeros(8, dtype=torch.int64)
    for length in (9, 12):
        logits = torch.randn(length, 8)
        assert torch.equal(module(counts, logits), Router()(counts, logits))


@pytest.mark.usefixtures("_inside")
def test_torch_compile_keeps_positions_unfolded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its graphs carry no metadata, but for the mark."""
    x, src = torch.zeros(4096, 8, dtype=torch.int64), torch.randint(-99, 99, (128, 8))
    sizes = []
    construct = TorchTensorRTModule.__init__

    def __init__(module: Any, serialized_engine: bytes, *rest: Any, **named: Any) -> None:
        sizes.append(len(serialized_engine))
        construct(module, serialized_engine, *rest, **named)

    monkeypatch.setattr(TorchTensorRTModule, "__init__", __init__)
    for disabled in (set(), {"scatter_add_positions"}):
        torch._dynamo.reset()
        options = OPTIONS | {"disabled_constant_fold_exclusions": disabled}
        module = torch.compile(FixedIndex(), backend="tensorrt", options=options)
        assert torch.equal(module(x, src), FixedIndex()(x, src))
    unfolded, folded = sizes
    assert unfolded < 1_000_000
    assert folded > 4096 * 128 * 8


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("which", [True, False])
def test_branch_of_a_condition(which: bool) -> None:
    x, src = torch.randint(-(2**63), 2**63 - 1, (4, 3)), torch.randint(-(2**63), 2**63 - 1, (9, 3))
    inputs = (torch.tensor(which), x, torch.randint(0, 4, (9, 3)), src)
    assert torch.equal(compiled(InBranch(), *inputs)(*inputs), InBranch()(*inputs))


@pytest.mark.usefixtures("_inside")
def test_engine_of_a_large_table_stays_small() -> None:
    """A 128x64 constant index into a 4096x64 table: 19 MB with the loop."""
    index = torch.randint(0, 4096, (128, 64))

    class Table(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("index", index)

        def forward(self, table: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
            return torch.scatter_add(table, 0, index, src)

    table, src = torch.zeros(4096, 64, dtype=torch.int64), torch.randint(-99, 99, (128, 64))
    program = torch.export.export(Table(), (table, src))
    engine = torch_tensorrt.dynamo.convert_exported_program_to_serialized_trt_engine(program, arg_inputs=[table, src])
    assert len(engine) < 400_000


# --- a tree that filters decompositions ---

STAND_IN = """
def has_symbolic(graph_module):
    pass


def _has_symbolic_scatter_add_extent(graph_module):
    for each in graph_module.graph.nodes:
        if each.target is torch.ops.aten.scatter_add.default:
            source = each.args[3].meta["val"]
            if isinstance(source.shape[each.args[1]], torch.SymInt):
                return True
    return False
"""


def scatter_add_graph(dynamic: tuple[Any, Any, Any]) -> torch.fx.GraphModule:
    class ScatterAdd(torch.nn.Module):
        def forward(self, x: torch.Tensor, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
            return torch.scatter_add(x, -1, index, src)

    inputs = (torch.zeros(3, 4), torch.zeros(3, 4, dtype=torch.int64), torch.zeros(3, 9))
    return torch.export.export(ScatterAdd(), inputs, dynamic_shapes=dynamic).graph_module


@pytest.mark.parametrize(("index_varies", "src_varies"), [(False, False), (False, True), (True, True)])
def test_filter_looks_at_index(index_varies: bool, src_varies: bool) -> None:
    updates = {1: torch.export.Dim("updates", min=2, max=5)} if index_varies else None
    length = {1: torch.export.Dim("length", min=5, max=64)} if src_varies else None
    graph_module = scatter_add_graph((None, updates, length))

    def filtered(text: str) -> bool:
        scope: dict[str, Any] = {"torch": torch, "get_positive_dim": lambda dim, rank: dim % rank}
        exec(text, scope)
        answer: bool = scope["_has_symbolic_scatter_add_extent"](graph_module)
        return answer

    (commit,) = series.find("integer-scatter-add").commits
    (edit,) = (edit for edit in commit.variants[0].edits if edit.path == FILTER)
    assert filtered(STAND_IN) == src_varies
    applied = apply(FILTER, STAND_IN, [edit])
    assert filtered(applied.text) == index_varies
    assert apply(FILTER, applied.text, [edit]).made == ()


def test_variant_is_chosen_by_the_filter() -> None:
    (commit,) = series.find("integer-scatter-add").commits
    with_filter, without = commit.variants
    assert with_filter.when.holds({FILTER: STAND_IN}.get)
    assert not without.when.holds({FILTER: STAND_IN}.get)
    assert without.when.holds({}.get)
    assert {edit.path for edit in with_filter.edits} - {edit.path for edit in without.edits} == {FILTER}


def test_another_filter_is_a_misfit() -> None:
    (commit,) = series.find("integer-scatter-add").commits
    (edit,) = (edit for edit in commit.variants[0].edits if edit.path == FILTER)
    with pytest.raises(Misfit, match="_has_symbolic_scatter_add_extent"):
        apply(FILTER, "def _has_symbolic_scatter_add_extent(module):\n    return False\n", [edit])
