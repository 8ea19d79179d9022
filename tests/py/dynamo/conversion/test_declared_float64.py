import os
import tempfile

import torch
import torch_tensorrt
from parameterized import parameterized
from torch.export import Dim
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt.dynamo.conversion._symbolic_shape_capture import (
    extract_symbolic_shape_expressions,
)

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Calls(torch.nn.Module):
    """Calls ``function`` with the inputs"""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def one(x):
    return torch.relu(x) * 2


def several(x):
    return torch.relu(x) * 2, x > 0, x.to(torch.float32).neg(), x.neg()


def two_inputs(x, y):
    return x.matmul(y), x + y


def pytorch_between(x):
    return torch.special.digamma(torch.relu(x) + 9).matmul(x).neg()


def sample(count):
    shape = (4, 4)
    return tuple(
        torch.linspace(-2, 2, 16, dtype=torch.float64, device=DEVICE).reshape(shape) + i
        for i in range(count)
    )


FUNCTIONS = [
    ("one", one, 1),
    ("several", several, 1),
    ("two_inputs", two_inputs, 2),
    ("pytorch_between", pytorch_between, 1),
]


def compiled(function, inputs, dynamic_shapes=None, **settings):
    program = torch.export.export(
        Calls(function).eval(), inputs, dynamic_shapes=dynamic_shapes
    )
    return torch_tensorrt.dynamo.compile(
        program, list(inputs), min_block_size=1, truncate_double=True, **settings
    )


def engines_of(module):
    return [m for name, m in module.named_children() if "_run_on_acc" in name]


def dtypes_of(meta):
    vals = meta if isinstance(meta, (list, tuple)) else [meta]
    return [val.dtype for val in vals]


class TestDeclaredFloat64(TestCase):
    @parameterized.expand(FUNCTIONS)
    def test_record(self, _, function, count):
        for engine in engines_of(compiled(function, sample(count))):
            record = engine.symbolic_shape_expressions
            for recorded in (*record["inputs"], *record["outputs"]):
                self.assertNotEqual(recorded["dtype"], torch.float64)

    @parameterized.expand(
        [
            (f"{name}_{fast}", function, count, fast == "fast")
            for name, function, count in FUNCTIONS
            for fast in ("fast", "global")
        ]
    )
    def test_nodes(self, _, function, count, use_fast_partitioner):
        module = compiled(
            function, sample(count), use_fast_partitioner=use_fast_partitioner
        )
        to_copy = torch.ops.aten._to_copy.default
        casts = [node for node in module.graph.nodes if node.target == to_copy]
        self.assertGreaterEqual(len(casts), 2)
        for cast in casts:
            self.assertEqual(cast.meta["val"].dtype, cast.kwargs["dtype"])
            self.assertEqual(cast.meta["val"].shape, (4, 4))
        for node in module.graph.nodes:
            if "_run_on_acc" in node.name:
                self.assertNotIn(torch.float64, dtypes_of(node.meta["val"]))
                for item in node.users:
                    if item.target != to_copy and "val" in item.meta:
                        self.assertNotIn(torch.float64, dtypes_of(item.meta["val"]))

    def test_dynamic(self):
        inputs = sample(1)
        module = compiled(
            lambda x: (torch.relu(x.t()), x.neg()),
            inputs,
            dynamic_shapes=(({0: Dim("n", min=2, max=8)},),),
        )
        (engine,) = engines_of(module)
        record = engine.symbolic_shape_expressions
        dtypes = [recorded["dtype"] for recorded in record["outputs"]]
        self.assertEqual(dtypes, [torch.float32] * 2)
        casts = [n for n in module.graph.nodes if "_to_copy" in str(n.target)]
        self.assertEqual(len(casts), 3)
        for cast in casts:
            self.assertTrue(
                any(isinstance(size, torch.SymInt) for size in cast.meta["val"].shape)
            )

    @parameterized.expand(FUNCTIONS)
    def test_saved_without_retrace(self, _, function, count):
        inputs = sample(count)
        module = compiled(function, inputs)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.pt2")
            torch_tensorrt.save(module, path, inputs=list(inputs), retrace=False)
            saved = torch.export.load(path)
        expected = function(*inputs)
        if not isinstance(expected, tuple):
            expected = (expected,)
        (output,) = saved.graph.find_nodes(op="output")
        for node, value in zip(output.args[0], expected, strict=True):
            self.assertEqual(node.meta["val"].dtype, value.dtype)


class TestSymbolicShapeCapture(TestCase):
    @parameterized.expand(
        [
            (str(dtype).partition(".")[2], dtype, truncate)
            for dtype in (torch.float64, torch.float32, torch.float16, torch.int64)
            for truncate in (True, False)
        ]
    )
    def test_dtype(self, _, dtype, truncate_double):
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        y = graph.call_function(torch.ops.aten.neg.default, (x,))
        graph.output((y,))
        x.meta["val"] = y.meta["val"] = torch.empty(2, 3, dtype=dtype)
        record = extract_symbolic_shape_expressions(
            torch.fx.GraphModule({}, graph), truncate_double=truncate_double
        )
        truncated = truncate_double and dtype == torch.float64
        expected = torch.float32 if truncated else dtype
        (recorded_input,), (recorded_output,) = record["inputs"], record["outputs"]
        self.assertEqual(recorded_input["dtype"], expected)
        self.assertEqual(recorded_output["dtype"], expected)
        self.assertEqual(recorded_output["shape_exprs"], [2, 3])


if __name__ == "__main__":
    run_tests()
