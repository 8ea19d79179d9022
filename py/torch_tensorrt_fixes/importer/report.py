"""Which fixes are on, proven from the code that is loaded.

A commit is on where each of its modules that is loaded was run by our loader, and each function that it touched is, in
the live module, made from the very code that our loader compiled. No flag is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from .. import series
from ..commit import Commit, Kind
from ..landing import Outcome, State
from . import Handle, current
from .live_code import described, live, runs, touched_functions
from .loader import Loader, type_name
from .planning import Plan, make_plan, module_name
from .source_lines import show_again


class Status(Enum):
    ON = "on"
    WAITING = "waiting"
    """None of its modules is imported yet."""
    PRESENT = "present"
    """The installed package has it."""
    OFF = "off"
    """Not chosen."""
    LEFT_OUT = "left out"
    """It does not fit the installed package."""
    REPLACED = "replaced"
    """Another import hook loaded a module of it, or other code stands where a function of it was."""


@dataclass(frozen=True)
class Entry:
    """The state of one commit, named by its label (``1/slice-bounds``), and why it is so."""

    label: str
    status: Status
    reason: str = ""


def active() -> tuple[str, ...]:
    """The labels of the commits that are on."""
    return tuple(entry.label for entry in report() if entry.status is Status.ON)


def report() -> tuple[Entry, ...]:
    """The state of every commit of the series, in its order. Raises NotInstalled, UnknownFix as install() does."""
    show_again()
    handle = current()
    plan = handle.finder.plan() if handle else make_plan(())
    before: dict[str, str] = {}
    planned = {}
    for outcome in plan.outcomes:
        planned[outcome.commit.label] = _entry(outcome, plan, handle, before)
        before |= outcome.files
    commits = [commit for fix in series.all_fixes() for commit in fix.commits]
    return tuple(planned.get(commit.label) or _off(commit, handle) for commit in commits)


def _off(commit: Commit, handle: Handle | None) -> Entry:
    if handle is None:
        reason = "nothing is installed in this process"
    elif commit.fix.kind is Kind.PREREQUISITE:
        reason = "nothing that is chosen needs it"
    else:
        reason = f"{handle.finder.chooser} chooses {handle.finder.choice!r}"
    return Entry(commit.label, Status.OFF, reason)


def _entry(outcome: Outcome, plan: Plan, handle: Handle | None, before: Mapping[str, str]) -> Entry:
    """``before`` holds the texts that earlier commits left."""
    label = outcome.commit.label
    if outcome.state is State.PRESENT:
        return Entry(label, Status.PRESENT, outcome.reason)
    if not outcome.well:
        return Entry(label, Status.LEFT_OUT, outcome.reason)
    paths = {module_name(path): path for path in outcome.files if module_name(path) in plan.modules}
    waiting = [name for name in paths if not _is_loaded(name)]
    for name in paths.keys() - waiting:
        path = paths[name]
        stock = before.get(path) or (plan.tree and plan.tree.read(path)) or ""
        if reason := _why_replaced(name, stock, outcome.files[path], handle):
            return Entry(label, Status.REPLACED, reason)
    reason = f"not imported yet: {', '.join(waiting)}" if waiting else ""
    if waiting and handle and not handle.installed:
        return Entry(label, Status.OFF, f"uninstalled; {reason}")
    return Entry(label, Status.WAITING if len(waiting) == len(paths) else Status.ON, reason)


def _is_loaded(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


def _why_replaced(name: str, stock: str, edited: str, handle: Handle | None) -> str:
    """Why the module is not proven to run what the commit made of it; empty where it is."""
    module = sys.modules[name]
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    if not isinstance(loader, Loader):
        who = type_name(loader) if loader else "code that put it into sys.modules"
        return f"{name} was loaded by {who}" + (handle.finder.hook_in_front(name) if handle else "")
    if loader.code is None:
        return f"{name} is loaded, but not from the edited text"
    for function, decorated in touched_functions(stock, edited).items():
        found = live(module, function)
        if not runs(found, function, loader.code, wrapped=decorated or loader.has_foreign_base()):
            return f"{name}.{function} is {described(found)}"
    return ""
