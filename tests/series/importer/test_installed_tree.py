"""The installed package as a tree."""

from __future__ import annotations

import os
import py_compile
import sys
import zipfile
from pathlib import Path

import pytest
from fake_series import LATE, MATHS, PACKAGE, write_package

from torch_tensorrt_fixes.edits import Misfit
from torch_tensorrt_fixes.importer import Finder
from torch_tensorrt_fixes.trees.installed import InstalledTree, NotInstalled, has_bytecode


@pytest.fixture(params=["folder", "zip"])
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_package(tmp_path)
    if request.param == "zip":
        with zipfile.ZipFile(tmp_path / "site.zip", "w") as writer:
            for name, text in PACKAGE.items():
                writer.writestr(f"torch_tensorrt/{name}", text)
        tmp_path = tmp_path / "site.zip"
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_reads_without_importing(site: Path) -> None:
    before = set(sys.modules)  # other tests of this process may have imported the real one
    tree = InstalledTree()
    assert tree.read(MATHS) == PACKAGE["maths.py"]
    assert tree.read(LATE) == PACKAGE["dynamo/late.py"]
    assert tree.read("py/torch_tensorrt/dynamo/gone.py") is None
    assert tree.read("py/torch_tensorrt/dynamo") is None
    assert not tree.tests
    assert tree.read("tests/py/dynamo/test_x.py") is None and tree.files("tests/py/dynamo/test_x.py") == []
    assert tree.files(MATHS) == [str(site / "torch_tensorrt/maths.py")]
    assert tree.version == "9.8.7"
    assert tree.origin == str(site / "torch_tensorrt/__init__.py")
    assert not {name for name in set(sys.modules) - before if name.startswith("torch_tensorrt.")}


def test_our_own_finder_is_not_asked(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [Finder("nonsense", "the test"), *sys.meta_path])
    assert type(InstalledTree().spec.loader).__module__ in ("_frozen_importlib_external", "zipimport")


def test_line_ends_are_kept_and_a_byte_order_mark_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = write_package(tmp_path)
    (package / "maths.py").write_bytes("\ufeffgröße = 1\r\nx = 2\n".encode())
    (package / "dynamo/late.py").write_bytes("# -*- coding: latin-1 -*-\ngröße = 1\n".encode("latin-1"))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert InstalledTree().read(MATHS) == "größe = 1\r\nx = 2\n"
    with pytest.raises(Misfit, match="the file is not UTF-8"):
        InstalledTree().read(LATE)


def test_version_from_the_installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = write_package(tmp_path)
    (package / "_version.py").unlink()
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not Path(p, "torch_tensorrt").is_dir()])
    monkeypatch.syspath_prepend(str(tmp_path))
    assert InstalledTree().version == ""
    (tmp_path / "torch_tensorrt_rtx-1.2.3.dist-info").mkdir()
    (tmp_path / "torch_tensorrt_rtx-1.2.3.dist-info/METADATA").write_text("Name: torch-tensorrt-rtx\nVersion: 1.2.3\n")
    assert InstalledTree().version == "1.2.3"


def test_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(NotInstalled, match="torch_tensorrt is not installed in this environment: install it"):
        InstalledTree()
    (tmp_path / "torch_tensorrt").mkdir()
    with pytest.raises(NotInstalled, match="it is no package with source files"):
        InstalledTree()


def test_bytecode_counts_while_the_file_is_as_it_was(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("x = 1\n")
    assert not has_bytecode(str(module))
    py_compile.compile(str(module), doraise=True)
    assert has_bytecode(str(module))
    os.utime(module, (1, 1))
    assert not has_bytecode(str(module))
    py_compile.compile(str(module), doraise=True)
    module.write_text("x = 22\n")
    os.utime(module, (1, 1))
    assert not has_bytecode(str(module))
    py_compile.compile(str(module), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    assert not has_bytecode(str(module))
    assert not has_bytecode(str(tmp_path / "archive.zip/module.py"))
