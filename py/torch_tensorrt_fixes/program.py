"""Run a program with the fixes on, otherwise as ``python PROGRAM`` would."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from .importer import install

INTERRUPTED = 130
"""What a shell says of a program that ended by SIGINT."""


def run_program(args: Sequence[str], module: bool, only: str | None = None, *, strict: bool = False) -> None:
    """Install the fixes, then run the script (or, with ``module``, the module) ``args[0]`` with the arguments after it.

    Returns where the program comes to its end. ``only`` and ``strict``, and the errors, are
    :func:`.importer.install`'s.

    Raises:
        SystemExit: what the program exits with; 2 where there is no such program; 1 after an uncaught error of the
            program, and 130 after an interrupt, which are shown as Python shows them
    """
    install(only, strict=strict)
    program = args[0]
    sys.argv = list(args)
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd() if module else str(Path(program).resolve().parent)
    try:
        if module:
            _run_module(program)
        else:
            _run_script(program)
    except SystemExit:
        raise
    except BaseException as error:
        trace = _own_part(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        raise SystemExit(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1) from None


def _run_script(program: str) -> None:
    if not os.path.exists(program):
        raise _no_program("script", program)
    if not os.path.isfile(program) or program.endswith((".zip", ".pyz")):
        runpy.run_path(program, run_name="__main__")  # a folder or an archive with a __main__.py in it
        return
    file = os.path.abspath(program)
    code = compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    _run(code, __file__=file, __loader__=SourceFileLoader("__main__", file), __package__=None)


def _run_module(program: str) -> None:
    spec = _find_spec(program)
    if spec and spec.submodule_search_locations is not None:
        spec = _find_spec(f"{program}.__main__")
    code: CodeType | None = spec.loader.get_code(spec.name) if spec else None  # type: ignore[union-attr]
    if spec is None or code is None:
        raise _no_program("module", program)
    sys.argv[0] = spec.origin or program
    facts = {"__file__": spec.origin, "__cached__": spec.cached, "__loader__": spec.loader}
    _run(code, **facts, __spec__=spec, __package__=spec.parent)


def _find_spec(name: str) -> ModuleSpec | None:
    """The module's spec, or None where there is none; its packages are imported, and raise what they raise."""
    if name.startswith("."):
        return None
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def _run(code: CodeType, **facts: Any) -> None:
    """Run the code as ``__main__``, which stays: threads, atexit functions and pickles look things up in it."""
    main = ModuleType("__main__")
    vars(main).update(facts)
    sys.modules["__main__"] = main
    exec(code, vars(main))


def _no_program(what: str, program: str) -> SystemExit:
    print(f"torchtrt-fixes: there is no {what} {program!r} to run", file=sys.stderr)
    return SystemExit(2)


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """The program's own part of a traceback, without our frames and runpy's."""
    while trace and trace.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        trace = trace.tb_next
    return trace
