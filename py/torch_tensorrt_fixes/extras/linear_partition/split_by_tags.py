"""Splits a graph into submodules in time linear in its nodes and their inputs."""

import copy
import operator
from dataclasses import dataclass, field
from typing import Dict, List, Optional

import torch
from torch.fx.node import map_arg
from torch.fx.passes.split_utils import getattr_recursive
from torch.fx.passes.splitter_base import FxNetSplitterInternalError
from torch.fx.passes.tools_common import NodeList
from torch.fx.passes.utils.common import HolderModule, lift_subgraph_as_module


@dataclass
class Block:
    """A submodule in the making"""

    name: str
    index: int
    graph: torch.fx.Graph = field(default_factory=torch.fx.Graph)
    # What stands in the block for a node of the original graph
    copies: Dict[torch.fx.Node, torch.fx.Node] = field(default_factory=dict)
    # Nodes of the original graph
    inputs: NodeList = field(default_factory=list)
    outputs: NodeList = field(default_factory=list)


def split_by_tags(
    module: torch.fx.GraphModule, tags: List[str], return_tuple: bool = False
) -> torch.fx.GraphModule:
    """Puts the operators of each tag into a submodule of that name

    Gives the module that torch.fx.passes.split_utils.split_by_tags gives, which looks
    up each input in a list of all inputs of its submodule.

    Args:
        module: Module whose operators have a tag each
        tags: The tags, in the order in which the submodules run
        return_tuple: Whether a submodule with a single output returns a tuple
    Returns:
        Module that calls the submodules
    Raises:
        FxNetSplitterInternalError: An operator reads one of a later tag
    """
    blocks = {tag: Block(tag, index) for index, tag in enumerate(tags)}
    block_of: Dict[torch.fx.Node, Block] = {}
    # Values that cross blocks, as an ordered set
    crossing: Dict[torch.fx.Node, None] = {}

    main_graph = torch.fx.Graph()
    main_values: Dict[torch.fx.Node, torch.fx.Node] = {}

    def add_operator(node: torch.fx.Node) -> None:
        block = block_of[node] = blocks[node.tag]  # type: ignore[attr-defined]

        def in_block(value: torch.fx.Node) -> torch.fx.Node:
            if value in block.copies:
                return block.copies[value]
            if value.op == "get_attr":
                stand_in = block.graph.get_attr(str(value.target), type_expr=value.type)
            else:
                if value in block_of and block_of[value].index > block.index:
                    raise FxNetSplitterInternalError(
                        f"{node} in {block.name} reads {value}, "
                        f"which is in a later block, {block_of[value].name}"
                    )
                stand_in = block.graph.placeholder(value.name, type_expr=value.type)
                block.inputs.append(value)
                crossing[value] = None
            stand_in.meta = copy.copy(value.meta)
            block.copies[value] = stand_in
            return stand_in

        block.copies[node] = block.graph.node_copy(node, in_block)
        block.copies[node].tag = node.tag  # type: ignore[attr-defined]

    for node in module.graph.nodes:
        if node.op == "placeholder":
            main_values[node] = main_graph.placeholder(node.name, type_expr=node.type)
            main_values[node].meta = copy.copy(node.meta)
        elif node.op not in ("get_attr", "output"):
            add_operator(node)

    results = module.graph.output_node().args[0]
    returned: NodeList = []
    map_arg(results, returned.append)
    attributes = {}
    for value in returned:
        if value.op == "get_attr":
            main_values[value] = main_graph.get_attr(value.name, type_expr=value.type)
            attributes[value.name] = getattr_recursive(module, str(value.target))
        else:
            crossing[value] = None
    for value in crossing:
        if value.op != "placeholder":
            block_of[value].outputs.append(value)

    submodules: Dict[str, Optional[torch.nn.Module]] = {}
    for block in blocks.values():
        outputs = tuple(block.copies[value] for value in block.outputs)
        single = len(outputs) == 1 and not return_tuple
        block.graph.output(outputs[0] if single else outputs)
        submodules[block.name], _ = lift_subgraph_as_module(
            module, subgraph=block.graph, comp_name=block.name
        )
        call = main_graph.call_module(
            block.name, args=tuple(main_values[value] for value in block.inputs)
        )
        if single:
            main_values[block.outputs[0]] = call
        else:
            for i, value in enumerate(block.outputs):
                main_values[value] = main_graph.call_function(
                    operator.getitem, (call, i)
                )
    main_graph.output(map_arg(results, main_values.__getitem__))
    main_graph._codegen = module.graph._codegen

    root = HolderModule(submodules)
    for name, attribute in attributes.items():
        setattr(root, name, attribute)
    return torch.fx.GraphModule(root, main_graph)
