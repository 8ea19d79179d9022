"""The picks: every commit cherry-picks alone, before and after every other, and in random orders.

On a git repository made from the staged release, or in a scratch clone of a real one (--checkout). Each commit is
landed alone, as a maintainer would have it on a branch, and git cherry-picks for real; every way to the same set of
commits must end in the same tree without a conflict. What lands must also be as clean to black and isort as the file
was before. Exits with 1 where something does not hold.
"""

from __future__ import annotations

import difflib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dev import STAGE, STOCK
from torch_tensorrt_fixes import series
from torch_tensorrt_fixes.commit import Commit, Fix
from torch_tensorrt_fixes.landing import Outcome, State, land
from torch_tensorrt_fixes.trees.git import GitError, Repository

ORDERS = 20
IDENTITY = ["-c", "user.name=picks", "-c", "user.email=picks@localhost", "-c", "commit.gpgSign=false"]


class DoesNotHold(Exception):
    """A pick that conflicts, a tree that differs, a file that is not clean."""


class WorkTree:
    """A scratch repository in which commits are landed and picked."""

    def __init__(self, folder: Path, onto: str) -> None:
        self.folder = folder
        self.base = self.git("rev-parse", onto)
        self.repository = Repository(folder)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *IDENTITY, *arguments], cwd=self.folder, text=True, capture_output=True, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            raise DoesNotHold(f"git {' '.join(arguments)}: {done.stdout}{done.stderr}".strip())
        return done.stdout.strip()

    def land(self, commits: Iterable[Commit]) -> dict[Commit, str]:
        """Land the commits one upon the other; each one's hash."""
        outcomes = land(commits, self.repository.tree(self.base))
        return self.commit([o for o in outcomes if o.state is not State.PRESENT])

    def commit(self, outcomes: Sequence[Outcome]) -> dict[Commit, str]:
        hashes, tip = {}, self.base
        for outcome in outcomes:
            if not outcome.well:
                raise DoesNotHold(f"{outcome.commit.label} does not land: {outcome.reason}")
            tip = hashes[outcome.commit] = self.repository.commit([outcome], tip)
        return hashes

    def pick(self, hashes: Iterable[str]) -> str:
        """Cherry-pick onto the base; the tree that comes out."""
        self.git("checkout", "--quiet", "--detach", "--force", self.base)
        for commit in hashes:
            try:
                self.git("cherry-pick", "--allow-empty", commit)
            except DoesNotHold as conflict:
                self.git("cherry-pick", "--abort")
                raise DoesNotHold(f"{self.git('log', '-1', '--format=%s', commit)} conflicts: {conflict}") from conflict
        return self.git("rev-parse", "HEAD^{tree}")


def from_release(folder: Path) -> WorkTree:
    """A repository that holds the staged release as a checkout does."""
    shutil.copytree(STOCK / "torch_tensorrt", folder / "py" / "torch_tensorrt")
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    for command in (["add", "--all"], ["commit", "--quiet", "--message", "stock"]):
        subprocess.run(["git", *IDENTITY, *command], cwd=folder, check=True)
    return WorkTree(folder, "HEAD")


def from_clone(folder: Path, checkout: Path, onto: str) -> WorkTree:
    """A scratch clone of a real repository that shares its objects."""
    source = Repository(checkout)
    commit = source.resolve(onto)
    clone = ["git", "clone", "--quiet", "--shared", "--no-checkout", str(checkout.resolve()), str(folder)]
    done = subprocess.run(clone, text=True, capture_output=True)
    if done.returncode:
        raise DoesNotHold(f"{checkout} cannot be cloned: {done.stderr.strip()}")
    return WorkTree(folder, commit)


# --- the checks ---


def check_pairs(tree: WorkTree, stacks: dict[Fix, dict[Commit, str]]) -> str:
    """Every fix alone and every ordered pair."""
    trees: dict[frozenset[str], str] = {}
    ways = [(fix,) for fix in stacks] + list(permutations(stacks, 2))
    for way in track(ways, "picking pairs", console=Console(stderr=True), transient=True):
        check_way(tree, stacks, way, trees)
    return f"{len(ways)} ways: {len(stacks)} alone, {len(ways) - len(stacks)} pairs"


