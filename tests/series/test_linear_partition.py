"""linear-partition's way of splitting a module and of tying fusions against torch.fx's, on torch alone."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from torch.fx.passes.split_utils import split_by_tags as reference_split
from torch.fx.passes.splitter_base import FxNetSplitterInternalError, Subgraph, _SplitterBase
from torch.fx.passes.tools_common import FxNetAccFusionsFinder

from torch_tensorrt_fixes.extras.linear_partition.adjacency_partitioner import AdjacencyPartitioner
from torch_tensorrt_fixes.extras.linear_partition.split_by_tags import split_by_tags

Node = torch.fx.Node
CONSTANTS = ("weight", "inner.weight")


def many_inputs(*inputs: torch.Tensor, more: object = None) -> torch.Tensor:
    """An operator with any number of inputs, none among them."""
    return sum(inputs, torch.zeros(()))


class Partitioner(AdjacencyPartitioner):
    """Has what the base class's methods read, without its constructor."""

    def __init__(self, module: torch.fx.GraphModule, accelerated: set[Node], fusions: dict[Node, set[Node]]) -> None:
        self.module = module
        self.acc_nodes = accelerated
        self.fusions = fusions

    def starter_nodes(self) -> tuple[set[Node], set[Node]]:
        operators = {node for node in self.module.graph.nodes if node.op == "call_function"}
        return operators - self.acc_nodes, operators & self.acc_nodes

    def subgraphs(self, *, as_base_class: bool) -> list[Subgraph] | None:
        """The base class's subgraphs for the dependencies of either, nodes in graph order; None where it gives up."""
        self.deps = self.find_deps()
        (_SplitterBase if as_base_class else AdjacencyPartitioner).update_deps_for_fusions(self)
        try:
            subgraphs = self.put_nodes_into_subgraphs()
        except FxNetSplitterInternalError:
            return None
        order = {node: i for i, node in enumerate(self.module.graph.nodes)}
        for subgraph in subgraphs:
            subgraph.nodes.sort(key=order.__getitem__)
        return subgraphs


@st.composite
def graphs(draw: st.DrawFn) -> tuple[torch.fx.GraphModule, set[Node]]:
    """A random graph and its accelerated nodes.

    It has inputs and constants, some below a submodule; operators that read values by place and by name, the same one
    twice perhaps, or none; in-place ones; chains of getitem and others without a tensor; values that nothing reads;
    outputs of any kind, the same one twice perhaps, nested or single.
    """
    graph = torch.fx.Graph()
    values = [graph.placeholder("x"), graph.placeholder("unused"), *map(graph.get_attr, CONSTANTS)]
    accelerated = set()
    for _ in range(draw(st.integers(0, 25))):
        value = st.sampled_from(values)
        match draw(st.integers(0, 3)):
            case 0:
                node = graph.call_function(operator.getitem, (draw(value), 0))
            case 1:
                node = graph.call_function(operator.iadd, (draw(value), draw(value)))
            case _:
                node = graph.call_function(
                    many_inputs, tuple(draw(st.lists(value, max_size=3))), {"more": [draw(value)]}
                )
        if draw(st.integers(0, 3)):
            node.meta["tensor_meta"] = None
        if draw(st.integers(0, 3)):
            accelerated.add(node)
        values.append(node)
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    graph.output(draw(st.sampled_from([outputs[0], tuple(outputs), {"a": outputs, "b": (outputs[0],)}])))
    root = torch.nn.Module()
    root.inner = torch.nn.Module()
    for owner in (root, root.inner):
        owner.register_buffer("weight", torch.ones(()))
    return torch.fx.GraphModule(root, graph), accelerated


