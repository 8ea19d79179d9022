"""Puts the in-tree tests, which stand at the project's top, into the wheel: `torchtrt-fixes land` writes them."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithTests(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            tests = Path(self.build_lib) / "torch_tensorrt_fixes" / "intree_tests" / "tests" / "py"
            here = Path(__file__).parent / "tests" / "py"
            shutil.rmtree(tests, ignore_errors=True)  # of an earlier build
            shutil.copytree(here, tests, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "harness.py"))


setup(cmdclass={"build_py": BuildWithTests})
