"""The arithmetic of fix 1 against Python's own slicing."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from torch_tensorrt_fixes.fixes.slice_bounds.slice_ops import clamp_slice_bound

EDGES = (-(2**63), -(2**63) + 1, -(2**31), 2**31, 2**63 - 1)


def positions(size: int, start: int, stop: int, step: int) -> list[int]:
    """The positions that the network's slice layer reads: as slice_op computes them with the fix."""
    first, last = clamp_slice_bound(start, size), clamp_slice_bound(stop, size)
    length = max(-(-(last - first) // step), 0)
    return [first + step * i for i in range(length)]


def test_every_small_slice_is_pythons() -> None:
    bounds = (*range(-15, 16), *EDGES)
    for size, start, stop, step in product(range(13), bounds, bounds, range(1, 5)):
        assert positions(size, start, stop, step) == list(range(size))[start:stop:step]


@given(
    st.integers(0, 200),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(1, 2**63 - 1),
)
def test_any_slice_is_pythons(size: int, start: int, stop: int, step: int) -> None:
    assert positions(size, start, stop, step) == list(range(size))[start:stop:step]
