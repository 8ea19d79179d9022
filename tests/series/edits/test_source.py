"""What all edits stand on: definitions by name, places in the text, splices; and what holds of any set of edits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from checking import PATH, text_of
from hypothesis import given
from hypothesis import strategies as st

from torch_tensorrt_fixes.edits import (
    AddDefinition,
    AddImport,
    AddItem,
    Definition,
    Edit,
    Insert,
    Misfit,
    Rewrite,
    Source,
    Splice,
    apply,
)

MODULE = text_of('''
    """Größe 𝜋."""
    import os

    LIMIT, OTHER = 1, 2
    NAME: str = "a"
    left = right = 3
    bare: int


    @overload
    def f(x: int): ...


    @a.b.overload
    def f(x: str): ...


    @decorate(
        1,
    )
    async def f(x):
        local = 1

        def inner():
            deep = 2

        class Local:
            field = 3

        return lambda: local


    class A:
        attribute = 4

        @property
        def p(self): ...

        @p.setter
        def p(self, x): ...

        class B:
            def m(self):
                self.x = 5


    if left:

        def g(): ...

    else:
        g = None
    ''')


def test_definitions_by_qualified_name() -> None:
    found = Source(PATH, MODULE).definitions
    assert {name: len(nodes) for name, nodes in found.items()} == {
        **dict.fromkeys(["NAME", "left", "right", "bare", "f", "f.local", "f.inner", "f.inner.deep", "f.Local"], 1),
        **dict.fromkeys(["f.Local.field", "A", "A.attribute", "A.B", "A.B.m"], 1),
        "A.p": 2,
        "g": 2,
    }
    assert [node.text().split("\n")[0] for node in found["A.p"]] == ["@property", "@p.setter"]


@pytest.mark.parametrize(
    ("name", "first"),
    [("f", "@decorate("), ("A.B.m", "def m(self):"), ("right", "right = 3"), ("", '"""Größe 𝜋."""')],
)
def test_one_definition(name: str, first: str) -> None:
    assert Source(PATH, MODULE).definition(name).text().startswith(first)


def test_a_file_is_parsed_once() -> None:
    assert Source.of(PATH, MODULE) is Source.of(PATH, MODULE)
    assert Source.of(PATH, MODULE) is not Source.of(PATH, MODULE + "\n")


def test_splices_at_one_another() -> None:
    source = Source(PATH, "a = 1\nb = 2\n")
    replace, ahead, behind = Splice(0, 5, "c = 3"), Splice(0, 0, "x\n"), Splice(5, 5, "\ny")
    for splices in ([replace, ahead, behind], [behind, ahead, replace]):
        assert source.splice(splices) == "x\nc = 3\ny\nb = 2\n"
    for other in (Splice(4, 5, ""), Splice(0, 11, ""), Splice(0, 5, "z"), Splice(2, 2, "z"), Splice(4, 9, "")):
        with pytest.raises(Misfit, match="two edits overlap at line 1: `.*` and `.*`"):
            source.splice([other, replace])
    with pytest.raises(Misfit, match="two edits overlap at line 2: `x` and `y`"):
        source.splice([Splice(6, 6, "y"), Splice(6, 6, "x")])


@pytest.mark.parametrize(
    ("before", "splice"),
    [
        ("from __future__ import annotations\n", Splice(0, 0, "x = 1\n")),
        ('"""Doc."""\n\nfrom __future__ import annotations\n', Splice(10, 10, "\nx = 1")),
        ("x = 1\n", Splice(5, 5, "\nfrom __future__ import annotations")),
        ("x = 1\ny = 2\n", Splice(5, 6, " ")),
        ("if x:\n    y\nelse:\n    z\n", Splice(0, 11, "x")),
        ("x = 1\n", Splice(5, 5, "\nbreak")),
        ("x = 1\n", Splice(5, 5, "\ny = '''")),
        ("x = 1\n", Splice(0, 0, "@a\n")),
        ("x = 1\n", Splice(0, 0, "  ")),
        ("x = 1\ny = 2\n", Splice(6, 6, "  ")),
        ("def f(a): ...\n", Splice(6, 7, "a, a")),
        ("def f():\n    a\n", Splice(14, 14, "\n    global a")),
    ],
)
def test_no_splice_leaves_what_is_no_python(before: str, splice: Splice) -> None:
    with pytest.raises(Misfit, match="the edits would leave invalid Python: .* \\(nearest: line"):
        Source(PATH, before).splice([splice])


@pytest.mark.parametrize(
    ("before", "splice", "after"),
    [
        ("x = 1\ndef f(): ...\n", Splice(6, 6, "@a\n"), "x = 1\n@a\ndef f(): ...\n"),
        ("x = 1\ndef f(): ...\n", Splice(5, 5, "\n@a"), "x = 1\n@a\ndef f(): ...\n"),
        ("if x:\n    y\nz\n", Splice(11, 11, "\nelse:\n    a"), "if x:\n    y\nelse:\n    a\nz\n"),
        ("if x:\n    y\nz\n", Splice(12, 12, "else:\n    a\n"), "if x:\n    y\nelse:\n    a\nz\n"),
        ("x = 1; y = 2\n", Splice(12, 12, "; z = 3"), "x = 1; y = 2; z = 3\n"),
        ("x = '\\d'\n", Splice(8, 8, "\ny = '\\d'"), "x = '\\d'\ny = '\\d'\n"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_splice_that_needs_what_stands_beside_it(before: str, splice: Splice, after: str) -> None:
    assert Source(PATH, before).splice([splice]) == after


# --- any edits of any module ---

FILLER = [
    "# größe 𝜋",
    "",
    "\x0c",
    "x = 1",
    "if x:\n\ty = '''\n  # no comment\n'''  ",
    "print(x, ( 2 ))",
    "try: pass\nfinally: pass",
]


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Definitions f0, f1, ... each with what the edits look for, among all sorts of lines and line ends."""
    pieces = ["import os"]
    for number in range(draw(st.integers(1, 3))):
        pieces += draw(st.lists(st.sampled_from(FILLER), max_size=3))
        pieces += draw(st.sampled_from(["", "# about it\n@a(b)\n"])).splitlines()
        indent = draw(st.sampled_from(["    ", "\t", "  "]))
        comment = draw(st.sampled_from(["", "  # größe", " ;"]))
        pieces += [
            f"def f{number}(a):",
            f"{indent}old(a, {number}){comment}",
            f"{indent}return [a]",
            f"{indent}more(a)",
        ]
    pieces += [*draw(st.lists(st.sampled_from(FILLER), max_size=2)), "z = 0"]
    lines = "\n".join(pieces).split("\n")
    ends = draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(lines), max_size=len(lines)))
    text = "".join(line + end for line, end in zip(lines, ends, strict=True))
    return draw(st.sampled_from(["", "\ufeff"])) + (text if draw(st.booleans()) else text.rstrip("\r\n"))


