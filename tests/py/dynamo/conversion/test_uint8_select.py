import torch
from parameterized import parameterized
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.conversion import DYNAMO_CONVERTERS, TRTInterpreter
from torch_tensorrt.dynamo.lowering import (
    get_decompositions,
    post_lowering,
    pre_export_lowering,
)
from torch_tensorrt.dynamo.partitioning import fast_partition, global_partition

from .harness import DispatchTestCase

SETTINGS = CompilationSettings(min_block_size=1)

DTYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.int64,
    torch.bool,
]


class Select(torch.nn.Module):
    def __init__(self, dim, index):
        super().__init__()
        self.dim = dim
        self.index = index

    def forward(self, x):
        return torch.ops.aten.select.int(x, self.dim, self.index)


class CameraHistory(torch.nn.Module):
    def forward(self, frames):
        return frames[1].float() / 255


def lower(module, inputs, dynamic_shapes=None):
    program = torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes)
    program = pre_export_lowering(program, SETTINGS)
    program = program.run_decompositions(get_decompositions())
    return post_lowering(program.module(), SETTINGS)


def selects(graph_module):
    return [
        node
        for node in graph_module.graph.nodes
        if node.target == torch.ops.aten.select.int
    ]


class TestUint8Select(DispatchTestCase):
    def setUp(self):
        super().setUp()
        DYNAMO_CONVERTERS.set_compilation_settings(SETTINGS)

    @parameterized.expand([(0, 0), (0, -1), (1, 2), (-1, 0)])
    def test_uint8_stays_in_pytorch(self, dim, index):
        frames = torch.zeros(4, 6, 5, 3, dtype=torch.uint8)
        rows = {"x": {0: torch.export.Dim("rows", min=1, max=8)}}
        for dynamic_shapes in (None, rows):
            (node,) = selects(lower(Select(dim, index), (frames,), dynamic_shapes))
            self.assertNotIn(node, DYNAMO_CONVERTERS)

    @parameterized.expand([(str(dtype), dtype) for dtype in DTYPES])
    def test_other_dtypes_convert(self, _, dtype):
        x = torch.arange(24).reshape(4, 6).to(dtype)
        (node,) = selects(lower(Select(0, 1), (x,)))
        self.assertIn(node, DYNAMO_CONVERTERS)
        self.run_test(Select(0, 1), [x], use_dynamo_tracer=True)
        self.run_test(Select(-1, -2), [x], use_dynamo_tracer=True)

    @parameterized.expand([("fast", fast_partition), ("global", global_partition)])
    def test_the_rest_is_one_engine(self, _, partition):
        frames = torch.randint(256, (4, 6, 5, 3), dtype=torch.uint8)
        lowered = lower(CameraHistory(), (frames,))
        expected = CameraHistory()(frames)
        partitioned, _ = partition(lowered, min_block_size=1)
        (engine,) = [
            child for name, child in partitioned.named_children() if "acc" in name
        ]
        self.assertEqual(selects(engine), [])
        self.assertEqual(partitioned(frames), expected)
        interpreter = TRTInterpreter(engine, [Input.from_tensor(frames[1])])
        self.assertEqual(interpreter.run().input_names, ["select"])


if __name__ == "__main__":
    run_tests()
