from typing import Optional, Union

import tensorrt as trt
import torch
from tensorrt import ITensor as TRTTensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.node import Target
from torch_tensorrt import _enums
from torch_tensorrt.dynamo.conversion._ConversionContext import ConversionContext
from torch_tensorrt.dynamo.conversion.converter_utils import (
    SourceIR,
    get_trt_tensor,
    set_layer_name,
)
from torch_tensorrt.dynamo.conversion.impl.arange import arange


def arange_fill(
    ctx: ConversionContext,
    target: Target,
    source_ir: Optional[SourceIR],
    name: str,
    start: Union[int, float, TRTTensor],
    end: Union[int, float, TRTTensor],
    step: Union[int, float, TRTTensor],
    dtype: Optional[torch.dtype] = None,
) -> TRTTensor:
    """
    Creates a sequence of values that TensorRT does not fold where the values are
    integers that are known now: those come from a Fill layer, while TensorRT folds
    a constant and all that depends on nothing else. Other sequences are arange's.

    An int64 sequence is int64 also where its values would fit into int32.
    """
    value_dtype = torch.int64 if dtype is None else dtype
    integers = [x for x in (start, end, step) if isinstance(x, int)]
    if value_dtype not in (torch.int32, torch.int64) or len(integers) < 3:
        return arange(ctx, target, source_ir, name, start, end, step, dtype)

    values = range(*integers)
    limits = torch.iinfo(value_dtype)
    operands = [values.start, values.step, *values[-1:]]
    if not values or not all(limits.min <= x <= limits.max for x in operands):
        # Nothing to fold, or values that wrap around as PyTorch's do
        return arange(ctx, target, source_ir, name, start, end, step, dtype)

    trt_dtype = _enums.dtype._from(value_dtype).to(trt.DataType)
    fill_layer = ctx.net.add_fill((len(values),), trt.FillOperation.LINSPACE, trt_dtype)
    set_layer_name(fill_layer, target, f"{name}_arange_fill", source_ir)
    with unset_fake_temporarily():
        first = torch.tensor(values.start, dtype=value_dtype)
        delta = torch.tensor([values.step], dtype=value_dtype)
    fill_layer.set_input(1, get_trt_tensor(ctx, first, f"{name}_start"))
    fill_layer.set_input(2, get_trt_tensor(ctx, delta, f"{name}_step"))
    return fill_layer.get_output(0)
