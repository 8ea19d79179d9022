"""Rewrite: replace what a pattern finds."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ast_grep_py import SgNode

from .base import Edit
from .misfit import Misfit, times
from .pattern import block, check_pattern, fill, metavariables, span, statements
from .source import Source, Splice


@dataclass(frozen=True, kw_only=True)
class Rewrite(Edit):
    """Replace every match of ``find`` inside the definition ``within`` by ``put``.

    ``find`` is an ast-grep pattern, ``put`` a template that may use its metavariables; ``count`` is how many matches
    there must be. With ``comments`` the comment lines right above a match go with it. The effect is there already where
    ``within`` has ``count`` matches of ``done``, by default ``put`` itself.
    """

    find: str
    put: str
    within: str = ""
    count: int = 1
    done: str = ""
    comments: bool = False

    def __post_init__(self) -> None:
        check_pattern(self.find)
        body = statements(block(self.put))
        if self.count < 1:
            raise ValueError(f"Rewrite of `{self.find}` wants {self.count} matches; it takes one or more")
        if unknown := metavariables(self.put) - metavariables(self.find):
            raise ValueError(f"`{self.put}` uses {', '.join(sorted(unknown))}, which `{self.find}` does not capture")
        if self.done:
            check_pattern(self.done)
        elif len(body) != 1:
            raise ValueError(f"`{self.put}` is not one statement: give the pattern that shows that it is `done`")

    def splices(self, source: Source) -> tuple[Splice, ...]:
        put = block(self.put)
        if self._is_done(source, put):
            return ()
        found = source.exactly(self.count, self.find, self.within)
        if self.comments or _is_block(put):
            for match in found:
                source.check_alone(match, self.within)
        return tuple(
            Splice(self._start(source, match), source.end_of(match), fill(put, match, source.text, indent))
            for match in found
            for indent in [source.indent_at(span(match)[0])]
        )

    def _start(self, source: Source, match: SgNode) -> int:
        start, _ = span(match)
        if not self.comments:
            return start
        return source.start_with_comments(match) + len(source.indent_at(start))

    def _is_done(self, source: Source, put: str) -> bool:
        done = source.matches(self.done or put, self.within)
        if self.done or len(done) != self.count:
            return len(done) == self.count
        # What was put may hold what was looked for: f($A) -> g(f($A)).
        spans = [span(node) for node in done]
        left = 0
        for start, end in map(span, source.matches(self.find, self.within)):
            left += not any(first <= start and end <= last for first, last in spans)
        if left:
            raise Misfit(
                source.path,
                f"`{put}` is found {times(len(done))}, as if the edit were made, but so is `{self.find}` {times(left)}",
                within=self.within,
                pattern=self.find,
                found=left,
                wanted=self.count,
            )
        return True


def _is_block(put: str) -> bool:
    """Whether a template holds statements that need lines of their own."""
    body = statements(put)
    return len(body) > 1 or any(
        isinstance(child, ast.stmt) for node in body for child in ast.walk(node) if child is not node
    )
