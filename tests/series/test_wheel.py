"""What `pip install .` brings: the package, and the in-tree tests that `torchtrt-fixes land` writes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from torch_tensorrt_fixes import __version__, series

ROOT = Path(__file__).parents[2]


def build(source: Path, kind: str) -> None:
    program = f"from setuptools import build_meta; build_meta.build_{kind}('.')"
    subprocess.run([sys.executable, "-c", program], cwd=source, check=True, capture_output=True)


def test_wheel_from_sdist(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in ("py", "tests/py"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build(source, "sdist")
    (sdist,) = source.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path, filter="data")
    unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")
    build(unpacked, "wheel")
    (wheel,) = unpacked.glob("*.whl")
    assert wheel.name == f"torch_tensorrt_fixes-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    # In the wheel alone, every test that lands can be read.
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path / "site")!r})
from torch_tensorrt_fixes import intree, series
assert intree.__file__.startswith({str(tmp_path)!r})
for fix in series.all_fixes():
    for commit in fix.commits:
        for file in commit.test_files:
            print(file.path, len(file.text()))
"""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tests = [test for fix in series.all_fixes() for commit in fix.commits for test in commit.tests]
    assert [line.split()[0] for line in done.stdout.splitlines()] == tests
