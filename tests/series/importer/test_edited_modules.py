"""Edited modules in daily use: source lines, reload, -m, zip, pickles, threads; and no trace of them on disk."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest
from scenario import Scenario

INSTALL = "import torch_tensorrt_fixes; torch_tensorrt_fixes.install('1,2'); "


def edited_line(text: str) -> int:
    """The line of the edited maths.py that ends in ``text``: two functions stand where one stood."""
    source = (Path(__file__).parent / "fake_series.py").read_text().split("maths.py\": '''")[1]
    source = source.replace('"failed"', '"edited"').replace(
        "def double", "def twice(x):\n    return 2 * x\n\n\ndef double"
    )
    return next(number for number, line in enumerate(source.split("\n"), 1) if line.endswith(text))


def test_no_bytecode_of_edited_text(scenario: Scenario) -> None:
    """The stock bytecode is neither used nor replaced, and a Python without the fixes stays without."""
    stock = (
        "import torch_tensorrt; from torch_tensorrt.dynamo.late import half; print(torch_tensorrt.double(5), half(3))"
    )
    assert scenario.prints(INSTALL + stock) == "10 1.5"
    cached = {Path(name).name.partition(".")[0] for name in scenario.files() if name.endswith(".pyc")}
    assert "_version" in cached
    assert not cached & {"maths", "late", "_helper"}
    for data in scenario.files().values():
        assert b"twice" not in data and b"divide" not in data
    assert scenario.prints(stock) == "11 1"
    before = scenario.files()
    assert scenario.prints(INSTALL + stock) == "10 1.5"
    assert scenario.files() == before
    assert scenario.prints(stock) == "11 1"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_package(scenario: Scenario) -> None:
    folders = [scenario.package, scenario.package / "dynamo"]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert scenario.prints(INSTALL + "import torch_tensorrt; print(torch_tensorrt.double(5))") == "10"
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_carriage_returns(scenario: Scenario) -> None:
    file = scenario.package / "maths.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    code = "import inspect, torch_tensorrt as t; print(t.double(5)); print(inspect.getsource(t.double))"
    assert scenario.prints(INSTALL + code) == "10\ndef double(x):\n    return twice(x)"


def test_inspect_shows_the_edited_text(scenario: Scenario) -> None:
    printed = scenario.prints(
        INSTALL
        + """
import inspect, linecache
import fake_series, torch_tensorrt
from torch_tensorrt import maths
from torch_tensorrt.dynamo import late, _helper
for clear in (str, linecache.checkcache, lambda: linecache.clearcache() or torch_tensorrt_fixes.report()):
    clear()
    assert inspect.getsource(maths.double) == "def double(x):\\n    return twice(x)\\n", inspect.getsource(maths.double)
    assert inspect.getsource(maths.Shape).startswith("class Shape:\\n")
    assert inspect.getsource(_helper) == fake_series.HELPER_TEXT
    assert inspect.getsource(maths) == maths.__loader__.get_source("torch_tensorrt.maths")
    assert inspect.getsourcelines(late.half)[1] == 4
print(maths.__file__, _helper.__file__, maths.double.__code__.co_filename == maths.__file__, sep="\\n")
"""
    ).split("\n")
    assert printed == [str(scenario.package / "maths.py"), str(scenario.package / "dynamo/_helper.py"), "True"]


@pytest.mark.parametrize("clear", ["", "import linecache; linecache.clearcache();"])
def test_uncaught_error(scenario: Scenario, clear: str) -> None:
    done = scenario.run(INSTALL + f"import torch_tensorrt; {clear} torch_tensorrt.maths.fail(1)", fails=True)
    assert done.stderr.splitlines()[-3:] == [
        f'  File "{scenario.package}/maths.py", line {edited_line("edited" + chr(34) + ")")}, in fail',
        '    raise ValueError("edited")',
        "ValueError: edited",
    ]


def test_logged_error(scenario: Scenario) -> None:
    code = "import logging, torch_tensorrt\ntry: torch_tensorrt.maths.fail(1)\nexcept ValueError: logging.exception('')"
    done = scenario.run(INSTALL + code)
    assert 'in fail\n    raise ValueError("edited")\n' in done.stderr


def test_a_hook_of_the_program_for_uncaught_errors_is_kept(scenario: Scenario) -> None:
    code = (
        "import sys; sys.excepthook = lambda *error: print('mine'); import torch_tensorrt; torch_tensorrt.maths.fail(1)"
    )
    done = scenario.run(INSTALL + code, fails=True)
    assert (done.stdout, done.stderr) == ("mine\n", "")


def test_reload(scenario: Scenario) -> None:
    code = """
import importlib, inspect, torch_tensorrt
from torch_tensorrt.dynamo import late, _helper
for module in (torch_tensorrt.maths, late, _helper, torch_tensorrt):
    assert importlib.reload(module) is module
print(torch_tensorrt.maths.double(5), late.half(3), torch_tensorrt_fixes.active())
print(inspect.getsource(torch_tensorrt.maths.double))
"""
    assert scenario.prints(INSTALL + code) == "10 1.5 ('1/double', '2/late')\ndef double(x):\n    return twice(x)"


def test_module_as_program(scenario: Scenario) -> None:
    (scenario.package / "__init__.py").write_text("")
    start = scenario.folder / "start/sitecustomize.py"
    start.write_text(start.read_text() + "import torch_tensorrt_fixes.auto\n")
    assert scenario.prints(["-m", "torch_tensorrt.maths"], TORCH_TENSORRT_FIXES="1") == "doubled: 4"
    assert scenario.prints(["-m", "torch_tensorrt.maths"], TORCH_TENSORRT_FIXES="off") == "doubled: 5"


def test_package_in_a_zip_archive(scenario: Scenario) -> None:
    archive = scenario.folder / "site.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        for file in scenario.package.rglob("*.*"):
            writer.write(file, file.relative_to(scenario.site))
    shutil.rmtree(scenario.site)
    scenario.site = archive
    code = """
