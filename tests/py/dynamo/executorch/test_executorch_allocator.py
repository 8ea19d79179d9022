"""Which engines that are marked as requiring an output allocator can be exported."""

import unittest
from types import SimpleNamespace

import torch
import torch_tensorrt  # noqa: F401
from parameterized import parameterized
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch_tensorrt.dynamo.runtime._serialized_engine_layout import (
    ENGINE_IDX,
    NAME_IDX,
    OUTPUT_BINDING_NAMES_IDX,
    REQUIRES_OUTPUT_ALLOCATOR_IDX,
    SERIALIZATION_LEN,
    SERIALIZED_ENGINE_BINDING_DELIM,
)
from torch_tensorrt.executorch._export_utils import (
    replace_execute_engine,
    validate_engine_program,
)

EXECUTE = torch.ops.tensorrt.execute_engine.default

if not hasattr(torch.ops.tensorrt, "no_op_placeholder_for_execute_engine"):
    # It is registered together with the C++ runtime
    LIBRARY = torch.library.Library("tensorrt", "FRAGMENT")
    ARGUMENTS = ", ".join(
        f"{'Tensor' if index == ENGINE_IDX else 'str'} slot_{index}"
        for index in range(SERIALIZATION_LEN)
    )
    LIBRARY.define(
        f"no_op_placeholder_for_execute_engine(Tensor[] x, {ARGUMENTS}) -> Tensor[]"
    )
NO_OP = torch.ops.tensorrt.no_op_placeholder_for_execute_engine.default

try:
    from torch_tensorrt.executorch.backend import _validate_engine_info
except ImportError:
    _validate_engine_info = None


class Engine:
    """Reports the shapes that ``report`` makes of the input shapes."""

    def __init__(self, report, outputs=("y",), marked=True):
        self.report = report
        self.asked = []
        self.record = [""] * SERIALIZATION_LEN
        self.record[NAME_IDX] = "my_engine"
        self.record[OUTPUT_BINDING_NAMES_IDX] = SERIALIZED_ENGINE_BINDING_DELIM.join(
            outputs
        )
        self.record[REQUIRES_OUTPUT_ALLOCATOR_IDX] = str(int(marked))

    def infer_outputs(self, input_shapes):
        self.asked.append(input_shapes)
        return self.report(input_shapes)

    def serialize_metadata_only(self):
        return list(self.record)

    def serialize_engine(self):
        return b"engine"

    def __getstate__(self):
        state = list(self.record)
        state[ENGINE_IDX] = "ZW5naW5l"
        return (state, "TRTEngine")


class SilentEngine(Engine):
    infer_outputs = property()


def same(shapes):
    return [tuple(shapes[0])]


def fail(shapes):
    raise ValueError("no context")


def program(engines, values):
    """A chain of engines, each with the example values as its inputs."""
    graph = torch.fx.Graph()
    root = torch.nn.Module()
    inputs = []
    for i, value in enumerate(values):
        inputs.append(graph.placeholder(f"x{i}"))
        if value is not None:
            inputs[-1].meta["val"] = value
    outputs = []
    attributes = {}
    for engine in engines:
        if engine not in attributes:
            name = f"engine_{len(attributes)}"
            setattr(root, name, engine)
            attributes[engine] = graph.create_node("get_attr", name)
        outputs.append(graph.call_function(EXECUTE, (inputs, attributes[engine])))
    graph.output(outputs)
    return SimpleNamespace(
        graph_module=torch.fx.GraphModule(root, graph),
        state_dict={},
        constants={},
        graph_signature=None,
    )


def symbolic(shape):
    """A fake tensor whose sizes are symbols."""
    mode = FakeTensorMode(shape_env=ShapeEnv())
    return mode.from_tensor(torch.empty(shape))


def rewritten_marks(source):
    """The marks in the program after validation and the rewrite."""
    resolved = {}
    validate_engine_program(source, resolved)
    rewritten = replace_execute_engine(source, resolved)
    return [
        node.args[1 + REQUIRES_OUTPUT_ALLOCATOR_IDX]
        for node in rewritten.graph_module.graph.nodes
        if node.target is NO_OP
    ]


