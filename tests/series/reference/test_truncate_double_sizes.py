"""The extra truncate-double-sizes: float64 programs whose sizes cross partitions, run by the reference runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
import torch_tensorrt
from torch.fx.passes.shape_prop import TensorMetadata

from torch_tensorrt_fixes.extras.truncate_double_sizes.utils import get_output_values
from torch_tensorrt_fixes.reference import runtime

Tensor = torch.Tensor


def digamma(x: Tensor) -> Tensor:
    """What runs in PyTorch and cuts the graph."""
    return torch.special.digamma(x + 9)


PROGRAMS: dict[str, Callable[[Tensor], Tensor]] = {
    "a size to PyTorch": lambda x: digamma(x.relu()).reshape(2 * x.shape[0], 2) * 2,
    "a size to an engine": lambda x: digamma(x.relu().reshape(x.shape[0] * 2, 2)).reshape(x.shape[0] * 4, 1).relu(),
    "a range": lambda x: digamma(x).relu() + torch.arange(x.shape[0])[:, None],
}


class Program(torch.nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def exported(module: torch.nn.Module, x: Tensor) -> Callable[[Tensor], Tensor]:
    rows = torch.export.Dim("n", min=2, max=8)
    program = torch.export.export(module, (x,), dynamic_shapes=({0: rows},))
    spec = torch_tensorrt.Input(min_shape=(2, 4), opt_shape=(4, 4), max_shape=(8, 4), dtype=x.dtype)
    compiled: Callable[[Tensor], Tensor] = torch_tensorrt.dynamo.compile(
        program, arg_inputs=[spec], min_block_size=1, truncate_double=True
    )
    return compiled


def just_in_time(module: torch.nn.Module, x: Tensor) -> Callable[[Tensor], Tensor]:
    torch._dynamo.mark_dynamic(x, 0, min=2, max=8)
    options = {"min_block_size": 1, "truncate_double": True, "pass_through_build_failures": True}
    compiled: Callable[[Tensor], Tensor] = torch.compile(module, backend="tensorrt", options=options)
    return compiled


@pytest.fixture(autouse=True)
def _inside() -> Iterator[None]:
    torch._dynamo.reset()
    with torch.no_grad(), runtime():
        yield


@pytest.mark.parametrize("compile_", [exported, just_in_time])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_dtypes_are_pytorchs(
    name: str, compile_: Callable[[torch.nn.Module, Tensor], Callable[[Tensor], Tensor]]
) -> None:
    module = Program(PROGRAMS[name]).eval()
    x = torch.linspace(-2, 2, 16, dtype=torch.float64).reshape(4, 4)
    compiled = compile_(module, x)
    for rows in (x, torch.cat((x, x[:2])), x[:2]):
        torch.testing.assert_close(compiled(rows), module(rows), rtol=1e-5, atol=1e-5)


def test_metadata_of_shape_propagation_will_do() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output((x, 3))
    module = torch.fx.GraphModule({}, graph)
    assert get_output_values(module) == (None, 3)
    x.meta["tensor_meta"] = TensorMetadata(torch.Size([2, 3]), torch.float64, False, (3, 1), None, False, {})
    value, number = get_output_values(module)
    assert (value.shape, value.dtype, number) == ((2, 3), torch.float64, 3)
