"""active() and report(): what the loaded code proves."""

from __future__ import annotations

import pytest
from scenario import Scenario

INSTALL = "import torch_tensorrt_fixes; torch_tensorrt_fixes.install({!r})\n"
SHOW = "\nfor entry in torch_tensorrt_fixes.report(): print(entry.label, entry.status.value, entry.reason, sep='|')"


def states(scenario: Scenario, code: str) -> dict[str, tuple[str, str]]:
    lines = scenario.prints(code, "-W", "ignore").splitlines()
    return {label: (state, reason) for label, state, reason in (line.split("|") for line in lines)}


def test_every_state(scenario: Scenario) -> None:
    found = states(scenario, INSTALL.format("-7") + "import torch_tensorrt" + SHOW)
    assert {label: state for label, (state, _) in found.items()} == {
        "prerequisite/groundwork": "on",
        "1/double": "on",
        "2/late": "waiting",
        "3/misfit": "left out",
        "4/needy": "left out",
        "5/present": "present",
        "6/grounded": "on",
        "7/area": "off",
    }
    assert found["2/late"][1] == "not imported yet: torch_tensorrt.dynamo._helper, torch_tensorrt.dynamo.late"
    assert found["3/misfit"][1].startswith("py/torch_tensorrt/maths.py, double: `y * $Y` is found nowhere")
    assert found["7/area"][1] == "install() chooses '-7'"


def test_before_the_import(scenario: Scenario) -> None:
    found = states(scenario, INSTALL.format("1") + SHOW)
    assert found["1/double"] == ("waiting", "not imported yet: torch_tensorrt.maths")
    assert found["prerequisite/groundwork"] == ("off", "nothing that is chosen needs it")


def test_automatic_install_is_planned_when_asked(scenario: Scenario) -> None:
    found = states(scenario, "import torch_tensorrt_fixes.auto" + SHOW)
    assert found["1/double"][0] == "waiting"


def test_nothing_installed(scenario: Scenario) -> None:
    found = states(scenario, "import torch_tensorrt_fixes, torch_tensorrt" + SHOW)
    assert {state for state, _ in found.values()} == {"off"}


def test_a_commit_in_part_loaded_is_on(scenario: Scenario) -> None:
    found = states(scenario, INSTALL.format("2") + "import torch_tensorrt.dynamo._helper" + SHOW)
    assert found["2/late"] == ("on", "not imported yet: torch_tensorrt.dynamo.late")


REPLACED = {
    "by a function": (
        "maths.double = lambda x: 0",
        "1/double",
        "torch_tensorrt.maths.double is another function now: __main__.<lambda> (",
    ),
    "by a wrapper": (
        "import functools; maths.double = functools.wraps(maths.double)(lambda x: 0)",
        "1/double",
        "torch_tensorrt.maths.double is another function now: torch_tensorrt.maths.double (",
    ),
    "by its old code": (
        "def double(x): return x + x + 1\nmaths.double.__code__ = double.__code__",
        "1/double",
        "torch_tensorrt.maths.double is another function now: torch_tensorrt.maths.double (",
    ),
    "by a mock": (
        "import unittest.mock; maths.fail = unittest.mock.Mock()",
        "1/double",
        "torch_tensorrt.maths.fail is something else now: a unittest.mock.Mock",
    ),
    "by nothing": ("del maths.twice", "1/double", "torch_tensorrt.maths.twice is gone"),
    "a method": (
        "maths.Shape.area = lambda self: 0",
        "7/area",
        "torch_tensorrt.maths.Shape.area is another function now: ",
    ),
    "a property": (
        "maths.Shape.sides = property(lambda self: 3)",
        "6/grounded",
        "torch_tensorrt.maths.Shape.sides is ",
    ),
    "a class": ("maths.Shape = int", "7/area", "torch_tensorrt.maths.Shape.area is gone"),
    "a module": (
        "import sys, types; sys.modules['torch_tensorrt.maths'] = types.ModuleType('torch_tensorrt.maths')",
        "prerequisite/groundwork",
        "torch_tensorrt.maths was loaded by code that put it into sys.modules",
    ),
}


@pytest.mark.parametrize(("code", "label", "reason"), REPLACED.values(), ids=REPLACED.keys())
def test_replaced(scenario: Scenario, code: str, label: str, reason: str) -> None:
    begin = INSTALL.format("1,6,7") + "import torch_tensorrt\nfrom torch_tensorrt import maths\n"
    assert states(scenario, begin + SHOW)[label][0] == "on"
    found = states(scenario, begin + code + SHOW)
    assert found[label][0] == "replaced"
    assert found[label][1].startswith(reason)
    others = {"1/double", "prerequisite/groundwork", "6/grounded", "7/area"} - {label}
    if "module" not in reason and "Shape = " not in code and "sys.modules" not in code:
        assert {found[other][0] for other in others} == {"on"}


def test_what_no_commit_touched_may_be_replaced(scenario: Scenario) -> None:
    code = INSTALL.format("1") + "import torch_tensorrt\ntorch_tensorrt.maths.untouched = print" + SHOW
    assert states(scenario, code)["1/double"][0] == "on"


def test_a_module_loaded_from_its_file(scenario: Scenario) -> None:
    code = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("torch_tensorrt.maths", torch_tensorrt.maths.__file__)
sys.modules["torch_tensorrt.maths"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["torch_tensorrt.maths"])
"""
    found = states(scenario, INSTALL.format("1") + "import torch_tensorrt" + code + SHOW)
    assert found["1/double"] == (
        "replaced",
        "torch_tensorrt.maths was loaded by _frozen_importlib_external.SourceFileLoader",
    )


def test_a_module_that_is_being_imported_is_waited_for(scenario: Scenario) -> None:
    (scenario.package / "_version.py").write_text(
        "__version__ = '1'\nimport torch_tensorrt_fixes\nseen = torch_tensorrt_fixes.active()\n"
    )
    code = (
        INSTALL.format("1")
        + "import torch_tensorrt; print(torch_tensorrt._version.seen, torch_tensorrt_fixes.active())"
    )
    assert scenario.prints(code) == "() ('1/double',)"
