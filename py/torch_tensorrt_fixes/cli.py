"""The command torchtrt-fixes: arguments and printing only.

Exit codes: 0 all well, 1 something does not fit or is not there, 2 the call is wrong, 123 internal error.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from . import __version__, landing, series
from .commit import Commit, Fix
from .importer.lookup import PACKAGE
from .landing import Outcome, State
from .trees.git import GitError, Repository
from .trees.installed import InstalledTree, NotInstalled

COLOURS = {
    "landed": "green",
    "would land": "green",
    "written": "green",
    "on": "green",
    "present": "cyan",
    "waiting": "yellow",
    "off": "dim",
    "misfit": "red",
    "left out": "red",
    "needs": "red",
    "replaced": "red",
}

# A file or a pipe has no width to wrap at.
console = Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 1_000)


# --- what several commands take ---


class Fixes(click.ParamType[tuple[Fix, ...]]):
    """Fixes by number or slug: ``1,2,no-gpu``. ``choice`` allows ``all`` and ``-4`` (all but one) as well."""

    name = "fixes"

    def __init__(self, choice: bool) -> None:
        self.choice = choice

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Fix, ...]:
        names = [name.strip() for name in value.split(",") if name.strip()]
        if not names:
            self.fail("it names no fix", param, ctx)
        try:
            return series.parse(value) if self.choice else tuple(series.find(name) for name in names)
        except series.UnknownFix as error:
            self.fail(str(error), param, ctx)


def choosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options by which a command takes a part of the series; the command gets the chosen commits."""

    @functools.wraps(command)
    def chosen(only: tuple[tuple[Fix, ...], ...], without: tuple[tuple[Fix, ...], ...], **rest: Any) -> Any:
        left_out = set(itertools.chain(*without))
        wanted = set(itertools.chain(*only)) if only else series.parse("all")
        fixes = [fix for fix in wanted if fix not in left_out]
        if not fixes:
            raise click.UsageError("--only and --without leave no fix")
        commits = series.commits(fixes)
        if needed := {commit.fix.slug for commit in commits if commit.fix in left_out}:
            raise click.UsageError(f"--without leaves out {', '.join(sorted(needed))}, which other chosen fixes need")
        return command(commits=commits, **rest)

    only = click.option(
        "--only", type=Fixes(choice=True), multiple=True, help="Only these: numbers or slugs, with commas."
    )
    without = click.option("--without", type=Fixes(choice=False), multiple=True, help="All but these.")
    return only(without(chosen))


tree_argument = click.argument("tree", type=click.Path(path_type=Path))
onto_option = click.option("--onto", default="HEAD", show_default=True, metavar="REF", help="The commit to land on.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """``columns`` are ``fix``, for tables of states ``state``, and what is told of them, which is never cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column in ("fix", "state"), overflow="fold")
    for row in rows:
        colour = COLOURS.get(row[1], "")
        table.add_row(*(f"[{colour}]{cell}[/]" if colour and cell == row[1] else _escaped(cell) for cell in row))
    console.print(table)


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


# --- commands ---


class CannotBeDone(click.ClickException):
    """What was asked cannot be done: the call is wrong, not the tree."""

    exit_code = 2


class Commands(click.Group):
    """Turns errors of the user's making into one message, and any other into exit code 123."""

    def invoke(self, ctx: click.Context) -> Any:
        from .environment import NotWritable
        from .importer import AlreadyImported, FixLeftOut

        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except (GitError, NotInstalled, NotWritable, series.UnknownFix, AlreadyImported, FixLeftOut) as error:
            raise CannotBeDone(str(error)) from error
        except Exception:
            traceback.print_exc()
            click.echo("This is a fault of torchtrt-fixes itself; please report it with the lines above.", err=True)
            ctx.exit(123)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """The Torch-TensorRT fixes: land them in a checkout, or run with them on."""


