from typing import Any, FrozenSet

import torch
from torch_tensorrt.dynamo.lowering.passes.written_tensors import may_be_written_before

# Those of the module that is edited
_IDENTITY_METHODS: FrozenSet[str] = frozenset()
_IDENTITY_FUNCTIONS: FrozenSet[Any] = frozenset()


def _is_identity_op(node: torch.fx.Node) -> bool:
    """Whether a node gives the value of its single input, aliased or copied"""
    return (node.op == "call_method" and node.target in _IDENTITY_METHODS) or (
        node.op == "call_function" and node.target in _IDENTITY_FUNCTIONS
    )


def _skip_identity_ops_before_item(gm: torch.fx.GraphModule) -> None:
    """Let each ``.item()`` read the placeholder or get_attr behind identity ops, in-place.

    Everything else keeps its identity ops: a clone may be written to, or returned to
    the caller, who may write to it. So does an ``.item()`` whose value may have been
    written to on the way. Identity ops that nothing else reads are erased.
    """
    for node in gm.graph.find_nodes(op="call_method", target="item"):
        chain = [node]
        while isinstance(source := next(iter(chain[-1].args), None), torch.fx.Node):
            chain.append(source)
            if not _is_identity_op(source):
                break
        source = chain.pop()
        identity_ops = chain[1:]
        if (
            not identity_ops
            or source.op not in ("placeholder", "get_attr")
            or any(may_be_written_before(node, op) for op in identity_ops)
        ):
            continue
        node.update_arg(0, source)
        for op in identity_ops:
            if not op.users:
                gm.graph.erase_node(op)
