"""The scenario in which the fake torch_tensorrt is imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_series import write_package
from scenario import Scenario


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """The fake package beside a start-up module that makes every Python there use the fake series."""
    site = tmp_path / "site"
    write_package(site)
    (tmp_path / "start").mkdir()
    (tmp_path / "start/sitecustomize.py").write_text(f"""\
import os, sys
# A torch_tensorrt that is installed where the tests run is none of theirs.
sys.path[:] = [p for p in sys.path if p.startswith({str(tmp_path)!r}) or not os.path.isdir(p + "/torch_tensorrt")]
import fake_series
fake_series.use()
""")
    return Scenario(tmp_path, site)