@main.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the series."""
    fixes = series.all_fixes()
    if as_json:
        print_json([_fix_facts(fix) for fix in fixes])
    else:
        print_table(("fix", "title", "symptom"), ((fix.label, fix.title, fix.symptom) for fix in fixes))


@main.command()
@click.argument("fix")
@json_option
def show(fix: str, as_json: bool) -> None:
    """Tell a fix's story and what it changes. FIX is a number or a slug."""
    try:
        found = series.find(fix)
    except series.UnknownFix as error:
        raise click.BadParameter(str(error), param_hint="FIX") from error
    if as_json:
        print_json(_fix_facts(found))
        return
    console.print(f"[bold]{found.label}  {_escaped(found.title)}[/]\n")
    console.print(_escaped(found.story))
    for name, value in (("Symptom", found.symptom), ("Affects", found.affects), ("Risk", found.risk)):
        if value:
            console.print(f"\n[bold]{name}[/] {_escaped(value)}", end="")
    console.print()
    for commit in found.commits:
        console.print(f"\n[bold]{_escaped(commit.subject)}[/]")
        for path, edits in _edits_by_path(commit).items():
            console.print(f"  {path}: {', '.join(edits)}")
        for path in commit.tests:
            console.print(f"  {path}: test")
        if commit.needs:
            console.print(f"  needs {', '.join(commit.needs)}")


def _fix_facts(fix: Fix) -> dict[str, Any]:
    return {
        "label": fix.label,
        "number": fix.number,
        "slug": fix.slug,
        "kind": fix.kind.value,
        "title": fix.title,
        "story": fix.story,
        "symptom": fix.symptom,
        "affects": fix.affects,
        "risk": fix.risk,
        "commits": [
            {
                "label": commit.label,
                "subject": commit.subject,
                "edits": _edits_by_path(commit),
                "tests": list(commit.tests),
                "needs": list(commit.needs),
            }
            for commit in fix.commits
        ],
    }


def _edits_by_path(commit: Commit) -> dict[str, list[str]]:
    paths: dict[str, list[str]] = {}
    for edit in (*commit.edits, *(edit for variant in commit.variants for edit in variant.edits)):
        paths.setdefault(edit.path, []).append(type(edit).__name__)
    return paths


@main.command()
@tree_argument
@onto_option
@choosing
@json_option
def check(tree: Path, onto: str, commits: Sequence[Commit], as_json: bool) -> None:
    """Say how each commit would end on a checkout; change nothing.

    Exits with 0 if the tree has them all, with 1 if any would land or does not fit.
    """
    outcomes = landing.land(commits, Repository(tree).tree(onto))
    _report(outcomes, as_json, landed="would land")
    if any(outcome.state is not State.PRESENT for outcome in outcomes):
        sys.exit(1)


@main.command()
@tree_argument
@onto_option
@click.option("--branch", required=True, metavar="NAME", help="The branch to make.")
@click.option("--force", is_flag=True, help="Move the branch if it exists (never one that is checked out).")
@click.option("--sign", is_flag=True, help="Sign the commits with your git signing key.")
@choosing
@json_option
def land(tree: Path, onto: str, branch: str, force: bool, sign: bool, commits: Sequence[Commit], as_json: bool) -> None:
    """Land the fixes on a new branch of a checkout, a commit each.

    Work tree, index and other branches stay as they are. If any chosen commit does not fit, nothing is landed.
    """
    repository = Repository(tree)
    base = repository.resolve(onto)
    outcomes = _fitting(repository, base, commits, as_json)
    if not any(outcome.state is State.LANDED for outcome in outcomes):
        _report(outcomes, as_json, note=f"{onto} has them all; no branch was made.")
        return
    hashes = repository.commits(outcomes, base, sign=sign)
    tip = list(hashes.values())[-1]
    repository.create_branch(branch, tip, force=force)
    _report(outcomes, as_json, note=f"Branch {branch} is at {tip[:12]}.", hashes=hashes, branch=branch, tip=tip)


@main.command()
@tree_argument
@onto_option
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="A new folder.")
@choosing
@json_option
def export(tree: Path, onto: str, output: Path, commits: Sequence[Commit], as_json: bool) -> None:
    """Write the fixes as patch files that git am takes."""
    repository = Repository(tree)
    base = repository.resolve(onto)
    outcomes = _fitting(repository, base, commits, as_json)
    files = repository.export(outcomes, base, output)
    note = f"{len(files)} files in {output}; apply them with: git am {output.absolute()}/*.patch"
    if not files:
        note = f"{onto} has them all; no file was written."
    _report(outcomes, as_json, landed="written", note=note, patches=[str(file) for file in files])


