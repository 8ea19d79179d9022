"""The extra runtime-slice-bounds against Python's own slicing, for every size that a network may meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import torch_tensorrt_fixes

torch_tensorrt_fixes.install("all")

import torch_tensorrt  # noqa: E402
from torch_tensorrt.dynamo.conversion import TRTInterpreter  # noqa: E402
from torch_tensorrt.dynamo.conversion.impl import slice_scatter  # noqa: E402
from torch_tensorrt.dynamo.lowering._buffer_lifting import _kv_write_will_alias  # noqa: E402

from torch_tensorrt_fixes.reference import runtime  # noqa: E402
from torch_tensorrt_fixes.reference.conversion import Evaluation  # noqa: E402

SIZES = (*range(1, 14), 40)
LARGEST = 64
EDGES = (-(2**63), -(2**63) + 1, -(2**31) - 1, -(2**31), 2**31 - 1, 2**31, 2**63 - 1)
bounds = st.none() | st.integers(-20, 20) | st.sampled_from(EDGES)
steps = st.integers(1, 5) | st.sampled_from([2**31 - 1, 2**31, 2**40])


class Read(torch.nn.Module):
    def __init__(self, *args: int | None) -> None:
        super().__init__()
        self.args = args

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.slice.Tensor(x, 0, *self.args)


class ReadBetween(torch.nn.Module):
    """x[n:m:step], n and m being sizes less ``offset``."""

    def __init__(self, offset: int, step: int) -> None:
        super().__init__()
        self.offset, self.step = offset, step

    def forward(self, x: torch.Tensor, n: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        first, last = (torch.ops.aten.sym_size.int(size, 0) - self.offset for size in (n, m))
        return torch.ops.aten.slice.Tensor(x, 0, first, last, self.step)


class Write(torch.nn.Module):
    def __init__(self, *args: int | None) -> None:
        super().__init__()
        self.args = args

    def forward(self, x: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.slice_scatter.default(x, src, 0, *self.args)


def network(module: torch.nn.Module, *widths: Sequence[int], smallest: int = 1) -> Evaluation:
    """The network for inputs whose first dimension is dynamic; ``widths`` are their other dimensions."""
    graph = torch.fx.symbolic_trace(module)
    inputs = [
        torch_tensorrt.Input(min_shape=(smallest, *width), opt_shape=(8, *width), max_shape=(LARGEST, *width))
        for width in widths
    ]
    interpreter = TRTInterpreter(graph, inputs)
    interpreter._construct_trt_network_def()
    return Evaluation.of(interpreter)


def numbers(size: int) -> torch.Tensor:
    return torch.arange(2.0 * size).reshape(size, 2)


@given(bounds, bounds, steps)
@settings(max_examples=60)
def test_a_slice_is_pythons_at_any_size(start: int | None, stop: int | None, step: int) -> None:
    evaluation = network(Read(start, stop, step), (2,))
    for size in SIZES:
        (got,) = evaluation([numbers(size)])
        wanted = [[2.0 * i, 2.0 * i + 1] for i in range(size)[start:stop:step]]
        assert got.tolist() == wanted


@given(st.integers(0, 12), st.integers(1, 4))
@settings(max_examples=20)
def test_bounds_known_at_run_time_are_clamped_too(offset: int, step: int) -> None:
    evaluation = network(ReadBetween(offset, step), (2,), (), ())
    for size in (1, 4, 9):
        for n in (1, 3, 8, 20):
            for m in (1, 5, 9, 30):
                (got,) = evaluation([numbers(size), torch.zeros(n), torch.zeros(m)])
                assert got[:, 0].tolist() == [2.0 * i for i in range(size)[n - offset : m - offset : step]]


@given(bounds, bounds, steps)
@settings(max_examples=60)
def test_a_write_is_pythons_at_any_size(start: int | None, stop: int | None, step: int) -> None:
    if (start or 0, step) == (0, 1) and stop in (None, 2**63 - 1):
        return  # the whole: the source is the result
    evaluation = network(Write(start, stop, step), (2,), (2,), smallest=0)
    for size in SIZES:
        written = range(size)[start:stop:step]
        wanted = numbers(size)
        wanted[list(written)] = -numbers(len(written)) - 1
        (got,) = evaluation([numbers(size), -numbers(len(written)) - 1])
        assert torch.equal(got, wanted)


@given(st.integers(0, 12), bounds, bounds, steps)
def test_literal_bounds_resolve_as_pythons(size: int, start: int | None, stop: int | None, step: int) -> None:
    status = slice_scatter.KVWriteStatus
    first, last, by, found = slice_scatter.resolve_slice_scatter_write((3, size), 1, start, stop, step)
    assert first is not None and last is not None and by is not None
    written = range(first, last, by)
    assert list(written) == list(range(size))[start:stop:step]
    assert last - first >= 0
    whole = step == 1 and (first, last) == (0, size)
    plain = step == 1 and first < last
    assert found is (status.FULL_OVERWRITE if whole else status.OK if plain else status.NOT_CONTIGUOUS)


@pytest.mark.parametrize(
    "args, aliases",
    [((1, 3, 1), True), ((-3, 2**63 - 1, 1), True), ((0, 8, 2), False), ((5, 2, 1), False), ((0, 20, 1), False)],
)
def test_lowering_predicts_what_the_converter_does(args: tuple[Any, ...], aliases: bool) -> None:
    graph = torch.fx.Graph()
    cache, src = graph.placeholder("cache"), graph.placeholder("src")
    write = graph.call_function(torch.ops.aten.slice_scatter.default, (cache, src, 2, *args))
    assert _kv_write_will_alias(write, (1, 2, 8, 4)) == aliases


# --- from end to end ---


class Window(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.clone()
        y[:, 2:] = x[:, :-2] * 2
        y[:, -1] = x[:, 0] * 3
        return y, x[:, 4:20] + 1, x[:, :48] + 1, x[:, -4:] + 1


def test_a_program_at_every_length_of_its_range() -> None:
    x = torch.randn(2, 16)
    with torch.no_grad(), runtime():
        program = torch.export.export(Window(), (x,), dynamic_shapes=({1: torch.export.Dim.AUTO},))
        length = torch_tensorrt.Input(min_shape=(2, 5), opt_shape=(2, 16), max_shape=(2, 19))
        compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=[length], min_block_size=1)
        assert len(list(compiled.children())) == 1
        for size in range(5, 20):
            x = torch.randn(2, size)
            torch.testing.assert_close(compiled(x), Window()(x), rtol=0, atol=0)
