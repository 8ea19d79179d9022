"""Whether a match is the whole of a pattern: ast-grep lets a node go on where the pattern ends."""

from __future__ import annotations

from functools import cache

from ast_grep_py import SgNode, SgRoot

from .pattern import METAVARIABLE


def covers(pattern: str, node: SgNode) -> bool:
    """Whether a match is a node of the grammar, not a mere keyword, and has nothing beyond the pattern.

    ast-grep takes ``return x`` for a match of ``return``, and an ``if`` with an ``else`` for one without.
    """
    if not node.is_named():
        return False
    part = _parsed(pattern)
    while part.kind() != node.kind() and len(part.children()) == 1:
        part = part.children()[0]
    return _same_shape(part, node)


@cache
def _parsed(pattern: str) -> SgNode:
    plain = METAVARIABLE.sub(lambda found: "metavariables" if found[1] else "metavariable", pattern)
    return SgRoot(plain, "python").root()


def _same_shape(part: SgNode, node: SgNode) -> bool:
    if part.text() == "metavariable" or (part.text() == "metavariables" and part.kind() == "block"):
        return True
    parts, nodes = _significant(part), _significant(node)
    many = [i for i, child in enumerate(parts) if child.text() == "metavariables" and child.kind() != "block"]
    if not many and len(parts) != len(nodes):
        return False
    ahead = many[0] if many else len(parts)
    behind = len(parts) - many[-1] - 1 if many else 0
    return all(map(_same_shape, parts[:ahead], nodes)) and all(
        map(_same_shape, reversed(parts[len(parts) - behind :]), reversed(nodes))
    )


def _significant(node: SgNode) -> list[SgNode]:
    """The children of a node but for comments and the comma before a closing bracket."""
    children = [child for child in node.children() if child.kind() != "comment"]
    if [child.kind() for child in children[-2:]] in ([",", ")"], [",", "]"], [",", "}"]):
        del children[-2]
    return children
