"""Which modules of the installed torch_tensorrt the chosen fixes edit or add, and the text that each of them gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .. import series
from ..commit import Fix
from ..landing import Outcome, land
from ..trees.installed import InstalledTree


@dataclass(frozen=True)
class Edited:
    """A module with the edits made: the file that it is, or would be, and its text."""

    file: str
    text: str

    @property
    def is_package(self) -> bool:
        return self.file.endswith("__init__.py")


@dataclass(frozen=True)
class Plan:
    """What becomes of the package: how each commit ended, and the modules that change, by name."""

    outcomes: tuple[Outcome, ...]
    modules: Mapping[str, Edited]
    tree: InstalledTree | None
    """None where nothing is chosen: then nothing was looked at."""

    @property
    def origin(self) -> str | None:
        return self.tree.origin if self.tree else None

    @property
    def left_out(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.well]


def make_plan(chosen: tuple[Fix, ...]) -> Plan:
    """What the chosen fixes, and all that they need, make of the installed package. Raises NotInstalled."""
    if not chosen:
        return Plan((), {}, None)
    tree = InstalledTree()
    outcomes = land(series.commits(chosen), tree)
    texts = {path: text for outcome in outcomes for path, text in outcome.files.items()}
    modules = {module_name(path): Edited(tree.files(path)[0], text) for path, text in texts.items() if tree.files(path)}
    return Plan(outcomes, modules, tree)


def module_name(path: str) -> str:
    """The module that a checkout's file becomes: ``py/torch_tensorrt/a/b.py`` is torch_tensorrt.a.b."""
    return path.removeprefix("py/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
