"""Landing: what a commit makes of a tree. Pure: text in, text out.

Nothing here knows git, imports or torch. A commit ends in exactly one state, and all of its edits are made or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from .commit import Commit
from .edits import Edit, Misfit, apply


class Tree(Protocol):
    """A set of upstream source files at one version."""

    @property
    def tests(self) -> bool:
        """Whether the tree has a place for in-tree tests (an installed package has not)."""

    def read(self, path: str) -> str | None:
        """The text of the file with that path in a Torch-TensorRT checkout, or None where there is none.

        Line ends are as they are in the file.
        """


class State(Enum):
    LANDED = "landed"
    PRESENT = "present"
    MISFIT = "misfit"
    NEEDS = "needs"


WELL = (State.LANDED, State.PRESENT)


@dataclass(frozen=True)
class Outcome:
    """How a commit ended on a tree, and the new text of each file that it changes or adds (empty unless landed)."""

    commit: Commit
    state: State
    files: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    misfit: Misfit | None = None

    @property
    def well(self) -> bool:
        return self.state in WELL


@dataclass(frozen=True)
class Overlay:
    """A tree with some files changed."""

    base: Tree
    files: Mapping[str, str]

    @property
    def tests(self) -> bool:
        return self.base.tests

    def read(self, path: str) -> str | None:
        return self.files[path] if path in self.files else self.base.read(path)


def plan(commit: Commit, tree: Tree) -> Outcome:
    """What landing ``commit`` on ``tree`` would do. What the commit needs is taken to be there."""
    try:
        if any(probe.holds(tree.read) for probe in commit.present):
            return Outcome(commit, State.PRESENT, reason="the tree has its own version of it")
        files, there = _edited(_edits_for(commit, tree), tree)
        if not files:
            return Outcome(commit, State.PRESENT)
        if there:
            raise _half_there(there[0], files)
        if tree.tests:
            files |= _edited(commit.test_files, tree)[0]
        return Outcome(commit, State.LANDED, files)
    except Misfit as misfit:
        labelled = misfit.labelled(commit.label)
        return Outcome(commit, State.MISFIT, reason=str(misfit), misfit=labelled)


def land(commits: Iterable[Commit], tree: Tree) -> tuple[Outcome, ...]:
    """Land commits one upon the other. The order is the caller's (``series.select`` gives one that works).

    A commit that does not fit leaves the tree as it is for those after it; whatever needs it ends in ``needs``.
    """
    outcomes: list[Outcome] = []
    ended: dict[str, State] = {}
    for commit in commits:
        lacking = {slug: ended.get(slug) for slug in commit.needs if ended.get(slug) not in WELL}
        if lacking:
            whys = [
                f"{slug} ({f'ended in {end.value}' if end else 'not among the commits'})"
                for slug, end in lacking.items()
            ]
            outcome = Outcome(commit, State.NEEDS, reason=f"needs {', '.join(whys)}")
        else:
            outcome = plan(commit, tree)
            tree = Overlay(tree, outcome.files)
        outcomes.append(outcome)
        if ended.get(commit.fix.slug, State.LANDED) in WELL:
            ended[commit.fix.slug] = outcome.state
    return tuple(outcomes)


def _edits_for(commit: Commit, tree: Tree) -> Sequence[Edit]:
    if not commit.variants:
        return commit.edits
    for variant in commit.variants:
        if variant.when.holds(tree.read):
            return variant.edits
    wanted = "; or ".join(str(variant.when) for variant in commit.variants)
    paths = dict.fromkeys(edit.path for variant in commit.variants for edit in variant.edits)
    raise Misfit(", ".join(paths), f"none of the commit's variants is for this tree: they want {wanted}")


def _edited(edits: Sequence[Edit], tree: Tree) -> tuple[dict[str, str], list[Edit]]:
    """The new texts of the files that the edits change, and the edits whose effect is there already."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    files: dict[str, str] = {}
    there: list[Edit] = []
    for path, of_path in by_path.items():
        before = tree.read(path)
        applied = apply(path, before, of_path)
        there += applied.there
        if applied.text != before:
            files[path] = applied.text
    return files, there


def _half_there(edit: Edit, files: Mapping[str, str]) -> Misfit:
    within = getattr(edit, "within", "") or getattr(edit, "qualified_name", "")
    return Misfit(
        edit.path,
        f"this {type(edit).__name__} is in the tree already, but the commit's edits to {', '.join(files)} are not",
        within=within,
    )
