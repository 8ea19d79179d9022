"""A tree in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torch_tensorrt_fixes.trees.directory import DirectoryTree

PATH = "py/torch_tensorrt/dynamo/slices.py"


def test_reads_what_is_written_byte_for_byte(tmp_path: Path) -> None:
    tree = DirectoryTree(tmp_path)
    assert tree.tests
    assert tree.read(PATH) is None
    for text in ("größe = 1\r\nb = 2\n\r", "\ufeffx = 1\n", ""):
        tree.write({PATH: text})
        assert (tmp_path / PATH).read_bytes() == text.encode()
        assert tree.read(PATH) == text
    assert tree.read("py/torch_tensorrt/dynamo") is None
    assert [file.name for file in (tmp_path / PATH).parent.iterdir()] == ["slices.py"]


def test_package(tmp_path: Path) -> None:
    tree = DirectoryTree(tmp_path, package=True)
    assert not tree.tests
    tree.write({PATH: "x = 1\n"})
    assert (tmp_path / "torch_tensorrt/dynamo/slices.py").read_text() == tree.read(PATH) == "x = 1\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text("here, but not the package's")
    assert tree.read("tests/test_x.py") is None
    with pytest.raises(ValueError, match="tests/test_x.py has no place in an installed package"):
        tree.write({"tests/test_x.py": "x = 1\n"})


def test_mode_is_kept_and_hard_links_are_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "stock.py").write_text("x = 1\n")
    (tmp_path / "stock.py").chmod(0o755)
    (tmp_path / "copy").mkdir()
    os.link(tmp_path / "stock.py", tmp_path / "copy/a.py")
    DirectoryTree(tmp_path / "copy").write({"a.py": "x = 2\n"})
    assert (tmp_path / "stock.py").read_text() == "x = 1\n"
    assert (tmp_path / "copy/a.py").read_text() == "x = 2\n"
    assert (tmp_path / "copy/a.py").stat().st_mode & 0o777 == 0o755


OUTSIDE = ("../secret.py", "{outside}/secret.py", "link.py", "linked/secret.py")
OUTSIDE_OF_PACKAGE = tuple(f"py/torch_tensorrt/{path}" for path in ("../../secret.py", "link.py", "linked/secret.py"))


@pytest.mark.parametrize(
    "package, path", [*((False, path) for path in OUTSIDE), *((True, path) for path in OUTSIDE_OF_PACKAGE)]
)
def test_nothing_outside_of_the_root(tmp_path: Path, package: bool, path: str) -> None:
    (tmp_path / "secret.py").write_text("secret = 1\n")
    root = tmp_path / "root"
    inside = root / "torch_tensorrt" if package else root
    inside.mkdir(parents=True)
    (inside / "link.py").symlink_to(tmp_path / "secret.py")
    (inside / "linked").symlink_to(tmp_path)
    path = path.format(outside=tmp_path)
    tree = DirectoryTree(root, package)
    with pytest.raises(ValueError, match=f"leads out of {root}"):
        tree.read(path)
    with pytest.raises(ValueError, match=f"leads out of {root}"):
        tree.write({path: "x = 1\n"})
    assert (tmp_path / "secret.py").read_text() == "secret = 1\n"


def test_other_encoding(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes("é".encode("latin-1"))
    with pytest.raises(ValueError, match="latin.py is not UTF-8"):
        DirectoryTree(tmp_path).read("latin.py")
