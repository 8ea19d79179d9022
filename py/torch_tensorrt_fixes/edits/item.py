"""AddItem: an argument of a call or decorator, a parameter of a function, an item of a list, tuple, set or dict."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ast_grep_py import SgNode

from .base import Edit
from .misfit import Misfit, times
from .pattern import check_pattern, indented, span
from .source import Source, Splice

LINE_LENGTH = 88
SEQUENCES = ("argument_list", "parameters", "list", "tuple", "set", "dictionary")


@dataclass(frozen=True, kw_only=True)
class AddItem(Edit):
    """Add ``item`` to the bracketed sequence that ``into`` finds once inside ``within``.

    ``into`` matches a call (its arguments are meant) or the sequence itself; without it the sequence is the parameters
    of the function, the bases of the class, or the value of the assignment, that ``within`` names. The item goes after
    (or before) the item whose text is ``after`` (or ``before``), otherwise to the end, and is laid out as black would
    where no bracket is around the sequence. ``into`` has to match with the item in it as well: ``f($$$ARGS)``.
    """

    item: str
    within: str = ""
    into: str = ""
    after: str = ""
    before: str = ""

    def __post_init__(self) -> None:
        if self.after and self.before:
            raise ValueError("AddItem takes before or after, not both")
        if not (self.within or self.into):
            raise ValueError("AddItem needs within or into")
        if not self.item.strip():
            raise ValueError("AddItem needs an item")
        if self.into:
            check_pattern(self.into)

    def splices(self, source: Source) -> tuple[Splice, ...]:
        sequence = self._sequence(source)
        items = [child for child in sequence.children() if child.is_named() and child.kind() != "comment"]
        texts = [" ".join(item.text().split()) for item in items]
        if " ".join(self.item.split()) in texts:
            return ()
        position = self._position(source, texts)
        commented = any(child.kind() == "comment" for child in sequence.children())
        comma = sequence.children()[-2].kind() == "," and not (sequence.kind() == "tuple" and len(items) == 1)
        in_a_line = all("\n" not in text.text() for text in items) and len({_lines(item) for item in items}) < 2
        if in_a_line and not commented and not comma:
            return (self._laid_out(source, sequence, items, position),)
        if items and _is_a_line_each(sequence, items):
            return (self._own_line(source, items, position),)
        return (self._in_place(source, sequence, items, position),)

    def _sequence(self, source: Source) -> SgNode:
        if self.into:
            (found,) = source.exactly(1, self.into, self.within)
        else:
            found = source.definition(self.within)
            found = found.field("definition") or found
        for field in ("arguments", "parameters", "superclasses", "right"):
            found = found.field(field) or found
        if found.kind() in SEQUENCES:
            return found
        raise Misfit(
            source.path,
            f"no list, arguments or parameters to add `{self.item}` to" + (f" in `{self.into}`" if self.into else ""),
            within=self.within,
            pattern=self.into,
        )

    def _position(self, source: Source, texts: list[str]) -> int:
        neighbour = " ".join((self.after or self.before).split())
        if not neighbour:
            return len(texts)
        if texts.count(neighbour) != 1:
            raise Misfit(
                source.path,
                f"the item `{neighbour}`, next to which `{self.item}` goes, is found {times(texts.count(neighbour))} "
                f"among `{', '.join(texts)}`, wanted once",
                within=self.within,
                pattern=neighbour,
                found=texts.count(neighbour),
                wanted=1,
            )
        return texts.index(neighbour) + bool(self.after)

    def _laid_out(self, source: Source, sequence: SgNode, items: list[SgNode], position: int) -> Splice:
        """All on the line where it fits, else on one indented line (arguments, parameters), else a line an item."""
        start, end = span(sequence)
        texts = [item.text() for item in items]
        texts.insert(position, self.item)
        opening, closing = source.text[start], source.text[end - 1]
        inner = ", ".join(texts) + ("," if len(texts) == 1 and sequence.kind() == "tuple" else "")
        line = source.text[source.line_start(start) : start] + opening + inner
        rest = closing + source.text[end : source.line_end(end)]
        if len(line) + len(rest) <= LINE_LENGTH:
            return Splice(start, end, opening + inner + closing)
        indent = source.indent_at(start)
        literal = sequence.kind() not in ("argument_list", "parameters")
        if len(indent) + 4 + len(inner) <= LINE_LENGTH and len(texts) > 1 and not literal:
            body = f"{indent}    {inner}\n"
        else:
            body = "".join(f"{indent}    {text},\n" for text in texts)
        return Splice(start, end, f"{opening}\n{body}{indent}{closing}")

    def _own_line(self, source: Source, items: list[SgNode], position: int) -> Splice:
        """A line of its own in a sequence that has a line an item."""
        line = indented(self.item, source.indent_at(span(items[0])[0])) + ","
        if position < len(items):
            start = source.start_with_comments(items[position])
            return Splice(start, start, line + "\n")
        last_end = source.end_of(items[-1])
        line_end = source.line_end(last_end)
        rest = source.text[last_end:line_end]
        if rest.startswith(","):
            return Splice(line_end, line_end, "\n" + line)
        return Splice(last_end, line_end, f",{rest}\n{line}")

    def _in_place(self, source: Source, sequence: SgNode, items: list[SgNode], position: int) -> Splice:
        """Next to its neighbour, all else as it is: comments and the layout are the author's."""
        if position < len(items):
            start = span(items[position])[0]
            return Splice(start, start, self.item + ", ")
        if items:
            end = source.end_of(items[-1])
            return Splice(end, end, ", " + self.item)
        comment_end, closing = span(sequence.children()[-2])[1], source.indent_at(span(sequence)[1])
        return Splice(comment_end, comment_end, "\n" + indented(self.item, closing + "    ") + ",")


def _lines(node: SgNode) -> tuple[int, int]:
    return node.range().start.line, node.range().end.line


def _is_a_line_each(sequence: SgNode, items: list[SgNode]) -> bool:
    """Whether each item, and the closing bracket, starts a line."""
    first, last = _lines(sequence)
    lines = [(first, first), *map(_lines, items), (last, last)]
    return all(one[1] < next_one[0] for one, next_one in pairwise(lines))
