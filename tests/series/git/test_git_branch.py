"""Making and moving the branch that the landed commits get."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from checkouts import Checkout

from torch_tensorrt_fixes.trees import git_branches
from torch_tensorrt_fixes.trees.git import GitError, Repository


@pytest.fixture
def later(checkout: Checkout) -> str:
    """A second commit, that main has."""
    checkout.write("later", "than the first\n")
    return checkout.commit("the second version")


def test_new_branch_and_its_reflog(checkout: Checkout, later: str) -> None:
    with checkout.untouched("fixes"):
        Repository(checkout.root).create_branch("fixes", later)
    assert checkout.git("rev-parse", "fixes") == later
    assert checkout.git("reflog", "--format=%gs", "fixes") == "torchtrt-fixes: land"


def test_branch_that_exists(checkout: Checkout, later: str) -> None:
    checkout.git("branch", "fixes", "HEAD~1")
    first = checkout.git("rev-parse", "fixes")
    with checkout.untouched(), pytest.raises(GitError, match=f"the branch fixes is there, at {first[:12]}; .*--force"):
        Repository(checkout.root).create_branch("fixes", later)
    with checkout.untouched("other"):
        Repository(checkout.root).create_branch("other", later, force=True)
    Repository(checkout.root).create_branch("fixes", later, force=True)
    assert checkout.git("rev-parse", "fixes") == later


@pytest.mark.parametrize("before", ["", "main"])
def test_branch_that_somebody_else_moves_meanwhile(
    checkout: Checkout, later: str, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before:
        checkout.git("branch", "fixes", before)
    ask = git_branches._tips

    def slow(*arguments: object) -> dict[str, str]:
        tips = ask(*arguments)  # type: ignore[arg-type]
        checkout.git("branch", "--force", "fixes", "main~1")
        return tips

    monkeypatch.setattr(git_branches, "_tips", slow)
    with pytest.raises(GitError, match="the branch fixes cannot be (made|moved): .*cannot lock ref"):
        Repository(checkout.root).create_branch("fixes", later, force=True)
    assert checkout.git("rev-parse", "fixes") == checkout.git("rev-parse", "main~1")


@pytest.mark.parametrize("force", [False, True])
def test_branch_in_the_way_of_a_folder(checkout: Checkout, force: bool) -> None:
    checkout.git("branch", "fixes")
    with checkout.untouched(), pytest.raises(
        GitError, match="the branch fixes/all cannot be made: .*'refs/heads/fixes' exists"
    ):
        Repository(checkout.root).create_branch("fixes/all", checkout.git("rev-parse", "HEAD"), force)


def test_name_that_describes_a_commit_is_no_branch_that_exists(checkout: Checkout, later: str) -> None:
    name = f"fixes-1-g{later[:10]}"
    Repository(checkout.root).create_branch(name, later)
    assert checkout.git("rev-parse", f"refs/heads/{name}") == later


@pytest.mark.parametrize(
    "name", ["", "-f", "a b", "a..b", "a.lock", "a~1", "HEAD", "@{-1}", "a/", "/a", "a\0b", "a\nb"]
)
def test_invalid_name(checkout: Checkout, name: str) -> None:
    checkout.git("switch", "--quiet", "--create", "somewhere-else")
    checkout.git("switch", "--quiet", "main")  # so that @{-1} means somewhere-else
    with checkout.untouched(), pytest.raises(GitError, match="is no name for a branch"):
        Repository(checkout.root).create_branch(name, checkout.git("rev-parse", "HEAD"), force=True)


def test_non_ascii_name(checkout: Checkout, later: str) -> None:
    Repository(checkout.root).create_branch("größe/½", later)
    assert checkout.git("rev-parse", "größe/½") == later


def test_branch_that_leads_to_another_is_cut_loose_from_it(checkout: Checkout, later: str) -> None:
    checkout.git("branch", "other", "HEAD~1")
    checkout.git("symbolic-ref", "refs/heads/fixes", "refs/heads/other")
    Repository(checkout.root).create_branch("fixes", later, force=True)
    assert checkout.git("rev-parse", "fixes", "other~0") == f"{later}\n{checkout.git('rev-parse', 'HEAD~1')}"


def refused(checkout: Checkout, name: str, use: str, force: bool = True) -> None:
    commit = checkout.git("rev-parse", "main~1")
    with checkout.untouched(), pytest.raises(GitError, match=f"the branch {name} is {use}.*; choose another name"):
        Repository(checkout.root).create_branch(name, commit, force)


@pytest.mark.parametrize("force", [False, True])
def test_checked_out_here(checkout: Checkout, later: str, force: bool) -> None:
    refused(checkout, "main", f"checked out in {checkout.root}", force)


def test_checked_out_in_another_worktree(checkout: Checkout, later: str, tmp_path: Path) -> None:
    checkout.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    refused(checkout, "side", f"checked out in {tmp_path}/linked")
    refused(Checkout(tmp_path / "linked"), "main", f"checked out in {checkout.root}")
    bare = tmp_path / "bare.git"
    checkout.git("clone", "--quiet", "--bare", ".", str(bare))
    Checkout(bare).git("worktree", "add", "--quiet", "-b", "of-bare", str(tmp_path / "of-bare"))
    refused(Checkout(bare), "of-bare", f"checked out in {tmp_path}/of-bare")


def test_head_of_a_bare_repository_may_move(checkout: Checkout, later: str, tmp_path: Path) -> None:
    checkout.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    bare = Checkout(tmp_path / "bare.git")
    Repository(bare.root).create_branch("main", bare.git("rev-parse", "main~1"), force=True)
    assert bare.git("rev-parse", "main") != later


@pytest.mark.parametrize("force", [False, True])
def test_checked_out_but_without_a_commit_yet(checkout: Checkout, later: str, force: bool) -> None:
    checkout.git("symbolic-ref", "HEAD", "refs/heads/unborn")
    refused(checkout, "unborn", f"checked out in {checkout.root}", force)


def test_names_with_odd_line_ends_are_no_trouble(checkout: Checkout, later: str) -> None:
    checkout.git("branch", "odd\u2028name")
    checkout.git("switch", "--quiet", "odd\u2028name")
    refused(checkout, "odd\u2028name", f"checked out in {checkout.root}")
    with pytest.raises(GitError, match="did you mean main?"):
        Repository(checkout.root).resolve("mian")


@pytest.fixture
def conflicting(checkout: Checkout) -> Checkout:
    """``side`` and ``on-side`` conflict with ``main``; ``side`` is checked out."""
    checkout.git("switch", "--quiet", "--create", "side")
    checkout.write("same", "side\n")
    checkout.commit("side")
    checkout.git("branch", "half-way")
    checkout.write("more", "side\n")
    checkout.commit("more of side")
    checkout.git("switch", "--quiet", "main")
    checkout.write("same", "main\n")
    checkout.commit("main")
    checkout.git("switch", "--quiet", "side")
    return checkout


@pytest.mark.parametrize("way", ["--merge", "--apply"])
@pytest.mark.parametrize("linked", [False, True])
def test_being_rebased(conflicting: Checkout, way: str, linked: bool, tmp_path: Path) -> None:
    place = conflicting
    if linked:
        conflicting.git("switch", "--quiet", "--detach", "main")
        conflicting.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "side")
        place = Checkout(tmp_path / "linked")
    assert subprocess.run(("git", "rebase", way, "main"), cwd=place.root, capture_output=True).returncode
    assert place.git("branch", "--show-current") == ""
    refused(conflicting, "side", "being rebased")


def test_being_rebased_along_with_another(conflicting: Checkout) -> None:
    rebase = ("git", "rebase", "--update-refs", "main")
    assert subprocess.run(rebase, cwd=conflicting.root, capture_output=True).returncode
    refused(conflicting, "half-way", "being rebased")


def test_where_a_bisection_started(conflicting: Checkout) -> None:
    conflicting.git("bisect", "start", "side", "side~2")
    assert conflicting.git("branch", "--show-current") == ""
    refused(conflicting, "side", "where a bisection started")
