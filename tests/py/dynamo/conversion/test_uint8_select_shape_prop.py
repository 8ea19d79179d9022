import torch
from parameterized import parameterized
from torch.fx.passes.shape_prop import ShapeProp
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.conversion import DYNAMO_CONVERTERS, TRTInterpreter
from torch_tensorrt.dynamo.partitioning import fast_partition

from .harness import DispatchTestCase


class Select(torch.nn.Module):
    def __init__(self, dim=0, index=1):
        super().__init__()
        self.dim = dim
        self.index = index

    def forward(self, x):
        return torch.ops.aten.select.int(x, self.dim, self.index)


class CameraHistory(torch.nn.Module):
    def forward(self, frames):
        frame = torch.ops.aten.select.int(frames, 0, 1)
        frame = torch.ops.aten._to_copy.default(frame, dtype=torch.float32)
        return torch.ops.aten.div.Tensor(frame, 255)


def traced_select(x, dim=0, index=1):
    """The node of a select in a graph that only ShapeProp has typed"""
    graph_module = torch.fx.symbolic_trace(Select(dim, index))
    ShapeProp(graph_module).propagate(x)
    (node,) = [n for n in graph_module.graph.nodes if n.op == "call_function"]
    assert "val" not in node.args[0].meta
    return node


class TestUint8SelectShapeProp(DispatchTestCase):
    def setUp(self):
        super().setUp()
        DYNAMO_CONVERTERS.set_compilation_settings(CompilationSettings())

    @parameterized.expand([(0, 0), (0, -1), (1, 2), (-1, 0)])
    def test_uint8_stays_in_pytorch(self, dim, index):
        frames = torch.zeros(4, 6, 5, 3, dtype=torch.uint8)
        self.assertNotIn(traced_select(frames, dim, index), DYNAMO_CONVERTERS)

    @parameterized.expand(
        [
            (str(dtype), dtype)
            for dtype in (torch.float32, torch.float16, torch.int32, torch.bool)
        ]
    )
    def test_other_dtypes_convert(self, _, dtype):
        x = torch.arange(24).reshape(4, 6).to(dtype)
        self.assertIn(traced_select(x), DYNAMO_CONVERTERS)
        self.run_test(Select(), [x], use_dynamo_tracer=False, propagate_shapes=True)

    def test_the_rest_is_one_engine(self):
        frames = torch.randint(256, (4, 6, 5, 3), dtype=torch.uint8)
        traced = torch.fx.symbolic_trace(CameraHistory())
        ShapeProp(traced).propagate(frames)
        partitioned, _ = fast_partition(traced, min_block_size=1)
        (engine,) = [
            child for name, child in partitioned.named_children() if "acc" in name
        ]
        self.assertEqual(partitioned(frames), CameraHistory()(frames))
        interpreter = TRTInterpreter(engine, [Input.from_tensor(frames[1])])
        self.assertEqual(interpreter.run().input_names, ["select_int"])

    def test_untyped_graph_converts(self):
        (node,) = [
            n
            for n in torch.fx.symbolic_trace(Select()).graph.nodes
            if n.op == "call_function"
        ]
        self.assertIn(node, DYNAMO_CONVERTERS)


if __name__ == "__main__":
    run_tests()
