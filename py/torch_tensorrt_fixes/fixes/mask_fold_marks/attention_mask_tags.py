"""Tags the nodes behind attention masks so that a retraced graph still has them.

A tag is in the metadata that a retrace hands on, node.meta["custom"], as the mark that
constant folding reads is not. It says whether the node is a mask (True) or on the way
from a range to one (False).
"""

from typing import Callable, Iterable, List, Optional, Set

import torch
from torch_tensorrt.dynamo.lowering.constant_fold_exclusions._core import (
    CONSTANT_FOLD_EXCLUSION_META_KEY,
)

ATTENTION_MASK_TAG = "torch_tensorrt_attention_mask"


def tag_attention_mask(
    aranges: Iterable[torch.fx.Node], mask: torch.fx.Node
) -> List[torch.fx.Node]:
    """Tag the ranges behind a mask and all between; return the ranges."""
    aranges = list(aranges)
    behind = _reached([mask], lambda node: node.all_input_nodes)
    between = _reached(aranges, lambda node: [n for n in node.users if n in behind])
    for node in between:
        # A dict of its own: nodes that stem from one node share theirs
        custom = dict(node.meta.get("custom") or {})
        custom[ATTENTION_MASK_TAG] = custom.get(ATTENTION_MASK_TAG) or node is mask
        node.meta["custom"] = custom
    return aranges


def is_tagged_arange(node: torch.fx.Node) -> bool:
    packet = getattr(node.target, "overloadpacket", None)
    return packet is torch.ops.aten.arange and _tag_of(node) is not None


def separate_attention_masks(gm: torch.fx.GraphModule) -> None:
    """Let nothing but masks read the ranges that are kept for them.

    What else reads them, or what lies between them and a mask, as the table of a
    rotary embedding does, reads a copy, which folds as if there were no mask.
    """
    foldable = _foldable(gm)
    for node in reversed(list(gm.graph.nodes)):
        if node not in foldable or _tag_of(node) is not False:
            continue
        others = [
            user
            for user in node.users
            # What nothing reads is an assertion, which lowering removes
            if _tag_of(user) is None and (user.users or user.op == "output")
        ]
        if not others:
            continue
        with gm.graph.inserting_after(node):
            twin = gm.graph.node_copy(node)
        twin.meta.pop(CONSTANT_FOLD_EXCLUSION_META_KEY, None)
        twin.meta["custom"] = {
            key: value
            for key, value in node.meta["custom"].items()
            if key != ATTENTION_MASK_TAG
        }
        for user in others:
            user.replace_input_with(node, twin)


def _tag_of(node: torch.fx.Node) -> Optional[bool]:
    custom = node.meta.get("custom") or {}
    tag: Optional[bool] = custom.get(ATTENTION_MASK_TAG)
    return tag


def _foldable(gm: torch.fx.GraphModule) -> Set[torch.fx.Node]:
    """The nodes that depend on no input and no random number."""
    found: Set[torch.fx.Node] = set()
    for node in gm.graph.nodes:
        random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        if node.op == "get_attr" or (
            node.op == "call_function"
            and not random
            and found.issuperset(node.all_input_nodes)
        ):
            found.add(node)
    return found


def _reached(
    nodes: Iterable[torch.fx.Node],
    following: Callable[[torch.fx.Node], Iterable[torch.fx.Node]],
) -> Set[torch.fx.Node]:
    """``nodes`` and all that is reached from them."""
    pending = list(nodes)
    found: Set[torch.fx.Node] = set()
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(following(node))
    return found
