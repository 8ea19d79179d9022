"""The error that says which edit does not fit which file, and what stands there instead."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Nearest:
    """The place in the file that comes closest to what was looked for."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"nearest: line {self.line}: {self.text}"


@dataclass(eq=False)
class Misfit(Exception):
    """An edit does not fit the tree. Nothing of its commit is landed.

    ``reason`` is the whole finding in words; the other fields are the same facts for programs.
    ``label`` names the commit and is filled in by the landing, which knows it.
    """

    path: str
    reason: str
    within: str = ""
    pattern: str = ""
    found: int | None = None
    wanted: int | None = None
    nearest: Nearest | None = None
    label: str = ""

    def __str__(self) -> str:
        where = self.path + (f", {self.within}" if self.within else "")
        who = f"{self.label}: " if self.label else ""
        near = f" ({self.nearest})" if self.nearest else ""
        return " ".join(f"{who}{where}: {self.reason}{near}".split())

    def labelled(self, label: str) -> Misfit:
        return replace(self, label=label)


def times(count: int) -> str:
    return {0: "nowhere", 1: "once", 2: "twice"}.get(count, f"{count} times")
