"""How every kind of edit is tested: a text before, the text after, and what must hold of any edit."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from textwrap import dedent

import black
import isort
import pytest

from torch_tensorrt_fixes.edits import Edit, Misfit, apply

PATH = "py/torch_tensorrt/dynamo/lowering/passes.py"
BLACK = black.Mode(target_versions={black.TargetVersion[f"PY3{minor}"] for minor in range(8, 13)})
ISORT = isort.Config(
    profile="black", py_version="311", known_first_party=frozenset({"packaging"}), src_paths=(Path("/nowhere"),)
)
AHEAD = "# größe 𝜋\n\n"
BOM = "\ufeff"


def text_of(text: str) -> str:
    return dedent(text.removeprefix("\n"))


def edited(edits: Edit | tuple[Edit, ...], text: str) -> str:
    """The text after the edits, which change nothing when they are made again."""
    edits = edits if isinstance(edits, tuple) else (edits,)
    after = apply(PATH, text, edits)
    again = apply(PATH, after.text, edits)
    assert again.text == after.text
    assert not again.made
    assert len(after.made) + len(after.there) <= len(edits)
    return after.text


def check(edits: Edit | tuple[Edit, ...], before: str, after: str) -> None:
    """The edits make ``after`` of ``before``, whatever line ends, byte order mark and end the file has.

    Where ``before`` is as black and isort would write it, ``after`` must be so too.
    """
    before, after = text_of(before), text_of(after)
    assert edited(edits, before) == after
    for newline, start, end in product(("\n", "\r\n"), ("", BOM), ("\n", "")):
        was, wanted = (_as(text, newline, start, end) for text in (before, after))
        if newline in was:  # otherwise nothing shows what the file's line ends are
            assert edited(edits, was) == wanted
    if before.partition("\n")[0][:2] != "#!" and before:
        assert edited(edits, AHEAD + before) == AHEAD + after
    if black.format_str(before, mode=BLACK) == before:
        assert black.format_str(after, mode=BLACK) == after
    if isort.code(before, config=ISORT) == before:
        assert isort.code(after, config=ISORT) == after


def _as(text: str, newline: str, start: str, end: str) -> str:
    return start + (text.removesuffix("\n") + end if text else "").replace("\n", newline)


def check_unchanged(edits: Edit | tuple[Edit, ...], text: str) -> None:
    check(edits, text, text)


def misfit(edits: Edit | tuple[Edit, ...], text: str) -> Misfit:
    """The misfit in which the edits end. Its message is one line that begins with the file."""
    edits = edits if isinstance(edits, tuple) else (edits,)
    with pytest.raises(Misfit) as raised:
        apply(PATH, text_of(text), edits)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(PATH)
    assert raised.value.path == PATH
    return raised.value
