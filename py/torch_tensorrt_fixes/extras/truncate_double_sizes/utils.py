"""Donor for dynamo/utils.py."""

from __future__ import annotations

from typing import Any

import torch


def get_output_values(gm: torch.fx.GraphModule) -> Any:
    """
    Return what a graph returns as its metadata declares it: a tensor, a size or another
    scalar; of a graph that returns a collection, a tuple of these. None stands for what
    has no metadata.
    """

    def declared(node: torch.fx.Node) -> Any:
        if "val" in node.meta or "tensor_meta" not in node.meta:
            return node.meta.get("val")
        tensor_meta = node.meta["tensor_meta"]
        return torch.empty(tensor_meta.shape, dtype=tensor_meta.dtype, device="meta")

    (output_node,) = gm.graph.find_nodes(op="output")
    outputs: Any = output_node.args[0]
    if isinstance(outputs, torch.fx.Node):
        return declared(outputs)
    return tuple(
        declared(output) if isinstance(output, torch.fx.Node) else output
        for output in outputs
    )
