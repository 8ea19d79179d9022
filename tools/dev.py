#!/usr/bin/env python3
"""Every developer's command, from a bare machine: Python 3.11 or newer, git and pip are all it needs.

    python3 tools/dev.py demo       the fixes at work, stock beside them
    python3 tools/dev.py test       all checks and tests; what CI runs
    python3 tools/dev.py --help     the rest

Each command first makes what it needs and reuses it afterwards: a virtual environment in .venv with everything that
pyproject.toml names for development, and in .stage the Python sources of the torch-tensorrt release that the series is
verified on. They come from its wheel without the compiled libraries, so that TensorRT-RTX serves where TensorRT proper,
which needs a GPU, cannot be installed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAGE = ROOT / ".stage"
RELEASE = "2.14.0"
STOCK = STAGE / f"torch_tensorrt-{RELEASE}"
# Debian's Python comes without ensurepip, so the pip at hand works on the environment from outside.
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(PYTHON)]


class SetUpError(Exception):
    """Set-up cannot go on: what was tried, what came of it, what to do."""


# --- set-up ---


def set_up() -> None:
    """Make .venv and .stage where they are not there as pyproject.toml and this file want them."""
    if sys.version_info < (3, 11):  # noqa: UP036 (this file runs before anything checks)
        found = sys.version.split()[0]
        raise SetUpError(f"Python 3.11 or newer is needed, this is {found}; call it as python3.11 tools/dev.py")
    wanted = hashlib.sha256(b"".join(p.read_bytes() for p in (ROOT / "pyproject.toml", Path(__file__)))).hexdigest()
    stamp = VENV / "ready"
    if stamp.is_file() and stamp.read_text() == wanted and STOCK.is_dir():
        return
    make_environment()
    stage_release()
    # Seen on every import of the environment's Python, so that the staged package counts as installed.
    site = subprocess.check_output(
        [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    (Path(site) / "torch_tensorrt_staged.pth").write_text(f"{STOCK}\n")
    stamp.write_text(wanted)


def make_environment() -> None:
    if not PYTHON.exists():
        step("making .venv", [sys.executable, "-m", "venv", "--without-pip", str(VENV)])
    step("installing torch, TensorRT-RTX and the tools into .venv", [*PIP, "install", "--editable", f"{ROOT}[dev]"])


def stage_release() -> None:
    """The Python files of the release's wheel, under a distribution name by which torch_tensorrt picks TensorRT-RTX."""
    if STOCK.is_dir():
        return
    STAGE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=STAGE) as scratch:
        options = ["--no-deps", "--only-binary=:all:", "--dest", scratch]
        step(
            f"fetching the torch-tensorrt {RELEASE} wheel",
            [*PIP, "download", *options, f"torch-tensorrt=={RELEASE}"],
        )
        (wheel,) = Path(scratch).glob("*.whl")
        unpacked = Path(scratch) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            names = [n for n in archive.namelist() if n.startswith("torch_tensorrt/") and n.endswith((".py", ".pyi"))]
            archive.extractall(unpacked, names)
        info = unpacked / f"torch_tensorrt_rtx-{RELEASE}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch-tensorrt-rtx\nVersion: {RELEASE}\n")
        (info / "top_level.txt").write_text("torch_tensorrt\n")
        unpacked.rename(STOCK)


def step(what: str, command: list[str]) -> None:
    """Run a long command with its output in a log and a line that shows the time it takes."""
    STAGE.mkdir(exist_ok=True)
    log = STAGE / "set-up.log"
    began = time.monotonic()
    if not sys.stderr.isatty():
        print(f"{what} ...", file=sys.stderr, flush=True)
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            while process.poll() is None:
                if sys.stderr.isatty():
                    print(f"\r{what} ... {time.monotonic() - began:.0f} s", end="", file=sys.stderr, flush=True)
                time.sleep(0.5)
        finally:
            process.kill()
    start = "\r" if sys.stderr.isatty() else ""
    print(f"{start}{what} ... {time.monotonic() - began:.0f} s", file=sys.stderr)
    if process.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise SetUpError(f"{what} failed:\n{tail}\nThe whole output is in {log}. Mend that and call again.")


# --- commands ---


def run(*command: str | Path) -> int:
    """Run a program of the environment in the project's folder, with the terminal as it is."""
    return subprocess.run([PYTHON, *map(str, command)], cwd=ROOT).returncode


