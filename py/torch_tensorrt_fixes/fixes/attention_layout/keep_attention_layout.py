import logging
import operator
from typing import Any, Tuple

import torch
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.lowering._decompositions import ATTENTION_DECOMPOSITION_OPS

logger = logging.getLogger(__name__)

aten = torch.ops.aten


def keep_attention_layout(
    gm: torch.fx.GraphModule, settings: CompilationSettings
) -> torch.fx.GraphModule:
    """Every attention output keeps the dimension order in which it was exported

    A fused kernel may lay its output out in another order than that of its
    dimensions, and what follows it in the graph may depend on that: export drops
    a contiguous() which is a no-op on this layout, for one. The output of the
    decomposition is contiguous, so it is copied into the recorded order. Graphs
    of conditionals and of regions (no_grad, autocast) are visited too.
    """
    if not settings.decompose_attention:
        return gm

    count = 0
    for module in gm.modules():
        if isinstance(module, torch.fx.GraphModule):
            laid_out = [_lay_out(n) for n in module.graph.nodes if _is_attention(n)]
            if any(laid_out):
                _stride_over_storage(module.graph)
                module.graph.lint()
                module.recompile()
                count += sum(laid_out)

    logger.debug(f"Kept the layout of {count} attention outputs:\n{gm.graph}")

    return gm


def _is_attention(node: torch.fx.Node) -> bool:
    """Whether a node is the output of an attention op, or the first of its outputs"""
    if node.target is operator.getitem and node.args[1] == 0:
        return node.all_input_nodes[0].target in ATTENTION_DECOMPOSITION_OPS
    return node.target is aten.scaled_dot_product_attention.default


def _lay_out(node: torch.fx.Node) -> bool:
    """Copy an attention output into its recorded dimension order, if it needs to

    The node itself becomes the last copy: graph outputs, in-place ops and updates
    through views still name the same tensor, and it is one that owns its memory.
    """
    order = _dim_order(node)
    if order == tuple(range(len(order))):
        return False

    graph = node.graph
    inverse = [order.index(dim) for dim in range(len(order))]
    with graph.inserting_before(node):
        output = graph.node_copy(node)
        # As it is once decomposed; so another run of this pass leaves it alone
        output.meta["val"] = output.meta["val"].contiguous()
        dense = _call(node, aten.permute.default, output, list(order))
        dense = _call(
            node, aten.clone.default, dense, memory_format=torch.contiguous_format
        )
        output = _call(node, aten.permute.default, dense, inverse)
    node.target = aten.clone.default
    node.args = (output,)
    node.kwargs = {"memory_format": torch.preserve_format}
    return True


def _stride_over_storage(graph: torch.fx.Graph) -> None:
    """Every as_strided reads a tensor whose dimensions are in the order of its memory

    This changes nothing in PyTorch. An engine has no strides: there as_strided reads
    a tensor's elements in the order of its dimensions.
    """
    for node in graph.find_nodes(
        op="call_function", target=aten.as_strided.default, sort=False
    ):
        source = node.all_input_nodes[0]
        order = _dim_order(source)
        if order != tuple(range(len(order))):
            with graph.inserting_before(node):
                permuted = _call(source, aten.permute.default, source, list(order))
            node.update_arg(0, permuted)


def _dim_order(node: torch.fx.Node) -> Tuple[int, ...]:
    """The dimensions of a node's recorded tensor, outermost in memory first"""
    val = node.meta.get("val")
    return tuple(val.dim_order()) if isinstance(val, torch.Tensor) else ()


def _call(
    like: torch.fx.Node, target: Any, source: torch.fx.Node, *args: Any, **kwargs: Any
) -> torch.fx.Node:
    """A call on one tensor, with the metadata of the node that it is for"""
    node = like.graph.call_function(target, (source, *args), kwargs)
    node.meta = like.meta.copy()
    node.meta["val"] = target(source.meta["val"], *args, **kwargs)
    return node
