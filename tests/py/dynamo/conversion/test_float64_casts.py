import unittest

import torch
import torch_tensorrt
from parameterized import parameterized
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt import Input
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.conversion.aten_ops_converters import (
    to_copy_dtype_validator,
)

from .harness import DispatchTestCase

aten = torch.ops.aten

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
OTHERS = [
    torch.bool,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
]

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def by_name(dtypes):
    return [(str(dtype).partition(".")[2], dtype) for dtype in dtypes]


class Calls(torch.nn.Module):
    """Calls ``function`` with the input"""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def rotated_in_double(x):
    even, odd = x.to(torch.float64).chunk(2, -1)
    angle = torch.linspace(0, 3, 2, dtype=torch.float64, device=x.device)
    cos, sin = torch.cos(angle), torch.sin(angle)
    rotated = torch.cat((even * cos - odd * sin, even * sin + odd * cos), -1)
    return rotated.to(torch.float32)


def alone(x):
    return x.to(torch.float64)


def as_output(x):
    return torch.neg(x).to(torch.float64)


def with_its_source(x):
    z = torch.neg(x)
    return z, z.to(torch.float64), z.to(torch.float64) * 2


# --- the network ---


class TestFloat64CastConverter(DispatchTestCase):
    @parameterized.expand(by_name(FLOATS))
    def test_in_the_middle(self, _, dtype):
        self.run_test(
            Calls(rotated_in_double),
            [torch.randn(3, 4).to(dtype)],
            rtol=1e-5,
            atol=1e-5,
            use_dynamo_tracer=True,
            enable_passes=True,
        )

    @parameterized.expand(
        [("as_output", as_output, torch.float32)]
        + [
            (f"{function.__name__}_{name}", function, dtype)
            for function in (alone, with_its_source)
            for name, dtype in by_name(FLOATS)
        ]
    )
    def test_as_output(self, _, function, dtype):
        # The network's own outputs are float32, which holds a shorter float exactly
        exact = dtype != torch.float64
        self.run_test(
            Calls(function),
            [torch.randn(3, 4).to(dtype)],
            rtol=0 if exact else 1e-6,
            atol=0 if exact else 1e-6,
            check_dtype=False,
            use_dynamo_tracer=True,
            enable_passes=True,
        )

    def test_dynamic(self):
        spec = Input(
            min_shape=(1, 2, 4),
            opt_shape=(2, 2, 4),
            max_shape=(5, 2, 4),
            dtype=torch.float32,
        )
        self.run_test_with_dynamic_shape(
            Calls(rotated_in_double),
            [spec],
            rtol=1e-5,
            atol=1e-5,
            use_dynamo_tracer=True,
            enable_passes=True,
        )


