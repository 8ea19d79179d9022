"""AddDefinition: put a donor's function, class, method or constant into a file."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from ast_grep_py import SgNode

from .base import Edit
from .donor import Definition
from .misfit import Misfit
from .pattern import indented, line_of, span
from .source import Source, Splice, statement_of


@dataclass(frozen=True)
class AddDefinition(Edit):
    """Add ``definition`` right ``before`` or ``after`` the definition of that qualified name.

    Next to a method it becomes a method: the new definition belongs to what its neighbour belongs to. Blank lines are
    black's: two at a file's top level, one inside another definition, none between two constants.
    """

    definition: Definition
    before: str = ""
    after: str = ""

    def __post_init__(self) -> None:
        if bool(self.before) == bool(self.after):
            raise ValueError("AddDefinition needs either before or after")

    @property
    def imports(self) -> tuple[str, ...]:
        return self.definition.imports

    @property
    def qualified_name(self) -> str:
        scope = (self.before or self.after).rpartition(".")[0]
        return f"{scope}.{self.definition.name}" if scope else self.definition.name

    def splices(self, source: Source) -> tuple[Splice, ...]:
        if self.qualified_name in source.definitions:
            return self._check_same(source)
        neighbour = statement_of(source.definition(self.before or self.after))
        source.check_alone(neighbour, self.before or self.after)
        indent = source.indent_at(span(neighbour)[0])
        text = indented(self.definition.text, indent)
        constant = isinstance(ast.parse(self.definition.text).body[0], (ast.Assign, ast.AnnAssign))

        def gap(to: SgNode | None) -> int:
            if to is None or constant and not to.kind().endswith("_definition"):
                return 0
            return 1 if indent else 2

        if self.before:
            place = source.start_with_comments(neighbour)
            missing = gap(_sibling(neighbour, "prev")) - source.blank_lines_above(place)
            return (Splice(place, place, "\n" * missing + text + "\n" * (gap(neighbour) + 1)),)
        place = source.line_end(source.end_of(neighbour))
        missing = gap(_sibling(neighbour, "next")) - source.blank_lines_below(place)
        added = "\n" * gap(neighbour) + text + "\n" * missing
        if place == len(source.text):
            return (Splice(place, place, "\n" + added),)
        # At the start of the next line: the end of this one is where the neighbour's own last lines are added to.
        return (Splice(place + 1, place + 1, added + "\n"),)

    def _check_same(self, source: Source) -> tuple[Splice, ...]:
        there = source.definition(self.qualified_name)
        text = indented(self.definition.text, source.indent_at(span(there)[0]))
        end = source.end_of(there)
        start = end - len(text)
        if start == source.line_start(max(start, 0)) <= span(there)[0] and source.text[start:end] == text:
            return ()
        raise Misfit(
            source.path,
            f"{self.qualified_name} is defined already, at line {line_of(there)}, and differs from ours",
            within=self.qualified_name,
        )


def _sibling(statement: SgNode, side: Literal["prev", "next"]) -> SgNode | None:
    """The statement before or after, comments aside."""
    node: SgNode | None = getattr(statement, side)()
    while node is not None and node.kind() == "comment":
        node = getattr(node, side)()
    return node if node is not None and node.is_named() else None
