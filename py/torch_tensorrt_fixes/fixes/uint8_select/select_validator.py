"""Donor for conversion/aten_ops_converters.py."""

from typing import Optional

import torch
from torch.fx.node import Node
from torch_tensorrt.dynamo._settings import CompilationSettings


def select_dtype_validator(
    node: Node, settings: Optional[CompilationSettings] = None
) -> bool:
    # TensorRT has uint8 only at network inputs and outputs of casts and identities,
    # and a select is a gather
    data = node.all_input_nodes[0]
    val = data.meta.get("val")
    return val is None or val.dtype != torch.uint8
