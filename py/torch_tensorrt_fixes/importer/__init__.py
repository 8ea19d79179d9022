"""The fixes, made while an installed torch_tensorrt is imported.

A finder at the front of sys.meta_path answers for the modules that the chosen commits edit or add. Its loader compiles
the edited text in memory. No file of the installed package is changed, and nothing is written to disk.

This module is imported at every start of an interpreter whose environment has the fixes enabled: all that is not light
is imported where it is used.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock, get_ident  # threading itself is not light

from .loader import Loader, foreign_loader, type_name
from .lookup import PACKAGE, OwnFinder, find_spec, loaded
from .source_lines import stop_showing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from ..commit import Fix
    from .planning import Plan

VARIABLE = "TORCH_TENSORRT_FIXES"


class AlreadyImported(RuntimeError):
    """torch_tensorrt was imported before the fixes could be made."""


class FixLeftOut(UserWarning):
    """A commit does not fit the installed torch_tensorrt and is left out. ``install(strict=True)`` raises it."""


class HookInFront(UserWarning):
    """Another import hook, asked before ours, loaded a module that the fixes edit."""


def install(only: str | None = None, *, strict: bool = False) -> Handle:
    """Fix torch_tensorrt when it is imported.

    ``only`` chooses in words: ``"all"``, ``"off"``, numbers or names of fixes (``"1,2,no-gpu"``), or all but some
    (``"-4"``); what a fix needs comes with it. None takes the choice from the environment variable
    TORCH_TENSORRT_FIXES, or all. A commit that does not fit the installed version is left out whole, with one
    FixLeftOut warning that says why; the others still work. The last call before torch_tensorrt is imported counts;
    to choose again what was chosen is fine at any time.

    Raises:
        AlreadyImported: torch_tensorrt is imported, without these fixes or with others
        NotInstalled: there is no torch_tensorrt to fix
        UnknownFix: the choice cannot be read
        FixLeftOut: with ``strict``, a commit does not fit
    """
    global _handle
    finder = Finder(_choice(), VARIABLE) if only is None else Finder(only, "install()")
    chosen = finder.chosen()
    before, imported = _handle, loaded()
    if before and before.chose(chosen):
        handle = before
    elif imported and (before or chosen):
        raise _too_late(imported, before)
    else:
        handle = Handle(finder)
    plan = handle.finder.plan(tell=not strict)
    if strict and plan.left_out:
        raise FixLeftOut("\n".join(map(_why_left_out, plan.left_out)))
    if before and handle is not before:
        before.uninstall()
    if chosen:
        handle.to_front()
    _handle = handle
    return handle


def install_lazily() -> None:
    """Install what the environment chooses, unless something is. Reads no fix before torch_tensorrt is imported."""
    global _handle
    if _handle is not None or _choice() == "off":
        return
    if imported := loaded():
        raise _too_late(imported)
    _handle = Handle(Finder(_choice(), VARIABLE))
    _handle.to_front()


class Handle:
    """What :func:`install` did. As a context manager it uninstalls at the end."""

    def __init__(self, finder: Finder) -> None:
        self.finder = finder

    @property
    def installed(self) -> bool:
        return self.finder in sys.meta_path

    def uninstall(self) -> None:
        """Take the finder off sys.meta_path.

        Before torch_tensorrt is imported that undoes everything. Afterwards, modules that are loaded stay as they are,
        edited, and those that are imported later, or reloaded, are stock: to be rid of the fixes in a program that has
        imported torch_tensorrt, start it anew with TORCH_TENSORRT_FIXES=off.
        """
        global _handle
        if self.installed:
            sys.meta_path.remove(self.finder)
        if not loaded():
            stop_showing()
            if _handle is self:
                _handle = None

    def to_front(self) -> None:
        """Put the finder before other hooks, which then see the edited text through ours."""
        if self.installed:
            sys.meta_path.remove(self.finder)
        sys.meta_path.insert(0, self.finder)

    def chose(self, fixes: tuple[Fix, ...]) -> bool:
        from ..series import UnknownFix

        try:
            return self.finder.chosen() == fixes
        except UnknownFix:
            return False

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()


_handle: Handle | None = None


def current() -> Handle | None:
    """The last handle, also after its uninstall() if torch_tensorrt was imported by then."""
    return _handle


class Finder(OwnFinder):
    """Answers for the modules of torch_tensorrt that a choice of fixes edits or adds; until these are known, for all.

    The choice is planned by the first loader that is to run a module, not here: the import system holds its global lock
    around find_spec, and to import what planning needs under it could deadlock with another thread's import. Nor do
    other threads wait for the package before they look for its modules: their loaders wait for the plan.
    """

    def __init__(self, choice: str, chooser: str) -> None:
        self.choice = choice
        self.chooser = chooser
        self._plan: Plan | None = None
        self._planning = RLock()
        self._asking: set[tuple[str, int]] = set()
        self._overtaken = False

    def chosen(self) -> tuple[Fix, ...]:
        from ..series import UnknownFix, parse

        try:
            return parse(self.choice)
        except UnknownFix as error:
            raise UnknownFix(f"{self.chooser} chooses {self.choice!r}: {error}") from None

    def plan(self, *, tell: bool = True) -> Plan:
        """The plan, made at the first call. Raises UnknownFix, NotInstalled."""
        with self._planning:
            if self._plan is None:
                from .planning import make_plan

                self._plan = make_plan(self.chosen())
                for outcome in self._plan.left_out if tell else ():
                    _warn(_why_left_out(outcome), FixLeftOut)
            return self._plan

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        self._look_for_hook_in_front()
        asked = name, get_ident()
        if not self._is_ours(name) or asked in self._asking:
            return None
        self._asking.add(asked)  # a hook behind ours may ask all of sys.meta_path in its turn
        try:
            spec = find_spec(name, path, target, behind=self)
        finally:
            self._asking.remove(asked)
        if spec is None or spec.loader is None:  # not there, or a folder without code
            return self._spec_of_new(name)
        if name == PACKAGE and self._plan and self._plan.origin not in (None, spec.origin):
            self._plan = None  # sys.path has changed: this is another torch_tensorrt than the one that was planned for
        spec.loader = Loader(self, name, spec.loader)  # type: ignore[assignment]  # a loader by what it can do
        return spec

    def _is_ours(self, name: str) -> bool:
        planned = name in self._plan.modules if self._plan else name.startswith(PACKAGE + ".")
        return planned or name == PACKAGE

    def _spec_of_new(self, name: str) -> ModuleSpec | None:
        """The spec of a module that has no file on disk, because a commit adds it."""
        from importlib.machinery import SourceFileLoader
        from importlib.util import spec_from_file_location

        edited = self._plan.modules.get(name) if self._plan else None
        if edited is None or name == PACKAGE:
            return None
        loader: Any = Loader(self, name, SourceFileLoader(name, edited.file))
        folders = [os.path.dirname(edited.file)] if edited.is_package else None
        return spec_from_file_location(name, edited.file, loader=loader, submodule_search_locations=folders)

    def _look_for_hook_in_front(self) -> None:
        """Warn, once, if another hook loaded a module of ours: we learn it when asked for what that hook has not."""
        if self._overtaken or PACKAGE not in sys.modules:
            return
        for name in self._plan.modules if self._plan else (PACKAGE,):
            if rival := foreign_loader(name):
                self._overtaken = True
                _warn(f"{rival} loaded {name}, so the fixes to it are not on{self.hook_in_front(name)}", HookInFront)
                return

    def hook_in_front(self, name: str) -> str:
        """Which hook, asked before ours, answers for a module, and what to do about it."""
        path = getattr(sys.modules.get(name.rpartition(".")[0]), "__path__", None)
        for finder in sys.meta_path[: sys.meta_path.index(self)] if self in sys.meta_path else ():
            if hasattr(finder, "find_spec") and finder.find_spec(name, path):
                return (
                    f": {type_name(finder)} stands before torch_tensorrt_fixes in sys.meta_path. Call "
                    f"torch_tensorrt_fixes.install() after that hook is installed and before {PACKAGE} is imported; "
                    "then both work"
                )
        return ""


def _choice() -> str:
    return os.environ.get(VARIABLE, "all").strip()


def _why_left_out(outcome: Any) -> str:
    return f"{outcome.commit.label} is left out, it does not fit the installed {PACKAGE}: {outcome.reason}"


def _warn(message: str, category: type[Warning]) -> None:
    import warnings

    warnings.warn(message, category, stacklevel=2)


def _too_late(name: str, before: Handle | None = None) -> AlreadyImported:
    if before:
        return AlreadyImported(
            f"{name} is imported already, with the fixes that {before.finder.chooser} chose ({before.finder.choice}): "
            "choose others before the first import of it, or in a new process"
        )
    return AlreadyImported(
        f"{name} is imported already, and the fixes are made while it is imported: move "
        "`import torch_tensorrt_fixes.auto` (or the call of torch_tensorrt_fixes.install()) above the first import of "
        f"{PACKAGE}, or start the program with `torchtrt-fixes run`"
    )
