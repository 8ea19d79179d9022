"""The fast partitioner on a 20,000-node graph in which every 21st node stays in PyTorch."""

from __future__ import annotations

import operator
import time
from typing import Any
from unittest import mock

import torch

from . import Finding

NODES, BLOCK = 20_000, 21


def chain(nodes: int) -> torch.fx.GraphModule:
    """A chain of calls: blocks of relu, which TensorRT has, that end with a matmul of Python's, which it has not."""
    graph = torch.fx.Graph()
    node = graph.placeholder("x")
    for i in range(1, nodes + 1):
        if i % BLOCK:
            node = graph.call_function(torch.ops.aten.relu.default, (node,))
        else:
            node = graph.call_function(operator.matmul, (node, node))
        node.meta["val"] = torch.zeros(2, 2)
    graph.output(node)
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def reproduce() -> Finding:
    from torch_tensorrt.dynamo._settings import CompilationSettings
    from torch_tensorrt.dynamo.conversion import DYNAMO_CONVERTERS
    from torch_tensorrt.dynamo.partitioning import fast_partition
    from torch_tensorrt.dynamo.partitioning._adjacency_partitioner import TRTPartitioner

    DYNAMO_CONVERTERS.set_compilation_settings(CompilationSettings())
    put_nodes = TRTPartitioner.put_nodes_into_subgraphs
    spent = []

    def timed(self: Any) -> Any:
        began = time.process_time()
        subgraphs = put_nodes(self)
        spent.append(time.process_time() - began)
        return subgraphs

    with mock.patch.object(TRTPartitioner, "put_nodes_into_subgraphs", timed):
        partitioned, _ = fast_partition(chain(NODES), min_block_size=1)
    blocks = sum(1 for _ in partitioned.children())
    wanted = 2 * (NODES // BLOCK) + 1
    return Finding(
        what=f"fast partitioner, {NODES:,} nodes, every {BLOCK}st in PyTorch: blocks; seconds to put nodes into them",
        wanted=f"{wanted:,}",
        got=f"{blocks:,}",
        well=blocks == wanted,
        seconds=sum(spent),
    )
