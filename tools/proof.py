"""The proof: each commit's in-tree tests fail on stock, pass with the commit alone, and pass with all commits.

Each tree is a copy of the staged release with commits landed on it, and the tests run in a process that imports that
copy. Every tree but that of no-gpu's own stock has the extra no-gpu, without which torch_tensorrt cannot be imported on
a host that has no GPU. Exits with 1 where the table does not hold.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from dev import PYTHON, ROOT, STAGE, STOCK
from torch_tensorrt_fixes import series
from torch_tensorrt_fixes.commit import Commit, Fix
from torch_tensorrt_fixes.landing import State, land
from torch_tensorrt_fixes.trees.directory import DirectoryTree

HOST = "no-gpu"


@dataclass(frozen=True)
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Result) -> Result:
        return Result(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    @property
    def total(self) -> int:
        return self.passed + self.failed

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        if not self.failed:
            return f"{self.passed} pass{skipped}"
        return f"{self.failed} of {self.total} fail{skipped}"


class TreeDoesNotTake(Exception):
    """A commit that should land on the staged release does not."""


def make_tree(folder: Path, commits: Iterable[Commit]) -> Path:
    """A copy of the staged release with the commits landed, to be put on PYTHONPATH."""
    shutil.copytree(STOCK, folder)
    tree = DirectoryTree(folder, package=True)
    for outcome in land(commits, tree):
        if outcome.state is not State.LANDED:
            raise TreeDoesNotTake(f"{outcome.commit.label}: {outcome.state.value}: {outcome.reason}")
        tree.write(outcome.files)
    return folder


def run_tests(tree: Path, tests: Sequence[str], log: Path) -> dict[str, Result]:
    """Run in-tree tests against a tree; the result of each file."""
    report = log.with_suffix(".xml")
    command = ["-m", "pytest", "-p", "no:cacheprovider", "--continue-on-collection-errors", f"--junitxml={report}"]
    environment = os.environ | {
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TORCH_TENSORRT_FIXES": "off",
        "TMPDIR": str(log.parent),
    }
    with log.open("w") as output:
        subprocess.run(
            [PYTHON, *command, "-o", "junit_family=xunit1", *tests],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    if not report.is_file():
        raise TreeDoesNotTake(f"pytest did not run on {tree.name}:\n{log.read_text()[-2000:]}")
    results = {test: Result() for test in tests}
    for case in ET.parse(report).iter("testcase"):
        # A file that cannot even be imported is reported under its dotted name.
        file = case.get("file") or (case.get("name") or "").replace(".", "/") + ".py"
        tags = {child.tag for child in case}
        failed, skipped = bool(tags & {"failure", "error"}), "skipped" in tags
        results[file] += Result(int(not failed and not skipped), int(failed), int(skipped))
    return results


@dataclass(frozen=True)
class Trial:
    """Some in-tree tests on one tree; ``seconds`` is how long they took."""

    results: Mapping[str, Result]
    seconds: float

    def of(self, tests: Iterable[str]) -> Result:
        return sum((self.results[test] for test in tests), Result())


class Trials:
    """Trees with tests to run on them, as many at once as the host has cores."""

    def __init__(self, folder: Path, logs: Path, pool: Executor) -> None:
        self.folder = folder
        self.logs = logs
        self.pool = pool

    def start(self, name: str, commits: Iterable[Commit], tests: Sequence[str]) -> Future[Trial]:
        return self.pool.submit(self._run, name.replace("/", "-"), tuple(commits), tests)

    def _run(self, name: str, commits: Sequence[Commit], tests: Sequence[str]) -> Trial:
        began = time.monotonic()
        if not tests:  # pytest would run all that it finds
            return Trial({}, 0)
        tree = make_tree(self.folder / name, commits)
        results = run_tests(tree, tests, self.logs / f"{name}.log")
        print(f"{name}: {sum(results.values(), Result())}", file=sys.stderr, flush=True)
        return Trial(results, time.monotonic() - began)


@click.command()
@click.option("--only", default="all", help="Prove only these fixes: numbers or slugs, with commas.")
def main(only: str) -> None:
    """Prove each commit: its tests on stock, with it alone, with all."""
    host = series.find(HOST)
    chosen = [c for c in series.commits(series.parse(only)) if c.tests]
    logs = STAGE / "proof"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    tests = [test for commit in chosen for test in commit.tests]
    host_tests = [test for commit in host.commits for test in commit.tests]
    with tempfile.TemporaryDirectory(dir=STAGE) as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        trials = Trials(Path(scratch), logs, pool)
        stock = trials.start("stock", host.commits, [t for t in tests if t not in host_tests])
        bare = trials.start("stock-bare", (), [t for t in tests if t in host_tests])
        with_all = trials.start("all", series.commits(series.parse("all")), tests)
        alone = {commit: trials.start(commit.label, _alone(host, commit), commit.tests) for commit in chosen}
        before = Trial({**stock.result().results, **bare.result().results}, 0)
        after = with_all.result()
        singles = {commit: trial.result() for commit, trial in alone.items()}
    table = Table("fix", "stock", "alone", "all", "seconds", box=None, header_style="bold")
    holds = True
    for commit, single in singles.items():
        # Each file must show the bug, and none may hide behind skipped tests.
        shown = all(before.results[test].failed for test in commit.tests)
        good = shown and all(t.of(commit.tests).passed and not t.of(commit.tests).failed for t in (single, after))
        holds = holds and good
        colour = "green" if good else "red"
        cells = [f"[{colour}]{trial.of(commit.tests)}[/]" for trial in (before, single, after)]
        table.add_row(commit.label, *cells, f"{single.seconds:.0f}")
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    if not holds:
        print(f"The proof does not hold. The tests' output is in {logs}.")
        sys.exit(1)


def _alone(host: Fix, commit: Commit) -> Iterable[Commit]:
    """The commit with what it needs, the earlier commits of its fix, and what the host needs."""
    needed = series.commits([host, commit.fix])
    return dict.fromkeys([*host.commits, *needed[: needed.index(commit) + 1]])


if __name__ == "__main__":
    try:
        main()
    except (TreeDoesNotTake, series.UnknownFix) as error:
        sys.exit(f"proof: {error}")
