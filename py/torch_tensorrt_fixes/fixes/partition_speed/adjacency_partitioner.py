"""Donor for partitioning/_adjacency_partitioner.py."""

from __future__ import annotations

from collections import defaultdict
from typing import Dict, List, Tuple

import torch
from torch.fx.passes.splitter_base import (
    FxNetSplitterInternalError,
    Subgraph,
    _SplitterBase,
)
from torch.fx.passes.tools_common import CALLABLE_NODE_OPS, NodeList, NodeSet


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
        anew for each node that it takes. Here each node counts the dependencies that it
        waits for, so that the time is linear in the number of nodes and dependencies.

        Returns:
            The subgraphs in execution order, with the nodes of each in graph order
        Raises:
            FxNetSplitterInternalError: The dependencies form a cycle, or the graph has
                no operators
        """
        starter_non_acc_nodes, starter_acc_nodes = self.starter_nodes()
        starters = starter_non_acc_nodes | starter_acc_nodes
        nodes = [node for node in self.module.graph.nodes if node in starters]

        # Reversed self.deps, since node.users lacks the dependencies due to fusions
        dependents: Dict[torch.fx.Node, NodeList] = defaultdict(list)
        waiting_for: Dict[torch.fx.Node, int] = {}
        # Nodes that wait for none, by whether they are accelerated
        ready: Dict[bool, NodeList] = {False: [], True: []}
        for node in nodes:
            deps = self.deps[node]
            waiting_for[node] = len(deps)
            for dep in deps:
                dependents[dep].append(node)
            if not deps:
                ready[node in self.acc_nodes].append(node)

        subgraphs: List[Subgraph] = []
        subgraph_of: Dict[torch.fx.Node, Subgraph] = {}
        # Accelerated nodes come first only if no other node is ready
        is_acc = not ready[False]
        while ready[is_acc]:
            subgraph = Subgraph(is_acc=is_acc, nodes=[])
            subgraphs.append(subgraph)
            while ready[is_acc]:
                node = ready[is_acc].pop()
                subgraph_of[node] = subgraph
                for dependent in dependents[node]:
                    waiting_for[dependent] -= 1
                    if waiting_for[dependent] == 0:
                        ready[dependent in self.acc_nodes].append(dependent)
            is_acc = not is_acc

        waiting = [node for node in nodes if node not in subgraph_of]
        if waiting:
            raise FxNetSplitterInternalError(
                f"The dependencies form a cycle: {len(waiting)} of {len(nodes)} nodes "
                f"are in it or behind it, the first is {waiting[0]}"
            )
        if not subgraphs:
            raise FxNetSplitterInternalError("The graph has no operators to partition")

        # Nodes became ready in another order than the graph's
        for node in nodes:
            subgraph_of[node].nodes.append(node)
        return subgraphs
