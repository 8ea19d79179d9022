"""The fixes at work: each reproduction once on the stock package and once with the fixes on. Takes no arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table

from dev import PYTHON, RELEASE, ROOT
from torch_tensorrt_fixes import series

# Without the extra, the stock package cannot be imported on a host that has no GPU.
PACKAGES = {"stock": "no-gpu", "fixed": "all"}
NAMES = ("slice-bounds", "partition-speed")


def reproduce(name: str, choice: str) -> dict[str, Any]:
    """Run a reproduction in a process of its own; its finding."""
    command = [str(PYTHON), "-m", "torch_tensorrt_fixes", "run", "--only", choice]
    command += ["-m", "torch_tensorrt_fixes.reproduce", name, "--json"]
    quiet = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=quiet)
    # Exit code 1 says that the bug shows; anything else than a finding on the last line is an error.
    try:
        finding: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        sys.exit(f"demo: {name} with fixes {choice!r} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return finding


def main() -> None:
    began = time.monotonic()
    table = Table(title=f"torch-tensorrt {RELEASE}, stock and with the fixes on", title_justify="left", box=None)
    table.add_column("", min_width=8)
    table.add_column("result", overflow="fold")
    table.add_column("", min_width=10)
    table.add_column("CPU seconds", justify="right")
    well = True
    with Console(stderr=True).status("") as status:
        for name in NAMES:
            findings = {}
            for package, choice in PACKAGES.items():
                doing = f"{name}: running on the {package} package ({time.monotonic() - began:.0f} s)"
                if sys.stderr.isatty():
                    status.update(doing)
                else:
                    print(doing, file=sys.stderr, flush=True)
                findings[package] = reproduce(name, choice)
            fixed = findings["fixed"]
            well = well and fixed["well"]
            table.add_section()
            table.add_row(f"[bold]{series.find(name).label}", f"[bold]{fixed['what']}")
            table.add_row("PyTorch", fixed["wanted"])
            for package, finding in findings.items():
                verdict = "[green]as PyTorch[/]" if finding["well"] else "[red]WRONG[/]"
                table.add_row(package, finding["got"], verdict, f"{finding['seconds']:.2f}")
    Console().print(table)
    print("Engines are built by TensorRT-RTX on the CPU; what they give is evaluated from the networks in NumPy.")
    sys.exit(not well)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
