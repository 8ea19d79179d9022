"""A Python file as edits see it: its text, its syntax tree, its definitions, its matches.

Edits work on the text with ``\\n`` line ends and without a byte order mark, and say what to replace by character
offsets (:class:`Splice`). :meth:`Source.splice` maps them back, so that every byte outside the edits stays.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from ast_grep_py import SgNode, SgRoot

from .misfit import Misfit, Nearest, times
from .nearest import nearest
from .pattern import check_pattern, line_of, margin, span
from .shape import covers
from .syntax import check_syntax, known_sound, syntax_error

DEFINITIONS = ("decorated_definition", "function_definition", "class_definition", "assignment")


@dataclass(frozen=True, order=True)
class Splice:
    """Replace the characters [start, end) of the text with ``\\n`` line ends by ``text``."""

    start: int
    end: int
    text: str


class Source:
    """One file of a tree, parsed. Raises :class:`Misfit` where it is no Python."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.original = text
        self.text = text.removeprefix(BOM).replace("\r\n", "\n")
        check_syntax(path, text, "the file is no valid Python")
        self.root = SgRoot(self.text, "python").root()

    @classmethod
    def of(cls, path: str, text: str) -> Source:
        """The same, parsed once: several commits and their probes look at one file."""
        return _source_of(path, text)

    # --- finding ---

    @cached_property
    def definitions(self) -> dict[str, list[SgNode]]:
        """Qualified name -> its definitions in file order: functions, classes and assigned names.

        A decorated definition includes its decorators. Stubs for ``typing.overload`` do not count.
        """
        found: dict[str, list[SgNode]] = {}
        scopes: list[tuple[int, str]] = []  # (end, qualified name with a dot) of the definitions around the node
        whole: SgNode | None = None  # the decorated definition that the next definition is in
        for node in self.root.find_all(any=[{"kind": kind} for kind in DEFINITIONS]):
            kind = node.kind()
            if kind == "decorated_definition":
                whole = node
                continue
            name = node.field("left" if kind == "assignment" else "name")
            if name is None or name.kind() != "identifier":
                continue
            start, end = span(node)
            while scopes and scopes[-1][0] <= start:
                scopes.pop()
            qualified = (scopes[-1][1] if scopes else "") + name.text()
            if kind != "assignment":
                scopes.append((end, qualified + "."))
            if whole is None:
                found.setdefault(qualified, []).append(node)
            elif not _OVERLOAD.match(self.text, span(whole)[0]):
                found.setdefault(qualified, []).append(whole)
            whole = None
        return found

    def definition(self, qualified: str) -> SgNode:
        """The one definition of that name; the whole file for an empty name."""
        if not qualified:
            return self.root
        nodes = self.definitions.get(qualified, [])
        if len(nodes) == 1:
            return nodes[0]
        near = None
        for name in difflib.get_close_matches(qualified, self.definitions, 1, 0.5):
            near = Nearest(line_of(self.definitions[name][0]), name)
        raise Misfit(
            self.path,
            f"{qualified} is defined {times(len(nodes))}{_lines(nodes)}, wanted once",
            within=qualified,
            found=len(nodes),
            wanted=1,
            nearest=None if nodes else near,
        )

    def matches(self, pattern: str, within: str = "") -> list[SgNode]:
        """Every match of an ast-grep pattern inside a definition, in file order."""
        return self.matches_in(self.definition(within), pattern)

    def matches_in(self, region: SgNode, pattern: str) -> list[SgNode]:
        """Every match of an ast-grep pattern inside a node, in file order."""
        check_pattern(pattern)
        found = {span(node): node for node in region.find_all(pattern=pattern) if covers(pattern, node)}
        return [found[place] for place in sorted(found)]

    def exactly(self, count: int, pattern: str, within: str) -> list[SgNode]:
        """The matches of a pattern where there are as many as wanted; otherwise a misfit."""
        found = self.matches(pattern, within)
        if len(found) == count:
            return found
        raise Misfit(
            self.path,
            f"`{pattern}` is found {times(len(found))}{_lines(found)}, wanted {times(count)}",
            within=within,
            pattern=pattern,
            found=len(found),
            wanted=count,
            nearest=nearest(pattern, found, self.definition(within), self.root) if len(found) < count else None,
        )

    # --- places in the text ---

    def line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def line_end(self, index: int) -> int:
        """The index of the line's newline, or of the end of the text."""
        end = self.text.find("\n", index)
        return len(self.text) if end < 0 else end

    def blank_lines_above(self, line_start: int) -> int:
        head = self.text[:line_start]
        return max(head.count("\n", len(head.rstrip())) - 1, 0)

    def blank_lines_below(self, line_end: int) -> int:
        tail = self.text[line_end:]
        return max(tail.count("\n", 0, len(tail) - len(tail.lstrip())) - 1, 0)

    def indent_at(self, index: int) -> str:
        """The white space that the line holding ``index`` begins with."""
        return margin(self.text[self.line_start(index) : self.line_end(index)])

    def start_with_comments(self, statement: SgNode) -> int:
        """The start of the statement's first line, or of the comment lines right above it.

        A ``#!`` line and an encoding line belong to the file.
        """
        start = self.line_start(span(statement)[0])
        indent = self.indent_at(start)
        while start and self._is_comment((above := self.line_start(start - 1)) + len(indent)):
            if self.text.count("\n", 0, above) < 2 and _OF_THE_FILE.match(self.text, above):
                break
            start = above
        return start

    def _is_comment(self, start: int) -> bool:
        return self.text.startswith("#", start) and start in self._comments

    @cached_property
    def _comments(self) -> set[int]:
        """Where comments start: a line that begins with ``#`` may be the inside of a string."""
        return {span(node)[0] for node in self.root.find_all(kind="comment")}

    def end_of(self, node: SgNode) -> int:
        """The end of a node without the white space that the grammar puts at its end."""
        start, end = span(node)
        return start + len(self.text[start:end].rstrip())

    def check_alone(self, statement: SgNode, within: str) -> None:
        """Raise a misfit where other code shares a line with the statement: ``if x: y()``, ``x = 1; y()``."""
        start, end = span(statement)[0], self.end_of(statement)
        ahead = self.text[self.line_start(start) : start].strip()
        behind = self.text[end : self.line_end(end)].strip()
        if ahead or behind and not behind.startswith("#"):
            shown = self.text[self.line_start(start) : self.line_end(end)].strip()
            raise Misfit(
                self.path,
                f"line {line_of(statement)} holds other code beside the statement to edit: `{shown}`",
                within=within,
            )

    # --- writing ---

    @cached_property
    def _carriage_returns(self) -> list[int]:
        """The offsets, in the text with ``\\n`` line ends, of the newlines that had a ``\\r``."""
        crlf = re.finditer("\r\n", self.original.removeprefix(BOM))
        return [match.start() - i for i, match in enumerate(crlf)]

    def splice(self, splices: Iterable[Splice]) -> str:
        """The file's text with all the splices made.

        Raises:
            Misfit: two splices overlap, or the result would be no Python
        """
        newline = "\r\n" if re.match(r"[^\n]*\r\n", self.original) else "\n"
        bom = len(self.original) - len(self.original.removeprefix(BOM))
        pieces: list[str] = []
        done = 0
        ordered = self._in_order(splices)
        for splice in ordered:
            start, end = (bom + i + bisect_left(self._carriage_returns, i) for i in (splice.start, splice.end))
            pieces += [self.original[done:start], splice.text.replace("\n", newline)]
            done = end
        result = "".join([*pieces, self.original[done:]])
        if ordered and self._is_sound_after(ordered):
            known_sound(result)
        check_syntax(self.path, result, "the edits would leave invalid Python")
        return result

    def _in_order(self, splices: Iterable[Splice]) -> list[Splice]:
        ordered = sorted(splices)
        for last, splice in pairwise(ordered):
            if splice.start < last.end or splice.end == last.start:
                line = self.text.count("\n", 0, splice.start) + 1
                one, other = (textwrap.shorten(text, 60, placeholder=" ...") for text in (last.text, splice.text))
                raise Misfit(self.path, f"two edits overlap at line {line}: `{one}` and `{other}`")
        return ordered

    def _is_sound_after(self, ordered: list[Splice]) -> bool:
        """Whether the top-level statements that the splices touch are still Python, all else being so.

        Much faster than a look at the whole of a long file, whose word is asked for where the answer is no, and where
        it matters what comes first.
        """
        if any("__future__" in text for text in (self.text[ordered[0].start :], *(s.text for s in ordered))):
            return False
        starts = [0, *(span(node)[0] for node in self.root.children())]
        starts = [start for start in starts if start == self.line_start(start)]
        start = starts[bisect_right(starts, ordered[0].start) - 1]
        following = bisect_right(starts, ordered[-1].end)
        end = starts[following] if following < len(starts) else len(self.text)
        pieces, done = [], start
        for splice in ordered:
            pieces += [self.text[done : splice.start], splice.text]
            done = splice.end
        return syntax_error("".join([*pieces, self.text[done:end]])) is None


BOM = "\ufeff"
_OVERLOAD = re.compile(r"@(\w+\.)*overload\b")
_OF_THE_FILE = re.compile(r"#!|#.*coding[:=]")


@lru_cache(maxsize=32)
def _source_of(path: str, text: str) -> Source:
    return Source(path, text)


def _lines(nodes: list[SgNode]) -> str:
    """Where nodes are, in brackets; nothing for none."""
    numbers = list(dict.fromkeys(str(line_of(node)) for node in nodes))
    return f" (line{'s' if len(numbers) > 1 else ''} {', '.join(numbers)})" if numbers else ""


def statement_of(node: SgNode) -> SgNode:
    """The statement that a node is, or is part of."""
    while (parent := node.parent()) and parent.kind() not in ("block", "module"):
        node = parent
    return node


def is_string(statement: SgNode) -> bool:
    """Whether a statement is a docstring, if it stands where one may."""
    child = statement.child(0)
    return statement.kind() == "expression_statement" and child is not None and child.kind() == "string"
