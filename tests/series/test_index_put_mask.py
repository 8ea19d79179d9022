"""Fix 10: masked writes against PyTorch for every place and count, and Qwen3-VL's deepstack from end to end."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import torch_tensorrt_fixes

torch_tensorrt_fixes.install("all")

import torch_tensorrt  # noqa: E402
from torch_tensorrt.dynamo.conversion import TRTInterpreter, aten_ops_converters  # noqa: E402

from torch_tensorrt_fixes.reference import EvaluationError, runtime, standard_tensorrt  # noqa: E402
from torch_tensorrt_fixes.reference.conversion import Evaluation  # noqa: E402
from torch_tensorrt_fixes.reproduce.index_put_mask import Deepstack  # noqa: E402

SIZES = (3, 4, 2, 2)
DTYPES = (torch.float32, torch.float16, torch.int32, torch.int64)


class Write(torch.nn.Module):
    """h[:, ..., mask] = values, with ``before`` dimensions ahead of the mask's."""

    def __init__(self, before: int) -> None:
        super().__init__()
        self.before = before

    def forward(self, h: torch.Tensor, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.index_put.default(h, [*[None] * self.before, mask], values)


class WriteBesideIndex(torch.nn.Module):
    """h[mask, index] = values."""

    def forward(self, h: torch.Tensor, values: torch.Tensor, mask: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.index_put.default(h, [mask, index], values)


def network(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> Evaluation:
    """The network that the module converts to, as for standard TensorRT."""
    graph = torch.export.export(module, tuple(inputs)).module(check_guards=False)
    with standard_tensorrt():
        interpreter = TRTInterpreter(graph, torch_tensorrt.Input.from_tensors(inputs))
        interpreter._construct_trt_network_def()
    return Evaluation.of(interpreter)


def mask_of(count: int, *shape: int) -> torch.Tensor:
    mask = torch.zeros(shape, dtype=torch.bool)
    mask.view(-1)[torch.randperm(mask.numel())[:count]] = True
    return mask


@st.composite
def writes(draw: st.DrawFn) -> tuple[Write, list[torch.Tensor], torch.Tensor]:
    """A write that fits: its module, its inputs h, values and mask, and a second mask of any count."""
    torch.manual_seed(draw(st.integers(0, 1000)))
    sizes = SIZES[: draw(st.integers(1, 4))]
    dims = draw(st.integers(1, min(len(sizes), 3)))
    before = draw(st.integers(0, len(sizes) - dims))
    masked = sizes[before : before + dims]
    counts = st.integers(0, torch.Size(masked).numel())
    count = draw(counts)
    result = (*sizes[:before], count, *sizes[before + dims :])
    kept = [size if draw(st.booleans()) else 1 for size in result][draw(st.integers(0, len(result))) :]
    shape = tuple(result[len(result) - len(kept) :][i] if size != 1 else 1 for i, size in enumerate(kept))
    dtype = draw(st.sampled_from(DTYPES))
    h, values = ((torch.randn(size) * 50).to(dtype) for size in (sizes, shape))
    return Write(before), [h, values, mask_of(count, *masked)], mask_of(draw(counts), *masked)


def pytorchs(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """What PyTorch writes, or None where it refuses to."""
    try:
        result: torch.Tensor = module(*inputs)
    except RuntimeError:
        return None
    return result


@given(writes())
@settings(max_examples=25)
def test_any_write_is_pytorchs_and_so_is_any_refusal(
    write: tuple[Write, list[torch.Tensor], torch.Tensor],
) -> None:
    module, inputs, other_mask = write
    evaluation = network(module, inputs)
    torch.testing.assert_close(evaluation(inputs)[0], module(*inputs), rtol=0, atol=0)

    h, values, _ = inputs
    before = h.clone()
    others = [h, values, other_mask]
    expected = pytorchs(module, others)
    if expected is None:
        with pytest.raises(EvaluationError):
            evaluation(others)
    else:
        torch.testing.assert_close(evaluation(others)[0], expected, rtol=0, atol=0)
    assert torch.equal(h, before)


@pytest.mark.parametrize("values_shape", [(3,), ()])
def test_a_mask_beside_an_index_writes_all_or_nothing(values_shape: tuple[int, ...]) -> None:
    h, values, index = torch.randn(6, 4), torch.randn(values_shape), torch.tensor([3, 0, 1])
    evaluation = network(WriteBesideIndex(), [h, values, mask_of(3, 6), index])
    for count in range(7):
        inputs = [h, values, mask_of(count, 6), index]
        if count == 3:
            assert torch.equal(evaluation(inputs)[0], WriteBesideIndex()(*inputs))
        else:  # PyTorch takes one True, too: it broadcasts its row
            with pytest.raises(EvaluationError):
                evaluation(inputs)


@pytest.mark.parametrize("counts", [(3, 3), (2, 3), (3, 2), (0, 3), (3, 0), (1, 3)])
def test_two_masks_write_all_or_nothing(counts: tuple[int, int]) -> None:
    h, values = torch.randn(6, 4), torch.randn(())
    evaluation = network(WriteBesideIndex(), [h, values, mask_of(3, 6), mask_of(3, 4)])
    inputs = [h, values, mask_of(counts[0], 6), mask_of(counts[1], 4)]
    if counts[0] == counts[1]:
        assert torch.equal(evaluation(inputs)[0], WriteBesideIndex()(*inputs))
    else:
        with pytest.raises(EvaluationError):
            evaluation(inputs)


# --- from end to end ---


class Accumulate(torch.nn.Module):
    def forward(self, h: torch.Tensor, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.index_put.default(h * 2, [mask], values, True) + 1


def test_a_mask_that_accumulates_runs_in_pytorch_beside_the_plugin() -> None:
    inputs = (torch.randn(6, 4), torch.randn(3, 4), mask_of(3, 6))
    plugin = mock.patch.object(aten_ops_converters, "_scatter_add_plugin_available", lambda: True)
    with torch.no_grad(), runtime(), standard_tensorrt(), plugin:
        program = torch.export.export(Accumulate(), inputs)
        compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=inputs, min_block_size=1)
        torch.testing.assert_close(compiled(*inputs), Accumulate()(*inputs))


def test_qwen3_vl_adds_visual_embeddings_at_the_mask() -> None:
    model = Deepstack()
    embeds, first, second = torch.randn(1, 10, 32), torch.randn(5, 32), torch.randn(5, 32)
    mask = torch.zeros(1, 10, dtype=torch.bool)
    mask[0, 2:7] = True
    with torch.no_grad(), runtime(), standard_tensorrt(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(model, (embeds, mask, first, second))
        compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=[embeds, mask, first, second], min_block_size=1)
        assert len(list(compiled.children())) == 1
        for seen in (mask, mask.roll(3, 1), mask_of(5, 1, 10)):
            expected = model(embeds, seen, first, second)
            torch.testing.assert_close(compiled(embeds, seen, first, second), expected, rtol=1e-4, atol=1e-5)
        for count in (0, 1, 4, 6):
            with pytest.raises(EvaluationError):
                compiled(embeds, mask_of(count, 1, 10), first, second)
