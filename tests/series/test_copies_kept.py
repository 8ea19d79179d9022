"""copies-kept from end to end: what torch.compile returns where a model writes to copies, in PyTorch and in engines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import torch_tensorrt_fixes

torch_tensorrt_fixes.install("all")

import torch_tensorrt  # noqa: E402, F401

from torch_tensorrt_fixes.reference import runtime  # noqa: E402

COPIES: list[Callable[[torch.Tensor], torch.Tensor]] = [
    torch.clone,
    lambda x: x.clone(),
    lambda x: x.detach().clone(),
    lambda x: x.contiguous(),
    lambda x: x.t().contiguous().t(),
]
WRITES: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: x.add_(1),
    lambda x: x.view_as(x).mul_(2),
    lambda x: x.detach().sub_(3),
    lambda x: x.neg_(),
]
STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(range(5)), st.sampled_from(range(-1, 4))), max_size=4)


def program(steps: list[tuple[int, int, int]]) -> Callable[[torch.Tensor], tuple[torch.Tensor, ...]]:
    """Copies of earlier values, some of which are written to; all values are returned."""

    def run(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = [x * 2]
        for of, copy, write in steps:
            values.append(COPIES[copy](values[of % len(values)]))
            if write >= 0:
                WRITES[write](values[-1])
        return tuple(value + 0.5 for value in values)

    return run


def check(run: Callable[..., tuple[torch.Tensor, ...]], dynamic: bool, min_block_size: int) -> None:
    torch._dynamo.reset()
    x = torch.arange(12.0).reshape(3, 4) - 5
    options = {"min_block_size": min_block_size, "pass_through_build_failures": True}
    with runtime():
        compiled = torch.compile(run, backend="tensorrt", dynamic=dynamic, options=options)
        mine = x.clone()
        torch.testing.assert_close(tuple(compiled(mine)), tuple(run(x.clone())))
    torch.testing.assert_close(mine, x)


@settings(deadline=None, max_examples=25)
@given(steps=STEPS)
def test_programs_in_pytorch(steps: list[tuple[int, int, int]]) -> None:
    check(program(steps), False, 100)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("steps", [[(0, 1, 0)], [(0, 2, 1), (1, 4, 3)], [(0, 3, 0), (1, 0, 2), (0, 1, 1)]])
def test_programs_in_engines(steps: list[tuple[int, int, int]], dynamic: bool) -> None:
    check(program(steps), dynamic, 1)
