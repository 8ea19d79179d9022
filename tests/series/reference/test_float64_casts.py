"""Fix 6: which casts convert, against what PyTorch lays out; and whole programs, run by the reference runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch_tensorrt
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.conversion import TRTInterpreter

from torch_tensorrt_fixes.fixes.float64_casts.aten_ops_converters import is_truncated_double_cast
from torch_tensorrt_fixes.reference import runtime

Tensor = torch.Tensor
SETTINGS = CompilationSettings(truncate_double=True)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
DTYPES = (*FLOATS, torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float8_e4m3fn)
FORMATS = (None, torch.contiguous_format, torch.preserve_format, torch.channels_last)


# --- which casts convert ---


@st.composite
def laid_out(draw: st.DrawFn, sizes: st.SearchStrategy[int]) -> tuple[list[int], list[int], list[int]]:
    """The sizes of a tensor of rank 4, the order that its dimensions are permuted to, and the steps it is sliced by."""
    order = draw(st.permutations(range(4)))
    return (
        draw(st.lists(sizes, min_size=4, max_size=4)),
        order,
        draw(st.lists(st.integers(1, 2), min_size=4, max_size=4)),
    )


def tensor(sizes: list[int], order: list[int], steps: list[int], dtype: torch.dtype) -> Tensor:
    whole = torch.ones(sizes).to(dtype)
    return whole.permute(order)[tuple(slice(None, None, step) for step in steps)]


def cast_node(
    x: Tensor, memory_format: torch.memory_format | None, dtype: torch.dtype = torch.float64
) -> torch.fx.Node:
    """The node of the cast of ``x``, a tensor or a fake one, with its metadata."""
    kwargs: dict[str, Any] = {"dtype": dtype}
    if memory_format is not None:
        kwargs["memory_format"] = memory_format
    graph = torch.fx.Graph()
    source = graph.placeholder("x")
    source.meta["val"] = x
    node = graph.call_function(torch.ops.aten._to_copy.default, (source,), kwargs)
    node.meta["val"] = torch.ops.aten._to_copy.default(x, **kwargs)
    return node


@given(laid_out(st.integers(0, 5)), st.sampled_from(DTYPES), st.sampled_from(FORMATS))
def test_a_float_converts_where_the_result_is_contiguous(
    layout: tuple[list[int], list[int], list[int]], dtype: torch.dtype, memory_format: torch.memory_format | None
) -> None:
    node = cast_node(tensor(*layout, dtype), memory_format)
    wanted = dtype in FLOATS and node.meta["val"].is_contiguous()
    assert is_truncated_double_cast(node, SETTINGS) == wanted
    assert not is_truncated_double_cast(node, CompilationSettings(truncate_double=False))


@settings(max_examples=50)
@given(laid_out(st.integers(2, 5)), st.sampled_from(FORMATS), st.integers(1, 15))
def test_dynamic_sizes_are_answered_without_a_guard(
    layout: tuple[list[int], list[int], list[int]], memory_format: torch.memory_format | None, dynamic: int
) -> None:
    x = tensor(*layout, torch.float32)
    sizes = [DimDynamic.DYNAMIC if dynamic >> dim & 1 and x.shape[dim] > 1 else DimDynamic.STATIC for dim in range(4)]
    shapes = ShapeEnv()
    with FakeTensorMode(shape_env=shapes) as mode:
        fake = mode.from_tensor(x, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes))
        node = cast_node(fake, memory_format)
        guards = len(shapes.guards)
        converts = is_truncated_double_cast(node, SETTINGS)
        assert len(shapes.guards) == guards
    result = cast_node(x, memory_format).meta["val"]
    if DimDynamic.DYNAMIC not in sizes:
        assert converts == result.is_contiguous()
    elif memory_format is not None:
        assert not converts
    else:
        # The strides of a non-contiguous input may be symbols of their own, of which nothing is known.
        assert result.is_contiguous() >= converts >= x.is_contiguous()


@given(st.sampled_from([dtype for dtype in DTYPES if dtype != torch.float64]))
def test_casts_to_other_dtypes_are_not_its_business(dtype: torch.dtype) -> None:
    assert not is_truncated_double_cast(cast_node(torch.ones(2, 3, 4, 5), None, dtype), SETTINGS)


# --- whole programs ---


class Program(torch.nn.Module):
    """Calls ``function`` with itself, which has float64 buffers, and the input."""

    def __init__(self, function: Callable[[Program, Tensor], Any]) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.function = function
        self.weight = torch.nn.Buffer(torch.randn(4, 4, dtype=torch.float64))
        self.phase = torch.nn.Buffer(
            torch.polar(torch.ones(2, dtype=torch.float64), torch.randn(2, dtype=torch.float64))
        )

    def forward(self, x: Tensor) -> Any:
        return self.function(self, x)


@pytest.fixture(autouse=True)
def _inside() -> Iterator[None]:
    torch._dynamo.reset()
    with torch.no_grad(), runtime():
        yield


@pytest.fixture
def engines() -> Iterator[list[None]]:
    """An item for each engine that is built."""
    built: list[None] = []
    build = TRTInterpreter.run

    def build_and_count(interpreter: Any, *args: Any, **kwargs: Any) -> Any:
        built.append(None)
        return build(interpreter, *args, **kwargs)

    with mock.patch.object(TRTInterpreter, "run", build_and_count):
        yield built


def exported(module: torch.nn.Module, x: Tensor) -> Callable[[Tensor], Any]:
    program = torch.export.export(module, (x,))
    compiled: Callable[[Tensor], Any] = torch_tensorrt.dynamo.compile(
        program, [x], min_block_size=1, truncate_double=True
    )
    return compiled


def just_in_time(module: torch.nn.Module, _: Tensor) -> Callable[[Tensor], Any]:
    options = {"min_block_size": 1, "truncate_double": True, "pass_through_build_failures": True}
    compiled: Callable[[Tensor], Any] = torch.compile(module, backend="tensorrt", options=options)
    return compiled


def rope(program: Program, x: Tensor) -> Tensor:
    """Rotates in float64 in each of 4 blocks, as numbers and as complex numbers in turn."""
    cos, sin = program.phase.real, program.phase.imag
    for block in range(4):
        pairs = torch.nn.functional.gelu(x).to(torch.float64).unflatten(-1, (2, 2))
        if block % 2:
            rotated = torch.view_as_real(torch.view_as_complex(pairs) * program.phase)
        else:
            even, odd = pairs[..., 0], pairs[..., 1]
            rotated = torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1)
        x = x + rotated.flatten(-2).to(x.dtype)
    return x


PROGRAMS: dict[str, tuple[Callable[[Program, Tensor], Any], int]] = {
    "rope": (rope, 1),
    "the input": (lambda _, x: x.double(), 1),
    "with its source": (lambda _, x: ((z := x.relu()), z.double(), z.double() * 2, z.clone()), 1),
    "a float64 constant": (lambda _, x: x.relu() + torch.zeros(4, dtype=torch.float64), 1),
    "a float64 sum": (lambda _, x: (x.relu(), x.relu().sum(1, dtype=torch.float64)), 1),
    "a copy into a buffer": (lambda program, x: torch.ops.aten.copy(program.weight, x.relu() > 0), 1),
    "complex128": (lambda program, x: torch.view_as_complex(x.double().unflatten(-1, (2, 2))) * program.phase, 1),
    "PyTorch between": (lambda program, x: torch.special.digamma(x.double() + 9).mm(program.weight).relu(), 2),
    "a transposed cast": (lambda _, x: x.relu().t().double() @ x.double(), 2),
}


@pytest.mark.parametrize("compile_", [exported, just_in_time])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_dtypes_are_pytorchs(
    name: str,
    dtype: torch.dtype,
    compile_: Callable[[torch.nn.Module, Tensor], Callable[[Tensor], Any]],
    engines: list[None],
) -> None:
    function, count = PROGRAMS[name]
    module = Program(function).eval()
    x = torch.linspace(-2, 2, 16).reshape(4, 4).to(dtype)
    got = compile_(module, x)(x)
    torch.testing.assert_close(got, module(x), rtol=1e-5 if dtype == torch.float32 else 2e-3, atol=1e-5)
    assert len(engines) == count


@pytest.mark.parametrize("retrace", [True, False])
def test_saved_and_loaded_it_gives_float64(retrace: bool, tmp_path: Path) -> None:
    module = Program(lambda _, x: ((z := x.relu()), z.double())).eval()
    x = torch.linspace(-2, 2, 16).reshape(4, 4)
    path = str(tmp_path / "saved.pt2")
    torch_tensorrt.save(exported(module, x), path, inputs=[x], retrace=retrace)
    got = torch_tensorrt.load(path).module()(x)
    torch.testing.assert_close(tuple(got), module(x))


def test_without_truncate_double_the_program_is_what_it_was() -> None:
    module = Program(lambda _, x: ((z := x.relu()), z.double())).eval()
    x = torch.linspace(-2, 2, 16).reshape(4, 4)
    program = torch.export.export(module, (x,))
    compiled = torch_tensorrt.dynamo.compile(program, [x], min_block_size=1, truncate_double=False)
    assert [name for name, _ in compiled.named_children()] == ["_run_on_acc_0", "_run_on_gpu_1"]
    torch.testing.assert_close(compiled(x), module(x))