import inspect, pkgutil, torch_tensorrt
from torch_tensorrt.dynamo import late
print(torch_tensorrt.double(5), late.half(3), torch_tensorrt_fixes.active(), torch_tensorrt.maths.__file__)
print(inspect.getsource(torch_tensorrt.double))
print(pkgutil.get_data("torch_tensorrt.dynamo", "data.txt"))
torch_tensorrt.maths.fail(1)
"""
    done = scenario.run(INSTALL + code, fails=True)
    assert done.stdout.splitlines() == [
        f"10 1.5 ('1/double', '2/late') {archive}/torch_tensorrt/maths.py",
        *("def double(x):", "    return twice(x)", ""),
        "b'data'",
    ]
    assert '    raise ValueError("edited")\n' in done.stderr


def test_files_of_an_edited_package(scenario: Scenario) -> None:
    """What is not the module's text comes from the module's own loader."""
    scenario.package.joinpath("dynamo/__init__.py").write_text("x = 1\n")
    code = """
import fake_series
from torch_tensorrt_fixes.commit import *
from torch_tensorrt_fixes.edits import *
path = "py/torch_tensorrt/dynamo/__init__.py"
fake_series.FIXES = (fake_series.fix(1, "dynamo", Rewrite(path, find="x = 1", put="x = 2")),)
import importlib.resources, pkgutil, torch_tensorrt_fixes
torch_tensorrt_fixes.install()
import torch_tensorrt.dynamo as dynamo
print(dynamo.x, torch_tensorrt_fixes.active())
print(pkgutil.get_data("torch_tensorrt.dynamo", "data.txt"))
print(importlib.resources.files(dynamo).joinpath("data.txt").read_text())
print([m.name for m in pkgutil.iter_modules(dynamo.__path__)], dynamo.__loader__.is_package("torch_tensorrt.dynamo"))
"""
    assert scenario.prints(code).splitlines() == ["2 ('1/dynamo',)", "b'data'", "data", "['late'] True"]


def test_pickles_are_by_reference(scenario: Scenario) -> None:
    """What is pickled with the fixes can be read without them, and the other way round."""
    dump = """
import pickle, torch_tensorrt
from torch_tensorrt.maths import Shape
pickle.dump((Shape(3), torch_tensorrt.double), open("p", "wb"))
"""
    load = "import pickle; shape, double = pickle.load(open('p', 'rb')); print(shape.side, double(5))"
    scenario.prints(INSTALL + dump)
    assert scenario.prints(load) == "3 11"
    scenario.prints(dump)
    assert scenario.prints(INSTALL + load) == "3 10"


@pytest.mark.parametrize("way", ["torch_tensorrt_fixes.auto", "torch_tensorrt_fixes as f; f.install('1,2')"])
def test_threads_that_import_at_once(scenario: Scenario, way: str) -> None:
    """Among them threads that import what planning imports, too.

    The package's __init__ imports nothing: with one that does, Python itself finds a deadlock when threads import the
    package and its modules at once. Nor is isort among the names: its compiled modules cannot be imported at once.
    """
    (scenario.package / "__init__.py").write_text("")
    code = f"""
        import {way}
        import importlib, threading
        names = ["torch_tensorrt", "torch_tensorrt.dynamo.late", "torch_tensorrt.maths", "torch_tensorrt.dynamo"]
        names += ["ast_grep_py", "dataclasses", "tempfile", "importlib.resources", "difflib", "ast"]
        barrier, failed = threading.Barrier(3 * len(names)), []

        def load(name):
            barrier.wait()
            try:
                importlib.import_module(name)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=load, args=(name,)) for name in names * 3]
        for thread in threads: thread.start()
        for thread in threads: thread.join(20)
        assert not failed and not any(thread.is_alive() for thread in threads), failed
        import torch_tensorrt_fixes, torch_tensorrt.dynamo.late
        print(torch_tensorrt.maths.double(5), torch_tensorrt_fixes.active())
    """
    (scenario.folder / "start/sitecustomize.py").write_text(LATE_SERIES)
    for _ in range(3):
        assert scenario.prints(code, "-X", "faulthandler", TORCH_TENSORRT_FIXES="1,2") == "10 ('1/double', '2/late')"


# The series is replaced when it is imported, so that the start of the interpreter imports nothing heavy.
LATE_SERIES = """
import sys
class Late:
    def find_spec(self, name, path=None, target=None):
        if name != "torch_tensorrt_fixes.series":
            return None
        sys.meta_path.remove(self)
        import importlib.util
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module
        def exec_module(module):
            run(module)
            import fake_series
            fake_series.use()
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(0, Late())
"""


def test_new_processes_of_multiprocessing(scenario: Scenario) -> None:
    """A program that installs at its top has the fixes in spawned processes as well."""
    code = """
        import torch_tensorrt_fixes; torch_tensorrt_fixes.install("1")
        import multiprocessing, torch_tensorrt
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(torch_tensorrt.double, (5,)), pool.apply(torch_tensorrt_fixes.active))
    """
    assert scenario.prints(code) == "10 ('1/double',)"
