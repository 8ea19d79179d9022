"""Donor for conversion/truncate_double.py."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx.passes.shape_prop import TensorMetadata


def truncated_metadata(meta: Any) -> Any:
    """Returns ``meta`` as it is of what a TRT engine gives: float32 for float64

    Args:
        meta: A node's "val" or "tensor_meta", or a list or tuple with one an output;
            what is not a float64 tensor is returned as it is
    """
    if isinstance(meta, TensorMetadata):
        return (
            meta._replace(dtype=torch.float32) if meta.dtype == torch.float64 else meta
        )
    if isinstance(meta, (list, tuple)):
        return type(meta)(map(truncated_metadata, meta))
    if isinstance(meta, torch.Tensor) and meta.dtype == torch.float64:
        return meta.new_empty_strided(meta.size(), meta.stride(), dtype=torch.float32)
    return meta


def declare_truncated_outputs(module_node: torch.fx.Node) -> None:
    """Makes the metadata of a TRT-accelerated subgraph's outputs say float32 for float64

    In-Place modifies the metadata of the node and of those that get an item of it

    Args:
        module_node: Node of the subgraph in the graph around it, with its metadata
    """
    getitems = [user for user in module_node.users if user.target is operator.getitem]
    for node in (module_node, *getitems):
        for key in ("val", "tensor_meta"):
            if key in node.meta:
                node.meta[key] = truncated_metadata(node.meta[key])


def _declare_casts(gm: torch.fx.GraphModule, module_node: torch.fx.Node) -> None:
    """Gives the casts inserted around a TRT-accelerated subgraph their metadata

    In-Place modifies the metadata of the casts. It follows from the subgraph's own:
    the nodes around it that run in PyTorch need not have any.

    Args:
        gm: FX GraphModule enclosing the TRT subgraph
        module_node: Node of the subgraph in that graph
    """
    graph: torch.fx.Graph = getattr(gm, str(module_node.target)).graph
    placeholders = graph.find_nodes(op="placeholder")
    sources: list[Any] = list(zip(module_node.args, placeholders, strict=True))

    (output_node,) = graph.find_nodes(op="output")
    outputs: Any = output_node.args[0]
    for user in module_node.users:
        if user.target is operator.getitem:
            sources += [(node, outputs[user.args[1]]) for node in user.users]
        elif isinstance(outputs, torch.fx.Node):
            sources.append((user, outputs))

    for node, source in sources:
        if node.target is not torch.ops.aten._to_copy.default or "val" in node.meta:
            continue
        val = source.meta.get("val")
        if isinstance(val, torch.Tensor):
            node.meta["val"] = node.target(val, **node.kwargs)