class CopiesInto(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("buffer", torch.zeros(size, dtype=torch.float64))

    def forward(self, x):
        return aten.copy.default(self.buffer, aten.clone.default(x))


class TestCopyIntoFloat64(DispatchTestCase):
    @parameterized.expand(
        by_name(
            [
                torch.float16,
                torch.bfloat16,
                torch.float32,
                torch.bool,
                torch.int8,
                torch.uint8,
            ]
        )
    )
    def test_copies(self, _, dtype):
        x = torch.arange(6).reshape(2, 3).to(dtype)
        self.run_test(CopiesInto((2, 3)), [x], check_dtype=False)

    @parameterized.expand(by_name([torch.int32, torch.int64]))
    def test_wide_integers_are_refused(self, _, dtype):
        x = torch.arange(6).reshape(2, 3).to(dtype)
        with self.assertRaisesRegex(TypeError, "float32.*cannot hold"):
            self.run_test(CopiesInto((2, 3)), [x], check_dtype=False)


# --- what is converted and what stays in PyTorch ---


def converts(function, x, truncate_double=True, dynamic=False):
    """Whether a converter takes the cast in the program of ``function``"""
    mode = "symbolic" if dynamic else "fake"
    graph = make_fx(Calls(function), tracing_mode=mode)(x).graph
    (cast,) = [
        node
        for node in graph.find_nodes(op="call_function", target=aten._to_copy.default)
        if node.kwargs["dtype"] == torch.float64
    ]
    settings = CompilationSettings(truncate_double=truncate_double)
    return any(
        to_copy_dtype_validator(placeholder_only)(cast, settings)
        for placeholder_only in (False, True)
    )


def cast_in(memory_format):
    return lambda x: x.to(torch.float64, memory_format=memory_format)


IMAGE = torch.ones(2, 3, 4, 5)
CHANNELS_LAST = IMAGE.to(memory_format=torch.channels_last)

# Name, cast, input, whether it converts, and whether it does with dynamic shapes
LAYOUTS = [
    ("default", alone, IMAGE, True, True),
    ("default_of_channels_last", alone, CHANNELS_LAST, False, False),
    ("default_of_transposed", alone, IMAGE.mT, False, False),
    ("default_of_expanded", alone, IMAGE[:, :1].expand(2, 3, 4, 5), True, True),
    ("default_of_sliced", alone, IMAGE[:, :2], True, True),
    ("after_transpose", lambda x: alone(x.mT), IMAGE, False, False),
    ("preserve", cast_in(torch.preserve_format), IMAGE, True, False),
    (
        "preserve_of_channels_last",
        cast_in(torch.preserve_format),
        CHANNELS_LAST,
        False,
        False,
    ),
    ("preserve_of_transposed", cast_in(torch.preserve_format), IMAGE.mT, False, False),
    ("channels_last", cast_in(torch.channels_last), IMAGE, False, False),
    ("contiguous", cast_in(torch.contiguous_format), IMAGE, True, False),
    (
        "contiguous_of_channels_last",
        cast_in(torch.contiguous_format),
        CHANNELS_LAST,
        True,
        False,
    ),
    ("no_elements", alone, torch.ones(2, 0, 3), True, None),
    ("no_dimensions", alone, torch.ones(()), True, None),
]


class TestFloat64CastValidator(TestCase):
    @parameterized.expand(by_name(FLOATS))
    def test_floats_convert(self, _, dtype):
        x = torch.ones(3, 4, dtype=dtype)
        cast = lambda x: x.to(torch.float64, copy=True)
        self.assertTrue(converts(cast, x))
        self.assertTrue(converts(cast, x, dynamic=True))
        self.assertFalse(converts(cast, x, truncate_double=False))

    @parameterized.expand(by_name(OTHERS))
    def test_other_dtypes_stay_in_pytorch(self, _, dtype):
        x = torch.ones(3, 4).to(dtype)
        for truncate_double in (True, False):
            self.assertFalse(converts(alone, x, truncate_double=truncate_double))

    @parameterized.expand(LAYOUTS)
    def test_layouts(self, _, cast, x, static, dynamic):
        self.assertEqual(converts(cast, x), static)
        if dynamic is not None:
            self.assertEqual(converts(cast, x, dynamic=True), dynamic)

    def test_unknown_dtype_stays_in_pytorch(self):
        graph = torch.fx.Graph()
        cast = graph.call_function(
            aten._to_copy.default, (graph.placeholder("x"),), {"dtype": torch.float64}
        )
        settings = CompilationSettings(truncate_double=True)
        for placeholder_only in (False, True):
            self.assertFalse(to_copy_dtype_validator(placeholder_only)(cast, settings))


# --- the compiled module ---


class RopeBlock(torch.nn.Module):
    """A layer whose queries are rotated in float64, as numbers or as complex numbers"""

    def __init__(self, size, is_complex):
        super().__init__()
        self.query = torch.nn.Linear(size, size)
        self.is_complex = is_complex

    def forward(self, x, angle):
        query = self.query(x)
        pairs = query.to(torch.float64).unflatten(-1, (-1, 2))
        if self.is_complex:
            rotation = torch.polar(torch.ones_like(angle), angle)
            rotated = torch.view_as_real(torch.view_as_complex(pairs) * rotation)
        else:
            cos, sin = torch.cos(angle), torch.sin(angle)
            even, odd = pairs[..., 0], pairs[..., 1]
            rotated = torch.stack(
                (even * cos - odd * sin, even * sin + odd * cos), dim=-1
            )
        return x + rotated.flatten(-2).to(x.dtype)


class Rope(torch.nn.Module):
    def __init__(self, is_complex, blocks=4, length=5, size=8):
        super().__init__()
        self.blocks = torch.nn.ModuleList(
            RopeBlock(size, is_complex) for _ in range(blocks)
        )
        frequency = 100.0 ** -torch.linspace(0, 1, size // 2, dtype=torch.float64)
        position = torch.arange(length, dtype=torch.float64)
        self.register_buffer("angle", torch.outer(position, frequency))

    def forward(self, x):
        for block in self.blocks:
            x = block(x, self.angle)
        return x


class Multiplies(torch.nn.Module):
    """A matrix product in float64 between two engines, which no other dtype may enter"""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.eye(4, dtype=torch.float64))

    def forward(self, x):
        return torch.relu(torch.mm(torch.relu(x).to(torch.float64), self.weight))


def compile_module(module, inputs, **settings):
    program = torch.export.export(module.eval().to(DEVICE), tuple(inputs))
    return torch_tensorrt.dynamo.compile(
        program, inputs, **{"min_block_size": 1, "truncate_double": True, **settings}
    )


def count_blocks(compiled):
    """The number of blocks in TensorRT, and of those in PyTorch"""
    names = [name for name, _ in compiled.named_children()]
    engines = [name for name in names if "_run_on_acc" in name]
    return len(engines), len(names) - len(engines)


def output_dtypes(compiled, inputs):
    program = torch.export.export(compiled, tuple(inputs))
    (output,) = program.graph.find_nodes(op="output")
    return [node.meta["val"].dtype for node in output.args[0]]


def x_of(dtype=torch.float32):
    return torch.linspace(-1, 1, 12, device=DEVICE).reshape(3, 4).to(dtype)


class TestCompiledFloat64Casts(TestCase):
    @parameterized.expand([("real", False), ("complex", True)])
    def test_rope_is_one_engine(self, _, is_complex):
        x = torch.randn(2, 5, 8, device=DEVICE)
        compiled = compile_module(Rope(is_complex), [x], dryrun=True)
        self.assertEqual(count_blocks(compiled), (1, 0))

    @parameterized.expand([("alone", alone), ("as_output", as_output)])
    def test_without_truncate_double(self, _, function):
        compiled = compile_module(
            Calls(function), [x_of()], truncate_double=False, dryrun=True
        )
        self.assertEqual(count_blocks(compiled)[1], 1)

    @parameterized.expand(
        [
            ("alone", alone, [torch.float64]),
            ("as_output", as_output, [torch.float64]),
            (
                "with_its_source",
                with_its_source,
                [torch.float32, torch.float64, torch.float64],
            ),
            (
                "a_float64_constant",
                lambda x: torch.relu(x)
                + torch.zeros(4, dtype=torch.float64, device=x.device),
                [torch.float64],
            ),
            (
                "a_sum_in_float64",
                lambda x: (torch.relu(x), torch.relu(x).sum(1, dtype=torch.float64)),
                [torch.float32, torch.float64],
            ),
            ("back_to_float32", rotated_in_double, [torch.float32]),
        ]
    )
    def test_output_dtypes(self, _, function, dtypes):
        inputs = [x_of()]
        compiled = compile_module(Calls(function), inputs)
        self.assertEqual(count_blocks(compiled), (1, 0))
        self.assertEqual(output_dtypes(compiled, inputs), dtypes)

    def test_complex_output(self):
        def function(x):
            pairs = x.to(torch.float64).unflatten(-1, (-1, 2))
            return torch.view_as_complex(pairs) * 2

        inputs = [x_of()]
        compiled = compile_module(Calls(function), inputs)
        self.assertEqual(output_dtypes(compiled, inputs), [torch.complex128])

    def test_pytorch_block_gets_float64(self):
        inputs = [x_of()]
        compiled = compile_module(
            Multiplies(), inputs, torch_executed_ops={aten.mm.default}
        )
        self.assertEqual(count_blocks(compiled), (2, 1))
        # The product itself refuses operands of two dtypes
        self.assertEqual(output_dtypes(compiled, inputs), [torch.float64])

    @unittest.skipIf(
        not torch.cuda.is_available(), "running an engine takes a GPU that it is for"
    )
    def test_values(self):
        for function in (alone, as_output, with_its_source):
            inputs = [x_of()]
            compiled = compile_module(Calls(function), inputs)
            self.assertEqual(compiled(*inputs), function(*inputs))


if __name__ == "__main__":
    run_tests()
