"""Keeps the integer ranges behind attention masks out of constant folding.

A mask made of ranges takes a few small layers to compute and as much memory to store
as its queries times its keys.
"""

from typing import Iterable, List, Set

import torch
from torch._subclasses.functional_tensor import mb_unwrap_functional_tensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot
from torch_tensorrt.dynamo.lowering.constant_fold_exclusions._core import (
    _mark_constant_fold_exclusion,
    register_constant_fold_exclusion_rule,
)

ATTENTION_MASK_ARANGE_RULE_ID = "attention_mask_arange"

# The attention operators that take a mask, and what they call it. It is their fourth
# argument.
MASK_ARGUMENTS = {
    torch.ops.aten.scaled_dot_product_attention.default: "attn_mask",
    torch.ops.aten._scaled_dot_product_efficient_attention.default: "attn_bias",
    torch.ops.aten._scaled_dot_product_cudnn_attention.default: "attn_bias",
}

# What TensorRT computes in; what goes through another dtype is better folded
ENGINE_DTYPES = {
    torch.bool,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
}


def exclude_attn_mask_aranges_from_constant_fold(attn_mask: torch.Tensor) -> None:
    """Mark the ranges behind a mask whose attention is being decomposed.

    Does nothing unless a graph is being traced. The marks do not depend on the
    compilation settings, which decompositions do not know; the pass that applies the
    rules takes them back where the rule is disabled.

    Args:
        attn_mask: the mask as the decomposition gets it, any shape and dtype
    """
    proxy_mode = get_proxy_mode()
    if proxy_mode is None:
        return
    mask = get_proxy_slot(
        mb_unwrap_functional_tensor(attn_mask),
        proxy_mode.tracer,
        default=None,
        transform=lambda traced: traced.proxy.node,
    )
    if mask is not None:
        aranges = _find_attention_mask_aranges(mask)
        _mark_constant_fold_exclusion(aranges, ATTENTION_MASK_ARANGE_RULE_ID)


@register_constant_fold_exclusion_rule(ATTENTION_MASK_ARANGE_RULE_ID)
def _attention_mask_arange_rule(node: torch.fx.Node) -> Iterable[torch.fx.Node]:
    """Select the ranges behind the mask of an attention that is not decomposed."""
    if node.op != "call_function" or node.target not in MASK_ARGUMENTS:
        return ()
    mask = node.kwargs.get(MASK_ARGUMENTS[node.target])
    if len(node.args) > 3:
        mask = node.args[3]
    if not isinstance(mask, torch.fx.Node):
        return ()
    return _find_attention_mask_aranges(mask)


def _find_attention_mask_aranges(mask: torch.fx.Node) -> List[torch.fx.Node]:
    """The int32 and int64 aranges that ``mask`` is computed from in engine dtypes.

    An arange with one way to the mask that goes through another dtype, float64 say,
    is left out: TensorRT could not compute that way.
    """
    behind = _with_ancestors([mask])
    foldable = _with_ancestors(n for n in behind if not _has_engine_dtype(n))
    return [n for n in behind if n not in foldable and _is_integer_arange(n)]


def _with_ancestors(nodes: Iterable[torch.fx.Node]) -> Set[torch.fx.Node]:
    """``nodes`` and all that they are computed from."""
    pending = list(nodes)
    found: Set[torch.fx.Node] = set()
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(node.all_input_nodes)
    return found


def _is_integer_arange(node: torch.fx.Node) -> bool:
    if getattr(node.target, "overloadpacket", None) is not torch.ops.aten.arange:
        return False
    if "val" in node.meta:
        return node.meta["val"].dtype in (torch.int32, torch.int64)
    of_integers = all(isinstance(bound, (int, torch.fx.Node)) for bound in node.args)
    dtype = node.kwargs.get("dtype") or (torch.int64 if of_integers else torch.float32)
    return dtype in (torch.int32, torch.int64)


def _has_engine_dtype(node: torch.fx.Node) -> bool:
    """Whether ``node`` gives a tensor of an engine dtype, or no tensor."""
    dtype = getattr(node.meta.get("val"), "dtype", None)
    return dtype is None or dtype in ENGINE_DTYPES
