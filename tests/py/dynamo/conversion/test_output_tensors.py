import torch
from parameterized import parameterized
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input
from torch_tensorrt.dynamo.conversion import TRTInterpreter

from .harness import DispatchTestCase

# torch_tensorrt makes TensorRT-RTX importable under this name
import tensorrt as trt  # isort: skip

aten = torch.ops.aten

DTYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.uint8,
]


class Returns(torch.nn.Module):
    """Returns what ``outputs`` makes of the input and of a constant."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = outputs
        self.register_buffer("constant", torch.arange(4.0))

    def forward(self, x):
        return self.outputs(x, self.constant)


def relu_then(outputs):
    return lambda x, constant: outputs(aten.relu.default(x))


def same_dtype(z):
    return aten._to_copy.default(z, dtype=torch.float32)


# What is returned, by name, and the number of tensors in it
CASES = [
    ("clone", relu_then(lambda z: (z, aten.clone.default(z))), 2),
    ("clone_first", relu_then(lambda z: (aten.clone.default(z), z)), 2),
    ("cast_to_own_dtype", relu_then(lambda z: (z, same_dtype(z))), 2),
    ("three", relu_then(lambda z: (z, aten.clone.default(z), same_dtype(z))), 3),
    (
        "another_between",
        relu_then(lambda z: (z, aten.neg.default(z), aten.clone.default(z))),
        3,
    ),
    (
        "two_tensors_twice",
        relu_then(lambda z: (z, w := aten.neg.default(z), aten.clone.default(w), z)),
        4,
    ),
    ("cast_to_another", relu_then(lambda z: (z, aten.gt.Scalar(z, 0.5), z)), 3),
    ("same_node", relu_then(lambda z: (z, z)), 2),
    ("input", lambda x, constant: (x, aten.relu.default(x)), 2),
    ("input_alone", lambda x, constant: (x,), 1),
    ("input_twice", lambda x, constant: (x, aten.relu.default(x), x), 3),
    ("input_cloned_twice", lambda x, constant: [aten.clone.default(x)] * 2, 2),
    ("constant", lambda x, constant: (constant, aten.relu.default(x)), 2),
    ("constant_twice", lambda x, constant: (constant, x, constant), 3),
]


def interpret(module, inputs, **kwargs):
    """The interpreter after it has built the network of the traced module."""
    interpreter = TRTInterpreter(torch.fx.symbolic_trace(module), inputs, **kwargs)
    interpreter._construct_trt_network_def()
    return interpreter


def output_names(interpreter):
    net = interpreter.ctx.net
    return [net.get_output(i).name for i in range(net.num_outputs)]


def layer_types(interpreter):
    net = interpreter.ctx.net
    return [net.get_layer(i).type for i in range(net.num_layers)]


class TestOutputTensors(DispatchTestCase):
    @parameterized.expand(CASES)
    def test_values(self, _, outputs, count):
        self.run_test(Returns(outputs), [torch.randn(3, 4)])

    @parameterized.expand(CASES)
    def test_dynamic_values(self, _, outputs, count):
        spec = Input(
            min_shape=(1, 4),
            opt_shape=(2, 4),
            max_shape=(5, 4),
            dtype=torch.float32,
        )
        self.run_test_with_dynamic_shape(Returns(outputs), [spec])

    @parameterized.expand(CASES)
    def test_names(self, _, outputs, count):
        interpreter = interpret(
            Returns(outputs), [Input(shape=(3, 4), dtype=torch.float32)]
        )
        names = [f"output{i}" for i in range(count)]
        self.assertEqual(interpreter._output_names, names)
        self.assertEqual(output_names(interpreter), names)
        net = interpreter.ctx.net
        self.assertEqual([net.get_input(i).name for i in range(net.num_inputs)], ["x"])
        layers = [net.get_layer(i).name for i in range(net.num_layers)]
        self.assertEqual(len(set(layers)), len(layers))

    @parameterized.expand(CASES)
    def test_given_names(self, _, outputs, count):
        names = [f"result_{i}" for i in range(count)]
        interpreter = interpret(
            Returns(outputs),
            [Input(shape=(3, 4), dtype=torch.float32)],
            output_binding_names=names,
        )
        self.assertEqual(interpreter._output_names, names)
        self.assertEqual(output_names(interpreter), names)

    @parameterized.expand([(str(dtype), dtype) for dtype in DTYPES])
    def test_input_of_any_dtype(self, _, dtype):
        x = torch.arange(6).reshape(2, 3).to(dtype)
        self.run_test(Returns(lambda x, constant: (x, x)), [x])

    def test_declared_dtypes(self):
        """Each position is cast on its own."""
        interpreter = interpret(
            Returns(relu_then(lambda z: (z, z, z))),
            [Input(shape=(3, 4), dtype=torch.float32)],
            output_dtypes=[torch.float32, torch.float16, torch.float32],
        )
        net = interpreter.ctx.net
        self.assertEqual(
            [net.get_output(i).dtype for i in range(net.num_outputs)],
            [trt.float32, trt.float16, trt.float32],
        )

    def test_distinct_outputs_get_no_layer(self):
        interpreter = interpret(
            Returns(relu_then(lambda z: (z, aten.neg.default(z)))),
            [Input(shape=(3, 4), dtype=torch.float32)],
        )
        self.assertNotIn(trt.LayerType.IDENTITY, layer_types(interpreter))
        self.assertNotIn(trt.LayerType.CAST, layer_types(interpreter))


class UpdatesCache(torch.nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.outputs = outputs

    def forward(self, cache, update):
        updated = aten.slice_scatter.default(cache, update, 2, 1, 3)
        return self.outputs(updated, update)


class TestAliasedOutputs(DispatchTestCase):
    """An output that updates a KV cache in place stays the layer's own tensor."""

    def interpret(self, outputs):
        return interpret(
            UpdatesCache(outputs),
            [
                Input(shape=(2, 3, 8, 4), dtype=torch.float32),
                Input(shape=(2, 3, 2, 4), dtype=torch.float32),
            ],
        )

    def check_aliased(self, interpreter, position):
        net = interpreter.ctx.net
        layers = [net.get_layer(i) for i in range(net.num_layers)]
        (layer,) = [
            layer for layer in layers if layer.type == trt.LayerType.KV_CACHE_UPDATE
        ]
        name = f"output{position}"
        self.assertEqual(layer.get_output(0).name, name)
        self.assertEqual(interpreter._aliased_io, {name: ("cache", "kv_cache_update")})

    def test_returned(self):
        interpreter = self.interpret(
            lambda updated, update: (updated, aten.neg.default(update))
        )
        self.check_aliased(interpreter, 0)
        self.assertNotIn(trt.LayerType.IDENTITY, layer_types(interpreter))

    def test_returned_with_a_copy(self):
        interpreter = self.interpret(
            lambda updated, update: (
                updated,
                aten.clone.default(updated),
                aten.neg.default(update),
            )
        )
        self.assertEqual(output_names(interpreter), ["output0", "output1", "output2"])
        self.check_aliased(interpreter, 0)

    def test_side_effect_behind_repeated_outputs(self):
        def outputs(updated, update):
            summed = aten.sum.dim_IntList(updated, [2])
            return summed, aten.clone.default(summed)

        interpreter = self.interpret(outputs)
        self.assertEqual(output_names(interpreter), ["output0", "output1", "output2"])
        self.check_aliased(interpreter, 2)


if __name__ == "__main__":
    run_tests()
