from __future__ import annotations

import pytest
from checking import PATH, check, check_unchanged, edited, misfit, text_of

from torch_tensorrt_fixes.edits import Misfit, Nearest, Rewrite, apply


def rewrite(find: str, put: str, within: str = "", count: int = 1, done: str = "", comments: bool = False) -> Rewrite:
    return Rewrite(PATH, find=find, put=put, within=within, count=count, done=done, comments=comments)


# --- what is replaced ---


def test_a_call_inside_a_function() -> None:
    check(
        rewrite("positive($BOUND, size)", "clamp($BOUND, size)", within="slice_op", count=2),
        """
        def slice_op(start, stop, size):
            start = positive(start, size)  # the first row
            stop = positive(stop, size)
            return start, stop


        def other(start, size):
            return positive(start, size)
        """,
        """
        def slice_op(start, stop, size):
            start = clamp(start, size)  # the first row
            stop = clamp(stop, size)
            return start, stop


        def other(start, size):
            return positive(start, size)
        """,
    )


def test_a_statement() -> None:
    check(
        rewrite("length[$DIM] = ceil($LENGTH)", "length[$DIM] = max(ceil($LENGTH), 0)"),
        'x = "é𝜋"\nlength[dim] = ceil((stop - start) / step)\n',
        'x = "é𝜋"\nlength[dim] = max(ceil((stop - start) / step), 0)\n',
    )


def test_the_result_may_hold_what_was_looked_for() -> None:
    check(rewrite("f($A)", "g(f($A))"), "x = f(1)\n", "x = g(f(1))\n")


def test_the_comments_above_a_match_go_with_it() -> None:
    check(
        rewrite(
            "if $SEEN:\n    continue",
            "# seen: a copy\nif $SEEN:\n    value = copy(value)",
            done="if $SEEN:\n    value = copy(value)",
            comments=True,
        ),
        """
        for value in values:
            # seen already,
            # so skip it
            if value in seen:
                continue
            seen.append(value)


        # not a comment of the match
        def other():
            pass
        """,
        """
        for value in values:
            # seen: a copy
            if value in seen:
                value = copy(value)
            seen.append(value)


        # not a comment of the match
        def other():
            pass
        """,
    )


def test_comments_go_with_a_whole_statement_only() -> None:
    found = misfit(rewrite("f($A)", "g($A)", comments=True), "# why\nx = f(1)\n")
    assert "other code beside" in str(found)


def test_a_template_need_not_use_every_metavariable() -> None:
    check(rewrite("f($A, $B)", "g($B)"), "f(1, 2)\n", "g(2)\n")


def test_inside_an_async_decorated_nested_method() -> None:
    check(
        rewrite("old()", "new()", within="Outer.Inner.run"),
        """
        class Outer:
            class Inner:
                @decorate(old)
                @staticmethod
                async def run():
                    return await old()

                def other():
                    return old()
        """,
        """
        class Outer:
            class Inner:
                @decorate(old)
                @staticmethod
                async def run():
                    return await new()

                def other():
                    return old()
        """,
    )


def test_in_a_decorator_of_the_definition() -> None:
    check(
        rewrite("convert($OP)", "convert($OP, checked=True)", within="add"),
        "@convert(ops.add)\ndef add():\n    return convert\n",
        "@convert(ops.add, checked=True)\ndef add():\n    return convert\n",
    )


@pytest.mark.parametrize("line", ["TABLE = {}", "TABLE: dict = {}"])
def test_inside_an_assignment(line: str) -> None:
    check(
        rewrite("{}", "dict()", within="TABLE"),
        f"OTHER = {{}}\n{line}\n",
        f"OTHER = {{}}\n{line.replace('{}', 'dict()')}\n",
    )


def test_a_stub_for_overload_is_not_the_definition() -> None:
    before = """
        @overload
        def f(x: int) -> int: ...
        @typing.overload
        def f(x: str) -> str: ...
        def f(x):
            return old(x)
        """
    check(rewrite("old($X)", "new($X)", within="f"), before, before.replace("old", "new"))


def test_the_file_as_a_whole() -> None:
    check(rewrite("LIMIT", "MAXIMUM", count=2), "x = LIMIT\ny = LIMIT\n", "x = MAXIMUM\ny = MAXIMUM\n")


# --- a match is the whole of what it matches ---


