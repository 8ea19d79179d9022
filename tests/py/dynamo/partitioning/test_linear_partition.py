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
IN_PLACE = torch.ops.aten.add_.Tensor


class Builder:
    """Builds graphs whose nodes are marked as tensors, unless they are to be fused"""

    def __init__(self):
        self.graph = torch.fx.Graph()
        self.x = self.graph.placeholder("x")
        self.weight = self.graph.get_attr("inner.weight")

    def call(self, target, *args, tensor=True):
        node = self.graph.call_function(target, args)
        if tensor:
            node.meta["tensor_meta"] = None
        return node

    def partitioner(self, outputs, return_tuple=False):
        """TRTPartitioner for which every target but NON_ACC is accelerated"""
        self.graph.output(outputs)
        root = torch.nn.Module()
        root.inner = torch.nn.Module()
        root.inner.register_buffer("weight", torch.ones(()))
        return TRTPartitioner(
            torch.fx.GraphModule(root, self.graph),
            create_op_support(lambda _, node: node.target is not NON_ACC),
            min_block_size=1,
            return_tuple=return_tuple,
        )


def random_builder(seed):
    """Random operators, in-place ones, getitem of lists that are no tensors"""
    rng = random.Random(seed)
    builder = Builder()
    values = [builder.x, builder.weight]
    for _ in range(60):
        target = rng.choice([ACC, ACC, NON_ACC, NON_ACC, IN_PLACE, operator.getitem])
        if target is operator.getitem:
            source = rng.choice(values[-6:])
            pieces = builder.call(torch.ops.aten.split.Tensor, source, 1, tensor=False)
            values.append(builder.call(target, pieces, 0))
            if rng.random() < 0.5:
                values.append(builder.call(target, pieces, 1))
        else:
            values.append(builder.call(target, *rng.choices(values[-12:], k=2)))
    return builder, tuple(rng.sample(values, 3)) + (values[-1], builder.weight)


def description(split):
    """The nodes of a split module and of each of its blocks, and their code"""
    return {
        name: (
            module.code,
            [
                (n.op, n.name, str(n.target), str(n.args), str(n.meta))
                for n in module.graph.nodes
            ],
        )
        for name, module in split.named_modules()
        if isinstance(module, torch.fx.GraphModule)
    }


def outcome(seed, return_tuple=False):
    """What a random graph is split into, or None for a cycle"""
    builder, outputs = random_builder(seed)
    try:
        split = builder.partitioner(outputs, return_tuple).partition_graph()
    except FxNetSplitterInternalError:
        return None
    return description(split)


def base_class(*methods):
    return patch.multiple(
        TRTPartitioner, **{name: getattr(_SplitterBase, name) for name in methods}
    )


class TestLinearPartition(TestCase):
    @parameterized.expand([("single", False), ("tuple", True)])
    def test_same_split_module_as_base_class(self, _, return_tuple):
        cycles = 0
        for seed in range(40):
            split = outcome(seed, return_tuple)
            with base_class("split", "update_deps_for_fusions"):
                expected = outcome(seed, return_tuple)
            self.assertEqual(split, expected, f"seed {seed}")
            cycles += split is None
        self.assertLess(cycles, 20)

    def test_dependencies_of_a_fusion_are_linear(self):
        builder = Builder()
        size = builder.call(torch.ops.aten.sym_size.int, builder.x, 0, tensor=False)
        length = 200
        views = []
        for _ in range(length):
            source = builder.call(NON_ACC, builder.x, builder.x)
            views.append(builder.call(torch.ops.aten.view.default, source, [size]))
        users = [builder.call(NON_ACC, view, view) for view in views]
        partitioner = builder.partitioner(tuple(users))
        self.assertEqual(len(partitioner.fusions), length + 1)
        self.assertLess(sum(map(len, partitioner.deps.values())), 10 * length)
        blocks = partitioner.put_nodes_into_subgraphs()
        self.assertEqual([len(b.nodes) for b in blocks], [length, length + 1, length])

    def test_inputs_of_a_block_are_compared_a_few_times(self):
        class CountingNode(torch.fx.Node):
            compared = 0

            def __eq__(self, other):
                CountingNode.compared += 1
                return self is other

            __hash__ = torch.fx.Node.__hash__

        builder = Builder()
        length = 200
        with patch("torch.fx.graph.Node", CountingNode):
            producers = [builder.call(NON_ACC, builder.x) for _ in range(length)]
            partitioner = builder.partitioner(
                tuple(builder.call(ACC, producer) for producer in producers)
            )
            CountingNode.compared = 0
            split = partitioner.partition_graph()
        self.assertEqual(len(list(split.children())), 2)
        self.assertLess(CountingNode.compared, 20 * length)


if __name__ == "__main__":
    run_tests()
