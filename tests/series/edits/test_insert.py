from __future__ import annotations

import pytest
from checking import PATH, check, check_unchanged, misfit

from torch_tensorrt_fixes.edits import Insert, Misfit, apply


def insert(text: str, **place: str) -> Insert:
    return Insert(PATH, text=text, **place)


# --- beside a statement ---


def test_before_a_statement_and_the_comments_above_it() -> None:
    check(
        insert("new()", before="old($X)", within="f"),
        """
        def f(x):
            y = 1

            # what follows
            # matters
            old(x)
        """,
        """
        def f(x):
            y = 1

            new()
            # what follows
            # matters
            old(x)
        """,
    )


def test_a_comment_of_other_indent_or_behind_a_blank_line_stays_above() -> None:
    check(
        insert("new()", before="old()"),
        "if a:\n    b()\n    # of b\nold()\n",
        "if a:\n    b()\n    # of b\nnew()\nold()\n",
    )
    check(insert("new()", before="old()"), "# title\n\nold()\n", "# title\n\nnew()\nold()\n")


def test_a_line_of_a_string_is_no_comment() -> None:
    check(
        insert("new()", before="old()"),
        'x = """\n# in the string"""\nold()\n',
        'x = """\n# in the string"""\nnew()\nold()\n',
    )


@pytest.mark.parametrize(
    "line", ["#!/usr/bin/env python", "# -*- coding: utf-8 -*-", "# vim: set fileencoding=utf-8 :"]
)
def test_what_the_first_line_says_of_the_file_stays_first(line: str) -> None:
    edit = insert("new()", before="old()")
    assert apply(PATH, f"{line}\n# about old\nold()\n", [edit]).text == f"{line}\nnew()\n# about old\nold()\n"


def test_after_a_statement_and_its_comments() -> None:
    check(
        insert("new()", after="old($X)", within="f"),
        """
        def f(x):
            old(
                x,
            )  # done
            return x
        """,
        """
        def f(x):
            old(
                x,
            )  # done
            new()
            return x
        """,
    )


def test_after_a_block_and_the_comments_at_its_end() -> None:
    check(
        insert("new()", after="if a: $$$B"),
        "if a:\n    b()\n    # of b\n\n# of c\nc()\n",
        "if a:\n    b()\n    # of b\nnew()\n\n# of c\nc()\n",
    )


def test_the_statement_around_an_expression() -> None:
    check(
        insert("new()", before="old()", within="f"),
        "def f():\n    if a and old():\n        return b\n",
        "def f():\n    new()\n    if a and old():\n        return b\n",
    )


def test_beside_a_decorated_definition() -> None:
    text = "@a\n@b\ndef f():\n    return old()\n"
    check(insert("new()\n\n\n", before="def f(): $$$B"), text, "new()\n\n\n" + text)
    check(insert("\n\n\nnew()", after="def f(): $$$B"), text, text + "\n\nnew()\n")


def test_several_lines_take_the_indent_of_their_place() -> None:
    check(
        insert(
            """
            # why
            if x:
                y()

                z()
            """,
            after="a()",
            within="A.f",
        ),
        """
        class A:
            def f(self):
                a()
        """,
        """
        class A:
            def f(self):
                a()
                # why
                if x:
                    y()

                    z()
        """,
    )


def test_a_string_in_the_text_is_not_indented() -> None:
    check(
        insert('x = """\nzero\n  two\n"""\ny()', after="a()"),
        "if b:\n    a()  # first\n",
        'if b:\n    a()  # first\n    x = """\nzero\n  two\n"""\n    y()\n',
    )


def test_blank_lines_around_the_text_are_kept() -> None:
    check(insert("\n\nnew()\n", after="a()"), "a()\nb()\n", "a()\n\nnew()\nb()\n")


def test_a_tab_is_an_indent() -> None:
    check(
        insert("if x:\n    y()", after="a()"),
        "def f():\n\ta()\n\tb()\n",
        "def f():\n\ta()\n\tif x:\n\t    y()\n\tb()\n",
    )


def test_form_feeds_and_mixed_line_ends_stay() -> None:
    edit = insert("new()\nmore()", before="old()", within="f")
    text = "\ufeffx = 'é𝜋'\r\n\x0c\ndef f():\n    a()\r\n    old()\n\x0cdef g(): pass\n"
    after = text.replace("    old()", "    new()\r\n    more()\r\n    old()")
    assert apply(PATH, text, [edit]).text == after


# --- at the start or the end ---


@pytest.mark.parametrize("docstring", ['    """Doc."""\n', "    r'''Doc.\n    more\n    '''  # noqa\n", ""])
def test_the_start_of_a_function(docstring: str) -> None:
    start = f"@a\nasync def f(\n    x,\n) -> int:\n{docstring}"
    end = "    # why\n    return 1\n"
    check(insert("new()", at="start", within="f"), start + end, start + "    new()\n" + end)


@pytest.mark.parametrize("docstring", ['    """Doc."""\n', ""])
def test_the_start_of_a_class(docstring: str) -> None:
    check(
        insert("new = 1", at="start", within="A"),
        f"class A(B):\n{docstring}    x = 1\n",
        f"class A(B):\n{docstring}    new = 1\n    x = 1\n",
    )


def test_the_end() -> None:
    check(
        insert("new()", at="end", within="f"),
        "def f():\n    a()\n    if b:\n        c()\n        # of c\n\n\nd()\n",
        "def f():\n    a()\n    if b:\n        c()\n        # of c\n    new()\n\n\nd()\n",
    )
    check(insert("new = 1", at="end", within="A"), "class A:\n    x = 1\n", "class A:\n    x = 1\n    new = 1\n")


