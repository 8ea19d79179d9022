import torch
from parameterized import parameterized
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt import Input
from torch_tensorrt.dynamo.conversion import TRTInterpreter

# torch_tensorrt makes TensorRT-RTX importable under this name
import tensorrt as trt  # isort: skip

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# The bounds that a modulo gets wrong on a dimension of size 10, with some that it
# gets right, and slices whose bounds cross
BOUNDS = [
    (None, None, 1),
    (-15, None, 1),
    (None, -15, 1),
    (-15, -3, 1),
    (-15, 5, 1),
    (-15, -15, 1),
    (3, -15, 1),
    (-15, None, 3),
    (-15, -1, 4),
    (7, 3, 1),
    (-2, -5, 1),
    (8, 2, 3),
    (12, 15, 1),
    (15, None, 2),
    (INT64_MIN, INT64_MAX, 1),
    (INT64_MIN + 1, -10, 2),
    (-10, None, 1),
    (-10, -1, 1),
    (2, -2, 3),
    (0, 10, 4),
]

DTYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.int64,
    torch.bool,
]


class Slice(torch.nn.Module):
    def __init__(self, dim, start, stop, step):
        super().__init__()
        self.args = (dim, start, stop, step)

    def forward(self, x):
        return torch.ops.aten.slice.Tensor(x, *self.args)


def build_network(module, trt_input):
    interpreter = TRTInterpreter(torch.fx.symbolic_trace(module), [trt_input])
    interpreter._construct_trt_network_def()
    return interpreter.ctx.net


def get_slice_layer(network):
    layers = [network.get_layer(i) for i in range(network.num_layers)]
    (layer,) = [layer for layer in layers if layer.type == trt.LayerType.SLICE]
    # The generic ILayer does not show start, shape and stride
    layer.__class__ = trt.ISliceLayer
    return layer


def read_slice(x, start, shape, stride):
    """What a slice layer reads; unlike Python, TensorRT does not clamp."""
    for dim in range(x.dim()):
        positions = [start[dim] + i * stride[dim] for i in range(shape[dim])]
        assert all(0 <= position < x.shape[dim] for position in positions)
        x = x.index_select(dim, torch.tensor(positions, dtype=torch.int64))
    return x


class TestSliceBounds(TestCase):
    def check_static(self, x, dim, start, stop, step):
        module = Slice(dim, start, stop, step)
        layer = get_slice_layer(
            build_network(module, Input(shape=x.shape, dtype=x.dtype))
        )
        expected = module(x)
        output = layer.get_output(0)
        self.assertEqual(tuple(output.shape), tuple(expected.shape))
        self.assertEqual(
            read_slice(x, layer.start, layer.shape, layer.stride), expected
        )

    @parameterized.expand(BOUNDS)
    def test_bounds(self, start, stop, step):
        x = torch.arange(30).reshape(10, 3)
        self.check_static(x, 0, start, stop, step)
        self.check_static(x.mT.contiguous(), -1, start, stop, step)

    @parameterized.expand([(str(dtype), dtype) for dtype in DTYPES])
    def test_dtypes(self, _, dtype):
        x = torch.arange(20).reshape(10, 2).to(dtype)
        self.check_static(x, 0, -15, None, 1)
        self.check_static(x, 0, 3, -15, 1)

    @parameterized.expand([(-3, None, 1), (None, -3, 1), (2, 5, 2), (-1, 0, 1)])
    def test_empty_dimension(self, start, stop, step):
        self.check_static(torch.zeros(0, 4), 0, start, stop, step)

    def test_window_longer_than_the_cache(self):
        keys = torch.arange(40, dtype=torch.float32).reshape(1, 2, 5, 4)
        self.check_static(keys, 2, -7, None, 1)

    @parameterized.expand(BOUNDS)
    def test_other_dimension_dynamic(self, start, stop, step):
        module = Slice(1, start, stop, step)
        network = build_network(
            module,
            Input(
                min_shape=(1, 10),
                opt_shape=(2, 10),
                max_shape=(4, 10),
                dtype=torch.float32,
            ),
        )
        layer = get_slice_layer(network)
        x = torch.arange(30, dtype=torch.float32).reshape(3, 10)
        expected = module(x)
        # The shape is a tensor here, so the static extent shows at the output
        self.assertEqual(tuple(layer.get_output(0).shape), (-1, expected.shape[1]))
        self.assertEqual(
            read_slice(x, layer.start, expected.shape, layer.stride), expected
        )


if __name__ == "__main__":
    run_tests()