@st.composite
def partitioners(draw: st.DrawFn) -> Partitioner:
    """A partitioner without fusions, with those that torch finds, or with groups of any accelerated nodes."""
    module, accelerated = draw(graphs())
    how = draw(st.sampled_from(["none", "found", "any"]))
    fusions: dict[Node, set[Node]] = {}
    if how == "found":
        fusions = FxNetAccFusionsFinder(module, set(accelerated))()
    elif how == "any":
        groups: dict[int, set[Node]] = {}
        for node in module.graph.nodes:
            if node in accelerated:
                groups.setdefault(draw(st.integers(0, 8)), set()).add(node)
        fusions = {node: group for group in groups.values() for node in group}
    event(f"fusions: {how if fusions else 'none'}")
    return Partitioner(module, accelerated, fusions)


@given(partitioners())
@settings(deadline=None)
def test_same_subgraphs_as_with_the_base_class(partitioner: Partitioner) -> None:
    wanted = partitioner.subgraphs(as_base_class=True)
    event("gives up" if wanted is None else "subgraphs")
    assert partitioner.subgraphs(as_base_class=False) == wanted


def description(split: torch.fx.GraphModule) -> dict[str, Any]:
    """All that there is to a split module: of each module its code, nodes, tags, types and metadata, and its state."""
    return {
        name: (
            module.code,
            [
                (n.op, n.name, n.target, str(n.args), str(n.kwargs), n.type, n.meta, getattr(n, "tag", None))
                for n in module.graph.nodes
            ],
            sorted(module.state_dict(keep_vars=True)),
        )
        for name, module in split.named_modules()
        if isinstance(module, torch.fx.GraphModule)
    }


@given(partitioners(), st.booleans())
@settings(deadline=None)
def test_same_split_module(partitioner: Partitioner, return_tuple: bool) -> None:
    subgraphs = partitioner.subgraphs(as_base_class=True)
    assume(subgraphs)
    assert subgraphs is not None
    tags = []
    for i, subgraph in enumerate(subgraphs):
        tags.append(f"block_{i}")
        for node in subgraph.nodes:
            node.tag = tags[-1]
    wanted = reference_split(partitioner.module, tags, return_tuple=return_tuple)
    assert isinstance(wanted, torch.fx.GraphModule)
    assert description(split_by_tags(partitioner.module, tags, return_tuple)) == description(wanted)


def fused_views(length: int) -> Partitioner:
    """``length`` operators outside TensorRT, each read by a view of one size, each view by another such operator."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    size = graph.call_function(many_inputs, (x,))
    views = [graph.call_function(many_inputs, (graph.call_function(many_inputs, (x,)), size)) for _ in range(length)]
    graph.output(tuple(graph.call_function(many_inputs, (view,)) for view in views))
    group = {size, *views}
    return Partitioner(torch.fx.GraphModule(torch.nn.Module(), graph), set(group), dict.fromkeys(group, group))


def test_dependencies_are_linear_in_the_size_of_a_fusion() -> None:
    partitioner = fused_views(300)
    assert partitioner.subgraphs(as_base_class=False) is not None
    assert sum(map(len, partitioner.deps.values())) < 10 * 300
    assert partitioner.subgraphs(as_base_class=True) is not None
    assert sum(map(len, partitioner.deps.values())) > 300**2


def test_fusions_that_share_nodes_are_tied_as_the_base_class_does() -> None:
    partitioner = fused_views(3)
    *others, last = sorted(partitioner.acc_nodes, key=lambda node: node.name)
    partitioner.fusions = {**dict.fromkeys(others, {*others}), last: {last, others[0]}}
    wanted = partitioner.subgraphs(as_base_class=True)
    deps = partitioner.deps
    assert partitioner.subgraphs(as_base_class=False) == wanted
    assert partitioner.deps == deps


def test_reading_a_later_block_is_refused() -> None:
    graph = torch.fx.Graph()
    first = graph.call_function(many_inputs, (graph.placeholder("x"),), name="first")
    second = graph.call_function(many_inputs, (first,), name="second")
    graph.output(second)
    first.tag, second.tag = "late", "early"
    with pytest.raises(FxNetSplitterInternalError, match="second in early reads first, .* later block, late"):
        split_by_tags(torch.fx.GraphModule(torch.nn.Module(), graph), ["early", "late"])
