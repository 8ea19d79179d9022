"""Donors: modules of ours whose definitions, or whose whole text, edits insert word for word.

A donor is read as text: the series is defined without importing torch.
"""

from __future__ import annotations

import ast
import importlib.resources
from dataclasses import dataclass

from .pattern import dedented


@dataclass(frozen=True)
class Definition:
    """A function, class, method or assigned name of a donor, as it will stand in the file."""

    name: str
    text: str
    """Its source with decorators and the comments right above it, dedented, without a final newline."""
    imports: tuple[str, ...]
    """The donor's import statements, one name each, that the text uses."""


@dataclass(frozen=True)
class Donor:
    """The module ``package.module``; ``donor["name"]`` or ``donor["Class.method"]`` is a definition of it."""

    package: str
    module: str

    @property
    def text(self) -> str:
        resource = importlib.resources.files(self.package) / f"{self.module}.py"
        return resource.read_text(encoding="utf-8")

    def __getitem__(self, name: str) -> Definition:
        """Raises KeyError unless the donor has one definition of that name."""
        text = self.text
        tree = ast.parse(text)
        node: ast.AST = tree
        for part in name.split("."):
            named = [child for child in ast.iter_child_nodes(node) if part in _names(child)]
            if len(named) != 1:
                raise KeyError(f"{self.package}.{self.module} has {len(named)} definitions of {name}, wanted one")
            (node,) = named
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        imports = tuple(statement for child in tree.body for bound, statement in _imported(child) if bound in used)
        return Definition(name.rpartition(".")[2], _source_of(node, text), imports)


def _names(node: ast.AST) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [ast.unparse(node.target)]
    if isinstance(node, ast.Assign):
        return [ast.unparse(target) for target in node.targets]
    return []


def _source_of(node: ast.AST, text: str) -> str:
    lines = text.split("\n")
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(d.lineno for d in decorators)]) - 1  # type: ignore[attr-defined]
    last: int = node.end_lineno  # type: ignore[attr-defined]
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return dedented("\n".join(lines[first:last]))


def _imported(node: ast.AST) -> list[tuple[str, str]]:
    """(bound name, import statement of that one name) for each name that a statement imports."""
    if isinstance(node, ast.ImportFrom) and node.module != "__future__":
        start = f"from {'.' * node.level}{node.module or ''} import "
    elif isinstance(node, ast.Import):
        start = "import "
    else:
        return []
    return [(alias.asname or alias.name.partition(".")[0], start + ast.unparse(alias)) for alias in node.names]