@pytest.mark.parametrize("start", ['"""Doc."""\n', '"""Doc."""\n\nfrom __future__ import annotations\n', ""])
def test_the_start_of_a_file(start: str) -> None:
    text = start + ("\n" if start else "") + "import os\n"
    after = start + ("\n" if start else "") + "import new\n" + ("\n" if start else "") + "import os\n"
    edit = insert("\n\nimport new" if start else "import new", at="start")
    assert apply(PATH, text, [edit]).text == after
    assert apply(PATH, after, [edit]).text == after


def test_the_end_of_a_file() -> None:
    check(insert("new()", at="end"), "a()\n", "a()\nnew()\n")


@pytest.mark.parametrize(
    ("text", "after"),
    [("", "new()\n"), ("# only\n", "# only\nnew()\n"), ("# only", "# only\nnew()\n"), ("\ufeff", "\ufeffnew()\n")],
)
@pytest.mark.parametrize("at", ["start", "end"])
def test_a_file_without_a_statement(at: str, text: str, after: str) -> None:
    edit = insert("new()", at=at)
    assert apply(PATH, text, [edit]).text == after
    assert apply(PATH, after, [edit]).text == after


# --- what is there already ---


def test_the_lines_are_there() -> None:
    check_unchanged(insert("a()\nif b:\n    c()", after="x()"), "def f():\n    a()\n    if b:\n        c()\n    x()\n")


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    my = 12\n    old()\n",
        "def f():\n    y = 1 + z\n    old()\n",
        "def f():\n    old()\n\n\ny = 1\n",
        "def f():\n    # y = 1\n\n    old()\n",
    ],
)
def test_lines_that_only_look_alike_are_not_it(text: str) -> None:
    check(insert("y = 1", before="old()", within="f"), text, text.replace("    old()", "    y = 1\n    old()"))


def test_lines_of_another_shape_are_not_it() -> None:
    check(
        insert("if a:\n    b()\nc()", before="old()"),
        "if a:\n    b()\n    c()\nold()\n",
        "if a:\n    b()\n    c()\nif a:\n    b()\nc()\nold()\n",
    )


def test_done_says_what_counts() -> None:
    check_unchanged(insert("new(1)", before="old()", done="new($X)"), "new(2)\nold()\n")
    check(
        insert("new(1)", before="old()", done="new($X)", within="f"),
        "def f():\n    old()\n\n\nnew(2)\n",
        """
        def f():
            new(1)
            old()


        new(2)
        """,
    )


# --- refusals ---


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("def f(): return 1\n", {"at": "start", "within": "f"}),
        ("def f(): return 1\n", {"at": "end", "within": "f"}),
        ("class f: x = 1\n", {"at": "start", "within": "f"}),
        ("def f():\n    if x: y()\n", {"before": "y()"}),
        ("def f():\n    if x: y()\n", {"after": "y()"}),
        ("def f():\n    x = 1; y()\n", {"before": "y()"}),
        ("def f():\n    y(); x = 1\n", {"after": "y()"}),
        ("def f():\n    x = 1; y()\n", {"at": "end", "within": "f"}),
        ("try: y()\nfinally: z()\n", {"after": "y()"}),
        ("if x: z()\nelse: y()\n", {"before": "y()"}),
        ("lambda: y(); z()\n", {"after": "y()"}),
    ],
)
def test_a_line_with_other_code(text: str, place: dict[str, str]) -> None:
    assert "holds other code beside the statement to edit" in str(misfit(insert("new()", **place), text))


@pytest.mark.parametrize(("text", "found"), [("f(1)\nf(2)\n", 2), ("g(1)\n", 0)])
@pytest.mark.parametrize("side", ["before", "after"])
def test_the_statement_must_be_there_once(side: str, text: str, found: int) -> None:
    error = misfit(insert("new()", **{side: "f($X)"}), text)
    assert (error.pattern, error.found, error.wanted) == ("f($X)", found, 1)


def test_a_name_has_no_body() -> None:
    assert "TABLE has no body to insert into" in str(misfit(insert("x", at="end", within="TABLE"), "TABLE = [1]\n"))


def test_at_one_place_no_two() -> None:
    edits = insert("a()", before="old()"), insert("b()", before="old()")
    assert "two edits overlap at line 1: `a()" in str(misfit(edits, "old()\n"))


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        (
            "x = 1",
            {"before": "from __future__ import annotations"},
            '"""Doc."""\n\nfrom __future__ import annotations\n',
        ),
        ("return 1", {"before": "a()"}, "a()\n"),
        ("x = $A", {"before": "a()"}, "a()\n"),
        ("else:\n    b()", {"before": "a()"}, "a()\n"),
        ("case 1:\n    b()", {"after": "a()"}, "a()\n"),
        ("@d", {"at": "end"}, "a()\n"),
        ("@d", {"before": "a()"}, "a()\n"),
    ],
)
def test_the_result_would_be_no_python(text: str, place: dict[str, str], code: str) -> None:
    with pytest.raises(Misfit, match="no valid Python|invalid Python"):
        apply(PATH, code, [insert(text, **place)])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"before": "a", "after": "b"},
        {"before": "a", "at": "end"},
        {"at": "middle"},
        {"before": "a b"},
        {"after": "a\nb"},
        {"at": "end", "done": "("},
        {"at": "end", "text": " \n"},
    ],
)
def test_malformed(arguments: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="needs|is .start.|the pattern"):
        insert(**{"text": "new()", **arguments})
