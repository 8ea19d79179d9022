"""Donor for partitioning/_adjacency_partitioner.py."""

from __future__ import annotations

import torch
from torch.fx.passes.splitter_base import _SplitterBase

from .split_by_tags import split_by_tags


class AdjacencyPartitioner(_SplitterBase):
    """TRTPartitioner as far as the methods that land see it"""

    def update_deps_for_fusions(self) -> None:
        """Makes a fusion wait for all that it reads, and its users for all of it

        The base class has every node of a fusion depend on all inputs of the fusion, and
        every user on all nodes, which is quadratic. Here the first node depends on the
        inputs and the others on the first; the last depends on the others and the users
        on the last. As the nodes of a fusion go into one subgraph, these are the same.
        """
        fusions = list(
            {id(fusion): fusion for fusion in self.fusions.values()}.values()
        )
        if sum(map(len, fusions)) != len(self.fusions):
            # What fusions that share nodes wait for depends on the order of the updates
            super().update_deps_for_fusions()
            return
        position = {node: i for i, node in enumerate(self.module.graph.nodes)}
        for fusion in fusions:
            first = min(fusion, key=position.__getitem__)
            last = max(fusion, key=position.__getitem__)
            for node in fusion:
                self.deps[first].update(self.deps[node] - fusion)
                for user in node.users:
                    if user not in fusion:
                        self.deps[user].add(last)
                if node is not first:
                    self.deps[node].add(first)
                if node is not last:
                    self.deps[last].add(node)

    def split(self, remove_tag: bool = False) -> torch.fx.GraphModule:
        """Splits the module by the tags of its nodes, in linear time"""
        split_module = split_by_tags(self.module, self.tags, self._return_tuple)
        if remove_tag:
            for node in self.module.graph.nodes:
                if hasattr(node, "tag"):
                    del node.tag
        return split_module
