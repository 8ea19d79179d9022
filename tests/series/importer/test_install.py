"""What install() and auto promise: when, what, and how often."""

from __future__ import annotations

import textwrap

import pytest
from scenario import Scenario


def test_edits_are_made_while_the_package_is_imported(scenario: Scenario) -> None:
    before = scenario.files()
    printed = scenario.prints(
        """
        import torch_tensorrt_fixes
        torch_tensorrt_fixes.install("1,2,6,7")
        import torch_tensorrt
        from torch_tensorrt.dynamo import late
        from torch_tensorrt.maths import LIMIT, Shape
        print(torch_tensorrt.double(5), late.half(3), LIMIT, Shape(3).area(), Shape(3).sides)
        """,
        "-B",
    )
    assert printed == "10 1.5 20 9 4"
    assert scenario.files() == before


@pytest.mark.parametrize(
    "first", ["torch_tensorrt.maths", "torch_tensorrt.dynamo.late", "torch_tensorrt.dynamo._helper"]
)
def test_a_module_imported_first(scenario: Scenario, first: str) -> None:
    printed = scenario.prints(
        f"""
        import torch_tensorrt_fixes.auto
        import {first}
        from torch_tensorrt.dynamo.late import half
        print(torch_tensorrt.double(5), half(3))
        """,
        TORCH_TENSORRT_FIXES="1,2",
    )
    assert printed == "10 1.5"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("1", "10 1"), ("2", "11 1.5"), ("-1,-3,-4", "11 1.5"), ("off", "11 1"), (" double , late", "10 1.5")],
)
@pytest.mark.parametrize("way", ["install()", "install('{}')", "auto"])
def test_choices(scenario: Scenario, choice: str, expected: str, way: str) -> None:
    begin = "import torch_tensorrt_fixes" + (
        ".auto" if way == "auto" else f"; torch_tensorrt_fixes.{way.format(choice)}"
    )
    env = {} if "{" in way else {"TORCH_TENSORRT_FIXES": choice}
    use = "import torch_tensorrt\nfrom torch_tensorrt.dynamo.late import half\nprint(torch_tensorrt.double(5), half(3))"
    assert scenario.prints(f"{begin}\n{use}", **env) == expected


@pytest.mark.parametrize("begin", ["import torch_tensorrt_fixes as f; f.install()", "import torch_tensorrt_fixes.auto"])
def test_without_a_choice_all_are_made_and_each_misfit_warns_once(scenario: Scenario, begin: str) -> None:
    done = scenario.run(
        f"{begin}\nimport torch_tensorrt\nfrom torch_tensorrt.dynamo import late\nprint(torch_tensorrt.double(5))"
    )
    assert done.stdout == "10\n"
    warned = [line for line in done.stderr.splitlines() if "FixLeftOut: " in line]
    misfit, needy = (line.partition("FixLeftOut: ")[2] for line in warned)
    assert misfit.startswith(
        "3/misfit is left out, it does not fit the installed torch_tensorrt: py/torch_tensorrt/maths.py, double: "
        "`y * $Y` is found nowhere, wanted once"
    )
    assert needy.startswith("4/needy is left out, it does not fit the installed torch_tensorrt: needs misfit")


def test_strict_raises_and_leaves_nothing_installed(scenario: Scenario) -> None:
    printed = scenario.prints(
        """
        import sys
        import torch_tensorrt_fixes
        finders = list(sys.meta_path)
        try:
            torch_tensorrt_fixes.install("1,4", strict=True)
        except torch_tensorrt_fixes.FixLeftOut as error:
            print(error)
        print(sys.meta_path == finders)
        torch_tensorrt_fixes.install("1", strict=True)
        import torch_tensorrt
        print(torch_tensorrt.double(5))
        """
    ).splitlines()
    assert [line.partition(" is left out")[0] for line in printed] == ["3/misfit", "4/needy", "True", "10"]


@pytest.mark.parametrize("begin", ["torch_tensorrt_fixes.install()", "import torch_tensorrt_fixes.auto"])
@pytest.mark.parametrize("module", ["torch_tensorrt", "torch_tensorrt.maths"])
def test_too_late(scenario: Scenario, begin: str, module: str) -> None:
    setup = f"import sys, types; sys.modules[{module!r}] = types.ModuleType({module!r})"
    done = scenario.run(f"import torch_tensorrt_fixes\n{setup}\n{begin}", fails=True)
    assert (
        f"torch_tensorrt_fixes.importer.AlreadyImported: {module} is imported already, and the fixes are made while it "
        "is imported: move `import torch_tensorrt_fixes.auto`"
    ) in done.stderr


def test_off_is_never_too_late(scenario: Scenario) -> None:
    code = """
        import torch_tensorrt, torch_tensorrt_fixes.auto
        torch_tensorrt_fixes.install("off")
        print(torch_tensorrt.double(5))
    """
    assert scenario.prints(code, TORCH_TENSORRT_FIXES="off") == "11"


@pytest.mark.parametrize("automatic", [True, False])
def test_the_last_choice_before_the_import_counts(scenario: Scenario, automatic: bool) -> None:
    first = "import torch_tensorrt_fixes.auto" if automatic else "torch_tensorrt_fixes.install('2')"
    printed = scenario.prints(
        f"""
        import sys, torch_tensorrt_fixes
        finders = len(sys.meta_path)
        {first}
        handle = torch_tensorrt_fixes.install("1")
        import torch_tensorrt_fixes.auto
        assert torch_tensorrt_fixes.install("double") is handle
        assert len(sys.meta_path) == finders + 1
        import torch_tensorrt
        from torch_tensorrt.dynamo.late import half
        assert torch_tensorrt_fixes.install("1") is handle
        print(torch_tensorrt.double(5), half(3))
        try:
            torch_tensorrt_fixes.install("2")
        except torch_tensorrt_fixes.AlreadyImported as error:
            print(error)
        print(torch_tensorrt_fixes.active())
        """,
        TORCH_TENSORRT_FIXES="2",
    ).splitlines()
    assert printed[0] == "10 1"
    assert printed[1].startswith(
        "torch_tensorrt is imported already, with the fixes that install() chose (1): choose others"
    )
    assert printed[2] == "('1/double',)"


