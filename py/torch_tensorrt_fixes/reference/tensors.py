"""PyTorch's tensors and the evaluator's arrays."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import torch

from .dtypes import Array

# Each holds the other's bits, but torch and NumPy exchange them only as integers.
_BY_BITS = {
    torch.bfloat16: (torch.int16, np.dtype(ml_dtypes.bfloat16)),
    torch.float8_e4m3fn: (torch.int8, np.dtype(ml_dtypes.float8_e4m3fn)),
}


def to_numpy(tensor: torch.Tensor) -> Array:
    """The values of a tensor on any device, in the same type; bfloat16 and float8 are those of ml_dtypes."""
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype in _BY_BITS:
        bits, dtype = _BY_BITS[tensor.dtype]
        return np.asarray(tensor.view(bits).numpy().view(dtype))
    return np.asarray(tensor.numpy())


def to_torch(array: Array) -> torch.Tensor:
    """A tensor with the values of an array, in the same type and in memory of its own."""
    array = np.array(array, order="C")
    for dtype, (_, known) in _BY_BITS.items():
        if array.dtype == known:
            return torch.from_numpy(array.view(f"i{array.itemsize}")).view(dtype)
    return torch.from_numpy(array)
