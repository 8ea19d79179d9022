"""enable() and disable(), in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from scenario import OURS, Scenario

from torch_tensorrt_fixes import environment

USE = "import torch_tensorrt; print(torch_tensorrt.double(5))"


@pytest.fixture
def venv(scenario: Scenario) -> Scenario:
    """The scenario in a virtual environment."""
    folder = scenario.folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    scenario.python = str(folder / "bin/python")
    scenario.path = [sysconfig.get_path("purelib")]
    return scenario


def call(venv: Scenario, function: str) -> str:
    return venv.prints(
        f"from torch_tensorrt_fixes import environment as e; r = e.{function}(); print(getattr(r, 'made', r))"
    )


def test_enable_and_disable(venv: Scenario) -> None:
    assert call(venv, "is_enabled") == "False"
    assert venv.prints(USE) == "11"
    assert [call(venv, function) for function in ("enable", "enable", "is_enabled")] == ["True", "False", "True"]
    assert venv.prints(USE, TORCH_TENSORRT_FIXES="1") == "10"
    assert venv.prints(USE, TORCH_TENSORRT_FIXES="off") == "11"
    file = Path(call(venv, "pth_file"))
    assert file.name == "torch_tensorrt_fixes.pth" and file.is_relative_to(venv.folder)
    file.write_text("import os\n")
    assert [call(venv, "is_enabled"), call(venv, "enable"), call(venv, "is_enabled")] == ["False", "True", "True"]
    assert [call(venv, function) for function in ("disable", "disable", "is_enabled")] == ["True", "False", "False"]
    assert not file.exists()
    assert venv.prints(USE) == "11"


def test_spawned_processes(venv: Scenario) -> None:
    call(venv, "enable")
    code = """
        import multiprocessing
        if __name__ == "__main__":
            import torch_tensorrt, torch_tensorrt_fixes
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(torch_tensorrt.double, (5,)), pool.apply(torch_tensorrt_fixes.active))
    """
    assert venv.prints(code, TORCH_TENSORRT_FIXES="1") == "10 ('1/double',)"


def test_silent_when_the_package_is_gone(venv: Scenario) -> None:
    """Without us on its path, and with nothing else: not a word, and nothing imported."""
    call(venv, "enable")
    done = subprocess.run(
        [venv.python, "-I", "-c", "import sys; print([name for name in sys.modules if 'fixes' in name])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_broken_installation_is_not_silent(venv: Scenario) -> None:
    call(venv, "enable")
    broken = venv.folder / "venv/broken"
    (broken / "torch_tensorrt_fixes").mkdir(parents=True)
    (broken / "torch_tensorrt_fixes/__init__.py").write_text("raise ImportError('broken')")
    done = subprocess.run(
        [venv.python, "-c", "0"], env={"PYTHONPATH": str(broken)}, capture_output=True, text=True, check=True
    )
    assert "torch_tensorrt_fixes.pth" in done.stderr and "ImportError: broken" in done.stderr


def test_start_is_light(venv: Scenario) -> None:
    """An enabled environment's Python starts without anything of ours but the finder."""
    call(venv, "enable")
    done = subprocess.run(
        [venv.python, "-c", "import sys; print(*sorted(sys.modules))"],
        env={"PYTHONPATH": OURS},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "torch_tensorrt_fixes.auto" in loaded
    assert not loaded & {
        "torch_tensorrt_fixes.series",
        "ast_grep_py",
        "typing",
        "re",
        "dataclasses",
        "warnings",
        "threading",
    }


def test_read_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder, so that nobody can write into it")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "file"))
    with pytest.raises(
        environment.NotWritable, match=r"cannot write .*torch_tensorrt_fixes.pth \(Not a directory\): use an env"
    ):
        environment.enable()
    with pytest.raises(
        environment.NotWritable, match=r"cannot remove .*torch_tensorrt_fixes.pth \(Not a directory\): let who"
    ):
        environment.disable()
