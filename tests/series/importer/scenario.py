"""A fake torch_tensorrt imported in processes of its own: what is imported cannot be undone."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import torch_tensorrt_fixes

OURS = str(Path(torch_tensorrt_fixes.__file__).parents[1])


@dataclass
class Scenario:
    """A directory with the fake package, and a way to run Python programs in view of it."""

    folder: Path
    site: Path
    python: str = sys.executable
    path: list[str] = field(default_factory=list)
    """What else the program can import, after the package."""

    @property
    def package(self) -> Path:
        return self.site / "torch_tensorrt"

    def run(
        self, code: str | list[str], *flags: str, fails: bool = False, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program given as text, or Python with these arguments. ``env`` are environment variables."""
        if isinstance(code, str):
            script = self.folder / "program.py"
            script.write_text(textwrap.dedent(code))
            code = [str(script)]
        folders = [str(self.folder / "start"), str(self.site), OURS, str(Path(__file__).parent), *self.path]
        variables = {
            k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "TORCH_TENSORRT_FIXES")
        }
        done = subprocess.run(
            [self.python, *flags, *code],
            env=variables | {"PYTHONPATH": os.pathsep.join(folders)} | env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done

    def prints(self, code: str | list[str], *flags: str, **env: str) -> str:
        """What a program prints; it must not write anything to stderr."""
        done = self.run(code, *flags, **env)
        assert not done.stderr, done.stderr
        return done.stdout.strip()

    def files(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.site)): p.read_bytes() for p in self.site.rglob("*") if p.is_file()}
