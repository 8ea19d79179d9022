"""Donor for conversion/aten_ops_converters.py."""

from __future__ import annotations

from typing import Optional

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.fx.node import Node
from torch_tensorrt.dynamo._settings import CompilationSettings


def is_truncated_double_cast(
    to_copy_node: Node, settings: Optional[CompilationSettings] = None
) -> bool:
    """Returns true if the to_copy node casts to float64 and TRT may cast to float32

    That takes the setting truncate_double, a floating point input that TRT can cast,
    and a result that PyTorch, too, lays out contiguously: all TRT outputs are so.
    """
    if settings is None or not settings.truncate_double:
        return False
    if to_copy_node.kwargs.get("dtype") != torch.float64:
        return False

    input_val = to_copy_node.all_input_nodes[0].meta.get("val")
    output_val = to_copy_node.meta.get("val")
    if not isinstance(input_val, torch.Tensor) or input_val.dtype not in (
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
    ):
        return False

    if not isinstance(output_val, torch.Tensor):
        return False
    if not any(isinstance(size, torch.SymInt) for size in output_val.shape):
        return output_val.is_contiguous()
    if to_copy_node.kwargs.get("memory_format") is not None:
        return False
    # Asking the tensor itself could add a guard on a dynamic size
    stride = 1
    for dim in reversed(range(output_val.dim())):
        size = output_val.shape[dim]
        if not (
            statically_known_true(size == 1)
            or statically_known_true(output_val.stride(dim) == stride)
        ):
            return False
        stride *= size
    return True
