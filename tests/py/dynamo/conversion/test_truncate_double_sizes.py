import operator

import torch
from parameterized import parameterized
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt import dtype
from torch_tensorrt.dynamo.conversion.truncate_double import repair_double_inputs
from torch_tensorrt.dynamo.partitioning import construct_submodule_inputs

aten = torch.ops.aten
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def never_run(*args):
    raise AssertionError("the partition was run")


def partitioned(inputs, outputs):
    """A graph with one partition, whose metadata is ``inputs`` and ``outputs``"""
    block = torch.fx.Graph()
    for i, value in enumerate(inputs):
        block.placeholder(f"x{i}").meta["val"] = value
    values = outputs if isinstance(outputs, tuple) else (outputs,)
    nodes = []
    for value in values:
        nodes.append(block.call_function(never_run, tuple(block.nodes)[: len(inputs)]))
        nodes[-1].meta["val"] = value
    block.output(tuple(nodes) if isinstance(outputs, tuple) else nodes[0])
    submodule = torch.fx.GraphModule({}, block)

    graph = torch.fx.Graph()
    given = []
    for i, value in enumerate(inputs):
        given.append(graph.placeholder(f"x{i}"))
        given[-1].meta["val"] = value
    node = graph.call_module("_run_on_acc_0", tuple(given))
    if isinstance(outputs, tuple):
        items = range(len(outputs))
        graph.output(
            tuple(graph.call_function(operator.getitem, (node, i)) for i in items)
        )
    else:
        graph.output(node)
    parent = torch.fx.GraphModule({"_run_on_acc_0": submodule}, graph)
    return parent, submodule


def dynamic(*dtypes):
    """A tensor of shape (n, 3) of each dtype, and n"""
    context = StatelessSymbolicContext([DimDynamic.DYNAMIC, DimDynamic.STATIC])
    example = torch.zeros(5, 3)
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        first = mode.from_tensor(example, symbolic_context=context)
        size = first.shape[0]
        return [torch.empty(size, 3, dtype=dtype) for dtype in dtypes], size


def casts(node):
    return node.op == "call_function" and node.target == aten._to_copy.default


class TestTruncateDoubleSizes(TestCase):
    def repaired(self, inputs, outputs):
        """The Inputs' dtypes, the arguments that are cast and the outputs that are"""
        parent, submodule = partitioned(inputs, outputs)
        specs = construct_submodule_inputs(submodule)
        specs = repair_double_inputs(parent, submodule, specs, DEVICE, "_run_on_acc_0")
        (node,) = parent.graph.find_nodes(op="call_module")
        (output,) = parent.graph.find_nodes(op="output")
        results = output.args[0]
        results = results if isinstance(results, tuple) else (results,)
        for cast in filter(casts, node.args):
            self.assertEqual(cast.kwargs["dtype"], torch.float32)
        for cast in filter(casts, results):
            self.assertEqual(cast.kwargs["dtype"], torch.float64)
        return (
            [spec.dtype for spec in specs],
            [casts(argument) for argument in node.args],
            [casts(result) for result in results],
        )

    @parameterized.expand(
        [("first", [0, 1, 2]), ("middle", [1, 0, 2]), ("last", [1, 2, 0])]
    )
    def test_size_among_the_inputs(self, _, order):
        (double, single), size = dynamic(torch.float64, torch.float32)
        inputs = [size, double, single]
        dtypes = [dtype.int64, dtype.float32, dtype.float32]
        got = self.repaired([inputs[i] for i in order], double)
        self.assertEqual(got[0], [dtypes[i] for i in order])
        self.assertEqual(got[1], [i == 1 for i in order])
        self.assertEqual(got[2], [True])

    def test_sizes_among_the_outputs(self):
        (double, single), size = dynamic(torch.float64, torch.float32)
        got = self.repaired([double], (size, double, single, size * 2, double))
        self.assertEqual(got[1], [True])
        self.assertEqual(got[2], [False, True, False, False, True])

    def test_a_size_alone_comes_out(self):
        (double,), size = dynamic(torch.float64)
        got = self.repaired([double], size)
        self.assertEqual(got, ([dtype.float32], [True], [False]))

    def test_several_doubles(self):
        (one, other, index), size = dynamic(torch.float64, torch.float64, torch.int64)
        got = self.repaired([one, size, other, index], (one, size))
        self.assertEqual(
            got[0], [dtype.float32, dtype.int64, dtype.float32, dtype.int64]
        )
        self.assertEqual(got[1], [True, False, True, False])
        self.assertEqual(got[2], [True, False])

    def test_no_double(self):
        (single,), size = dynamic(torch.float32)
        got = self.repaired([single, size], (single, size))
        self.assertEqual(got, ([dtype.float32, dtype.int64], [False] * 2, [False] * 2))

    @parameterized.expand([("one", False), ("several", True)])
    def test_nothing_is_run(self, _, several):
        double = torch.zeros(2, 3, dtype=torch.float64)
        got = self.repaired([double], (double, double) if several else double)
        self.assertEqual(got[2], [True] * (1 + several))


if __name__ == "__main__":
    run_tests()
