"""tools/upstream_tests.py on a checkout of our own: how each end of a case is told, and what counts as lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "tests/py/dynamo/conversion"
FILES = {
    f"{FOLDER}/__init__.py": "",
    f"{FOLDER}/harness.py": "raise ImportError('this is the harness of the checkout')",
    f"{FOLDER}/test_ends.py": """
import unittest

import torch

from .harness import DispatchTestCase


class Relu(torch.nn.Module):
    def forward(self, x):
        return torch.ops.aten.relu.default(x)


class Mask(torch.nn.Module):
    def forward(self, x):
        return x[x > 0]


class TestEnds(DispatchTestCase):
    def test_passes(self):
        self.run_test(Relu().cuda(), [torch.ones(2, device="cuda:0")])

    def test_passes_evaluated_only(self):
        self.run_test(Mask(), [torch.arange(-2, 3)], use_dynamo_tracer=True)

    def test_fails(self):
        self.assertEqual(1, 2)

    @unittest.skip("Pending a converter")
    def test_skipped(self):
        pass

    def test_is_absent(self):
        raise RuntimeError("the ScatterAdd plugin is not there")
""",
    f"{FOLDER}/test_compiles.py": """
import torch
import torch_tensorrt

import tensorrt as trt


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1


def test_compiled():
    x = torch.linspace(-1, 1, 6).reshape(2, 3).cuda()
    compiled = torch_tensorrt.compile(Model().cuda(), ir="dynamo", inputs=[x], min_block_size=1)
    torch.testing.assert_close(compiled(x), Model()(x))
""",
    f"{FOLDER}/test_crashes.py": "import os\n\n\ndef test_ends_the_process():\n    os._exit(3)\n",
    f"{FOLDER}/test_hangs.py": "import time\n\n\ndef test_sleeps():\n    time.sleep(600)\n",
    f"{FOLDER}/test_does_not_import.py": "import no_such_module\n",
}
ENDS = {
    "test_ends.py::TestEnds::test_passes": ("passed", ""),
    "test_ends.py::TestEnds::test_passes_evaluated_only": ("passed", ""),
    "test_ends.py::TestEnds::test_fails": ("failed", "values, dtypes or shapes differ"),
    "test_ends.py::TestEnds::test_skipped": ("absent", "skipped by upstream wherever TensorRT is"),
    "test_ends.py::TestEnds::test_is_absent": ("absent", "needs a TensorRT plugin"),
    "test_compiles.py::test_compiled": ("passed", ""),
    "test_crashes.py::test_ends_the_process": ("failed", "process ended or ran out of time"),
    "test_hangs.py::test_sleeps": ("failed", "process ended or ran out of time"),
    "test_does_not_import.py::(import)": ("failed", "other"),
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def upstream_tests(checkout: Path, results: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tools/upstream_tests.py", "--checkout", checkout, "--results", results, *options]
    return subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)


def test_every_end_is_told(checkout: Path, tmp_path: Path) -> None:
    results, earlier = tmp_path / "results.json", tmp_path / "earlier.json"
    passed_before = {"TestEnds::test_passes": {"outcome": "passed"}, "TestEnds::test_fails": {"outcome": "passed"}}
    earlier.write_text(json.dumps({f"{FOLDER}/test_ends.py": passed_before}))
    done = upstream_tests(checkout, results, "--jobs", "3", "--limit", "25", "--against", str(earlier))
    assert results.is_file(), done.stdout + done.stderr
    found = {
        f"{Path(file).name}::{name}": (case["outcome"], case["cause"])
        for file, cases in json.loads(results.read_text()).items()
        for name, case in cases.items()
    }
    assert found == ENDS
    assert "3 of the 7 cases that need nothing absent pass" in done.stdout
    lost = done.stdout.partition("lost since")[2]
    assert done.returncode == 1 and "TestEnds::test_fails" in lost and "TestEnds::test_passes" not in lost


def test_an_unknown_file_is_an_error(checkout: Path, tmp_path: Path) -> None:
    done = upstream_tests(checkout, tmp_path / "results.json", f"{FOLDER}/test_gone.py")
    assert done.returncode == 2 and f"has no tests at {FOLDER}/test_gone.py" in done.stderr
