from typing import Dict, Set

import torch
from torch.fx.passes.shape_prop import _extract_tensor_metadata
from torch_tensorrt.dynamo.lowering.constant_fold_exclusions import (
    CONSTANT_FOLD_EXCLUSION_META_KEY,
)

BROADCASTING_OPS = {
    torch.ops.aten.add,
    torch.ops.aten.sub,
    torch.ops.aten.mul,
    torch.ops.aten.div,
    torch.ops.aten.minimum,
    torch.ops.aten.maximum,
    torch.ops.aten.where,
    torch.ops.aten.logical_and,
    torch.ops.aten.logical_or,
    torch.ops.aten.logical_xor,
    torch.ops.aten.bitwise_and,
    torch.ops.aten.bitwise_or,
    torch.ops.aten.bitwise_xor,
    torch.ops.aten.eq,
    torch.ops.aten.ne,
    torch.ops.aten.lt,
    torch.ops.aten.le,
    torch.ops.aten.gt,
    torch.ops.aten.ge,
}


def shrink_uniform_constants(
    gm: torch.fx.GraphModule, constants: Dict[torch.fx.Node, torch.Tensor]
) -> None:
    """Keep one element of each constant that is one value everywhere, if that will do.

    It will where all that reads the constant broadcasts it against a tensor as large
    that depends on a node excluded from folding: the ones that tril() cuts a mask
    from, say, would be as large as the mask that the exclusion is to save.

    Args:
        gm: the module before its nodes are replaced; metadata of nodes is changed
        constants: what each node will be replaced by, of any shape; changed in place
    """
    unfolded: Set[torch.fx.Node] = set()
    for node in gm.graph.nodes:
        excluded = bool(node.meta.get(CONSTANT_FOLD_EXCLUSION_META_KEY))
        if excluded or not unfolded.isdisjoint(node.all_input_nodes):
            unfolded.add(node)

    for node, constant in constants.items():
        if (
            constant.numel() > 1
            and "val" in node.meta
            and all(_broadcasts(user, constant.shape, unfolded) for user in node.users)
            and bool((constant == constant.flatten()[0]).all())
        ):
            corner = (slice(1),) * constant.dim()
            constants[node] = constant[corner].clone()
            node.meta["val"] = node.meta["val"][corner].clone()
            node.meta["tensor_meta"] = _extract_tensor_metadata(node.meta["val"])


def _broadcasts(
    node: torch.fx.Node, shape: torch.Size, against: Set[torch.fx.Node]
) -> bool:
    """Whether an operand of ``node`` of that shape may as well be of size 1.

    That is so where ``node`` broadcasts it and one of its operands in ``against`` has
    each of its sizes.
    """
    if getattr(node.target, "overloadpacket", None) not in BROADCASTING_OPS:
        return False
    others = [
        getattr(n.meta.get("val"), "shape", ())
        for n in node.all_input_nodes
        if n in against
    ]
    return all(
        size == 1
        or any(
            # A size that is not known now is not equal to one that is
            len(other) >= place
            and isinstance(other[-place], int)
            and other[-place] == size
            for other in others
        )
        for place, size in enumerate(reversed(shape), 1)
    )
