"""AddImport: import a name where the file does not yet, in the place that isort would give it."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

import isort
from ast_grep_py import SgNode

from .base import Edit
from .pattern import span
from .source import Source, Splice, is_string

IMPORTS = ("import_statement", "import_from_statement", "future_import_statement")


@dataclass(frozen=True)
class AddImport(Edit):
    """Add the import ``statements``, one name each; those that the file has at its top level are left out."""

    statements: tuple[str, ...]

    @property
    def imports(self) -> tuple[str, ...]:
        return self.statements

    def splices(self, source: Source) -> tuple[Splice, ...]:
        section = import_section(source)
        have = {absolute(line, self.path) for node in section for line in one_a_name(node.text())}
        new = [
            line
            for statement in self.statements
            for line in one_a_name(statement)
            if absolute(line, self.path) not in have
        ]
        if not new:
            return ()
        if not section:
            return (_first(source, isorted(*new)),)
        start = source.line_start(span(section[0])[0])
        before = source.text[start : source.line_end(source.end_of(section[-1]))]
        after = before
        for statement in dict.fromkeys(new):
            after = _with(after, statement)
        return tuple(_differences(before, after, start))


def one_a_name(statement: str) -> list[str]:
    """An import statement as several that bind one name each."""
    (node,) = ast.parse(statement).body
    assert isinstance(node, (ast.Import, ast.ImportFrom)), statement
    start = f"{_module(statement)} " if isinstance(node, ast.ImportFrom) else ""
    return [f"{start}import {name}" for name in map(ast.unparse, node.names)]


def module_of(path: str) -> str:
    """The dotted name of the module with that path in a Torch-TensorRT checkout."""
    return path.removeprefix("py/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def absolute(statement: str, path: str) -> str:
    """An import statement of one name with its relative module spelled out."""
    (node,) = ast.parse(statement).body
    if not (isinstance(node, ast.ImportFrom) and node.level):
        return statement
    package = module_of(path).split(".")
    up = node.level - path.endswith("/__init__.py")
    base = ".".join([*package[: len(package) - up], *filter(None, [node.module])])
    return f"from {base} import {ast.unparse(node.names[0])}"


def _module(statement: str) -> str:
    """``from a.b`` or ``import a.b``: what an import statement imports from."""
    (node,) = ast.parse(statement).body
    if isinstance(node, ast.ImportFrom):
        return f"from {'.' * node.level}{node.module or ''}"
    return ast.unparse(node)


def import_section(source: Source) -> list[SgNode]:
    """The import statements at the file's top level, up to the first definition."""
    section = []
    for node in source.root.children():
        if node.kind().endswith("_definition"):
            break
        if node.kind() in IMPORTS:
            section.append(node)
    return section


def _first(source: Source, text: str) -> Splice:
    """The first imports of a file: after its docstring, before its first statement."""
    statements = [node for node in source.root.children() if node.kind() != "comment"]
    if not statements:
        end = len(source.text)
        gap = "" if not end else "\n" if source.text.endswith("\n") else "\n\n"
        return Splice(end, end, gap + text + "\n")
    if is_string(statements[0]):
        end = source.line_end(source.end_of(statements[0]))
        return Splice(end, end, "\n\n" + text)
    start = source.start_with_comments(statements[0])
    return Splice(start, start, text + ("\n\n\n" if statements[0].kind().endswith("_definition") else "\n\n"))


def _with(section: str, statement: str) -> str:
    """An import section with one more name imported."""
    source = Source("", section)
    nodes = import_section(source)
    if statement.startswith("from ") and " as " not in statement:
        for node in nodes:
            text, (start, end) = node.text(), (span(node)[0], source.end_of(node))
            comment = section[end : source.line_end(end)]
            # What isort keeps apart from other names: an alias, a star, a line with noqa.
            apart = " as " in text or text.endswith("*") or "noqa" in comment
            if _module(text) == _module(statement) and not apart:
                end += len(comment) if comment.lstrip().startswith("#") else 0
                return section[:start] + isorted(section[start:end], statement) + section[end:]
    return _with_new_line(source, nodes, statement)


def _with_new_line(source: Source, nodes: list[SgNode], statement: str) -> str:
    """A new line, next to the neighbour that isort gives it; where it starts a section, between blank lines."""
    line_of = {line: node for node in nodes for line in one_a_name(node.text())}
    lines = isorted(*line_of, statement, one_line=True).split("\n")
    position = lines.index(statement)
    above = [line for line in lines[:position] if line]
    below = [line for line in lines[position + 1 :] if line]
    follows = position > 0 and lines[position - 1] != ""
    precedes = position + 1 < len(lines) and lines[position + 1] != ""
    section = source.text
    if above and (follows or not precedes):
        end = source.line_end(source.end_of(line_of[above[-1]]))
        return section[:end] + ("\n" if follows else "\n\n") + isorted(statement) + section[end:]
    start = source.start_with_comments(line_of[below[0]])
    commented = section[start] == "#"
    return section[:start] + isorted(statement) + ("\n" if precedes and not commented else "\n\n") + section[start:]


def _differences(before: str, after: str, offset: int) -> list[Splice]:
    """The splices, as small as can be, that make one text of the other; ``offset`` is where it starts in the file."""
    old, new = before.split("\n"), after.split("\n")
    starts = list(accumulate((len(line) + 1 for line in old), initial=offset))
    splices = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        lines = "\n".join(new[k:m])
        if tag == "replace":
            splices.append(Splice(starts[i], starts[j] - 1, lines))
        elif tag != "equal" and i:
            splices.append(Splice(starts[i] - 1, starts[j] - 1, "\n" + lines if m > k else ""))
        elif tag != "equal":
            splices.append(Splice(starts[i], starts[j], lines + "\n" if m > k else ""))
    return splices


@cache
def isorted(*statements: str, one_line: bool = False) -> str:
    """Import statements as isort writes them with upstream's settings."""
    config = isort.Config(
        profile="black",
        py_version="311",
        known_first_party=frozenset({"packaging"}),  # upstream's repository has a folder of that name
        src_paths=(Path("/nowhere"),),  # not the folder that the caller happens to be in
        force_single_line=one_line,
        line_length=100_000 if one_line else 88,
    )
    return isort.code("\n".join(statements), config=config).rstrip("\n")
