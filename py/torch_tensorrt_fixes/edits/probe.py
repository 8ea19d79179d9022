"""Structural questions to a tree: is this file there, does this function call itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .pattern import check_pattern
from .source import Source


class Probe(Protocol):
    """A question to a tree, given the means to read its files (None for a file that is not there)."""

    def holds(self, read: Callable[[str], str | None]) -> bool: ...


@dataclass(frozen=True)
class Has:
    """The tree has the file; where ``within`` is given, that definition in it; where ``find`` is, a match of it there.

    Of several definitions of one name any will do.
    """

    path: str
    within: str = ""
    find: str = ""

    def __post_init__(self) -> None:
        if self.find:
            check_pattern(self.find)

    def __str__(self) -> str:
        return " in ".join(filter(None, [self.find and f"`{self.find}`", self.within, self.path]))

    def holds(self, read: Callable[[str], str | None]) -> bool:
        text = read(self.path)
        if text is None or not (self.within or self.find):
            return text is not None
        source = Source.of(self.path, text)
        regions = source.definitions.get(self.within, []) if self.within else [source.root]
        return any(not self.find or source.matches_in(region, self.find) for region in regions)


@dataclass(frozen=True)
class Lacks:
    """The opposite of a probe."""

    probe: Probe

    def __str__(self) -> str:
        return f"no {self.probe}"

    def holds(self, read: Callable[[str], str | None]) -> bool:
        return not self.probe.holds(read)


@dataclass(frozen=True)
class Every:
    """Several probes that all hold."""

    probes: tuple[Probe, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.probes))

    def holds(self, read: Callable[[str], str | None]) -> bool:
        return all(probe.holds(read) for probe in self.probes)
