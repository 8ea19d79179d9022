"""Beside other import hooks: asked before them, both work; asked after them, a warning says so."""

from __future__ import annotations

import pytest
from scenario import Scenario

TYPEGUARD = "import typeguard; typeguard.install_import_hook(['torch_tensorrt'])"
USE = """
import torch_tensorrt
from torch_tensorrt.dynamo import late, _helper
import colorsys  # any import after the package's lets our finder notice
print(torch_tensorrt.double(5), late.half(3), torch_tensorrt_fixes.active())
try:
    torch_tensorrt.maths.typed("no number")
except typeguard.TypeCheckError:
    print("checked")
"""


@pytest.fixture
def typed(scenario: Scenario) -> Scenario:
    file = scenario.package / "maths.py"
    file.write_text(file.read_text() + "\n\ndef typed(x: int) -> int:\n    return x\n")
    return scenario


@pytest.mark.parametrize("before", ["", "import torch_tensorrt_fixes.auto; ", "torch_tensorrt_fixes.install('1,2'); "])
def test_typeguard_first(typed: Scenario, before: str) -> None:
    """An explicit install() puts the finder in front, also where it was installed already."""
    before = "import torch_tensorrt_fixes; " + before
    printed = typed.prints(
        f"{before}{TYPEGUARD}; torch_tensorrt_fixes.install('1,2')" + USE, TORCH_TENSORRT_FIXES="1,2"
    )
    assert printed == "10 1.5 ('1/double', '2/late')\nchecked"
    stock = typed.prints(f"{TYPEGUARD}" + USE.replace(", _helper", "").replace("torch_tensorrt_fixes.active()", "''"))
    assert stock == "11 1 \nchecked"


def test_typeguard_in_front(typed: Scenario) -> None:
    report = "\nfor entry in torch_tensorrt_fixes.report()[1:3]: print(entry.status.value, entry.reason)"
    use = USE.replace(", _helper", "")
    done = typed.run(f"import torch_tensorrt_fixes; torch_tensorrt_fixes.install('1,2'); {TYPEGUARD}" + use + report)
    printed = done.stdout.splitlines()
    assert printed[:2] == ["11 1 ()", "checked"]
    advice = (
        ": typeguard.TypeguardFinder stands before torch_tensorrt_fixes in sys.meta_path. Call "
        "torch_tensorrt_fixes.install() after that hook is installed and before torch_tensorrt is imported; "
        "then both work"
    )
    assert printed[2] == "replaced torch_tensorrt.maths was loaded by typeguard._importhook.TypeguardLoader" + advice
    assert printed[3].startswith(
        "replaced torch_tensorrt.dynamo.late was loaded by typeguard._importhook.TypeguardLoader"
    )
    warned = [line for line in done.stderr.splitlines() if "HookInFront: " in line]
    assert len(warned) == 1
    assert warned[0].endswith(
        "HookInFront: typeguard._importhook.TypeguardLoader loaded torch_tensorrt.maths, so the fixes to it are not on"
        + advice
    )


def test_typeguard_in_front_of_an_automatic_install(typed: Scenario) -> None:
    """Nothing is planned: not even torch_tensorrt itself was ours to load."""
    use = USE.replace(", _helper", "")
    done = typed.run(
        f"import torch_tensorrt_fixes.auto; {TYPEGUARD}" + use + "\nprint(torch_tensorrt_fixes.report()[1].status)",
        TORCH_TENSORRT_FIXES="1,2",
    )
    assert done.stdout.splitlines() == ["11 1 ()", "checked", "Status.REPLACED"]
    assert done.stderr.count("HookInFront: typeguard._importhook.TypeguardLoader loaded torch_tensorrt, ") == 1


HOOKS = {
    "a finder that asks all the others, itself behind ours": """
        class Hook:
            def find_spec(self, name, path=None, target=None):
                for finder in sys.meta_path:
                    if finder is not self and (spec := finder.find_spec(name, path, target)):
                        return spec
        sys.meta_path.insert(0, Hook())
        torch_tensorrt_fixes.install("1,2")
    """,
    "a finder that asks all the others, itself in front": """
        class Hook:
            def find_spec(self, name, path=None, target=None):
                for finder in sys.meta_path:
                    if finder is not self and (spec := finder.find_spec(name, path, target)):
                        return spec
        torch_tensorrt_fixes.install("1,2")
        sys.meta_path.insert(0, Hook())
    """,
    "a loader of path entries that wraps functions, as beartype's": """
        import functools, importlib.machinery
        class Wrapping(importlib.machinery.SourceFileLoader):
            asked = False
            def get_code(self, name):
                self.asked = True
                return super().get_code(name)
            def source_to_code(self, data, path, **options):
                assert self.asked
                source = importlib.util.decode_source(data)
                for function in ("double", "half", "divide"):
                    source = source.replace(f"def {function}(", f"@__import__('program').wrap\\ndef {function}(")
                return super().source_to_code(source.encode(), path, **options)
        def wrap(function):
            return functools.wraps(function)(lambda *args: function(*args))
        sys.modules["program"] = sys.modules["__main__"]
        finder = importlib.machinery.FileFinder.path_hook((Wrapping, [".py"]))
        def hook(entry):
            if not entry.startswith(site):
                raise ImportError
            return finder(entry)
        sys.path_hooks.insert(0, hook)
        sys.path_importer_cache.clear()
        torch_tensorrt_fixes.install("1,2")
    """,
}


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS.keys())
def test_hooks_that_can_go_together(scenario: Scenario, hook: str) -> None:
    code = f"""
        import importlib.util, sys, torch_tensorrt_fixes
        site = {str(scenario.site)!r}
        {hook.strip()}
        import torch_tensorrt, colorsys
        from torch_tensorrt.dynamo import late
        print(torch_tensorrt.double(5), late.half(3), torch_tensorrt_fixes.active())
    """
    assert scenario.prints(code) == "10 1.5 ('1/double', '2/late')"