def check_orders(tree: WorkTree, stacks: dict[Fix, dict[Commit, str]]) -> str:
    """The series' order and random ones, all to the tree that landing the whole series gives."""
    together = tree.land(series.commits(stacks))
    want = tree.git("rev-parse", f"{list(together.values())[-1]}^{{tree}}")
    trees: dict[frozenset[str], str] = {}
    generator = random.Random(0)
    for number in track(range(ORDERS), "picking orders", console=Console(stderr=True), transient=True):
        way = list(stacks) if number == 0 else generator.sample(list(stacks), len(stacks))
        if check_way(tree, stacks, way, trees) != want:
            raise DoesNotHold("picked one by one, the commits make another tree than landed together")
    return f"{ORDERS} orders of all {len(together)} commits, one tree"


def check_way(
    tree: WorkTree, stacks: dict[Fix, dict[Commit, str]], way: Sequence[Fix], trees: dict[frozenset[str], str]
) -> str:
    picked: dict[Commit, str] = {}
    for fix in way:
        picked |= {commit: sha for commit, sha in stacks[fix].items() if commit not in picked}
    result = tree.pick(picked.values())
    same = trees.setdefault(frozenset(commit.label for commit in picked), result)
    if same != result:
        raise DoesNotHold(f"{', '.join(fix.label for fix in way)}: another order makes another tree")
    return result


def check_style(tree: WorkTree, stacks: dict[Fix, dict[Commit, str]]) -> str:
    """What lands leaves black and isort, with upstream's settings, no more to do than before."""
    import black
    import isort
    from black.mode import TargetVersion

    mode = black.Mode(target_versions={TargetVersion[f"PY{version}"] for version in (38, 39, 310, 311, 312)})
    config = isort.Config(profile="black", py_version="311", known_first_party=frozenset({"packaging"}))
    formatters: dict[str, Callable[[str], str]] = {
        "black": lambda text: black.format_str(text, mode=mode),
        "isort": lambda text: isort.code(text, config=config),
    }

    def wishes(text: str, formatter: Callable[[str], str]) -> list[str]:
        lines = difflib.unified_diff(text.splitlines(), formatter(text).splitlines(), n=0, lineterm="")
        return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]

    before = tree.repository.tree(tree.base)
    files: dict[str, str] = {}
    for outcome in land(series.commits(stacks), before):
        files |= outcome.files
    for path, text in files.items():
        for name, formatter in formatters.items():
            new = set(wishes(text, formatter)) - set(wishes(before.read(path) or "", formatter))
            if new:
                raise DoesNotHold(f"{name} would change {path}:\n" + "\n".join(sorted(new)))
    return f"{len(files)} files clean"


@click.command()
@click.option("--checkout", type=click.Path(exists=True, path_type=Path), help="A clone of the real repository.")
@click.option("--onto", default="HEAD", show_default=True, help="The commit of --checkout to land on.")
@click.option("--only", default="all", help="Only these fixes: numbers or slugs, with commas.")
def main(checkout: Path | None, onto: str, only: str) -> None:
    """Cherry-pick every commit alone, in ordered pairs and in random orders."""
    table = Table("check", "result", "seconds", box=None, header_style="bold")
    fixes = series.parse(only)
    with tempfile.TemporaryDirectory(dir=STAGE) as scratch:
        folder = Path(scratch) / "repository"
        tree = from_clone(folder, checkout, onto) if checkout else from_release(folder)
        stacks = {fix: tree.land(series.commits([fix])) for fix in fixes}
        landed = {fix: hashes for fix, hashes in stacks.items() if hashes}
        if not landed:
            raise DoesNotHold(f"{onto} has all of these fixes; there is nothing to pick")
        for check in (check_pairs, check_orders, check_style):
            began = time.monotonic()
            table.add_row(check.__name__.removeprefix("check_"), check(tree, landed), f"{time.monotonic() - began:.1f}")
    Console().print(table)


if __name__ == "__main__":
    try:
        main()
    except (DoesNotHold, GitError, series.UnknownFix) as error:
        sys.exit(f"picks: {error}")
