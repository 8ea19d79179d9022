"""Run a program with the fixes on, otherwise as ``python PROGRAM`` would."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from .importer import install


def run_program(args: Sequence[str], module: bool, only: str | None = None, *, strict: bool = False) -> None:
    """Install the fixes, then run the script (or, with ``module``, the module) ``args[0]`` with the arguments after it.

    Returns where the program comes to its end. ``only`` and ``strict``, and the errors, are
    :func:`.importer.install`'s.

    Raises:
        SystemExit: what the program exits with; 2 where there is no such program; 1 after an uncaught error of the
            program, which is shown as Python shows it
    """
    install(only, strict=strict)
    program = args[0]
    sys.argv = list(args)
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd() if module else str(Path(program).resolve().parent)
    if not _is_there(program, module):
        what = "module" if module else "script"
        print(f"torchtrt-fixes: there is no {what} {program!r} to run", file=sys.stderr)
        raise SystemExit(2)
    try:
        if module:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program, run_name="__main__")
    except Exception as error:
        trace = _own_part(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        raise SystemExit(1) from None


def _is_there(program: str, module: bool) -> bool:
    if not module:
        return os.path.exists(program)
    parent = program.rpartition(".")[0]
    if parent and not _is_there(parent, module):
        return False
    return importlib.util.find_spec(program) is not None


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """The program's own part of a traceback, without our frame and runpy's."""
    while trace and trace.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        trace = trace.tb_next
    return trace