def test_same_choice_is_the_same_handle_for_off_too(scenario: Scenario) -> None:
    assert (
        scenario.prints("from torch_tensorrt_fixes import install; print(install('off') is install('off'))") == "True"
    )


def test_an_explicit_choice_beats_a_bad_automatic_one(scenario: Scenario) -> None:
    begin = "import torch_tensorrt_fixes.auto; torch_tensorrt_fixes.install('1')"
    code = begin + "; import torch_tensorrt; print(torch_tensorrt.double(5))"
    assert scenario.prints(code, TORCH_TENSORRT_FIXES="nonsense") == "10"


@pytest.mark.parametrize("begin", ["import torch_tensorrt_fixes as f; f.install()", "import torch_tensorrt_fixes.auto"])
def test_a_bad_value_of_the_variable_is_an_error(scenario: Scenario, begin: str) -> None:
    done = scenario.run(f"{begin}\nimport torch_tensorrt", fails=True, TORCH_TENSORRT_FIXES="1,nonsense")
    assert (
        "torch_tensorrt_fixes.series.UnknownFix: TORCH_TENSORRT_FIXES chooses '1,nonsense': no fix is called 'nonsense'"
    ) in done.stderr


def test_uninstall_before_the_import_undoes_everything(scenario: Scenario) -> None:
    printed = scenario.prints(
        """
        import sys, torch_tensorrt_fixes
        finders, hook = list(sys.meta_path), sys.excepthook
        with torch_tensorrt_fixes.install("1"):
            assert sys.meta_path[1:] == finders
        assert sys.meta_path == finders and sys.excepthook is hook
        import torch_tensorrt
        print(torch_tensorrt.double(5), torch_tensorrt_fixes.active(), type(torch_tensorrt.maths.__loader__).__name__)
        """
    )
    assert printed == "11 () SourceFileLoader"


def test_uninstall_after_the_import_leaves_what_is_loaded(scenario: Scenario) -> None:
    printed = scenario.prints(
        """
        import importlib, sys, torch_tensorrt_fixes
        finders = list(sys.meta_path)
        with torch_tensorrt_fixes.install("1,2"):
            import torch_tensorrt
        assert sys.meta_path == finders
        print(torch_tensorrt.double(5), torch_tensorrt_fixes.active())
        print(*(f"{e.label} {e.status.value} ({e.reason})" for e in torch_tensorrt_fixes.report()[1:3]), sep="\\n")
        importlib.reload(torch_tensorrt.maths)
        print(torch_tensorrt.maths.double(5), torch_tensorrt_fixes.active())
        """
    )
    assert printed == textwrap.dedent("""\
        10 ('1/double',)
        1/double on ()
        2/late off (uninstalled; not imported yet: torch_tensorrt.dynamo._helper, torch_tensorrt.dynamo.late)
        11 ()""")


def test_no_torch_tensorrt(scenario: Scenario) -> None:
    scenario.site = scenario.folder / "empty"
    done = scenario.run("import torch_tensorrt_fixes as f; f.install()", fails=True)
    assert "NotInstalled: torch_tensorrt is not installed in this environment" in done.stderr
    done = scenario.run("import torch_tensorrt_fixes.auto\nimport torch_tensorrt", fails=True)
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'torch_tensorrt'\n")


def test_a_folder_of_that_name_without_code(scenario: Scenario) -> None:
    (scenario.folder / "torch_tensorrt").mkdir()
    scenario.site = scenario.folder / "empty"
    code = "import torch_tensorrt_fixes.auto\nimport torch_tensorrt\nprint(torch_tensorrt.__file__)"
    assert scenario.prints(code) == "None"


def test_another_torch_tensorrt_by_the_time_it_is_imported(scenario: Scenario) -> None:
    other = scenario.folder / "other/torch_tensorrt"
    (other / "dynamo").mkdir(parents=True)
    for name in ("__init__.py", "_version.py", "dynamo/__init__.py"):
        (other / name).write_text((scenario.package / name).read_text())
    (other / "maths.py").write_text(
        "def fail(x):\n    raise ValueError('failed')\n\n\ndef double(x):\n    return 0 + x + x + 1\n"
    )
    done = scenario.run(
        """
        import sys, torch_tensorrt_fixes
        torch_tensorrt_fixes.install("1")
        sys.path.insert(0, "other")
        import torch_tensorrt
        print(torch_tensorrt.double(5), torch_tensorrt_fixes.active())
        """
    )
    assert done.stdout == "11 ()\n"
    assert "FixLeftOut: 1/double is left out" in done.stderr


def test_auto_is_light(scenario: Scenario) -> None:
    """No more than a few small modules, all in the end ours, are imported until torch_tensorrt is."""
    (scenario.folder / "start/sitecustomize.py").unlink()
    printed = scenario.prints(
        """
        import sys
        before = set(sys.modules)
        import torch_tensorrt_fixes.auto
        print(*sorted(set(sys.modules) - before - {"__future__"}))
        """
    ).split()
    assert printed == [
        "torch_tensorrt_fixes",
        "torch_tensorrt_fixes.auto",
        "torch_tensorrt_fixes.importer",
        *(f"torch_tensorrt_fixes.importer.{name}" for name in ("loader", "lookup", "source_lines")),
    ]
