"""Insert: put statements next to a statement, or at the start or end of a definition."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from ast_grep_py import SgNode

from .base import Edit
from .misfit import Misfit
from .pattern import block, check_pattern, indented, margin, span
from .source import Source, Splice, is_string, statement_of


@dataclass(frozen=True, kw_only=True)
class Insert(Edit):
    """Insert the statements ``text`` into the definition ``within``.

    Exactly one place is named: ``before`` or ``after`` the statement that the pattern finds once, or ``at`` the
    ``"start"`` (after the docstring) or ``"end"`` of the definition's body. ``text`` is dedented and takes the indent
    of its place; blank lines at its start and end are kept, so a text that begins with two newlines puts a blank line
    before it.
    The effect is there already where the definition holds the lines of ``text``, or a match of ``done``.
    """

    text: str
    within: str = ""
    before: str = ""
    after: str = ""
    at: str = ""
    done: str = ""

    def __post_init__(self) -> None:
        if sum(map(bool, (self.before, self.after, self.at))) != 1:
            raise ValueError("Insert needs one of before, after and at")
        if self.at not in ("", "start", "end"):
            raise ValueError(f'at is "start" or "end", not {self.at!r}')
        if not self.text.strip():
            raise ValueError("Insert needs a text")
        for pattern in filter(None, (self.before, self.after, self.done)):
            check_pattern(pattern)

    def splices(self, source: Source) -> tuple[Splice, ...]:
        text = block(self.text)
        if self._is_done(source, text):
            return ()
        anchor, before = self._anchor(source)
        if anchor is None:
            return (_into_empty(source, text),)
        source.check_alone(anchor, self.within)
        lines = indented(text, source.indent_at(span(anchor)[0]))
        if before:
            start = source.start_with_comments(anchor)
            return (Splice(start, start, lines + "\n"),)
        end = source.line_end(source.end_of(anchor))
        return (Splice(end, end, "\n" + lines),)

    def _is_done(self, source: Source, text: str) -> bool:
        if self.done:
            return bool(source.matches(self.done, self.within))
        wanted = text.strip("\n")
        first = wanted.partition("\n")[0].lstrip()
        start, end = span(source.definition(self.within))
        have = source.text[source.line_start(start) : end].split("\n")
        count = wanted.count("\n") + 1
        return any(
            line.lstrip() == first and have[i : i + count] == indented(wanted, margin(line)).split("\n")
            for i, line in enumerate(have)
        )

    def _anchor(self, source: Source) -> tuple[SgNode | None, bool]:
        """The statement to insert at, None where there is no statement at all, and whether before it."""
        if not self.at:
            (found,) = source.exactly(1, self.before or self.after, self.within)
            return statement_of(found), bool(self.before)
        statements = body_of(source.definition(self.within))
        if not statements:
            if self.within:
                raise Misfit(source.path, f"{self.within} has no body to insert into", within=self.within)
            return None, False
        if self.at == "end":
            return statements[-1], False
        leading = [*takewhile(_comes_first, statements)]
        return (leading[-1], False) if leading else (statements[0], True)


def body_of(definition: SgNode) -> list[SgNode]:
    """The statements of a function's, a class's or a file's body, without comments."""
    inner = definition.field("definition") or definition
    body = inner if inner.kind() == "module" else inner.field("body")
    return [child for child in body.children() if child.is_named() and child.kind() != "comment"] if body else []


def _comes_first(statement: SgNode) -> bool:
    """Whether a statement is a docstring or an import from ``__future__``."""
    return statement.kind() == "future_import_statement" or is_string(statement)


def _into_empty(source: Source, text: str) -> Splice:
    """Into a file that holds comments at most."""
    end = len(source.text)
    return Splice(end, end, ("\n" if source.text[-1:] not in ("", "\n") else "") + text + "\n")