def lint(_: argparse.Namespace) -> int:
    code = ("py", "tools", "tests", "setup.py", "docsrc/conf.py")
    in_tree = ("tests/py", *(str(p) for p in donors()))
    checks = (
        ("ruff", "check", *code),
        ("mypy",),
        ("black", "--quiet", "--check", "--diff", *in_tree),
        ("isort", "--quiet", "--check", "--diff", *in_tree),
    )
    return max([run("-m", *check) for check in checks])


def donors() -> list[Path]:
    """The modules whose text lands in-tree: those beside the __init__.py of a fix's folder."""
    package = ROOT / "py" / "torch_tensorrt_fixes"
    kinds = ("fixes", "prerequisites", "extras")
    return [p for kind in kinds for p in sorted((package / kind).glob("*/*.py")) if p.name != "__init__.py"]


def series_tests(args: argparse.Namespace) -> int:
    return run("-m", "pytest", "--numprocesses=auto", "tests/series", *args.rest)


def proof(args: argparse.Namespace) -> int:
    return run("tools/proof.py", *args.rest)


def picks(args: argparse.Namespace) -> int:
    return run("tools/picks.py", *args.rest)


def upstream_tests(args: argparse.Namespace) -> int:
    return run("tools/upstream_tests.py", *args.rest)


def fuzz(args: argparse.Namespace) -> int:
    return run("tools/fuzz.py", *args.rest)


def docs(_: argparse.Namespace) -> int:
    return run("-m", "sphinx", "-q", "-W", "-b", "html", "docsrc", "docs/_build")


def test(_: argparse.Namespace) -> int:
    """All of it; goes on after a failure, so that one run tells everything."""
    nothing = argparse.Namespace(rest=[])
    began = time.monotonic()
    failed = []
    for part in (lint, series_tests, proof, picks, docs):
        print(f"\n=== {part.__name__.replace('_', ' ')} ===", flush=True)
        if part(nothing):
            failed.append(part.__name__.replace("_", " "))
    print(f"\n{'FAILED: ' + ', '.join(failed) if failed else 'all well'}, {time.monotonic() - began:.0f} s")
    return bool(failed)


def demo(args: argparse.Namespace) -> int:
    return run("tools/demo.py", *args.rest)


def bench(args: argparse.Namespace) -> int:
    there = sorted(p.stem for p in (ROOT / "tools" / "bench").glob("[!_]*.py"))
    if not args.rest or args.rest[0] not in there:
        print(f"dev.py bench NAME: the benchmarks are {', '.join(there)}", file=sys.stderr)
        return 2
    return run(f"tools/bench/{args.rest[0]}.py", *args.rest[1:])


def clean(_: argparse.Namespace) -> int:
    """Remove what set-up made."""
    for folder in (VENV, STAGE, ROOT / "docs" / "_build"):
        shutil.rmtree(folder, ignore_errors=True)
    return 0


COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], str]] = {
    "setup": (lambda _: 0, "only make .venv and .stage"),
    "demo": (demo, "the fixes at work, stock beside them"),
    "test": (test, "lint, series-tests, proof, picks and docs"),
    "lint": (lint, "ruff, mypy, black and isort"),
    "series-tests": (series_tests, "pytest over tests/series; further arguments go to pytest"),
    "proof": (proof, "each in-tree test on stock, with its commit alone, and with all"),
    "picks": (picks, "cherry-pick every commit alone, in pairs and in random orders (--checkout DIR: in a real clone)"),
    "upstream-tests": (upstream_tests, "upstream's converter tests with our harness (--checkout DIR)"),
    "fuzz": (fuzz, "random modules for the converter fixes, compared with PyTorch"),
    "bench": (bench, "a benchmark of tools/bench by name"),
    "docs": (docs, "the site, into docs/_build"),
    "clean": (clean, "remove what set-up made"),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="commands:\n" + "\n".join(f"  {name:14} {text}" for name, (_, text) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="arguments of the command")
    args = parser.parse_args()
    try:
        if args.command != "clean":
            set_up()
        return COMMANDS[args.command][0](args)
    except SetUpError as error:
        print(f"dev.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    os.environ.setdefault("PIP_NO_INPUT", "1")
    sys.exit(main())
