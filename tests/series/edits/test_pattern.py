"""The text work that edits share: blocks, indents, strings that span lines."""

from __future__ import annotations

import pytest

from torch_tensorrt_fixes.edits.pattern import (
    block,
    check_pattern,
    dedented,
    indented,
    lines_inside_strings,
    metavariables,
)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1\ny = 2", set()),
        ('x = """\na\nb"""', {2, 3}),
        ('x = f"""\na{b}\n{c}"""\ny = """\nd"""', {2, 3, 5}),
        ("x = '''a'''\ny", set()),
        ("x = 'a\\\nb'", {2}),
        ("f(\n  '''\na''',\n  b)", {3}),
        ('a, """\nb""", c', {2}),
        ('a=1,\n  b="""\nc"""', {3}),
        ("# it's\nx", set()),
        ('def f():\n    """One.\n\n    Two.\n    """\n    x = """\n"""', {7}),
        ('class A:\n    """One.\n    Two."""', set()),
        ('"""One.\nTwo."""', {2}),
        ('f(\n    """\n    a""",\n)', {3}),
        ('    x = """\n    a"""\n    y', {2}),
    ],
)
def test_the_lines_that_begin_inside_a_string(text: str, lines: set[int]) -> None:
    assert lines_inside_strings(text) == lines


@pytest.mark.parametrize("text", ["x = '''", "f(", '"""'])
def test_no_python_at_all(text: str) -> None:
    with pytest.raises(ValueError, match="no Python statement or expression"):
        lines_inside_strings(text)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("x", "x"),
        ("\n    x\n    ", "x"),
        ("\n    x\n\n      y\n    ", "x\n\n  y"),
        ("\n\n    x\n\n    ", "\nx\n"),
        ("\n    if $A:\n        $$$B\n", "if $A:\n    $$$B"),
        ('\n    x = """\n  a\n    b\n"""\n    ', 'x = """\n  a\n    b\n"""'),
        ("\n\tx\n\t\ty\n\t", "x\n\ty\n"),
        (
            '\n    def f():\n        """One.\n\n        Two.\n        """\n    ',
            'def f():\n    """One.\n\n    Two.\n    """',
        ),
        ("\n    x\n   \n    y\n    ", "x\n\ny"),
        ("", ""),
    ],
)
def test_a_block(text: str, result: str) -> None:
    assert block(text) == result


def test_a_dedented_text_indents_back() -> None:
    text = 'def f():\n    """One.\n\n    Two."""\n    return f"""\n{x}\n  """\n\n\ny'
    assert dedented(indented(text, "        ")) == text


@pytest.mark.parametrize(
    "pattern", ["f($A)", "$A", "$A.b", "def $F($$$ARGS): $$$BODY", "return $X", "f($_A, $_)", "[$$$A]"]
)
def test_patterns(pattern: str) -> None:
    check_pattern(pattern)


def test_metavariables_as_they_are_written() -> None:
    assert metavariables("f($A, $$$ARGS, $A, $_B1, lower)") == {"$A", "$$$ARGS", "$_B1"}
