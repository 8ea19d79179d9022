"""A git checkout of Torch-TensorRT: what it holds at a ref, and the fixes as commits upon it.

Only objects are written, and at the end one ref. The user's work tree, index and branches stay as they are, and a kill
at any moment leaves nothing but objects that nothing leads to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from ..commit import Commit
from ..landing import Outcome, State
from . import git_branches
from .git_objects import Objects
from .git_patches import format_patches
from .git_process import CommandFailed, Git, GitError

__all__ = ["GitError", "GitTree", "Repository"]

MARK = "py/torch_tensorrt/__init__.py"


class Repository:
    """The git repository that ``path`` is in. Raises GitError where it is in none."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._git = Git.of(self.path)
        self._objects = Objects(self._git)

    def resolve(self, ref: str) -> str:
        """The object id of the commit that ``ref`` names."""
        commit = self._objects.find(f"{ref}^{{commit}}")
        if commit:
            return commit.oid
        near = " or ".join(git_branches.like(self._git, ref))
        advice = f"did you mean {near}?" if near else "`git fetch` it first if another repository has it"
        raise GitError(f"{ref!r} names no commit in {self.path}; {advice}")

    def tree(self, ref: str) -> GitTree:
        """The source files at ``ref``. Raises GitError where they are not Torch-TensorRT's."""
        tree = GitTree(self._objects, self.resolve(ref))
        if tree.read(MARK) is None:
            raise GitError(
                f"{ref} in {self.path} is no Torch-TensorRT: it lacks {MARK}; name another repository or ref"
            )
        return tree

    def commit(self, outcomes: Iterable[Outcome], onto: str, sign: bool = False) -> str:
        """Make the commits of :meth:`commits`; the last one's id, ``onto`` where none is landed."""
        return next(reversed(self.commits(outcomes, onto, sign).values()), onto)

    def commits(self, outcomes: Iterable[Outcome], onto: str, sign: bool = False) -> dict[Commit, str]:
        """Make a git commit of each landed outcome, one upon the other; no branch leads to them. Their ids, in order.

        ``onto`` is the commit that the outcomes' files were made from. Author and committer are the user's; ``sign``
        signs with the user's key.
        """
        self._check_identity()
        signature = ["-S"] if sign else []
        made = {}
        for outcome in landed(outcomes):
            tree = self._objects.with_files(f"{onto}^{{tree}}", outcome.files)
            message = outcome.commit.message.encode("utf-8")
            onto = self._git.run("commit-tree", *signature, "-p", onto, tree, given=message).strip()
            made[outcome.commit] = onto
        return made

    def create_branch(self, name: str, commit: str, force: bool = False) -> None:
        """Let the new branch ``name`` lead to ``commit``; with ``force`` an old one, unless a work tree uses it."""
        git_branches.create(self._git, name, commit, force)

    def export(self, outcomes: Iterable[Outcome], onto: str, directory: str | Path) -> list[Path]:
        """Write each landed outcome to ``directory``, new or empty, as a file that ``git am`` takes.

        Nothing is written where no outcome is landed.
        """
        chosen = landed(outcomes)
        if not chosen:
            return []
        texts = (text for outcome in chosen for text in outcome.files.values())
        tip = self.commit(chosen, onto)
        binary = any("\r" in text for text in texts)
        try:
            return format_patches(self._git, tip, len(chosen), Path(directory), binary)
        except OSError as error:
            raise GitError(f"{directory} cannot be written: {error}; name another directory") from error

    def _check_identity(self) -> None:
        for who in ("AUTHOR", "COMMITTER"):
            try:
                self._git.run("var", f"GIT_{who}_IDENT")
            except CommandFailed as error:
                raise GitError(
                    f"git knows no {who.lower()} for the commits ({error.said.splitlines()[-1]}); say who you are with "
                    "`git config --global user.name NAME` and `git config --global user.email ADDRESS`"
                ) from error


@dataclass(frozen=True)
class GitTree:
    """The source files of one commit."""

    tests: ClassVar[bool] = True

    objects: Objects = field(repr=False)
    commit: str

    def read(self, path: str) -> str | None:
        """The text of a file, or None where the commit has none there. Raises GitError where it is not UTF-8."""
        found = self.objects.find(f"{self.commit}:{path}")
        if found is None or found.kind != "blob":
            return None
        try:
            return found.content.decode("utf-8")
        except UnicodeDecodeError as error:
            where = f"{error.reason} at byte {error.start}"
            raise GitError(f"{path} at {self.commit[:12]} is not UTF-8 ({where}); leave out what edits it") from error


def landed(outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.state is State.LANDED]
