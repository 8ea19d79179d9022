"""torchtrt-fixes run: as Python would run the program, with the fixes on."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest
from scenario import Scenario

RUN = (
    "from torch_tensorrt_fixes.program import run_program; import sys; run_program(sys.argv[{}:], module={}, only={!r})"
)
FACTS = """
import os, sys
print(__name__, sys.argv, sys.path[0], os.path.basename(__file__), sys.modules["__main__"].__dict__ is globals())
"""


def run(
    scenario: Scenario, args: list[str], module: bool = False, only: str | None = "1", fails: bool = False
) -> subprocess.CompletedProcess[str]:
    return scenario.run(["-c", RUN.format(1, module, only), *args], fails=fails)


def write(scenario: Scenario, name: str, text: str) -> str:
    file = scenario.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(textwrap.dedent(text))
    return str(file)


def test_script(scenario: Scenario) -> None:
    script = write(scenario, "sub/script.py", FACTS + "import sibling, torch_tensorrt\nprint(torch_tensorrt.double(5))")
    write(scenario, "sub/sibling.py", "")
    ours = run(scenario, [script, "--only", "x"]).stdout.splitlines()
    assert ours[0] == scenario.prints([script, "--only", "x"]).splitlines()[0]
    assert ours[1] == "10"


def test_module(scenario: Scenario) -> None:
    write(scenario, "tool/__init__.py", "")
    write(
        scenario,
        "tool/__main__.py",
        FACTS + "from . import sibling\nimport torch_tensorrt\nprint(torch_tensorrt.double(5))",
    )
    write(scenario, "tool/sibling.py", "")
    ours = run(scenario, ["tool", "-m", "x"], module=True).stdout.splitlines()
    assert ours[0] == scenario.prints(["-m", "tool", "-m", "x"]).splitlines()[0]
    assert ours[1] == "10"


def test_module_of_torch_tensorrt(scenario: Scenario) -> None:
    (scenario.package / "__init__.py").write_text("")
    assert run(scenario, ["torch_tensorrt.maths"], module=True).stdout == "doubled: 4\n"


@pytest.mark.parametrize(
    ("statement", "code"), [("sys.exit(7)", 7), ("sys.exit('no')", 1), ("sys.exit()", 0), ("1 / 0", 1)]
)
@pytest.mark.parametrize("module", [False, True])
def test_exit_code(scenario: Scenario, statement: str, code: int, module: bool) -> None:
    script = write(scenario, "script.py", f"import sys\n{statement}")
    done = run(scenario, ["script" if module else script], module=module, fails=bool(code))
    assert done.returncode == code


def test_error_of_the_program(scenario: Scenario) -> None:
    """The traceback is the one that Python itself prints."""
    script = write(scenario, "script.py", "def f():\n    raise KeyError(1)\n\n\nf()\n")
    stock = scenario.run([script], fails=True)
    assert run(scenario, [script], fails=True).stderr == stock.stderr


def test_syntax_error_of_the_program(scenario: Scenario) -> None:
    script = write(scenario, "script.py", "x = = 1\n")
    done = run(scenario, [script], fails=True)
    assert done.stderr == scenario.run([script], fails=True).stderr
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("program", "module"), [("gone.py", False), ("gone", True), ("gone.too", True), ("json.gone", True)]
)
def test_no_such_program(scenario: Scenario, program: str, module: bool) -> None:
    done = run(scenario, [program], module=module, fails=True)
    what = "module" if module else "script"
    assert (done.returncode, done.stderr) == (2, f"torchtrt-fixes: there is no {what} {program!r} to run\n")


def test_spawned_processes(scenario: Scenario) -> None:
    """The program's main module is found again by the processes that it spawns."""
    script = write(
        scenario,
        "script.py",
        """
        import multiprocessing
        def square(x):
            return x * x
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(square, [3]))
        """,
    )
    assert run(scenario, [script]).stdout == "[9]\n"


def test_safe_path_is_left_as_it_is(scenario: Scenario) -> None:
    script = write(scenario, "sub/script.py", "import sys; print(sys.path[0])")
    code = ["-P", "-c", RUN.format(1, False, "off"), script]
    assert scenario.prints(code) == scenario.prints(["-P", script]) != str(Path(script).parent)


def test_main_stays(scenario: Scenario) -> None:
    """What runs after the script's last line can still pickle what the script defined."""
    script = write(
        scenario,
        "late.py",
        """
        import atexit, pickle
        class K:
            pass
        atexit.register(lambda: print(type(pickle.loads(pickle.dumps(K()))).__name__))
        """,
    )
    assert run(scenario, [script]).stdout == scenario.prints([script]) + "\n" == "K\n"


def test_file_is_absolute(scenario: Scenario) -> None:
    write(scenario, "where.py", "import os; os.chdir('/'); print(os.path.exists(__file__))")
    assert run(scenario, ["where.py"]).stdout == "True\n"


def test_interrupt(scenario: Scenario) -> None:
    script = write(scenario, "interrupted.py", "raise KeyboardInterrupt")
    done = run(scenario, [script], fails=True)
    assert done.returncode == 130
    assert "interrupted.py" in done.stderr and "torch_tensorrt_fixes" not in done.stderr


def test_module_whose_package_raises(scenario: Scenario) -> None:
    write(scenario, "broken/__init__.py", "raise RuntimeError('of the program')")
    done = run(scenario, ["broken.tool"], module=True, fails=True)
    assert done.returncode == 1
    assert done.stderr.endswith("RuntimeError: of the program\n")


@pytest.mark.parametrize("name", ["json.tool.x", ".x", "nowhere", "nowhere.x"])
def test_no_such_module(scenario: Scenario, name: str) -> None:
    done = run(scenario, [name], module=True, fails=True)
    assert done.returncode == 2
    assert f"there is no module {name!r} to run" in done.stderr
