from contextlib import contextmanager
from typing import Iterable, Iterator

import torch
from torch_tensorrt.dynamo.lowering.constant_fold_exclusions._core import (
    register_constant_fold_exclusion_rule,
)

# Under this key node.meta["custom"] tells the positions that scatter_add compares its
# indices with. Unlike other keys, "custom" survives run_decompositions and retraces.
SCATTER_ADD_POSITIONS = "_torch_tensorrt_scatter_add_positions"


@contextmanager
def mark_scatter_add_positions() -> Iterator[None]:
    """Mark the nodes that are traced inside as positions of a scatter_add."""
    mark = torch.fx.traceback.annotate({SCATTER_ADD_POSITIONS: True})
    # AOTAutograd's simple export, under torch.compile, does not preserve metadata
    with torch.fx.traceback.preserve_node_meta(), mark:
        yield


@register_constant_fold_exclusion_rule("scatter_add_positions")
def scatter_add_positions(node: torch.fx.Node) -> Iterable[torch.fx.Node]:
    """Keep the positions of a scatter_add whose src varies at run time.

    With a constant index the comparison of every index with every position would
    otherwise fold into one constant, as large as the product of their numbers. Where
    src is a constant too, the sums are, and those are small.
    """
    marked = node.meta.get("custom", {}).get(SCATTER_ADD_POSITIONS)
    return (node,) if marked and _is_multiplied_by_what_varies(node) else ()


def _is_multiplied_by_what_varies(positions: torch.fx.Node) -> bool:
    """Whether a factor of the comparison with ``positions``, that is src, varies."""
    comparison = [positions]
    for node in comparison:
        for user in node.users:
            if user.target is not torch.ops.aten.mul.Tensor:
                comparison.append(user)
            elif any(
                _varies(factor)
                for factor in user.all_input_nodes
                if factor not in comparison
            ):
                return True
    return False


def _varies(node: torch.fx.Node) -> bool:
    """Whether the value of ``node`` reads an input or a random op."""
    seen = {node}
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.op == "placeholder" or (
            isinstance(node.target, torch._ops.OpOverload)
            and torch.Tag.nondeterministic_seeded in node.target.tags
        ):
            return True
        unseen = set(node.all_input_nodes) - seen
        seen |= unseen
        waiting += unseen
    return False