def _fitting(repository: Repository, base: str, commits: Sequence[Commit], as_json: bool) -> tuple[Outcome, ...]:
    """How the commits end on the base; ends the program, before anything is written, where one does not fit."""
    outcomes = landing.land(commits, repository.tree(base))
    unfit = dict.fromkeys(outcome.commit.fix.slug for outcome in outcomes if not outcome.well)
    if unfit:
        note = f"Nothing was written. To take the rest: --without {','.join(unfit)}"
        _report(outcomes, as_json, landed="would land", note=note)
        sys.exit(1)
    return outcomes


def _report(
    outcomes: Sequence[Outcome],
    as_json: bool,
    landed: str = "landed",
    note: str = "",
    hashes: Mapping[Commit, str] = MappingProxyType({}),
    **facts: Any,
) -> None:
    """Print how the commits ended; ``hashes`` are the git commits that were made of them."""
    states = [landed if o.state is State.LANDED else o.state.value for o in outcomes]
    if as_json:
        rows = [
            {
                "label": o.commit.label,
                "state": state,
                "reason": o.reason,
                "files": list(o.files),
                "misfit": o.misfit and dataclasses.asdict(o.misfit),
                "commit": hashes.get(o.commit),
            }
            for o, state in zip(outcomes, states, strict=True)
        ]
        print_json({"commits": rows, "note": note, **facts})
        return
    print_table(
        ("fix", "state", "commit"),
        (
            (o.commit.label, state, o.reason or f"{hashes.get(o.commit, '')[:12]} {o.commit.subject}".strip())
            for o, state in zip(outcomes, states, strict=True)
        ),
    )
    if note:
        click.echo(note)


@main.command()
@json_option
def status(as_json: bool) -> None:
    """Tell, from the loaded code, which fixes are on in a program of this environment.

    Imports torch_tensorrt as such a program would: with the fixes if the environment is enabled. Exits with 1 where a
    chosen fix is not on.
    """
    from . import environment
    from .importer import report

    tree = InstalledTree()
    failure = _import_quietly()
    entries = report.report()
    if as_json:
        facts = {"torch_tensorrt": tree.version, "at": tree.origin, "enabled": environment.is_enabled()}
        rows = [{"label": e.label, "state": e.status.value, "reason": e.reason} for e in entries]
        print_json({**facts, "import_error": failure, "commits": rows})
    else:
        print_table(("fix", "state", "why"), ((e.label, e.status.value, e.reason) for e in entries))
        click.echo(f"torch_tensorrt {tree.version} at {tree.origin}")
        click.echo(f"the environment is {'enabled' if environment.is_enabled() else 'not enabled'}")
        if failure:
            click.echo(f"import torch_tensorrt failed: {failure}")
        if not environment.is_enabled():
            click.echo("torchtrt-fixes enable turns the fixes on for every program of this environment")
    well = (report.Status.ON, report.Status.PRESENT, report.Status.OFF)
    if failure or any(entry.status not in well for entry in entries):
        sys.exit(1)


def _import_quietly() -> str:
    """Import all that the fixes touch; the error in one line, or nothing."""
    from .importer import current

    logging.disable(logging.WARNING)
    try:
        importlib.import_module(PACKAGE)
        handle = current()
        for name in handle.finder.plan().modules if handle else ():
            importlib.import_module(name)
    except Exception as error:  # whatever an import can raise
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return ""


@main.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--only", metavar="FIXES", help="Only these fixes: numbers or slugs, with commas.")
@click.option("--strict", is_flag=True, help="Stop where a fix does not fit the installed package.")
@click.option("-m", "module", is_flag=True, help="PROGRAM is a module.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PROGRAM [ARGS]...")
def run(only: str | None, strict: bool, module: bool, program: tuple[str, ...]) -> None:
    """Run a script, or with -m a module, with the fixes on."""
    from .program import run_program

    run_program(program, module, only, strict=strict)


@main.command()
def enable() -> None:
    """Turn the fixes on for every program of this environment, by a .pth file in its site-packages."""
    from . import environment

    change = environment.enable()
    click.echo(f"{'wrote' if change.made else 'was there already:'} {change.path}")
    click.echo("Every Python program of this environment now imports torch_tensorrt with the fixes.")
    click.echo("TORCH_TENSORRT_FIXES chooses among them; torchtrt-fixes disable undoes this.")


@main.command()
def disable() -> None:
    """Undo enable."""
    from . import environment

    change = environment.disable()
    click.echo(f"removed {change.path}" if change.made else f"there is no {change.path}; nothing to do")


if __name__ == "__main__":
    main()
