"""What the layer tests share: arrays to draw, and PyTorch's value to expect."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

few = settings(max_examples=20, deadline=None)

FLOATS = (np.float32, np.float16, ml_dtypes.bfloat16)
WHOLE = (np.int32, np.int64)

floats = st.sampled_from(FLOATS)
numbers = st.sampled_from((*FLOATS, *WHOLE))
lengths = st.integers(1, 5)


def shapes(least: int = 1, most: int = 4, shortest: int = 1, longest: int = 5) -> st.SearchStrategy[tuple[int, ...]]:
    return hnp.array_shapes(min_dims=least, max_dims=most, min_side=shortest, max_side=longest)


def seeds() -> st.SearchStrategy[np.random.Generator]:
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def drawn(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float32, low: float = -4, high: float = 4
) -> Any:
    """Random values of `dtype` from `low` to `high`, whole ones for integers."""
    if np.issubdtype(dtype, np.bool_):
        return rng.random(shape) < 0.5
    if np.issubdtype(dtype, np.integer):
        return rng.integers(int(low), int(high), shape, dtype, endpoint=True)
    return rng.uniform(low, high, shape).astype(np.float32).astype(dtype)


def tensor(array: Any) -> torch.Tensor:
    """A copy of `array` for PyTorch, bfloat16 as PyTorch's own."""
    array = np.array(array, order="C")
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def assert_agrees(result: Any, expected: torch.Tensor) -> None:
    """Equal type and shape, and values within what PyTorch's own tests allow the type."""
    torch.testing.assert_close(tensor(result), expected, equal_nan=True)
