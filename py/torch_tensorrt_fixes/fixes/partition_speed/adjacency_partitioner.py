"""Donor for partitioning/_adjacency_partitioner.py."""

from __future__ import annotations

from typing import Dict, List, Tuple

import torch
from torch.fx.passes.splitter_base import (
    FxNetSplitterInternalError,
    Subgraph,
    _SplitterBase,
)
from torch.fx.passes.tools_common import CALLABLE_NODE_OPS, NodeSet


class AdjacencyPartitioner(_SplitterBase):
    """TRTPartitioner as far as put_nodes_into_subgraphs, the method that lands, sees it

    Args:
        module: FX GraphModule to partition
        acc_nodes: The accelerated nodes
        fusions: Maps each node of a fusion to all nodes of it
    """

    def __init__(
        self,
        module: torch.fx.GraphModule,
        acc_nodes: NodeSet,
        fusions: Dict[torch.fx.Node, NodeSet],
    ) -> None:
        self.module = module
        self.acc_nodes = acc_nodes
        self.fusions = fusions
        self.deps = self.find_deps()
        self.update_deps_for_fusions()

    def starter_nodes(self) -> Tuple[NodeSet, NodeSet]:
        """Every operator, non-accelerated and accelerated"""
        operators = {n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS}
        return operators - self.acc_nodes, operators & self.acc_nodes

    def put_nodes_into_subgraphs(self) -> List[Subgraph]:
        """Puts every node into a subgraph, accelerated and non-accelerated in turn

        As in the base class, a subgraph takes all nodes of its kind whose dependencies
        are in earlier subgraphs or in itself. The base class searches the waiting nodes
        anew for each node that it takes. Here a node goes into the first subgraph of its
        kind that is not before any of its dependencies, so that the time is linear in
        the number of nodes and dependencies.

        Returns:
            The subgraphs in execution order, with the nodes of each in graph order
        Raises:
            FxNetSplitterInternalError: The dependencies form a cycle, or the graph has
                no operators
        """
        non_acc_nodes, acc_nodes = self.starter_nodes()
        nodes = [n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS]
        if not nodes:
            raise FxNetSplitterInternalError("The graph has no operators to partition")
        # Accelerated nodes come first only if no other node is ready
        acc_first = all(self.deps.get(node) for node in non_acc_nodes)

        subgraph_of: Dict[torch.fx.Node, int] = {}
        # Nodes that wait for a dependency to be placed, each for the one behind it; the
        # graph has dependencies first, save for those due to fusions
        waiting: Dict[torch.fx.Node, None] = {}
        to_place = nodes[::-1]
        while to_place:
            node = to_place[-1]
            index = 0
            missing = []
            for dep in self.deps.get(node, ()):
                if dep not in subgraph_of:
                    missing.append(dep)
                elif subgraph_of[dep] > index:
                    index = subgraph_of[dep]
            if not missing:
                # Subgraphs with an even index are of the kind that comes first
                is_odd = (node in acc_nodes) != acc_first
                subgraph_of[node] = index + (index % 2 != is_odd)
                to_place.pop()
                waiting.pop(node, None)
            elif node not in waiting:
                waiting[node] = None
                to_place.extend(missing)
            else:
                cycle = list(waiting)
                cycle = cycle[cycle.index(node) :]
                raise FxNetSplitterInternalError(
                    f"The dependencies form a cycle of {len(cycle)} nodes: "
                    f"{', '.join(n.name for n in cycle[:8])}"
                )

        subgraphs = [
            Subgraph(is_acc=(index % 2 == 0) == acc_first, nodes=[])
            for index in range(max(subgraph_of.values()) + 1)
        ]
        for node in nodes:
            subgraphs[subgraph_of[node]].nodes.append(node)
        return subgraphs
