"""Upstream's own converter tests, on a host without a GPU.

From a clone of Torch-TensorRT come the tests; from this project the harness, or the other way round; from the staged
release torch_tensorrt, stock but for the extra no-gpu, or with all fixes. Nothing of the clone stays: the files are
copied to a scratch folder and run there, each in a process of its own under a time limit.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from dev import ROOT, STAGE
from proof import HOST, TreeDoesNotTake, make_tree
from torch_tensorrt_fixes import series
from upstream_causes import cause_of

TESTS = "tests/py/dynamo"
FOLDER = f"{TESTS}/conversion"
HARNESS = f"{FOLDER}/harness.py"
SUPPORT = (f"{TESTS}/__init__.py", f"{TESTS}/conftest.py", f"{TESTS}/testing_utilities.py", f"{FOLDER}/__init__.py")
LONGEST_LINE = 200
COLUMNS = ("passed", "failed", "skipped", "absent", "evaluated only")


@dataclass(frozen=True)
class Case:
    """How one case ended: ``outcome`` is passed, failed, skipped or absent (the host lacks what it is about)."""

    outcome: str
    cause: str = ""
    reason: str = ""
    evaluated_only: bool = False


class RunnerFailed(Exception):
    """The process that runs the files ended before they did."""


Results = dict[str, dict[str, Case]]
"""By file and case."""


# --- the files ---


def copy(root: Path, files: Iterable[str], scratch: Path) -> None:
    for file in files:
        if (root / file).is_file():
            (scratch / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / file, scratch / file)


def test_files(root: Path, chosen: Iterable[str]) -> list[str]:
    """The test files below ``root`` that ``chosen`` names: files, or folders with all that is in them."""
    files: list[str] = []
    for name in chosen:
        found = sorted((root / name).glob("test_*.py")) if (root / name).is_dir() else [root / name]
        if not found or not found[0].is_file():
            raise click.UsageError(f"{root} has no tests at {name}")
        files += [str(path.relative_to(root)) for path in found]
    return files


def gather(checkout: Path, chosen: Iterable[str], their_harness: bool, scratch: Path) -> list[str]:
    """Copy tests, harness and what they import to ``scratch``; the tests' paths."""
    tests_from, harness_from = (ROOT, checkout) if their_harness else (checkout, ROOT)
    files = test_files(tests_from, chosen)
    copy(checkout, SUPPORT, scratch)
    copy(tests_from, files, scratch)
    copy(harness_from, [HARNESS], scratch)
    return files


# --- running ---


