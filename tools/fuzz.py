"""Random modules against PyTorch: what a fix is about, compiled, run on the reference runtime and compared bit for bit.

    python3 tools/dev.py fuzz                                          200 modules for each fix that has a generator
    python3 tools/dev.py fuzz float64-casts --first 1000 --modules 50  others of one fix
    python3 tools/dev.py fuzz float64-casts --first 1017 --modules 1   one again, with its text
    python3 tools/dev.py fuzz --fixes no-gpu                           what stock makes of the same

A number makes the same module everywhere. Exits with 1 where a module is wrong or fails.
"""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest import mock

import click
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

import torch_tensorrt_fixes
from fuzz_modules import GENERATORS, Case, Inputs, Written
from torch_tensorrt_fixes.series import UnknownFix

BAD = ("wrong", "fails")
OUTCOMES = ("right", "in PyTorch", *BAD, "not exported")


@dataclass(frozen=True)
class Outcome:
    """``name`` is one of OUTCOMES: right with an engine, right without one, wrong, no build or no run, no program."""

    name: str
    reason: str = ""


def judge(case: Case) -> Outcome:
    from torch_tensorrt.dynamo.conversion import TRTInterpreter

    from torch_tensorrt_fixes.reference import runtime, standard_tensorrt

    module = Written(case.source, case.buffers).eval()
    layers = standard_tensorrt() if case.standard else contextlib.nullcontext()
    builds = mock.patch.object(TRTInterpreter, "run", autospec=True, side_effect=TRTInterpreter.run)
    with torch.no_grad(), builds as built, runtime(), layers:
        try:
            program = None if case.torch_compile else export(case, module)
        except Exception as error:
            return Outcome("not exported", first_line(error))
        try:
            compiled = compile_(case, program or module)
            for call in case.calls:
                if difference := differs(module, compiled, call):
                    return Outcome("wrong", difference)
        except Exception as error:
            return Outcome("fails", first_line(error))
        finally:
            torch.compiler.reset()
    return Outcome("right" if built.called else "in PyTorch")


def export(case: Case, module: torch.nn.Module) -> torch.export.ExportedProgram:
    dims = None
    if case.dynamic:
        dims = {"inputs": ({0: torch.export.Dim("rows", min=2, max=8)}, *[None] * (len(case.calls[0]) - 1))}
    return torch.export.export(module, copied(case.calls[0]), dynamic_shapes=dims)


def compile_(case: Case, program: torch.export.ExportedProgram | torch.nn.Module) -> Any:
    """What runs the engines of a program, or of a module as torch.compile makes them."""
    import torch_tensorrt

    options = {"min_block_size": 1, **case.options}
    if isinstance(program, torch.nn.Module):
        return torch.compile(program, backend="tensorrt", dynamic=False, options=options)
    inputs = list(case.calls[0])
    if case.dynamic:
        rest = inputs[0].shape[1:]
        shapes = {"min_shape": (2, *rest), "opt_shape": (4, *rest), "max_shape": (8, *rest)}
        inputs[0] = torch_tensorrt.Input(**shapes, dtype=inputs[0].dtype)
    return torch_tensorrt.dynamo.compile(program, arg_inputs=inputs, **options)


def differs(module: torch.nn.Module, compiled: Any, inputs: Inputs) -> str:
    """How a call leaves PyTorch's; empty where it does not."""
    wanted_inputs, got_inputs = copied(inputs), copied(inputs)
    try:
        wanted = module(*wanted_inputs)
    except (RuntimeError, IndexError):
        try:
            compiled(*got_inputs)
        except Exception:
            return ""
        return "PyTorch refuses the call, the engine does not"
    got = compiled(*got_inputs)
    try:
        torch.testing.assert_close((got, got_inputs), (wanted, wanted_inputs), rtol=0, atol=0)
    except (AssertionError, TypeError) as error:
        return " ".join(str(error).split())[:300]
    return ""


def copied(inputs: Inputs) -> Inputs:
    return tuple(t.clone() for t in inputs)


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"


@click.command(help=__doc__.partition("\n")[0], context_settings={"max_content_width": 120})
@click.argument("slugs", nargs=-1, type=click.Choice(sorted(GENERATORS)), metavar="[FIX]...")
@click.option("--modules", default=200, type=click.IntRange(1), show_default=True, help="How many for each fix.")
@click.option("--first", default=0, type=click.IntRange(0), show_default=True, help="The number of the first.")
@click.option("--fixes", default="all", show_default=True, help="Which are on, as TORCH_TENSORRT_FIXES has it.")
def fuzz(slugs: tuple[str, ...], modules: int, first: int, fixes: str) -> None:
    try:
        torch_tensorrt_fixes.install(fixes, strict=True)
    except UnknownFix as error:
        raise click.UsageError(str(error)) from None
    logging.disable(logging.ERROR)
    console = Console()
    table = Table("fix", *OUTCOMES)
    bad = 0
    for slug in slugs or GENERATORS:
        counts: Counter[str] = Counter()
        for number in track(range(first, first + modules), slug, console=Console(stderr=True), transient=True):
            case = GENERATORS[slug](Random(f"{slug} {number}"))
            outcome = judge(case)
            counts[outcome.name] += 1
            if outcome.name in BAD or modules == 1:
                text = f"\n{slug} {number}: {outcome.name}: {outcome.reason}\n{case}"
                console.print(text, markup=False, highlight=False, soft_wrap=True)
        table.add_row(slug, *(str(counts[name]) for name in OUTCOMES))
        bad += sum(counts[name] for name in BAD)
    console.print(table)
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    fuzz()
