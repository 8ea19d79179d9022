"""Donor for conversion/truncate_double.py."""

from __future__ import annotations

import torch


def _restore_double_outputs(
    gm: torch.fx.GraphModule, submodule: torch.fx.GraphModule, submodule_name: str
) -> None:
    """Casts the outputs of a TRT-accelerated subgraph that are float64 in the program

    In-Place modifies the provided graph

    TRT gives these outputs in float32. Their users outside the subgraph get float64.

    Args:
        gm: FX GraphModule enclosing the TRT subgraph
        submodule: TRT-accelerated subgraph
        submodule_name: Name of TRT-accelerated subgraph module in FX graph
    """
    (output_node,) = submodule.graph.find_nodes(op="output")
    (module_node,) = gm.graph.find_nodes(op="call_module", target=submodule_name)
    outputs = output_node.args[0]
    if isinstance(outputs, torch.fx.Node):
        sources = {module_node: outputs}
    else:
        # Users of a module with several outputs get one item each
        sources = {user: outputs[user.args[1]] for user in module_node.users}

    for node, source in sources.items():
        val = source.meta.get("val")
        if not isinstance(val, torch.Tensor) or val.dtype != torch.float64:
            continue
        with gm.graph.inserting_after(node):
            cast_node = gm.graph.call_function(
                torch.ops.aten._to_copy.default, kwargs={"dtype": torch.float64}
            )
        cast_node.meta["val"] = val
        node.replace_all_uses_with(cast_node)
        cast_node.args = (node,)

    gm.graph.lint()
    gm.recompile()
