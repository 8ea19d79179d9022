"""Remove: take statements out."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Edit
from .misfit import Misfit
from .pattern import check_pattern, line_of, span
from .source import Source, Splice, statement_of


@dataclass(frozen=True, kw_only=True)
class Remove(Edit):
    """Remove the statement that ``find`` matches once inside the definition ``within``.

    ``through`` is a pattern for the last of several statements of one block that go together. The comment lines right
    above go with them, and so do the blank lines below where there are some above or a block begins. The effect is
    there already where ``within`` has a match of ``done``: nothing else tells a removed statement from one that was
    never there.
    """

    find: str
    done: str
    through: str = ""
    within: str = ""

    def __post_init__(self) -> None:
        for pattern in (self.find, self.done, self.through or self.find):
            check_pattern(pattern)

    def splices(self, source: Source) -> tuple[Splice, ...]:
        if source.matches(self.done, self.within):
            return ()
        first, last = (
            statement_of(source.exactly(1, pattern, self.within)[0])
            for pattern in (self.find, self.through or self.find)
        )
        block, other = first.parent(), last.parent()
        assert block is not None and other is not None
        if span(block) != span(other) or span(last) < span(first):
            raise Misfit(
                source.path,
                f"`{self.through}`, line {line_of(last)}, does not follow `{self.find}`, line {line_of(first)}, "
                "in one block",
                within=self.within,
                pattern=self.through,
            )
        for statement in (first, last):
            source.check_alone(statement, self.within)
        start, end = source.start_with_comments(first), source.line_end(source.end_of(last))
        if source.blank_lines_above(start) or first.prev() is None:
            end += source.blank_lines_below(end)
        return (Splice(start, min(end + 1, len(source.text)), ""),)
