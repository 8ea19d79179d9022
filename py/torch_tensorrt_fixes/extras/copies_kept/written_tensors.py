"""Which tensors are written to in a graph that is not functional yet.

torch.compile traces in-place operators as they are: methods and functions whose name
ends with an underscore, augmented assignments, item assignments, ``out=`` and
``inplace=True``.
"""

import operator
from typing import Any, List, Set

import torch
from torch.utils._pytree import tree_leaves

# y += 1, y[0] = 1 and the like
_WRITING_OPERATORS = frozenset(
    {
        operator.setitem,
        operator.iadd,
        operator.iand,
        operator.ifloordiv,
        operator.ilshift,
        operator.imatmul,
        operator.imod,
        operator.imul,
        operator.ior,
        operator.ipow,
        operator.irshift,
        operator.isub,
        operator.itruediv,
        operator.ixor,
    }
)


def may_be_written_before(reader: torch.fx.Node, tensor: torch.fx.Node) -> bool:
    """Whether a tensor may have been written to, itself or an alias, when it is read."""
    seen: Set[torch.fx.Node] = set()
    pending = [tensor]
    while pending:
        alias = pending.pop()
        for user in alias.users:
            if user in seen or not user < reader:
                continue
            if alias in _written_by(user):
                return True
            if _may_alias(user, tensor):
                seen.add(user)
                pending.append(user)
    return False


def _may_alias(node: torch.fx.Node, tensor: torch.fx.Node) -> bool:
    """Whether two nodes may share storage, for all that their example values tell."""
    base = tensor.meta.get("example_value")
    if not isinstance(base, torch.Tensor) or "example_value" not in node.meta:
        return True
    storage = base.untyped_storage()._cdata
    return any(
        isinstance(value, torch.Tensor) and value.untyped_storage()._cdata == storage
        for value in tree_leaves(node.meta["example_value"])
    )


def _written_by(node: torch.fx.Node) -> List[Any]:
    """What a node of a graph that is not functional yet may write to."""
    if node.op == "call_module" or isinstance(
        node.target, torch._ops.HigherOrderOperator
    ):
        return list(node.all_input_nodes)
    if isinstance(node.target, torch._ops.OpOverload):
        return tree_leaves(
            [
                node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
                for i, argument in enumerate(node.target._schema.arguments)
                if argument.is_write
            ]
        )
    name = node.target if isinstance(node.target, str) else node.target.__name__
    written = [node.kwargs.get("out")]
    # F.relu(x, True) may write as well as F.relu(x, inplace=True)
    in_functional = getattr(node.target, "__module__", None) == "torch.nn.functional"
    if (
        name.endswith("_")
        or node.target in _WRITING_OPERATORS
        or in_functional
        and any(arg is True for arg in (*node.args, *node.kwargs.values()))
    ):
        written.extend([*node.args, *node.kwargs.values()][:1])
    return tree_leaves(written)