@pytest.mark.parametrize(
    ("pattern", "more"),
    [
        ("raise X", "raise X from y"),
        ("return", "return x"),
        ("yield", "yield 1"),
        ("assert $A", "assert a, b"),
        ("import os", "import os, sys"),
        ("from a import b", "from a import b, c"),
        ("x: int", "x: int = 3"),
        ("a < b", "a < b < c"),
        ("f(a < b)", "f(a < b < c)"),
        ("a, b", "a, b, c"),
        ("global a", "global a, b"),
        ("if $A:\n    $B", "if a:\n    b()\nelse:\n    c()"),
        ("if $A: $$$B", "if a:\n    b()\nelse:\n    c()"),
        ("if $A:\n    return", "if a:\n    return 5"),
        ("for $A in b: $$$C", "for a in b:\n    c()\nelse:\n    d()"),
        ("while $A: $$$B", "while a:\n    b()\nelse:\n    c()"),
        ("try:\n    $$$A\nexcept E:\n    $$$B", "try:\n    a()\nexcept E:\n    b()\nfinally:\n    c()"),
        ("def g(a): $$$B", "async def g(a):\n    pass"),
    ],
)
def test_nothing_beyond_the_pattern_is_dropped(pattern: str, more: str) -> None:
    body = "".join(f"    {line}\n" for line in more.split("\n"))
    found = misfit(rewrite(pattern, "done()", within="f"), f"def f():\n{body}")
    assert (found.found, found.wanted) == (0, 1)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("f($A, b)", "f(a, b,)"),
        ("f($A, b)", "f(\n    a,  # first\n    b,\n)"),
        ("[$A]", "[a,]"),
        ("x = $V", "x = y = 2"),
        ("if $A: $$$B", "if a:\n    # why\n    b()\n    c()"),
        ("if $A:\n    $B", "if a: b()"),
        ("def g($$$A): $$$B", "def g(a, *, b=1, **c):\n    d()"),
        ("f($$$A, last)", "f(a, b, last)"),
        ("f($$$A, last)", "f(last)"),
        ("f(first, $$$A)", "f(first, b, c)"),
        ("$A.shape", "a.b.shape"),
    ],
)
def test_layout_comments_and_metavariables_do_not_hinder(pattern: str, text: str) -> None:
    assert apply(PATH, text + "\n", [rewrite(pattern, "done")]).text.rstrip("\n") == "done"


# --- captured text ---


def test_captured_lines_move_with_their_template() -> None:
    check(
        rewrite(
            "add($$$ARGS)",
            """
            with scope():
                add(
                    $$$ARGS,
                )
            """,
            within="f",
            done="with scope(): $$$BODY",
        ),
        """
        def f():
            add(
                1,
                [
                    2,
                ],
            )
        """,
        """
        def f():
            with scope():
                add(
                    1,
                    [
                        2,
                    ],
                )
        """,
    )


def test_a_captured_block_is_indented_with_its_template() -> None:
    check(
        rewrite(
            "if x:\n    $$$BODY",
            """
            if x:
                with scope():
                    $$$BODY
            """,
            within="f",
        ),
        '''
        def f(x):
            if x:
                # why
                text = """
            kept as it is
                """
                if y:
                    z()

                return text
        ''',
        '''
        def f(x):
            if x:
                with scope():
                    # why
                    text = """
            kept as it is
                """
                    if y:
                        z()

                    return text
        ''',
    )


def test_a_string_in_the_template_is_not_indented() -> None:
    check(
        rewrite("old()", 'x = """\n  two\nnone\n"""', within="f"),
        "def f():\n    old()\n",
        'def f():\n    x = """\n  two\nnone\n"""\n',
    )


def test_a_string_in_a_template_that_is_dedented() -> None:
    check(
        rewrite(
            "old()",
            '''
            x = """
              kept
            """
            ''',
            within="f",
        ),
        "def f():\n    old()\n",
        'def f():\n    x = """\n              kept\n            """\n',
    )


def test_a_docstring_in_the_template_moves_like_black_would_have_it() -> None:
    check(
        rewrite(
            "old = 1",
            'def old():\n    """One.\n\n    Two.\n    """\n    return 1',
            within="A",
            done="def old(): $$$BODY",
        ),
        "class A:\n    old = 1\n",
        'class A:\n    def old():\n        """One.\n\n        Two.\n        """\n        return 1\n',
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "g(x)"),
        ("f(a)", "g(a, x)"),
        ("f(a, b,)", "g(a, b, x)"),
        ("f(a, k=b, *c, **d)", "g(a, k=b, *c, **d, x)"),
        ("f(\n    a,\n    b,\n)", "g(a,\n    b, x)"),
        ("f(\n    a,  # first\n    b,\n)", "g(a,  # first\n    b, x)"),
        ("f(\n    a,  # first\n    b,  # second\n)", "g(a,  # first\n    b,  # second\n    x)"),
        ("f(\n    a,  # first\n    b  # second\n)", "g(a,  # first\n    b,  # second\n    x)"),
    ],
)
def test_arguments_before_another(before: str, after: str) -> None:
    put = "g($$$ARGS, x)" if "**" not in before else "g($$$ARGS, x=1)"
    assert edited(rewrite("f($$$ARGS)", put), before + "\n") == after.replace("**d, x)", "**d, x=1)") + "\n"


