"""A landing that is killed leaves everything as it was, or the whole branch."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from checkouts import CHANGED, COMMITS, Checkout

from torch_tensorrt_fixes.landing import land
from torch_tensorrt_fixes.trees.git import Repository
from torch_tensorrt_fixes.trees.git_process import Dialogue, Git


@pytest.fixture(params=["new branch", "moved branch"])
def dirty(
    request: pytest.FixtureRequest, checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Checkout:
    checkout.write("staged", "x")
    checkout.git("add", "staged")
    checkout.write("untracked", "x")
    if request.param == "moved branch":
        checkout.git("branch", "fixes")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return checkout


def killed(checkout: Checkout, before: Callable[[], None] = lambda: None) -> bool:
    """Land in a process of its own. Whether it was killed."""

    def landing() -> None:
        before()
        repository = Repository(checkout.root)
        tree = repository.tree("HEAD")
        commit = repository.commit(land(COMMITS, tree), tree.commit)
        repository.create_branch("fixes", commit, force=True)

    process = multiprocessing.get_context("fork").Process(target=landing)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def kill_at(n: int) -> None:
    """Have this process die right before the n-th time that it says something to git."""
    times = itertools.count(1)

    def mortal(method: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **keywords: object) -> object:
            if next(times) == n:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*arguments, **keywords)

        return call

    for kind, name in ((Git, "run"), (Git, "dialogue"), (Dialogue, "ask"), (Dialogue, "more")):
        setattr(kind, name, mortal(getattr(kind, name)))


class Before:
    """What is to be found after each kill."""

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self.state = checkout.state()

    def branch_is_whole(self) -> bool:
        """Whether the branch is made, whole; otherwise it is as it was. Nothing else changed, either way."""
        state = self.checkout.state()
        whole = state["refs"] != self.state["refs"]
        if whole:
            assert self.checkout.changed() == CHANGED
            others = [line for line in state["refs"].splitlines() if not line.endswith("/fixes")]
            assert others == [line for line in self.state["refs"].splitlines() if not line.endswith("/fixes")]
            state["refs"] = self.state["refs"]
        assert state == self.state
        assert not list(Path(os.environ["TMPDIR"]).iterdir())
        return whole


def test_killed_between_any_two_words_to_git(dirty: Checkout) -> None:
    before = Before(dirty)
    for n in itertools.count(1):
        if not killed(dirty, lambda n=n: kill_at(n)):  # type: ignore[misc]
            break
        assert not before.branch_is_whole(), n
    assert before.branch_is_whole()
    assert n > 30


@pytest.fixture
def git_that_kills(tmp_path: Path) -> Path:
    """A folder with a git that, at the start whose number is in ``at``, kills who started it and then goes on."""
    folder = tmp_path / "bin"
    folder.mkdir()
    git = shutil.which("git")
    (folder / "git").write_text(
        "#!/bin/sh\n"
        f"n=$(($(cat {folder}/count) + 1)); echo $n > {folder}/count\n"
        f'[ $n = $(cat {folder}/at) ] || exec {git} "$@"\n'
        f'kill -9 $PPID; {git} "$@" > /dev/null 2>&1; touch {folder}/done\n'
    )
    (folder / "git").chmod(0o755)
    return folder


def test_killed_while_a_git_is_running(dirty: Checkout, git_that_kills: Path) -> None:
    before = Before(dirty)
    made = []
    for n in itertools.count(1):
        (git_that_kills / "count").write_text("0")
        (git_that_kills / "at").write_text(str(n))
        (git_that_kills / "done").unlink(missing_ok=True)
        if not killed(dirty, lambda: os.environ.update(PATH=f"{git_that_kills}:{os.environ['PATH']}")):
            break
        deadline = time.monotonic() + 30
        while not (git_that_kills / "done").exists():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        made.append(before.branch_is_whole())
    # only the last git, update-ref, makes the branch, and it does so whether or not anybody waits for it
    assert made == [False] * (n - 2) + [True]
    assert n > 12
