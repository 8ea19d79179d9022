"""The converter tests' harness: what passes it and, above all, what does not."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_case_ends_as_its_name_says(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    command = ["-m", "torch_tensorrt_fixes", "run", "--only", "no-gpu", "-m", "pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, *command, "tests/series/harness_cases.py", f"--junitxml={report}"],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert report.is_file(), done.stdout + done.stderr
    ends = {case.get("name", ""): case.find("failure") is None for case in ET.parse(report).iter("testcase")}
    wrong = [name for name, passed in ends.items() if passed != name.startswith("test_passes_")]
    assert len(ends) >= 20
    assert not wrong, done.stdout
