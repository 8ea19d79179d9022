"""What the series is made of: fixes and their commits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

from .edits import Edit, NewFile, Probe
from .intree import in_tree_test


class Kind(Enum):
    FIX = "fix"
    PREREQUISITE = "prerequisite"
    EXTRA = "extra"


@dataclass(frozen=True)
class Variant:
    """The edits for the trees in which ``when`` holds."""

    when: Probe
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Commit:
    """The unit that cherry-picks alone: edits to a tree and the in-tree tests that show them.

    Either ``edits`` or ``variants`` is given; of the variants the first whose probe holds is landed. A tree in which a
    probe of ``present`` holds has the commit's effect already, in upstream's own words. ``needs`` are slugs of fixes
    (prerequisites, mostly) whose effect the edits stand on. ``body`` tells what this commit does where its fix has
    several; otherwise the fix's story does. ``fix`` and ``part`` are filled in by :class:`Fix`.
    """

    subject: str
    edits: tuple[Edit, ...] = ()
    variants: tuple[Variant, ...] = ()
    tests: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    present: tuple[Probe, ...] = ()
    body: str = ""
    fix: Fix = field(default=None, repr=False, compare=False)  # type: ignore[assignment]
    part: int = 1

    def __post_init__(self) -> None:
        if bool(self.edits) == bool(self.variants):
            raise ValueError(f"{self.subject}: a commit has either edits or variants")

    @property
    def label(self) -> str:
        """``1/slice-bounds``, ``extra/no-gpu``; later commits of a fix count on: ``12/uint8-select#2``."""
        return self.fix.label + (f"#{self.part}" if self.part > 1 else "")

    @property
    def test_files(self) -> tuple[NewFile, ...]:
        """The edits that add the in-tree tests."""
        return tuple(NewFile(path, partial(in_tree_test, path)) for path in self.tests)

    @property
    def message(self) -> str:
        """The commit message: subject, story, what a release manager asks for, and the trailer that names the fix."""
        facts = {
            "Symptom": self.fix.symptom,
            "Affects": self.fix.affects,
            "Risk": self.fix.risk,
            "Test": ", ".join(self.tests),
        }
        paragraphs = [
            self.subject,
            self.body or self.fix.story,
            "\n".join(f"{name}: {value}" for name, value in facts.items() if value),
            f"Torch-TensorRT-Fix: {self.label}",
        ]
        return "\n\n".join(filter(None, paragraphs)) + "\n"


@dataclass(frozen=True)
class Fix:
    """A bug of Torch-TensorRT and the commits that mend it.

    ``doc`` is the docstring of the fix's folder: its first line is the title, the rest the story. ``symptom`` is what a
    user sees, and whether it is silent; ``affects`` the releases seen to have the bug; ``risk`` what the fix might
    change for someone who does not have it.
    """

    slug: str
    doc: str
    symptom: str
    commits: tuple[Commit, ...]
    number: int | None = None
    kind: Kind = Kind.FIX
    affects: str = "2.14.0"
    risk: str = ""

    def __post_init__(self) -> None:
        if (self.kind is Kind.FIX) != (self.number is not None):
            raise ValueError(f"{self.slug}: a fix has a number, a prerequisite or an extra has none")
        owned = tuple(replace(commit, fix=self, part=part) for part, commit in enumerate(self.commits, 1))
        object.__setattr__(self, "commits", owned)

    @property
    def label(self) -> str:
        return f"{self.number or self.kind.value}/{self.slug}"

    @property
    def title(self) -> str:
        return self.doc.strip().partition("\n")[0].rstrip(".")

    @property
    def story(self) -> str:
        return self.doc.strip().partition("\n")[2].strip()
