"""Partition a graph in linear time.

Two steps of the fast partitioner are inherited from torch.fx and are
quadratic. split_by_tags looks up each input of a block in the list of
all its inputs: 10,000 operators in PyTorch, each read by one in
TensorRT, take 26 s. update_deps_for_fusions adds dependencies between
all pairs in a group of operators that pass values which are no tensors:
a group of 4,000 takes 5 s. Such groups are common with dynamic shapes,
where every view that takes a size is fused with the operator that gives
it, and so is all that lies between two such views: a group may span
most of the graph.

TRTPartitioner now splits with a function of its own, which looks inputs
up in a dict, and ties a fusion together by its first and its last node:
inputs of the fusion before the first, users after the last. Both take
time linear in the nodes and their inputs. The split module is the same,
names, order and code.

Left alone: fusions that share nodes, where the dependencies that the
base class adds depend on their order; they are still added pair by pair.
FxNetAccFusionsFinder, torch's search for fusions, recurses along the
operators between two nodes of a fusion, and a path of more than about a
thousand raises RecursionError.
"""

from __future__ import annotations

from ...commit import Commit, Fix, Kind
from ...edits import AddDefinition, Donor, NewFile

PARTITIONING = "py/torch_tensorrt/dynamo/partitioning"
PARTITIONER = f"{PARTITIONING}/_adjacency_partitioner.py"
partitioner = Donor(__package__, "adjacency_partitioner")
splitting = Donor(__package__, "split_by_tags")

FIX = Fix(
    slug="linear-partition",
    kind=Kind.EXTRA,
    doc=__doc__,
    symptom="compilation of a large graph seems to hang in the fast partitioner; no wrong result",
    risk="low: same split module; self.deps holds fewer dependencies of fused nodes than it did",
    commits=(
        Commit(
            subject="fix(dynamo): split graphs and tie fusions in linear time",
            edits=(
                NewFile(f"{PARTITIONING}/split_by_tags.py", lambda: splitting.text),
                AddDefinition(
                    PARTITIONER,
                    partitioner["AdjacencyPartitioner.update_deps_for_fusions"],
                    before="TRTPartitioner.remove_small_acc_subgraphs",
                ),
                AddDefinition(
                    PARTITIONER,
                    partitioner["AdjacencyPartitioner.split"],
                    after="TRTPartitioner.starter_nodes",
                ),
            ),
            tests=("tests/py/dynamo/partitioning/test_linear_partition.py",),
        ),
    ),
)
