"""What in a file comes closest to a pattern that it does not hold: only a misfit asks."""

from __future__ import annotations

import difflib
import re

from ast_grep_py import SgNode

from .misfit import Nearest
from .pattern import line_of, span

_COMPARABLE = (
    *("call", "assignment", "return_statement", "if_statement", "for_statement"),
    *("comparison_operator", "boolean_operator", "binary_operator", "subscript"),
    *("attribute", "raise_statement", "assert_statement", "with_statement"),
    *("argument_list", "list", "tuple", "dictionary", "augmented_assignment"),
)


def nearest(pattern: str, found: list[SgNode], *regions: SgNode) -> Nearest | None:
    """The statement or expression most like the pattern, in the first of the regions that has one.

    What was ``found`` is not asked for, nor what holds it or is part of it.
    """
    taken = [span(node) for node in found]
    bare = re.sub(r"\$+\w+", "x", pattern)
    matcher = difflib.SequenceMatcher(b=bare, autojunk=False)
    for region in regions:
        best, best_ratio = None, 0.5
        for node in region.find_all(any=[{"kind": kind} for kind in _COMPARABLE]):
            start, end = span(node)
            if any(start < last and first < end for first, last in taken):
                continue
            text = " ".join(node.text().split())
            if len(text) > 3 * len(bare) + 20:
                continue
            matcher.set_seq1(text)
            bounds = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)  # ever closer and slower
            if all(bound() > best_ratio for bound in bounds):
                best, best_ratio = Nearest(line_of(node), text), matcher.ratio()
        if best is not None:
            return best
    return None