def run_files(files: list[str], scratch: Path, tree: Path, jobs: int, limit: int) -> Results:
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (tree, ROOT / "py", ROOT / "tools"))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TORCH_TENSORRT_FIXES": "off",
        "OMP_NUM_THREADS": "1",
        "PYTORCH_PRINT_REPRO_ON_FAILURE": "0",
    }
    (scratch / "files").write_text("\n".join(files))
    command = [sys.executable, str(ROOT / "tools" / "upstream_runner.py"), str(jobs), str(limit), "files"]
    output = scratch / "runner.log"
    with output.open("w") as log, Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("running", total=len(files))
        runner = subprocess.Popen(command, cwd=scratch, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            while runner.poll() is None:
                progress.update(task, completed=len(list(scratch.glob("*.end"))))
                time.sleep(0.5)
        finally:
            runner.terminate()
    if runner.returncode:
        raise RunnerFailed(f"the runner ended with {runner.returncode}:\n{output.read_text()[-2000:]}")
    return {file: read_log(scratch / Path(file).stem) for file in files}


def read_log(stem: Path) -> dict[str, Case]:
    """The cases of a file; one that began and has no outcome ended with the process."""
    ended = f"Ended: {stem.with_suffix('.end').read_text()}"
    entries: dict[str, dict[str, str]] = defaultdict(dict)
    for line in stem.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        entries[entry["case"].partition("::")[2] or "(import)"].update(entry)
    return {name: case_of(f"{stem.name}::{name}", entry, ended) for name, entry in (entries or {"": {}}).items()}


def case_of(name: str, entry: dict[str, str], ended: str) -> Case:
    outcome, reason = entry.get("outcome", "failed"), entry.get("reason", ended)
    evaluated_only = "not_built" in entry
    if outcome == "passed":
        return Case("passed", evaluated_only=evaluated_only)
    cause = cause_of(f"{name}: {reason}")
    return Case("absent" if cause.absent else outcome, cause.name, reason, evaluated_only)


# --- reporting ---


def print_results(results: Results, console: Console) -> None:
    table = Table("file", *COLUMNS, box=None, header_style="bold")
    total: Counter[str] = Counter()
    for file, cases in results.items():
        counts = Counter(case.outcome for case in cases.values())
        counts["evaluated only"] = sum(case.evaluated_only for case in cases.values())
        table.add_row(Path(file).name, *(str(counts[column] or "") for column in COLUMNS))
        total += counts
    table.add_row("all", *(str(total[column]) for column in COLUMNS), style="bold")
    console.print(table)
    for (outcome, cause), lines in sorted(by_cause(results).items()):
        console.print(f"\n[bold]{outcome}: {cause}[/] ({len(lines)})")
        for line in lines:
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    able = total["passed"] + total["failed"]
    share = total["passed"] / able if able else 0
    console.print(f"\n{total['passed']} of the {able} cases that need nothing absent pass: {share:.2%}")


def by_cause(results: Results) -> dict[tuple[str, str], list[str]]:
    """By outcome and cause, a line for each case that did not pass."""
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file, cases in results.items():
        for name, case in cases.items():
            if case.outcome != "passed":
                first = case.reason.strip().partition("\n")[0]
                lines[case.outcome, case.cause].append(f"{Path(file).name}::{name}: {first[:LONGEST_LINE]}")
    return lines


def lost(results: Results, earlier: Path) -> list[str]:
    """The cases that passed in an earlier run and do not any more, of the files that were run now."""
    before = json.loads(earlier.read_text(encoding="utf-8"))
    return [
        f"{file}::{name}"
        for file, cases in results.items()
        for name, case in before.get(file, {}).items()
        if case["outcome"] == "passed" and (name not in cases or cases[name].outcome != "passed")
    ]


FILE = click.Path(path_type=Path)
DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command(help=__doc__)
@click.argument("chosen", nargs=-1)
@click.option("--checkout", required=True, type=DIRECTORY, help="A clone of Torch-TensorRT.")
@click.option("--fixed", is_flag=True, help="With all fixes, not with the extra no-gpu alone.")
@click.option("--their-harness", is_flag=True, help="This project's tests with upstream's harness.")
@click.option("--jobs", default=2, show_default=True, help="Processes at a time.")
@click.option("--limit", default=600, show_default=True, help="Seconds that a file may take.")
@click.option("--results", type=FILE, default=STAGE / "upstream-tests.json", help="Where to write the results as JSON.")
@click.option("--against", type=FILE, help="Fail where a case that passed in these results does not.")
def main(
    chosen: tuple[str, ...],
    checkout: Path,
    fixed: bool,
    their_harness: bool,
    jobs: int,
    limit: int,
    results: Path,
    against: Path | None,
) -> None:
    began = time.monotonic()
    commits = series.commits(series.parse("all")) if fixed else series.find(HOST).commits
    STAGE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="upstream-", dir=STAGE) as temporary:
        scratch = Path(temporary)
        tree = make_tree(scratch / "tree", commits)
        files = gather(checkout, chosen or [FOLDER], their_harness, scratch)
        found = run_files(files, scratch, tree, jobs, limit)
    gone = lost(found, against) if against else []
    results.write_text(json.dumps(found, default=asdict, indent=1), encoding="utf-8")
    console = Console(width=None if sys.stdout.isatty() else 120)
    print_results(found, console)
    console.print(f"{time.monotonic() - began:.0f} s; the results are in {results}")
    if gone:
        console.print(f"\n[bold red]lost since {against}[/] ({len(gone)})")
        for name in gone:
            console.print(f"  {name}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except (RunnerFailed, TreeDoesNotTake, series.UnknownFix) as error:
        sys.exit(f"upstream-tests: {error}")
