"""The series: every commit in the order in which it lands, and the choice among them.

A fix is a folder of ``fixes``, ``prerequisites`` or ``extras`` with a ``FIX`` in it; there is no other list.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache

from . import extras, fixes, prerequisites
from .commit import Commit, Fix, Kind


class UnknownFix(ValueError):
    """A name that is no fix's number or slug, or a choice that cannot be read."""


@cache
def all_fixes() -> tuple[Fix, ...]:
    """Prerequisites, then the fixes by number, then the extras."""
    found = [
        importlib.import_module(f"{package.__name__}.{folder.name}").FIX
        for package in (prerequisites, fixes, extras)
        for folder in pkgutil.iter_modules(package.__path__)
    ]
    kinds = [Kind.PREREQUISITE, Kind.FIX, Kind.EXTRA]
    return tuple(sorted(found, key=lambda fix: (kinds.index(fix.kind), fix.number or 0, fix.slug)))


def find(name: str) -> Fix:
    """The fix with that number or slug. Raises UnknownFix, which lists what there is."""
    named = {called: fix for fix in all_fixes() for called in (str(fix.number or fix.slug), fix.slug, fix.label)}
    if name in named:
        return named[name]
    there = ", ".join(fix.label for fix in all_fixes())
    near = "".join(f"; did you mean {close}?" for close in difflib.get_close_matches(name, named, 1))
    raise UnknownFix(f"no fix is called {name!r}; there are: {there}{near}")


def parse(choice: str) -> tuple[Fix, ...]:
    """A choice in words: ``all``, ``off``, ``1,2,no-gpu`` or ``-4,-no-gpu`` (all but these).

    ``all`` means the fixes and the extras; prerequisites come by themselves where they are needed.
    """
    names = [name.strip() for name in choice.split(",") if name.strip()]
    everything = tuple(fix for fix in all_fixes() if fix.kind is not Kind.PREREQUISITE)
    if names in (["all"], []):
        return everything
    if names == ["off"]:
        return ()
    if {"all", "off"} & set(names):
        raise UnknownFix(f"{choice!r} says all or off and more; either stands alone")
    without = [name for name in names if name.startswith("-")]
    if without and len(without) < len(names):
        raise UnknownFix(f"{choice!r} mixes fixes to take with fixes to leave out (-); use one kind")
    chosen = [find(name.removeprefix("-").strip()) for name in names]
    if not without:
        return tuple(fix for fix in all_fixes() if fix in chosen)
    for fix in chosen:
        if fix.kind is Kind.PREREQUISITE:
            raise UnknownFix(f"{fix.label} cannot be left out: a prerequisite comes along where the tree needs it")
    return tuple(fix for fix in everything if fix not in chosen)


def commits(chosen: Iterable[Fix]) -> tuple[Commit, ...]:
    """The commits of the chosen fixes with all that they need, in the series' order, what is needed first."""
    wanted = set(chosen)
    ordered: dict[Commit, None] = {}

    def add(fix: Fix, above: tuple[str, ...] = ()) -> None:
        if fix.slug in above:
            raise ValueError(f"fixes need each other in a circle: {' -> '.join((*above, fix.slug))}")
        for commit in fix.commits:
            for slug in commit.needs:
                add(find(slug), (*above, fix.slug))
            ordered[commit] = None

    for fix in all_fixes():
        if fix in wanted:
            add(fix)
    return tuple(ordered)
