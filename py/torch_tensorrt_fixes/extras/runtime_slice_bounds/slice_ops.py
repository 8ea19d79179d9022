"""Donor for conversion/impl/slice/ops.py."""

from typing import Optional, Union

import numpy as np
import tensorrt as trt
import torch
from tensorrt import ITensor as TRTTensor
from torch.fx.node import Target
from torch_tensorrt.dynamo._SourceIR import SourceIR
from torch_tensorrt.dynamo.conversion import impl
from torch_tensorrt.dynamo.conversion._ConversionContext import ConversionContext
from torch_tensorrt.dynamo.conversion.converter_utils import set_layer_name
from torch_tensorrt.dynamo.conversion.impl.cat import cat
from torch_tensorrt.dynamo.conversion.impl.elementwise import floor_divide
from torch_tensorrt.dynamo.conversion.impl.shape import shape as get_shape
from torch_tensorrt.dynamo.utils import DYNAMIC_DIM


def slice_position(
    ctx: ConversionContext,
    target: Target,
    source_ir: Optional[SourceIR],
    name: str,
    bound: Union[int, TRTTensor],
    dim_size: TRTTensor,
) -> TRTTensor:
    """
    Given a start or stop of a slice, compute the position that it stands for, as
    Python's slicing defines it: a negative bound counts from the end, and a bound
    past either end is clamped to that end.

    Args:
        bound (Union[int, TRTTensor]): A start or stop of a slice, of any size and sign.
        dim_size (TRTTensor): The size of the sliced dimension, int32 of shape (1,).

    Returns:
        A position in [0, dim_size], of shape (1,).
    """
    if isinstance(bound, int):
        # The size of a dimension is int32, and so far out all bounds are alike
        int32_max = np.iinfo(np.int32).max
        bound = max(-int32_max, min(bound, int32_max))
        if bound >= 0:
            return impl.elementwise.min(
                ctx, target, source_ir, f"{name}_clamped", dim_size, bound
            )
        position = impl.elementwise.add(
            ctx, target, source_ir, f"{name}_from_end", dim_size, bound
        )
        return impl.elementwise.max(
            ctx, target, source_ir, f"{name}_clamped", position, 0
        )

    is_negative = impl.elementwise.lt(
        ctx, target, source_ir, f"{name}_is_negative", bound, 0
    )
    from_end = impl.elementwise.add(
        ctx, target, source_ir, f"{name}_from_end", bound, dim_size
    )
    position = impl.condition.where(
        ctx, target, source_ir, f"{name}_where", from_end, bound, is_negative
    )
    position = impl.elementwise.max(
        ctx, target, source_ir, f"{name}_not_below", position, 0
    )
    return impl.elementwise.min(
        ctx, target, source_ir, f"{name}_clamped", position, dim_size
    )


def slice_at_run_time(
    ctx: ConversionContext,
    target: Target,
    source_ir: Optional[SourceIR],
    name: str,
    input: TRTTensor,
    dim: int,
    start: Union[int, TRTTensor],
    stop: Union[int, TRTTensor],
    step: int,
) -> TRTTensor:
    """
    Slice where the size of the dimension or one of the bounds is known at run time
    only. The bounds are clamped then, and a slice whose bounds cross is empty.

    Args:
        input (TRTTensor): The tensor to slice.
        dim (int): The dimension to slice, not negative.
        start (Union[int, TRTTensor]): Of any size and sign.
        stop (Union[int, TRTTensor]): Of any size and sign.
        step (int): A step of at least 1.

    Returns:
        The slice; the size of dim is static where the node's metadata says it.
    """
    rank = len(input.shape)
    step = min(step, np.iinfo(np.int32).max)
    dim_size = get_shape(ctx, target, source_ir, f"{name}_dim_size", input, dim)
    first = slice_position(ctx, target, source_ir, f"{name}_start", start, dim_size)
    last = slice_position(ctx, target, source_ir, f"{name}_stop", stop, dim_size)

    node = ctx.current_node
    val = None
    if node is not None and node.target == torch.ops.aten.slice.Tensor:
        val = node.meta.get("val")
    if val is not None and isinstance(val.shape[dim], int):
        length = val.shape[dim]
    else:
        # ceil((last - first) / step), as a floor
        length = impl.elementwise.sub(
            ctx, target, source_ir, f"{name}_length_negative", first, last
        )
        length = floor_divide(
            ctx, target, source_ir, f"{name}_length_steps", length, step
        )
        length = impl.elementwise.mul(
            ctx, target, source_ir, f"{name}_length", length, -1
        )
        length = impl.elementwise.max(
            ctx, target, source_ir, f"{name}_length_not_below", length, 0
        )

    start_slice = [first if i == dim else 0 for i in range(rank)]
    stride_slice = [step if i == dim else 1 for i in range(rank)]
    output_shape = list(input.shape)
    for i in range(rank):
        if i == dim:
            output_shape[i] = length
        elif output_shape[i] == DYNAMIC_DIM:
            output_shape[i] = get_shape(
                ctx, target, source_ir, f"{name}_shape_{i}", input, i
            )

    layer = ctx.net.add_slice(
        input, start=trt.Dims(), shape=trt.Dims(), stride=trt.Dims()
    )
    operands = {"start": start_slice, "size": output_shape, "stride": stride_slice}
    for i, (operand, values) in enumerate(operands.items(), 1):
        tensor = cat(
            ctx, target, source_ir, f"{name}_{operand}", values, 0, cast_dtype=trt.int32
        )
        layer.set_input(i, tensor)
    set_layer_name(layer, target, name, source_ir)
    return layer.get_output(0)
