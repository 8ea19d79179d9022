"""Make the edits to one file, all at once against the text that it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .base import Edit
from .imports import AddImport, module_of
from .misfit import Misfit
from .new_file import NewFile
from .source import Source, Splice


@dataclass(frozen=True)
class Applied:
    """``text`` is the file after the edits; ``made`` are those that changed it, ``there`` those that need not.

    Imports are in neither: a file may import a name for its own reasons.
    """

    text: str
    made: tuple[Edit, ...]
    there: tuple[Edit, ...]


def apply(path: str, text: str | None, edits: Sequence[Edit]) -> Applied:
    """Apply all ``edits`` of one file to its text (None where the tree has no such file).

    Raises:
        Misfit: an edit does not fit the text, two of them overlap, or the result would be no Python
    """
    if text is None:
        match edits:
            case [NewFile() as new]:
                return Applied(new.text(), (new,), ())
        raise Misfit(path, "the tree has no such file")
    source = Source.of(path, text)
    made: list[Edit] = []
    there: list[Edit] = []
    splices: list[Splice] = []
    for edit in edits:
        if isinstance(edit, AddImport):
            continue
        wanted = edit.splices(source)
        splices += wanted
        (made if wanted else there).append(edit)
    if made or all(isinstance(edit, AddImport) for edit in edits):
        statements = [s for e in edits if e not in there for s in e.imports]
        outside = [s for s in statements if not s.startswith(f"from {module_of(path)} import ")]
        splices += AddImport(path, tuple(outside)).splices(source)
    return Applied(source.splice(splices), tuple(made), tuple(there))
