from __future__ import annotations

import pytest
from checking import PATH, check, check_unchanged, misfit

from torch_tensorrt_fixes.edits import Edit, Insert, Remove

NEW = Insert(PATH, text="new()", within="f", at="end")


def remove(find: str, through: str = "") -> Remove:
    return Remove(PATH, find=find, through=through, within="f", done="new()")


def check_with_new(edit: Edit, before: str, after: str) -> None:
    """With the edit that brings what the removed code gives way to."""
    check((edit, NEW), before, after)


def test_a_statement_with_its_comments_and_the_gap_below() -> None:
    check_with_new(
        remove("if old:\n    $$$BODY"),
        """
        def f(x):
            y = 1

            # what follows
            # is old
            if old:
                x = 2

                y = 3

            x = 4
        """,
        """
        def f(x):
            y = 1

            x = 4
            new()
        """,
    )


def test_statements_of_one_block_and_what_is_between() -> None:
    check_with_new(
        remove("old = $X", through="for i in old:\n    $$$BODY"),
        """
        def f(x):
            # is old
            old = x
            between()
            # so is this
            for i in old:
                pass

            # stays
            x = 1
        """,
        """
        def f(x):
            # stays
            x = 1
            new()
        """,
    )


def test_a_gap_below_stays_where_none_is_above() -> None:
    check_with_new(
        remove("old()"),
        "def f():\n    y = 1\n    old()  # old\n\n    z = 2\n",
        "def f():\n    y = 1\n\n    z = 2\n    new()\n",
    )


def test_nothing_to_do_where_what_shows_it_is_there() -> None:
    check_unchanged(remove("old()"), "def f():\n    new()\n    old()\n")


@pytest.mark.parametrize(
    "find, through, text",
    [
        ("old()", "", "def f():\n    return 1\n"),
        ("old()", "", "def f():\n    old()\n    old()\n"),
        ("old()", "last()", "def f():\n    old()\n    if x:\n        last()\n"),
        ("old()", "last()", "def f():\n    last()\n    old()\n"),
        ("old()", "", "def f():\n    old(); y = 1\n"),
    ],
)
def test_misfits(find: str, through: str, text: str) -> None:
    misfit(remove(find, through), text)


@pytest.mark.parametrize("patterns", [{"find": "a; b"}, {"find": "a", "through": "if"}, {"find": "a", "done": ""}])
def test_what_it_takes(patterns: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        Remove(PATH, **({"done": "new()"} | patterns))
