"""Fix 2's way of putting nodes into subgraphs against the base class's, on torch alone."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import pytest
import torch
from hypothesis import event, given, settings
from hypothesis import strategies as st
from torch.fx.passes.splitter_base import FxNetSplitterInternalError, Subgraph, _SplitterBase
from torch.fx.passes.tools_common import FxNetAccFusionsFinder

from torch_tensorrt_fixes.fixes.partition_speed.adjacency_partitioner import AdjacencyPartitioner

Node = torch.fx.Node


def many_inputs(*inputs: torch.Tensor) -> torch.Tensor:
    """An operator with any number of inputs, none among them."""
    return sum(inputs, torch.zeros(()))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[torch.fx.GraphModule, set[Node]]:
    """A random graph and its accelerated nodes.

    It has inputs and constants; operators that read up to three values, the same one twice perhaps, or none; chains of
    getitem and of other operators whose result is no tensor; values that nothing reads; outputs of any kind.
    """
    graph = torch.fx.Graph()
    values = [graph.placeholder("x"), graph.placeholder("unused"), graph.get_attr("weight")]
    accelerated = set()
    for _ in range(draw(st.integers(0, 25))):
        if draw(st.booleans()):
            node = graph.call_function(operator.getitem, (draw(st.sampled_from(values)), 0))
        else:
            node = graph.call_function(many_inputs, tuple(draw(st.lists(st.sampled_from(values), max_size=3))))
        if draw(st.integers(0, 3)):
            node.meta["tensor_meta"] = None
        if draw(st.integers(0, 3)):
            accelerated.add(node)
        values.append(node)
    graph.output(tuple(draw(st.lists(st.sampled_from(values), max_size=4))))
    root = torch.nn.Module()
    root.register_buffer("weight", torch.ones(()))
    return torch.fx.GraphModule(root, graph), accelerated


@st.composite
def partitioners(draw: st.DrawFn) -> AdjacencyPartitioner:
    """A partitioner without fusions, with those that torch finds, or with disjoint groups of any accelerated nodes."""
    module, accelerated = draw(graphs())
    how = draw(st.sampled_from(["none", "found", "any"]))
    fusions: dict[Node, set[Node]] = {}
    if how == "found":
        fusions = FxNetAccFusionsFinder(module, set(accelerated))()
    elif how == "any":
        operators = [node for node in module.graph.nodes if node in accelerated]
        groups: dict[int, set[Node]] = {}
        for node in operators:
            groups.setdefault(draw(st.integers(0, 8)), set()).add(node)
        fusions = {node: group for group in groups.values() for node in group if len(group) > 1}
    event(f"fusions: {how if fusions else 'none'}")
    return AdjacencyPartitioner(module, accelerated, fusions)


def outcome(put_nodes_into_subgraphs: Callable[[], list[Subgraph]]) -> list[Subgraph] | None:
    """The subgraphs, or None where the partitioner gives up."""
    try:
        return put_nodes_into_subgraphs()
    except FxNetSplitterInternalError:
        return None


@given(partitioners())
@settings(deadline=None)
def test_same_subgraphs_as_the_base_class(partitioner: AdjacencyPartitioner) -> None:
    subgraphs = outcome(partitioner.put_nodes_into_subgraphs)
    wanted = outcome(lambda: _SplitterBase.put_nodes_into_subgraphs(partitioner))
    event("gives up" if wanted is None else "subgraphs")
    if wanted is not None:
        order = list(partitioner.module.graph.nodes)
        for subgraph in wanted:
            subgraph.nodes.sort(key=order.index)  # the base class leaves them in the order of a set
    assert subgraphs == wanted


@given(partitioners())
@settings(deadline=None)
def test_nothing_runs_before_its_inputs(partitioner: AdjacencyPartitioner) -> None:
    """What the subgraphs are, without the base class: of alternate kinds, each operator once, as early as it can be."""
    subgraphs = outcome(partitioner.put_nodes_into_subgraphs)
    if subgraphs is None:
        return
    place = {node: i for i, subgraph in enumerate(subgraphs) for node in subgraph.nodes}
    assert len(place) == sum(len(subgraph.nodes) for subgraph in subgraphs)
    assert place.keys() == {node for node in partitioner.module.graph.nodes if node.op == "call_function"}
    for before, after in zip(subgraphs, subgraphs[1:], strict=False):
        assert before.is_acc != after.is_acc
    for node, i in place.items():
        assert subgraphs[i].is_acc == (node in partitioner.acc_nodes)
        latest = max((place[dep] for dep in partitioner.deps[node]), default=0)
        assert latest <= i <= latest + 1


class CountingSet(set[Node]):
    """A set that counts how often it is read."""

    reads = 0

    def __iter__(self) -> Iterator[Node]:
        self.reads += 1
        return super().__iter__()

    def __len__(self) -> int:
        self.reads += 1
        return super().__len__()

    def __le__(self, other: AbstractSet[Any]) -> bool:
        self.reads += 1
        return super().__le__(other)


def chain(length: int, period: int) -> AdjacencyPartitioner:
    """A chain in which one of ``period`` nodes is not accelerated, and whose dependencies count their reads."""
    graph = torch.fx.Graph()
    node = graph.placeholder("x")
    accelerated = set()
    for i in range(length):
        node = graph.call_function(many_inputs, (node,))
        if i % period != period - 1:
            accelerated.add(node)
    graph.output(node)
    partitioner = AdjacencyPartitioner(torch.fx.GraphModule(torch.nn.Module(), graph), accelerated, {})
    partitioner.deps.update({node: CountingSet(deps) for node, deps in partitioner.deps.items()})
    return partitioner


def most_reads(partitioner: AdjacencyPartitioner) -> int:
    return max(deps.reads for deps in partitioner.deps.values() if isinstance(deps, CountingSet))


def test_dependencies_of_a_large_graph_are_read_a_few_times() -> None:
    partitioner = chain(62_000, 21)
    subgraphs = partitioner.put_nodes_into_subgraphs()
    assert len(subgraphs) == 2 * (62_000 // 21) + 1
    assert most_reads(partitioner) <= 4


def test_base_class_reads_dependencies_ever_more_often() -> None:
    """The count of reads sees what the fix is about."""
    partitioner = chain(100, 2)
    _SplitterBase.put_nodes_into_subgraphs(partitioner)
    assert most_reads(partitioner) >= 50


def test_dependencies_from_fusions_count() -> None:
    """``first`` waits for ``between``, which it does not read, since it is fused with ``last``."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    first = graph.call_function(many_inputs, (x,))
    other = graph.call_function(many_inputs, (x,))
    between = graph.call_function(many_inputs, (other,))
    last = graph.call_function(many_inputs, (first, between))
    graph.output(last)
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    group = {first, last}
    partitioner = AdjacencyPartitioner(module, {first, other, last}, dict.fromkeys(group, group))
    assert partitioner.put_nodes_into_subgraphs() == [
        Subgraph(is_acc=True, nodes=[other]),
        Subgraph(is_acc=False, nodes=[between]),
        Subgraph(is_acc=True, nodes=[first, last]),
    ]


def test_a_cycle_is_named() -> None:
    graph = torch.fx.Graph()
    start = graph.call_function(many_inputs, (graph.placeholder("x"),), name="start")
    first = graph.call_function(many_inputs, (start,), name="first")
    between = graph.call_function(many_inputs, (first,), name="between")
    last = graph.call_function(many_inputs, (between,), name="last")
    graph.output(last)
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    group = {first, last}
    partitioner = AdjacencyPartitioner(module, {start, first, last}, dict.fromkeys(group, group))
    with pytest.raises(FxNetSplitterInternalError, match="cycle of 2 nodes: .*between"):
        partitioner.put_nodes_into_subgraphs()


def test_a_graph_without_operators_is_refused() -> None:
    graph = torch.fx.Graph()
    graph.output(graph.placeholder("x"))
    partitioner = AdjacencyPartitioner(torch.fx.GraphModule(torch.nn.Module(), graph), set(), {})
    with pytest.raises(FxNetSplitterInternalError, match="no operators"):
        partitioner.put_nodes_into_subgraphs()