@pytest.mark.parametrize(
    ("before", "put", "after"),
    [
        ("f()", "g(x, $$$ARGS)", "g(x)"),
        ("f()", "g($$$ARGS)", "g()"),
        ("f()", "g(x, $$$ARGS, y)", "g(x, y)"),
        ("f()", "g(\n    $$$ARGS,\n    x,\n)", "g(\n    x,\n)"),
        ("f()", "g(\n    x,\n    $$$ARGS\n)", "g(\n    x,\n)"),
        ("f(a)", "g(\n    $$$ARGS,\n    x,\n)", "g(\n    a,\n    x,\n)"),
        ("f(\n    a,  # c\n)", "g($$$ARGS)", "g(a  # c\n)"),
        ("f(\n    a,  # c\n)", "g(\n    $$$ARGS,\n    x,\n)", "g(\n    a,  # c\n    x,\n)"),
        ("f(a, b)", "h(f($$$ARGS), f($$$ARGS))", "h(f(a, b), f(a, b))"),
    ],
)
def test_arguments_that_are_none_or_end_in_a_comment(before: str, put: str, after: str) -> None:
    done = "g($$$ARGS)" if put.startswith("g") else ""
    assert edited(rewrite("f($$$ARGS)", put, done=done), before + "\n") == after + "\n"


def test_a_tab_stays_the_indent() -> None:
    check(
        rewrite("old()", "if a:\n    new()", within="f"),
        "def f():\n\told()\n\treturn 1\n",
        "def f():\n\tif a:\n\t    new()\n\treturn 1\n",
    )


def test_line_ends_that_differ_within_the_file_stay() -> None:
    before = "def f():\r\n    a()\n    old()\n    b()\r\n\x0c\ndef g():\n    pass\r\n"
    assert edited(rewrite("old()", "new()", within="f"), before) == before.replace("old", "new")


# --- counts ---


def test_fewer_than_wanted() -> None:
    text = """
        import os


        def f():
            return positive(start, shape[0])
        """
    found = misfit(rewrite("positive($B, size)", "clamp($B)", within="f", count=2), text)
    assert (found.within, found.pattern, found.found, found.wanted) == ("f", "positive($B, size)", 0, 2)
    assert found.nearest == Nearest(5, "positive(start, shape[0])")
    assert str(found.labelled("1/slice-bounds")) == (
        f"1/slice-bounds: {PATH}, f: `positive($B, size)` is found nowhere, wanted twice "
        "(nearest: line 5: positive(start, shape[0]))"
    )


def test_the_nearest_line_is_counted_as_an_editor_does() -> None:
    text = text_of('''
        """é𝜋"""
        x = """
        a
        """


        def f():
            return positive(start, shape[0])
        ''').replace("\n", "\r\n")
    edit = rewrite("positive($B, size)", "clamp($B)", within="f")
    for start in ("", "\ufeff"):
        with pytest.raises(Misfit) as raised:
            apply(PATH, start + text, [edit])
        assert raised.value.nearest == Nearest(8, "positive(start, shape[0])")


def test_more_than_wanted() -> None:
    found = misfit(rewrite("f($X)", "g($X)", within="h"), "def h():\n    return f(1), f(2), f(3)\n")
    assert (found.found, found.wanted, found.nearest) == (3, 1, None)
    assert str(found) == f"{PATH}, h: `f($X)` is found 3 times (line 2), wanted once"


def test_nothing_like_it_anywhere() -> None:
    assert misfit(rewrite("positive($B, size)", "clamp($B)"), "x = 1\n").nearest is None


def test_a_pattern_of_several_lines_is_shown_on_one() -> None:
    assert "`if a: return $X` is found nowhere" in str(misfit(rewrite("if a:\n    return $X", "b($X)"), "x = 1\n"))


def test_the_definition_is_missing() -> None:
    found = misfit(rewrite("a", "b", within="slice_op"), "def f(): ...\n\n\ndef slice_ops(): ...\n")
    assert (found.within, found.found, found.wanted) == ("slice_op", 0, 1)
    assert found.nearest == Nearest(4, "slice_ops")
    assert "slice_op is defined nowhere, wanted once" in str(found)


def test_the_definition_is_there_twice() -> None:
    text = "if a:\n    def f(): return old\nelse:\n    def f(): return old\n"
    found = misfit(rewrite("old", "new", within="f", count=2), text)
    assert (found.found, found.wanted, found.nearest) == (2, 1, None)
    assert "f is defined twice (lines 2, 4), wanted once" in str(found)


@pytest.mark.parametrize("text", ["a, b = 1, 2\n", "x.a = 1\n", "a += 1\n", "for a in b: ...\n", "(a := 1)\n"])
def test_only_a_plain_assignment_defines_a_name(text: str) -> None:
    assert "a is defined nowhere" in str(misfit(rewrite("1", "2", within="a"), text))


