"""Donor for conversion/impl/cast.py."""

from __future__ import annotations

from typing import Union

import numpy as np
import tensorrt as trt
import torch
from tensorrt import DataType as TRTDataType
from tensorrt import ITensor as TRTTensor
from torch_tensorrt import _enums
from torch_tensorrt.dynamo.conversion._ConversionContext import ConversionContext


def truncate_double_dtype(
    ctx: ConversionContext,
    input: TRTTensor,
    dtype: Union[TRTDataType, torch.dtype, np.dtype, _enums.dtype],
    name: str,
) -> Union[TRTDataType, torch.dtype, np.dtype, _enums.dtype]:
    """Return the dtype that a copy of ``input`` to ``dtype`` has in TensorRT

    With the setting truncate_double that is float32 in place of float64.

    Raises:
        TypeError: The input is of a dtype whose values float32 cannot all hold
    """
    if (
        not ctx.compilation_settings.truncate_double
        or _enums.dtype._from(dtype) != _enums.dtype.float64
    ):
        return dtype
    if input.dtype not in (
        trt.float32,
        trt.float16,
        trt.bfloat16,
        trt.bool,
        trt.int8,
        trt.uint8,
    ):
        raise TypeError(
            f"{name} copies {input.dtype} to float64. TensorRT has no float64, and "
            "float32, which truncate_double puts in its place, cannot hold every such "
            "value: cast to a 32-bit float first, or run the operator in PyTorch with "
            "torch_executed_ops."
        )
    return torch.float32
