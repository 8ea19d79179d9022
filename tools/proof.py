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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from dev import PYTHON, ROOT, STAGE, STOCK
from torch_tensorrt_fixes import series
from torch_tensorrt_fixes.commit import Commit
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
    if not tests:  # pytest would run all that it finds
        return {}
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


@click.command()
@click.option("--only", default="all", help="Prove only these fixes: numbers or slugs, with commas.")
def main(only: str) -> None:
    """Prove each commit: its tests on stock, with it alone, with all."""
    host = series.find(HOST)
    chosen = [c for c in series.commits(series.parse(only)) if c.tests]
    everything = series.commits(series.parse("all"))
    logs = STAGE / "proof"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    table = Table("fix", "stock", "alone", "all", "seconds", box=None, header_style="bold")
    holds = True
    tests = [test for commit in chosen for test in commit.tests]
    with tempfile.TemporaryDirectory(dir=STAGE) as scratch, Console(stderr=True).status("") as status:
        folder = Path(scratch)

        def results(name: str, commits: Iterable[Commit], tests: Sequence[str]) -> dict[str, Result]:
            status.update(f"running {len(tests)} test files on: {name}")
            log = logs / f"{name.replace('/', '-')}.log"
            return run_tests(make_tree(folder / log.stem, commits), tests, log)

        host_tests = [test for commit in host.commits for test in commit.tests]
        stock = results("stock", host.commits, [t for t in tests if t not in host_tests])
        stock |= results("stock-bare", (), [t for t in tests if t in host_tests])
        with_all = results("all", everything, tests)
        for commit in chosen:
            began = time.monotonic()
            alone = series.commits([host, commit.fix])
            upto = alone[: alone.index(commit) + 1]
            alone_results = results(commit.label, dict.fromkeys([*host.commits, *upto]), commit.tests)
            row = [sum((r[t] for t in commit.tests), Result()) for r in (stock, alone_results, with_all)]
            # Each file must show the bug, and none may hide behind skipped tests.
            good = all(stock[t].failed for t in commit.tests) and all(r.passed and not r.failed for r in row[1:])
            holds = holds and good
            colours = ("green" if good else "red",) * 3
            cells = [f"[{colour}]{cell}[/]" for colour, cell in zip(colours, row, strict=True)]
            table.add_row(commit.label, *cells, f"{time.monotonic() - began:.0f}")
    Console().print(table)
    if not holds:
        print(f"The proof does not hold. The tests' output is in {logs}.")
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except (TreeDoesNotTake, series.UnknownFix) as error:
        sys.exit(f"proof: {error}")
