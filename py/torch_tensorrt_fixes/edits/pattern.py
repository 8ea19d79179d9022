"""ast-grep patterns and the templates that their matches fill.

A pattern is one Python statement or expression in which ``$NAME`` stands for any node and ``$$$NAME`` for any number of
list items (https://ast-grep.github.io/guide/pattern-syntax.html). ast-grep answers a pattern that is no Python with "no
match", so patterns are checked before they are used.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache

from ast_grep_py import SgNode

METAVARIABLE = re.compile(r"\$\$\$([A-Z_][A-Z0-9_]*)|\$([A-Z_][A-Z0-9_]*)")


@cache
def check_pattern(pattern: str) -> None:
    """Raise ValueError unless the pattern is one Python statement or expression."""
    body = statements(pattern)
    if len(body) != 1:
        raise ValueError(f"the pattern `{pattern}` has {len(body)} statements, wanted one")


def statements(pattern: str) -> list[ast.stmt]:
    """The statements of a pattern or template. Raises ValueError where it is no Python."""
    try:
        return ast.parse(METAVARIABLE.sub("metavariable", pattern)).body
    except SyntaxError as error:
        raise ValueError(f"the pattern `{pattern}` is not Python: {error}") from error


def metavariables(pattern: str) -> set[str]:
    """The metavariables as they are written: ``$A``, ``$$$ARGS``."""
    return {found.group() for found in METAVARIABLE.finditer(pattern)}


def block(text: str) -> str:
    """The text of a triple-quoted string: dedented, without its first newline and its last line's indent."""
    return dedented(text.removeprefix("\n").rstrip(" ").removesuffix("\n"))


def dedented(text: str) -> str:
    """The margin that all lines share taken away, blank lines and those inside a string that spans lines aside."""
    inside = lines_inside_strings(METAVARIABLE.sub("metavariable", text))
    lines = text.split("\n")
    margins = [margin(line) for number, line in enumerate(lines, 1) if line.strip() and number not in inside]
    shared = min(margins, key=len, default="")
    return "\n".join(
        line if number in inside else line.removeprefix(shared).rstrip(" \t" if not line.strip() else "")
        for number, line in enumerate(lines, 1)
    )


def indented(text: str, indent: str) -> str:
    """Every line but the blank ones and those inside a string that spans lines, indented."""
    inside = lines_inside_strings(text)
    return "\n".join(
        indent + line if line and number not in inside else line for number, line in enumerate(text.split("\n"), 1)
    )


def lines_inside_strings(text: str) -> set[int]:
    """The lines, counted from 1, that begin inside a string: white space there is part of a value.

    Docstrings do not count: like black, we move them with their definition.
    """
    # Brackets let an expression that was cut out of its statement span lines; the offset is the extra line.
    for before, after, offset in (("", "", 0), ("(\n", "\n)", 1)):
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(before + text + after).readline))
        except (tokenize.TokenError, SyntaxError):
            continue
        inside: set[int] = set()
        opened: list[int] = []
        for previous, token in zip([None, *tokens], tokens, strict=False):
            name = tokenize.tok_name[token.type]
            if name == "STRING" and not (previous and previous.type == tokenize.INDENT):
                inside.update(range(token.start[0] + 1 - offset, token.end[0] + 1 - offset))
            elif name.endswith("STRING_START"):  # f-strings, from Python 3.12 on
                opened.append(token.start[0])
            elif name.endswith("STRING_END"):
                inside.update(range(opened.pop() + 1 - offset, token.end[0] + 1 - offset))
        return inside
    raise ValueError(f"this is no Python statement or expression: {text}")


def fill(template: str, match: SgNode, text: str, indent: str) -> str:
    """A template with its metavariables replaced by what they matched.

    ``text`` is the file that the match is in; ``indent`` goes before every line of the template but the first. A match
    that spans lines keeps its shape: all its lines move with the template's line that it is put in. A ``$$$NAME`` that
    matched nothing takes its comma along, and its line where it has one to itself.
    """
    inside = lines_inside_strings(METAVARIABLE.sub("metavariable", template))
    filled = []
    for number, line in enumerate(template.split("\n"), 1):
        for name in re.findall(r"\$\$\$([A-Z_][A-Z0-9_]*)", line):
            if not match.get_multiple_matches(name):
                line = re.sub(rf", \$\$\${name}\b|\$\$\${name}\b(,( |$))?", "", line)
                if not line.strip():
                    break
        else:
            if number > 1 and line and number not in inside:
                line = indent + line
            filled.append(_fill_line(line, match, text, margin(line) if number > 1 else indent))
    return "\n".join(filled)


def _fill_line(line: str, match: SgNode, text: str, indent: str) -> str:
    filled, done = "", 0
    for found in METAVARIABLE.finditer(line):
        many, one = found.groups()
        nodes = [node for node in (match.get_multiple_matches(many) if many else [match[one]]) if node.kind() != ","]
        filled += line[done : found.start()]
        done, rest = found.end(), line[found.end() :]
        own_line = not text[text.rfind("\n", 0, span(nodes[0])[0]) + 1 : span(nodes[0])[0]].strip()
        hanging = indent + "    " if own_line and filled.strip() else indent
        if nodes[-1].kind() == "comment" and rest:
            filled += _moved(nodes, text, hanging, "," if rest.startswith(",") else "")
            rest = rest.removeprefix(",").lstrip()
            filled += rest and "\n" + (indent if rest.startswith((")", "]", "}")) else hanging)
            done = len(line) - len(rest)
        else:
            filled += _moved(nodes, text, hanging)
    return filled + line[done:]


def _moved(nodes: list[SgNode], text: str, indent: str, comma: str = "") -> str:
    """The captured text, its later lines moved to ``indent``; ``comma`` goes after the last item, before comments."""
    start, end = span(nodes[0])[0], span(nodes[-1])[1]
    last = max((span(node)[1] for node in nodes if node.kind() != "comment"), default=end)
    comments = text[last:end].removeprefix(",")
    first, *others = (text[start:last].rstrip() + (comma + comments).rstrip()).split("\n")
    inside = lines_inside_strings("\n".join([first, *others]))
    old = margin(text[text.rfind("\n", 0, start) + 1 :])
    moved = [
        indent + line.removeprefix(old) if line.strip() and number not in inside else line
        for number, line in enumerate(others, 2)
    ]
    return "\n".join([first, *moved])


def span(node: SgNode) -> tuple[int, int]:
    """A node's start and end in the text."""
    place = node.range()
    return place.start.index, place.end.index


def margin(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def line_of(node: SgNode) -> int:
    """A node's first line, counted from 1."""
    return node.range().start.line + 1
