"""Fix 8 and the extra shape-values: what an engine reads of its shape inputs, in whole programs."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest
import torch
from torch_tensorrt.dynamo.runtime._TRTEngine import TRTEngine

from torch_tensorrt_fixes.reference import host_memory, runtime
from torch_tensorrt_fixes.reference.execution import ExecutionContext

TO_THE_ENGINE = {"min_block_size": 1, "pass_through_build_failures": True}


class Sizes(torch.nn.Module):
    """A grid of a size that is three numbers, which the engine gets as three inputs."""

    def forward(self, x: torch.Tensor, a: int, b: int, c: int) -> torch.Tensor:
        for size in (a, b, c):
            torch._check(size >= 2)  # else the least size of the profile is 0, and so is the greatest
        return x.reshape(a, b, c) * a + torch.arange(c) * b


@pytest.fixture(autouse=True)
def _inside() -> Iterator[None]:
    torch._dynamo.reset()
    with runtime(), torch.no_grad():
        yield


def grid(*sizes: int) -> tuple[torch.Tensor, int, int, int]:
    a, b, c = sizes
    return torch.arange(float(a * b * c)), a, b, c


@pytest.mark.parametrize("sizes", [(3, 4, 5), (5, 4, 3), (2, 6, 5)])
def test_three_sizes_reach_the_engine(sizes: tuple[int, int, int]) -> None:
    read: list[list[int]] = []
    execute = ExecutionContext.execute_async_v3

    def taking_free_memory(context: ExecutionContext, stream: int) -> bool:
        taken = [np.full(1, 1, np.int64) for _ in range(100)]
        addresses = [context.get_tensor_address(name) for name in context.engine.shape_inputs]
        read.append([int(host_memory.read(address, np.dtype(np.int64), ())) for address in addresses])
        del taken
        return execute(context, stream)

    compiled = torch.compile(Sizes(), backend="tensorrt", dynamic=True, options=TO_THE_ENGINE)
    with mock.patch.object(ExecutionContext, "execute_async_v3", taking_free_memory):
        for inputs in (grid(*sizes), grid(*(size + 1 for size in sizes))):
            torch.testing.assert_close(compiled(*inputs), Sizes()(*inputs))
    assert len(read[0]) == 3
    assert sorted(read[0]) == sorted(sizes)
    assert sorted(read[1]) == sorted(size + 1 for size in sizes)


def test_other_sizes_of_as_many_elements() -> None:
    """Only values change: the shapes of all inputs are those of the call before."""
    compiled = torch.compile(Sizes(), backend="tensorrt", dynamic=True, options=TO_THE_ENGINE)
    setup = TRTEngine.setup_input_tensors

    def chosen(engine: TRTEngine, *args: object) -> None:
        engine.use_pre_allocated_outputs = True
        setup(engine, *args)

    with mock.patch.object(TRTEngine, "setup_input_tensors", chosen):
        for sizes in ((3, 4, 5), (5, 4, 3), (5, 4, 3), (2, 5, 6), (3, 4, 5)):
            torch.testing.assert_close(compiled(*grid(*sizes)), Sizes()(*grid(*sizes)))
