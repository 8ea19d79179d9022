from __future__ import annotations

import pytest
from checking import PATH

from torch_tensorrt_fixes.edits import Misfit, NewFile, Rewrite, apply

TEXT = '"""Größe 𝜋."""\n\nx = 1\n'
NEW = NewFile(PATH, lambda: TEXT)


def test_it_is_added_where_there_is_none() -> None:
    applied = apply(PATH, None, [NEW])
    assert (applied.text, applied.made, applied.there) == (TEXT, (NEW,), ())


@pytest.mark.parametrize("there", [TEXT, TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT])
def test_the_same_is_there(there: str) -> None:
    applied = apply(PATH, there, [NEW])
    assert (applied.text, applied.made, applied.there) == (there, (), (NEW,))


@pytest.mark.parametrize("there", [TEXT + "\n", "", "x = 1\n"])
def test_another_is_there(there: str) -> None:
    with pytest.raises(Misfit, match=f"^{PATH}: the file is there already and differs from ours$"):
        apply(PATH, there, [NEW])


def test_it_is_no_python() -> None:
    with pytest.raises(Misfit, match="the new file is no valid Python: .* \\(nearest: line 2: def f"):
        apply(PATH, None, [NewFile(PATH, lambda: "x = 1\ndef f(:\n")])


def test_its_text_is_read_when_it_is_landed() -> None:
    read: list[str] = []
    edit = NewFile(PATH, lambda: read.append("read") or TEXT)  # type: ignore[func-returns-value]
    assert not read
    apply(PATH, None, [edit])
    assert read


def test_other_edits_need_a_file() -> None:
    rewrite = Rewrite(PATH, find="x", put="y")
    for edits in ([rewrite], [rewrite, NEW], [NEW, rewrite]):
        with pytest.raises(Misfit, match=f"^{PATH}: the tree has no such file$"):
            apply(PATH, None, edits)