def all_edits() -> list[Edit]:
    return [
        Rewrite(PATH, within="f0", find="old($X, $N)", put="new($N, $X)"),
        Insert(PATH, within="f0", before="return $X", text="if a:\n    inserted(a)"),
        Insert(PATH, within="f0", after="more(a)", text="last(a)"),
        AddItem(PATH, within="f0", item="b"),
        AddItem(PATH, within="f0", into="[$$$A]", item="c"),
        AddDefinition(PATH, Definition("LIMIT", "LIMIT = 1", ("import math",)), before="f0"),
        AddDefinition(PATH, Definition("g", "def g():\n    return Any", ("from typing import Any",)), after="f0"),
        AddImport(PATH, ("from a import b", "import abc")),
    ]


EDITS = st.permutations(range(len(all_edits()))).flatmap(
    lambda order: st.integers(1, len(order)).map(lambda count: [all_edits()[i] for i in order[:count]])
)


def one_by_one(text: str, edits: Sequence[Edit]) -> str:
    for edit in edits:
        text = apply(PATH, text, [edit]).text
    return text


@given(modules(), EDITS)
def test_the_order_of_edits_never_matters(text: str, edits: list[Edit]) -> None:
    try:
        together = apply(PATH, text, edits).text
    except Misfit as misfit:
        assert "holds other code beside the statement" in str(misfit)
        return
    assert apply(PATH, text, edits[::-1]).text == together
    assert one_by_one(text, edits) == together
    assert one_by_one(text, edits[::-1]) == together
    assert apply(PATH, together, edits).text == together


def lines(text: str) -> list[str]:
    return text.split("\n")


@given(modules(), st.sampled_from(all_edits()))
def test_every_byte_outside_an_edit_stays(text: str, edit: Edit) -> None:
    source = Source(PATH, text)
    try:
        splices = sorted(edit.splices(source))
        after = source.splice(splices)
    except Misfit as misfit:
        assert "holds other code beside the statement" in str(misfit)
        return
    assert splices
    # The text falls into what the splices replace and what they leave; each piece left is in the result, in order.
    left, done = [], 0
    for splice in splices:
        left.append(source.text[done : splice.start])
        done = splice.end
    left.append(source.text[done:])
    plain = after.removeprefix("\ufeff").replace("\r\n", "\n")
    assert plain == "".join(piece for i, s in enumerate(splices) for piece in (left[i], s.text)) + left[-1]
    # Line ends, the mark and the missing last newline: every line that was not touched is there as it was.
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    touched = {
        number
        for splice in splices
        for number in range(source.text.count("\n", 0, splice.start), source.text.count("\n", 0, splice.end) + 1)
    }
    there = iter(lines(after))
    for number, line in enumerate(lines(text)):
        assert number in touched or line in there
