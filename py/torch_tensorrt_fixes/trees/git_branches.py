"""Which branches are there, and which a work tree is using."""

from __future__ import annotations

import difflib
from pathlib import Path

from .git_process import CommandFailed, Git, GitError


def create(git: Git, name: str, commit: str, force: bool) -> None:
    """Make the branch, or with ``force`` move it, in one step; see :meth:`Repository.create_branch`."""
    _check_name(git, name)
    branch = f"refs/heads/{name}"
    if user := _users(git).get(branch):
        raise GitError(f"the branch {name} is {user}, and is not moved under its user's feet; choose another name")
    old = _tips(git, branch).get(branch)
    if old and not force:
        raise GitError(f"the branch {name} is there, at {old[:12]}; choose another name, or move it with --force")
    try:
        # Given the old value, git refuses where somebody else was faster.
        git.run("update-ref", "--no-deref", "-m", "torchtrt-fixes: land", branch, commit, old or "0" * len(commit))
    except CommandFailed as error:
        raise GitError(f"the branch {name} cannot be {'moved' if old else 'made'}: {error.said}") from error


def like(git: Git, ref: str) -> list[str]:
    """Up to three branches and tags whose names are near ``ref``: those that end in it, then those spelled like it."""
    prefixes = ("refs/heads/", "refs/tags/", "refs/remotes/")
    names = [_without(prefixes, name) for name in _tips(git, *prefixes)]
    ending = [name for name in names if name.endswith(f"/{ref}")]
    near = difflib.get_close_matches(ref, names, n=3)
    return list(dict.fromkeys(ending + near))[:3]


def _check_name(git: Git, name: str) -> None:
    try:
        # --branch also expands @{-1}, to the name of some other branch.
        valid = not name.startswith("refs/") and git.run("check-ref-format", "--branch", name) == f"{name}\n"
    except (CommandFailed, ValueError):
        valid = False
    if not valid:
        raise GitError(f"{name!r} is no name for a branch; `git help check-ref-format` says what is allowed in one")


def _tips(git: Git, *patterns: str) -> dict[str, str]:
    lines = git.lines("for-each-ref", "--format=%(objectname) %(refname)", *patterns)
    return {name: oid for oid, name in (line.split(" ", 1) for line in lines)}


def _users(git: Git) -> dict[str, str]:
    """Each branch that some work tree, the main or a linked one, has checked out or will go back to: how it is used."""
    users = {}
    worktree = ""
    for line in git.lines("worktree", "list", "--porcelain"):
        word, _, value = line.partition(" ")
        if word == "worktree":
            worktree = value
        elif word == "branch":
            users[value] = f"checked out in {worktree}"
    shared = git.directory / git.run("rev-parse", "--git-common-dir").removesuffix("\n")
    for directory in (shared, *shared.glob("worktrees/*")):
        for branch in _lines(directory / "rebase-merge/head-name", directory / "rebase-apply/head-name"):
            users.setdefault(branch, "being rebased")
        for branch in _lines(directory / "rebase-merge/update-refs"):
            users.setdefault(branch, "being rebased")
        for branch in _lines(directory / "BISECT_START"):
            users.setdefault(f"refs/heads/{branch}", "where a bisection started")
    return users


def _lines(*files: Path) -> list[str]:
    there = (file for file in files if file.is_file())
    return [line for file in there for line in file.read_text("utf-8", "surrogateescape").split("\n")]


def _without(prefixes: tuple[str, ...], name: str) -> str:
    for prefix in prefixes:
        name = name.removeprefix(prefix)
    return name