def test_made_as_it_seems_and_to_make_as_well() -> None:
    found = misfit(rewrite("f($X)", "g($X)"), "g(1)\nf(2)\n")
    assert str(found) == f"{PATH}: `g($X)` is found once, as if the edit were made, but so is `f($X)` once"
    check(rewrite("f($X)", "g($X)", done="g(2)"), "g(1)\nf(2)\n", "g(1)\ng(2)\n")


def test_made_already() -> None:
    check_unchanged(rewrite("f($X)", "g($X)", count=2), "g(1)\ng(2)\n")
    check_unchanged(rewrite("f($X)", "g($X)", done="h($X)"), "h(1)\n")


# --- refusals ---


def test_matches_inside_each_other() -> None:
    found = misfit(rewrite("f($X)", "g($X)", count=2), "a = 1\nf(f(x))\n")
    assert "two edits overlap at line 2" in str(found)


def test_edits_that_overlap() -> None:
    edits = rewrite("f($X)", "g($X)"), rewrite("x", "y")
    assert "two edits overlap at line 1" in str(misfit(edits, "f(x)\n"))


@pytest.mark.parametrize(
    ("line", "put"),
    [
        ("if x: y()", "a()\nb()"),
        ("x = 1; y()", "a()\nb()"),
        ("y(); z()", "if c:\n    a()"),
        ("y(); z()", "if c: a()"),
        ("x = y()", "for a in b:\n    c()"),
        ("y().z", "if c:\n    a()"),
    ],
)
def test_statements_never_go_into_a_line_with_others(line: str, put: str) -> None:
    found = misfit(rewrite("y()", put, done="done"), line + "\n")
    assert f"line 1 holds other code beside the statement to edit: `{line}`" in str(found)


def test_a_simple_statement_may_share_its_line() -> None:
    check(rewrite("y()", "z = (\n    1\n)"), "if x: y(); a()\n", "if x: z = (\n    1\n); a()\n")


@pytest.mark.parametrize("text", ["def f(:\n", "x = 'é\n", "if x:\ny\n", "return 1\n", "\0"])
def test_the_file_is_no_python(text: str) -> None:
    assert "the file is no valid Python" in str(misfit(rewrite("x", "y"), text))


def test_the_line_of_a_syntax_error_is_shown() -> None:
    assert misfit(rewrite("x", "y"), "a = 1\n\x0cb = 2\nx = = 3\n").nearest == Nearest(3, "x = = 3")


@pytest.mark.parametrize(
    ("find", "put", "text"),
    [
        ("old", "1", "old = 2\n"),
        ("f($X)", "return $X", "f(1)\n"),
        ("a", "b", "def f(a, b): ...\n"),
        ("f(a=$X, b=$Y)", "f(b=$X, b=$Y)", "f(a=1, b=2)\n"),
    ],
)
def test_the_result_would_be_no_python(find: str, put: str, text: str) -> None:
    found = misfit(rewrite(find, put, done="never"), text)
    assert "the edits would leave invalid Python" in str(found)
    assert found.nearest is not None


@pytest.mark.parametrize("pattern", ["f(", "$A $B", "if x", "f($$$)", "f($lower)", "a\nb", ""])
def test_a_malformed_pattern(pattern: str) -> None:
    for make in (
        lambda: rewrite(pattern, "x"),
        lambda: rewrite("x", pattern or "a\nb"),
        lambda: rewrite("x", "y", done=pattern or "f("),
    ):
        with pytest.raises(ValueError, match="the pattern|is no Python|is not one statement"):
            make()


def test_a_template_with_an_unknown_metavariable() -> None:
    with pytest.raises(ValueError, match=r"`g\(\$A, \$B\)` uses \$B, which `f\(\$A\)` does not capture"):
        rewrite("f($A)", "g($A, $B)")
    with pytest.raises(ValueError, match=r"uses \$\$\$A"):
        rewrite("f($A)", "g($$$A)")


def test_statements_need_a_sign_that_they_are_there() -> None:
    with pytest.raises(ValueError, match="give the pattern that shows that it is `done`"):
        rewrite("f()", "a()\nb()")


def test_no_match_wanted() -> None:
    with pytest.raises(ValueError, match="one or more"):
        rewrite("f()", "g()", count=0)


def test_the_nearest_may_span_lines_or_stand_elsewhere() -> None:
    text = "def f():\n    return 1\n\n\nx = positive(\n    start,\n    shape[0],\n)\n"
    found = misfit(rewrite("positive($B, size)", "clamp($B)", within="f"), text)
    assert found.nearest == Nearest(5, "positive( start, shape[0], )")
