"""Put nodes into subgraphs in linear time.

The fast partitioner, TRTPartitioner in _adjacency_partitioner.py, takes
nodes one at a time, and for each it looks through all nodes that wait for
one that is ready: the method that does so is inherited from torch.fx's
splitter base, and starter_nodes makes every operator wait from the start.
The time is quadratic in the number of operators. A serial chain is the
worst case, a wide graph hardly suffers: 20,000 operators in a chain that
alternates between TensorRT and PyTorch take 24 s, 62,000 operators of
which every 21st runs in PyTorch take 188 s, and a model of 345,000 nodes
did not finish in 75 minutes.

TRTPartitioner now has its own put_nodes_into_subgraphs, which goes over
the nodes once: each belongs to the first subgraph of its kind that is
not before any of its dependencies. It follows self.deps, which knows
the dependencies due to fusions, and not node.users, which does not. The
time is linear in the number of nodes and dependencies: the 62,000
operators take 0.1 s.

The subgraphs are the same ones in the same order, and so is the split
module. The rule by which the first subgraph is chosen is the same too,
and a cycle still raises FxNetSplitterInternalError, upon which
compile_module turns to the global partitioner. The nodes within a
subgraph are now in graph order; they used to be in the order of a set,
which differs between runs.

Left alone: split_by_tags, quadratic in the inputs of one block, and
update_deps_for_fusions, quadratic in the size of a fusion group.
"""

from ...commit import Commit, Fix
from ...edits import AddDefinition, Donor

PARTITIONER = "py/torch_tensorrt/dynamo/partitioning/_adjacency_partitioner.py"
donor = Donor(__package__, "adjacency_partitioner")

FIX = Fix(
    number=2,
    slug="partition-speed",
    doc=__doc__,
    affects="2.1 to 2.14 (the text of each; 2.14.0 was run)",
    symptom="compilation of a large graph seems to hang in the fast partitioner; no wrong result",
    risk="low: same subgraphs in the same order; nodes within a subgraph are in graph order, not in that of a set",
    commits=(
        Commit(
            subject="fix(dynamo): put nodes into subgraphs in linear time",
            edits=(
                AddDefinition(
                    PARTITIONER,
                    donor["AdjacencyPartitioner.put_nodes_into_subgraphs"],
                    before="TRTPartitioner.starter_nodes",
                ),
            ),
            tests=("tests/py/dynamo/partitioning/test_partition_speed.py",),
        ),
    ),
)
