import operator
import random
from unittest.mock import patch

import torch
from parameterized import parameterized
from torch.fx.passes.operator_support import create_op_support
from torch.fx.passes.splitter_base import FxNetSplitterInternalError, _SplitterBase
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt.dynamo.partitioning._adjacency_partitioner import TRTPartitioner

ACC = torch.ops.aten.add.Tensor
NON_ACC = torch.ops.aten.sub.Tensor


class Builder:
    """Builds graphs whose nodes are marked as tensors, unless they are to be fused"""

    def __init__(self):
        self.graph = torch.fx.Graph()
        self.x = self.graph.placeholder("x")
        self.weight = self.graph.get_attr("weight")

    def call(self, target, *args, tensor=True):
        node = self.graph.call_function(target, args)
        if tensor:
            node.meta["tensor_meta"] = None
        return node

    def partitioner(self, *outputs, fusions=()):
        """TRTPartitioner for which every target but NON_ACC is accelerated"""
        self.graph.output(outputs)
        root = torch.nn.Module()
        root.register_buffer("weight", torch.ones(()))
        partitioner = TRTPartitioner(
            torch.fx.GraphModule(root, self.graph),
            create_op_support(lambda _, node: node.target is not NON_ACC),
            min_block_size=1,
        )
        if fusions:
            partitioner.fusions = {node: group for group in fusions for node in group}
            partitioner.deps = partitioner.find_deps()
            partitioner.update_deps_for_fusions()
        return partitioner


class CountingSet(set):
    """Counts how often it is read"""

    reads = 0

    def __iter__(self):
        self.reads += 1
        return super().__iter__()

    def __len__(self):
        self.reads += 1
        return super().__len__()

    def __le__(self, other):
        self.reads += 1
        return super().__le__(other)


def chain(period, length):
    """A serial chain in which every period-th node is not accelerated"""
    builder = Builder()
    node = builder.x
    for i in range(1, length + 1):
        node = builder.call(NON_ACC if i % period == 0 else ACC, node, builder.weight)
    return builder.partitioner(node)


def random_partitioner(seed, n_fusions):
    rng = random.Random(seed)
    builder = Builder()
    values = [builder.x, builder.weight]
    for _ in range(60):
        target = rng.choice([ACC, ACC, NON_ACC])
        values.append(builder.call(target, *rng.choices(values[-12:], k=2)))
    # Each fusion is two or three neighbours, most of which form no cycle
    acc = [node for node in values if node.target is ACC]
    starts = rng.sample(range(0, len(acc) - 2, 3), n_fusions)
    fusions = [set(acc[start : start + rng.choice([2, 3])]) for start in starts]
    return builder.partitioner(*rng.sample(values, 3), fusions=fusions)


def base_outcome(partitioner):
    """The base class's subgraphs with their nodes in graph order, or None for a cycle"""
    order = {node: i for i, node in enumerate(partitioner.module.graph.nodes)}
    try:
        subgraphs = _SplitterBase.put_nodes_into_subgraphs(partitioner)
    except FxNetSplitterInternalError:
        return None
    return [(s.is_acc, sorted(s.nodes, key=order.__getitem__)) for s in subgraphs]


def outcome(partitioner):
    """The subgraphs, or None for a cycle"""
    try:
        subgraphs = partitioner.put_nodes_into_subgraphs()
    except FxNetSplitterInternalError:
        return None
    return [(s.is_acc, s.nodes) for s in subgraphs]


def split_code(partitioner):
    """The code of the split module and of each of its blocks"""
    split = partitioner.partition_graph()
    return {name: module.code for name, module in split.named_modules()}


class TestPartitionSpeed(TestCase):
    @parameterized.expand([("alternating", 2, 400), ("blocks", 21, 420)])
    def test_reads_of_dependencies_are_bounded(self, _, period, length):
        partitioner = chain(period, length)
        deps = {node: CountingSet(deps) for node, deps in partitioner.deps.items()}
        partitioner.deps.update(deps)
        subgraphs = partitioner.put_nodes_into_subgraphs()
        self.assertEqual(sum(len(s.nodes) for s in subgraphs), length)
        reads = [counting.reads for counting in deps.values()]
        self.assertGreater(min(reads), 0)
        self.assertLessEqual(max(reads), 4)

    def test_same_subgraphs_as_base_class_in_graph_order(self):
        for seed in range(20):
            partitioner = random_partitioner(seed, n_fusions=0)
            subgraphs = outcome(partitioner)
            self.assertGreater(len(subgraphs), 3)
            self.assertEqual(subgraphs, base_outcome(partitioner), f"seed {seed}")

    def test_same_subgraphs_as_base_class_with_fusions(self):
        for seed in range(40):
            partitioner = random_partitioner(seed, n_fusions=seed % 5 + 1)
            expected = base_outcome(partitioner)
            self.assertEqual(outcome(partitioner), expected, f"seed {seed}")

    def test_same_split_module_as_base_class(self):
        for seed in range(5):
            partitioner = random_partitioner(seed, n_fusions=0)
            code = split_code(partitioner)
            self.assertGreater(len(code), 3)
            with patch.object(
                TRTPartitioner,
                "put_nodes_into_subgraphs",
                _SplitterBase.put_nodes_into_subgraphs,
            ):
                self.assertEqual(split_code(partitioner), code, f"seed {seed}")

    def test_fused_node_waits_for_dependencies_of_its_fusion(self):
        builder = Builder()
        x = builder.x
        split = builder.call(torch.ops.aten.split.Tensor, x, 1, tensor=False)
        item = builder.call(operator.getitem, split, 0)
        first = builder.call(ACC, x, x)
        second = builder.call(NON_ACC, first, x)
        third = builder.call(ACC, second, item)
        partitioner = builder.partitioner(third, fusions=[{split, item, third}])
        self.assertEqual(
            outcome(partitioner),
            [(True, [first]), (False, [second]), (True, [split, item, third])],
        )

    def test_non_accelerated_subgraph_first(self):
        builder = Builder()
        acc = builder.call(ACC, builder.x, builder.x)
        non_acc = builder.call(NON_ACC, builder.x, builder.x)
        partitioner = builder.partitioner(acc, non_acc)
        self.assertEqual(outcome(partitioner), [(False, [non_acc]), (True, [acc])])

    def test_cycle_raises(self):
        builder = Builder()
        first = builder.call(ACC, builder.x, builder.x)
        between = builder.call(NON_ACC, first, builder.x)
        last = builder.call(ACC, between, builder.x)
        partitioner = builder.partitioner(last, fusions=[{first, last}])
        with self.assertRaises(FxNetSplitterInternalError):
            partitioner.put_nodes_into_subgraphs()

    def test_graph_without_operators_raises(self):
        builder = Builder()
        partitioner = builder.partitioner(builder.x)
        with self.assertRaises(FxNetSplitterInternalError):
            partitioner.put_nodes_into_subgraphs()


if __name__ == "__main__":
    run_tests()
