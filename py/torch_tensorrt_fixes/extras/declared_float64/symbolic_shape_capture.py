"""Donor for conversion/_symbolic_shape_capture.py."""

from __future__ import annotations

import torch


def _engine_dtype(dtype: torch.dtype, truncate_double: bool) -> torch.dtype:
    """Return the dtype that a tensor of ``dtype`` has at the engine's boundary."""
    if truncate_double and dtype == torch.float64:
        return torch.float32
    return dtype