class TestExecuTorchAllocator(unittest.TestCase):
    @parameterized.expand(
        [
            ("static", lambda: torch.empty(2, 3), same),
            ("dynamic", lambda: symbolic((2, 3)), same),
            ("as_tensors", lambda: torch.empty(2, 3), lambda s: [torch.empty(s[0])]),
            ("empty_output", lambda: torch.empty(2, 3), lambda s: [(0, 3)]),
            ("scalar_output", lambda: torch.empty(2, 3), lambda s: [()]),
        ]
    )
    def test_known_output_shapes(self, _, value, report):
        engine = Engine(report)
        self.assertEqual(rewritten_marks(program([engine], [value()])), ["0"])
        self.assertEqual(engine.asked, [[[2, 3]]])
        self.assertEqual(engine.record[REQUIRES_OUTPUT_ALLOCATOR_IDX], "1")

    def test_several_engines(self):
        first, second = Engine(same), Engine(same, ("a", "b"), marked=False)
        marks = rewritten_marks(program([first, second, first], [torch.empty(4)]))
        self.assertEqual(marks, ["0", "0", "0"])
        self.assertEqual(first.asked, [[[4]], [[4]]])
        self.assertEqual(second.asked, [])

    def test_one_of_several_engines_is_refused(self):
        engines = [Engine(same), Engine(lambda shapes: [(-1,)])]
        source = program(engines, [torch.empty(4)])
        with self.assertRaisesRegex(RuntimeError, "execute_engine_default_1.*'y'"):
            validate_engine_program(source)
        targets = [node.target for node in source.graph_module.graph.nodes]
        self.assertEqual(targets.count(EXECUTE), 2)

    @parameterized.expand(
        [
            ("unknown", lambda s: [(2, 3), (-1, 3)], "output 'b' is data-dependent"),
            ("fails", fail, r"outputs \['a', 'b'\] for the input .*: no context"),
            ("too_few", lambda s: [(2, 3)], r"1 shapes for its 2 outputs \['a', 'b'\]"),
            ("none", lambda s: None, r"does not report .* outputs \['a', 'b'\]"),
        ]
    )
    def test_refused(self, _, report, message):
        source = program([Engine(report, ("a", "b"))], [torch.empty(2, 3)])
        with self.assertRaisesRegex(RuntimeError, f"engine 'my_engine'.*{message}"):
            validate_engine_program(source)

    def test_engine_that_cannot_report(self):
        engine = SilentEngine(same)
        with self.assertRaisesRegex(RuntimeError, "'my_engine'.*SilentEngine cannot"):
            validate_engine_program(program([engine], [torch.empty(2)]))

    def test_no_example_value(self):
        source = program([Engine(same)], [torch.empty(2), None])
        with self.assertRaisesRegex(RuntimeError, "'my_engine'.*'x1' has no example"):
            validate_engine_program(source)

    def test_marked_placeholder_is_refused(self):
        source = program([Engine(same)], [torch.empty(2)])
        (node,) = (n for n in source.graph_module.graph.nodes if n.target is EXECUTE)
        with source.graph_module.graph.inserting_before(node):
            record = Engine(same).record
            node.replace_all_uses_with(
                source.graph_module.graph.call_function(NO_OP, (node.args[0], *record))
            )
        source.graph_module.graph.erase_node(node)
        with self.assertRaisesRegex(RuntimeError, r"'my_engine'.*outputs \['y'\]"):
            validate_engine_program(source)

    @unittest.skipIf(_validate_engine_info is None, "needs executorch")
    def test_backend(self):
        record = Engine(same).record
        with self.assertRaisesRegex(RuntimeError, r"'my_engine'.*outputs \['y'\]"):
            _validate_engine_info(record)
        record[REQUIRES_OUTPUT_ALLOCATOR_IDX] = "0"
        _validate_engine_info(record)


if __name__ == "__main__":
    unittest.main()
