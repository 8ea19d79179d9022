"""Donor for conversion/impl/slice_scatter.py."""

import sys
from typing import List, Optional, Union

import numpy as np
import torch
from tensorrt import ITensor as TRTTensor
from torch.fx.node import Target
from torch_tensorrt.dynamo._SourceIR import SourceIR
from torch_tensorrt.dynamo.conversion import impl
from torch_tensorrt.dynamo.conversion._ConversionContext import ConversionContext
from torch_tensorrt.dynamo.conversion.converter_utils import get_trt_tensor
from torch_tensorrt.dynamo.conversion.impl import select
from torch_tensorrt.dynamo.conversion.impl.shape import shape as get_shape
from torch_tensorrt.dynamo.conversion.impl.slice.ops import slice_position
from torch_tensorrt.dynamo.utils import DYNAMIC_DIM


def slice_scatter_at_run_time(
    ctx: ConversionContext,
    target: Target,
    source_ir: Optional[SourceIR],
    name: str,
    input: TRTTensor,
    src: TRTTensor,
    dim: int,
    start: Optional[Union[int, TRTTensor]],
    end: Optional[Union[int, TRTTensor]],
    step: Optional[int],
) -> TRTTensor:
    """Emit a scatter for a write to a dimension whose size is known at run time only.

    ``src`` has the size of the slice, so beside ``step`` its size and the position
    that ``start`` stands for say all; ``end`` tells only whether ``src`` is the result.
    """
    rank = len(input.shape)
    dim = dim % rank
    start = 0 if start is None else start
    step = 1 if step is None else min(step, np.iinfo(np.int32).max)
    if start == 0 and step == 1 and (end is None or end == sys.maxsize):
        return src

    src_shape: List[Union[int, TRTTensor]] = list(src.shape)
    for axis, size in enumerate(src_shape):
        if size == DYNAMIC_DIM:
            src_shape[axis] = get_shape(
                ctx, target, source_ir, f"{name}_src_shape_{axis}", src, axis
            )

    length = src_shape[dim]
    if isinstance(length, TRTTensor):
        offsets = impl.arange.arange(
            ctx, target, source_ir, f"{name}_offsets", 0, length, 1, torch.int32
        )
    else:
        offsets = get_trt_tensor(
            ctx, np.arange(length, dtype=np.int32), f"{name}_offsets"
        )
    offsets = impl.elementwise.mul(
        ctx, target, source_ir, f"{name}_steps", offsets, step
    )
    dim_size = get_shape(ctx, target, source_ir, f"{name}_dim_size", input, dim)
    first = slice_position(ctx, target, source_ir, f"{name}_start", start, dim_size)
    indices = impl.elementwise.add(
        ctx, target, source_ir, f"{name}_positions", offsets, first
    )
    indices = impl.shuffle.reshape(
        ctx,
        target,
        source_ir,
        f"{name}_indices",
        indices,
        [-1 if axis == dim else 1 for axis in range(rank)],
    )
    src_shape[dim] = DYNAMIC_DIM  # Where expand keeps the size
    indices = impl.slice.expand(
        ctx, target, source_ir, f"{name}_indices_expand", indices, tuple(src_shape)
    )
    return select.scatter(
        ctx, target, source_ir, f"{name}_scatter", input, dim, indices, src
    )
