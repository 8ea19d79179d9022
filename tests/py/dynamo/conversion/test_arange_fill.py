import torch
from parameterized import parameterized
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input, dtype
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.conversion import TRTInterpreter
from torch_tensorrt.dynamo.lowering.passes import remove_num_users_is_0_nodes

from .harness import DispatchTestCase

# start, end, step
RANGES = [
    (0, 1, 1),
    (0, 7, 1),
    (2, 11, 3),
    (2, 12, 3),
    (-5, 6, 2),
    (-9, -2, 4),
    (9, 0, -1),
    (9, -2, -4),
    (-2, -9, -3),
    (0, 5, 100),
    (5, 0, -100),
    (-(2**31), 2**31 - 1, 2**30),
    (2**31 - 1, -(2**31), -(2**30)),
]

# What int32 has no room for
LONG_RANGES = [
    (0, 2**33, 2**31),
    (2**40, 2**40 + 3, 1),
    (-(2**61), 2**61, 2**59),
    (2**61, -(2**61), -(2**60)),
    (0, 1, 2**40),
    (2**63 - 3, 2**63 - 1, 1),
    (-(2**63), -(2**63) + 2, 1),
]

EMPTY_RANGES = [(0, 0, 1), (3, 3, -2), (2**40, 2**40, 7)]

FLOAT_RANGES = [(0, 1, 0.25), (0.5, 5, 1), (3, -1.5, -0.5), (4.0, 0, -2)]


class Ranges(torch.nn.Module):
    def __init__(self, ranges, dtype=None):
        super().__init__()
        self.ranges = ranges
        self.dtype = dtype

    def forward(self, x):
        return tuple(
            torch.ops.aten.arange.start_step(*args, dtype=self.dtype)
            for args in self.ranges
        )


class TestArangeFill(DispatchTestCase):
    def layers(self, module):
        """The layers of the network that ``module`` converts to."""
        inputs = [torch.zeros(1)]
        graph = self.generate_graph(module, inputs, True, False)
        graph = remove_num_users_is_0_nodes(graph, CompilationSettings())
        interpreter = TRTInterpreter(graph, Input.from_tensors(inputs))
        interpreter._construct_trt_network_def()
        network = interpreter.ctx.net
        return [network.get_layer(i) for i in range(network.num_layers)]

    @parameterized.expand([("default", None), ("int64", torch.int64)])
    def test_int64(self, _, dtype):
        self.run_test(Ranges(RANGES + LONG_RANGES, dtype), [torch.zeros(1)])

    def test_int32(self):
        self.run_test(Ranges(RANGES, torch.int32), [torch.zeros(1)])

    @parameterized.expand(EMPTY_RANGES)
    def test_empty(self, start, end, step):
        self.run_test(Ranges([(start, end, step)]), [torch.zeros(1)])

    @parameterized.expand(
        [
            ("default", FLOAT_RANGES, None),
            ("float32", FLOAT_RANGES + RANGES[:8], torch.float32),
            ("float16", FLOAT_RANGES + RANGES[:8], torch.float16),
        ]
    )
    def test_float(self, _, ranges, dtype):
        module = Ranges(ranges, dtype)
        self.run_test(module, [torch.zeros(1)])
        self.assertNotIn("FILL", [layer.type.name for layer in self.layers(module)])

    @parameterized.expand([(torch.int32,), (torch.int64,)])
    def test_layer(self, values):
        fills = [
            layer
            for layer in self.layers(Ranges([(2, 2_000_000, 3)], values))
            if layer.type.name == "FILL"
        ]
        self.assertEqual(len(fills), 1)
        output = fills[0].get_output(0)
        self.assertEqual(dtype._from(output.dtype).to(torch.dtype), values)
        self.assertEqual(tuple(output.shape), (666_666,))
        self.assertEqual(tuple(fills[0].get_input(1).shape), ())
        self.assertEqual(tuple(fills[0].get_input(2).shape), (1,))

    def test_arithmetic_beyond_int32(self):
        class Products(torch.nn.Module):
            def forward(self, x):
                return torch.ops.aten.arange.start_step(0, 4, 1) * x

        self.run_test(Products(), [torch.tensor([1, 2**31, 2**33, -(2**40)])])

    def test_with_int32(self):
        class Distances(torch.nn.Module):
            def forward(self, x):
                positions = torch.ops.aten.arange.start_step(0, 4, 1)
                return positions.unsqueeze(1) - x, positions.unsqueeze(1) >= x

        self.run_test(Distances(), [torch.tensor([3, 1, 2], dtype=torch.int32)])

    def test_end_known_at_run_time(self):
        class Positions(torch.nn.Module):
            def forward(self, x):
                return torch.arange(x.shape[0], device=x.device) + x

        rows = Input(min_shape=(2,), opt_shape=(3,), max_shape=(5,), dtype=torch.int64)
        self.run_test_with_dynamic_shape(Positions(), [rows], use_dynamo_tracer=True)


if __name__ == "__main__":
    run_tests()
