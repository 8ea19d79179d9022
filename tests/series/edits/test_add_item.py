from __future__ import annotations

import pytest
from checking import PATH, check, check_unchanged, edited, misfit

from torch_tensorrt_fixes.edits import AddItem, apply


def add(item: str, **place: str) -> AddItem:
    return AddItem(PATH, item=item, **place)


# --- every kind of sequence ---


@pytest.mark.parametrize(
    ("place", "before", "after"),
    [
        ({"into": "f($$$A)"}, "f()", "f(new)"),
        ({"into": "f($$$A)"}, "f(a)", "f(a, new)"),
        ({"into": "f($$$A)"}, "x = f(a, *b)", "x = f(a, *b, new)"),
        ({"into": "a.f($$$A)"}, "a.f(b)(c)", "a.f(b, new)(c)"),
        ({"into": "f($$$A)", "after": "a"}, "f(a, *b, **c)", "f(a, new, *b, **c)"),
        ({"into": "f($$$A)", "before": "**c"}, "f(a, *b, **c)", "f(a, *b, new, **c)"),
        ({"into": "[a, $$$A]"}, "x = [a, b]", "x = [a, b, new]"),
        ({"into": "f($$$A)"}, "f((a, b))", "f((a, b), new)"),
        ({"within": "X"}, "X = []", "X = [new]"),
        ({"within": "X"}, "X: list = [a, b]  # why", "X: list = [a, b, new]  # why"),
        ({"within": "X"}, "X = ()", "X = (new,)"),
        ({"within": "X"}, "X = (a,)", "X = (a, new)"),
        ({"within": "X", "before": "a"}, "X = (a,)", "X = (new, a)"),
        ({"within": "X"}, "X = (a, b)", "X = (a, b, new)"),
        ({"within": "X"}, "X = {a, b}", "X = {a, b, new}"),
        ({"within": "X", "before": "a"}, "X = {a, b}", "X = {new, a, b}"),
        ({"within": "A"}, "class A(B):\n    pass", "class A(B, new):\n    pass"),
        ({"within": "A.X"}, "class A:\n    X = [a]", "class A:\n    X = [a, new]"),
        ({"within": "g", "into": "dec($$$A)"}, "@dec(a)\ndef g(a):\n    pass", "@dec(a, new)\ndef g(a):\n    pass"),
        ({"within": "g", "into": "dec($$$A)"}, "@dec()\nclass g:\n    pass", "@dec(new)\nclass g:\n    pass"),
        ({"within": "g"}, "@dec(a)\nasync def g():\n    pass", "@dec(a)\nasync def g(new):\n    pass"),
        ({"within": "g"}, "def g(a, b) -> C:\n    pass", "def g(a, b, new) -> C:\n    pass"),
    ],
)
def test_where_it_goes(place: dict[str, str], before: str, after: str) -> None:
    check(add("new", **place), before + "\n", after + "\n")


@pytest.mark.parametrize(
    ("item", "place", "before", "after"),
    [
        ("b: int = 1", {}, "a", "a, b: int = 1"),
        ("b: int = 1", {"after": "a: int = 0"}, "self, a: int = 0, *args", "self, a: int = 0, b: int = 1, *args"),
        ("b=1", {"before": "**kwargs"}, "a, *args, **kwargs", "a, *args, b=1, **kwargs"),
        ("b", {"before": "*"}, "a, *, c", "a, b, *, c"),
        ("b", {"after": "*"}, "a, *, c", "a, *, b, c"),
        ("b", {"before": "/"}, "a, /, c", "a, b, /, c"),
        ("*", {"before": "c"}, "a, c", "a, *, c"),
    ],
)
def test_parameters(item: str, place: dict[str, str], before: str, after: str) -> None:
    check(add(item, within="f", **place), f"def f({before}):\n    pass\n", f"def f({after}):\n    pass\n")


def test_a_pair_of_a_dict() -> None:
    check(add('"c": 3', within="X"), 'X = {"a": 1}\n', 'X = {"a": 1, "c": 3}\n')
    check(add('"c": 3', within="X"), "X = {}\n", 'X = {"c": 3}\n')
    check(add('"c": 3', within="X", before="**more"), 'X = {"a": 1, **more}\n', 'X = {"a": 1, "c": 3, **more}\n')


# --- black's layouts ---


def test_a_line_an_item_stays_so() -> None:
    check(
        add("new", within="X"),
        """
        X = [
            a,  # first
            [
                b,
            ],
            # about c
            c,  # third
            # the end
        ]
        """,
        """
        X = [
            a,  # first
            [
                b,
            ],
            # about c
            c,  # third
            new,
            # the end
        ]
        """,
    )


@pytest.mark.parametrize("place", [{"after": "a"}, {"before": "c"}])
def test_a_line_of_its_own_above_the_comments_of_the_next(place: dict[str, str]) -> None:
    check(
        add("new", within="X", **place),
        "X = {\n    a,  # first\n    # about c\n    c,\n}\n",
        "X = {\n    a,  # first\n    new,\n    # about c\n    c,\n}\n",
    )


def test_a_line_of_its_own_before_the_first() -> None:
    check(
        add("new", into="f($$$A)", within="g", before="a"),
        "def g():\n    return f(\n        # about a\n        a,\n        b,\n    )\n",
        "def g():\n    return f(\n        new,\n        # about a\n        a,\n        b,\n    )\n",
    )


def test_a_comma_is_added_where_it_lacks() -> None:
    check(
        add("new=1", into="f($$$A)"),
        "f(\n    a,\n    *b  # the rest\n)\n",
        "f(\n    a,\n    *b,  # the rest\n    new=1,\n)\n",
    )


LONG = [f"a_name_of_some_length_{i}" for i in range(4)]
ITEMS = [*LONG[:3], "ten_letter"]


def test_one_indented_line_where_the_line_gets_too_long() -> None:
    before, after = ", ".join(LONG[:3]), ", ".join(LONG[:3] + ["new"])
    check(
        add("new", into="f($$$A)"),
        f"if a:\n    variable = f({before})\n",
        f"if a:\n    variable = f(\n        {after}\n    )\n",
    )
    check(
        add("new", within="f"),
        f"def f({before}) -> A:\n    pass\n",
        f"def f(\n    {after}\n) -> A:\n    pass\n",
    )


def test_one_indented_line_keeps_its_layout() -> None:
    before, after = ", ".join(LONG[:3]), ", ".join(["new", *LONG[:3]])
    check(
        add("new", into="f($$$A)", before=LONG[0]),
        f"the_result_of_it = f(\n    {before}\n)\n",
        f"the_result_of_it = f(\n    {after}\n)\n",
    )


@pytest.mark.parametrize("end", ["", "  # why"])
def test_a_line_an_item_where_one_line_does_not_hold_them(end: str) -> None:
    check(
        add("new", into="f($$$A)"),
        f"f(\n    {', '.join(ITEMS)}\n){end}\n",
        "f(\n" + "".join(f"    {name},\n" for name in [*ITEMS, "new"]) + f"){end}\n",
    )
    check(
        add(LONG[3], within="f"),
        f"def f({', '.join(LONG[:3])}):{end}\n    pass\n",
        "def f(\n" + "".join(f"    {name},\n" for name in LONG) + f"):{end}\n    pass\n",
    )


@pytest.mark.parametrize("brackets", ["[]", "()", "{}"])
def test_a_literal_gets_a_line_an_item_at_once(brackets: str) -> None:
    opening, closing = brackets
    names = [*LONG[:3], "abc"]
    lines = "".join(f"    {name},\n" for name in [*names, "new"])
    check(add("new", within="X"), f"X = {opening}{', '.join(names)}{closing}\n", f"X = {opening}\n{lines}{closing}\n")


def test_a_lone_long_parameter() -> None:
    name = "quite_a_long_function_name_for_a_test_of_the_length"
    check(
        add("parameter_of_some_length: Optional[int]", within=name),
        f"def {name}() -> None:\n    pass\n",
        f"def {name}(\n    parameter_of_some_length: Optional[int],\n) -> None:\n    pass\n",
    )


def test_a_line_of_88_characters_is_not_too_long() -> None:
    start = f"x = f({'a' * (88 - len('x = f(, new)'))}"
    check(add("new", into="f($$$A)"), f"{start})\n", f"{start}, new)\n")
    check(add("newer", into="f($$$A)"), f"{start})\n", f"x = f(\n    {start[6:]}, newer\n)\n")


# --- what is not black's is left as it is ---


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a,)", "f(a, new,)"),
        ("f(a, b,)", "f(a, b, new,)"),
        ("f(a,  # one\n  b)", "f(a,  # one\n  b, new)"),
        ("f(a,  # one\n  b  # two\n  )", "f(a,  # one\n  b, new  # two\n  )"),
        ("f(\n    a, b,\n)", "f(\n    a, b, new,\n)"),
        ("f(a,\n  b)", "f(a,\n  b, new)"),
        ("f(\n  a,\n  b)", "f(\n  a,\n  b, new)"),
        ("f(a, g(\n    b,\n))", "f(a, g(\n    b,\n), new)"),
        ("f(  # nothing\n)", "f(  # nothing\n    new,\n)"),
        ("f(\n    # nothing\n    # at all\n)", "f(\n    # nothing\n    # at all\n    new,\n)"),
        ("f( a )", "f(a, new)"),
    ],
)
def test_other_layouts(before: str, after: str) -> None:
    assert edited(add("new", into="f($$$A)"), before + "\n") == after + "\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a,  # one\n  b)", "f(a,  # one\n  new, b)"),
        ("f(a, g(\n    b,\n), b)", "f(a, g(\n    b,\n), new, b)"),
        ("f(a,\n    b\n)", "f(a,\n    new, b\n)"),
    ],
)
def test_other_layouts_before_an_item(before: str, after: str) -> None:
    assert edited(add("new", into="f($$$A)", before="b"), before + "\n") == after + "\n"


def test_line_ends_that_differ_within_the_file_stay() -> None:
    text = "x = 'é𝜋'\r\n\x0c\nX = [\r\n\ta,\n\tb,\r\n]\n"
    assert apply(PATH, text, [add("new", within="X", before="b")]).text == text.replace("\tb", "\tnew,\r\n\tb")


# --- what is there already ---


@pytest.mark.parametrize("text", ["f(a, new=g(1, 2))\n", "f(\n    new=g(1,\n          2),  # why\n)\n"])
def test_the_item_is_there(text: str) -> None:
    check_unchanged(add("new=g(1, 2)", into="f($$$A)"), text)


# --- refusals ---


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({"within": "X"}, "X = a\n"),
        ({"within": "X"}, "X = a, b\n"),
        ({"within": "X"}, "X = [a for a in b]\n"),
        ({"within": "X"}, "X = f(a)\n"),
        ({"within": "X"}, "X: int\n"),
        ({"within": "A"}, "class A:\n    pass\n"),
        ({"into": "f(a for a in b)"}, "f(a for a in b)\n"),
        ({"into": "dec"}, "@dec\ndef f(): ...\n"),
        ({"into": "return $X"}, "def f():\n    return [a]\n"),
    ],
)
def test_no_sequence(place: dict[str, str], text: str) -> None:
    found = misfit(add("new", **place), text)
    assert "no list, arguments or parameters to add `new` to" in str(found)


@pytest.mark.parametrize(("text", "count"), [("f(b)\n", 0), ("f(a, b, a)\n", 2)])
@pytest.mark.parametrize("side", ["before", "after"])
def test_the_neighbour_must_be_there_once(side: str, text: str, count: int) -> None:
    found = misfit(add("new", into="f($$$A)", **{side: "a"}), text)
    assert (found.pattern, found.found, found.wanted) == ("a", count, 1)
    times = "twice among `a, b, a`" if count else "nowhere among `b`"
    assert f"the item `a`, next to which `new` goes, is found {times}, wanted once" in str(found)


def test_the_sequence_must_be_there_once() -> None:
    found = misfit(add("new", into="f($$$A)", within="g"), "def g():\n    return f(1), f(2)\n")
    assert (found.within, found.found, found.wanted) == ("g", 2, 1)


@pytest.mark.parametrize(
    ("item", "place", "text"),
    [
        ("new", {"within": "f"}, "def f(a, **kwargs): ...\n"),
        ("new", {"within": "f"}, "def f(a=1): ...\n"),
        ("a: int", {"within": "f"}, "def f(a): ...\n"),
        ("a=2", {"into": "f($$$A)"}, "f(a=1)\n"),
        ("new", {"into": "f($$$A)"}, "f(a=1)\n"),
        ("a b", {"within": "X"}, "X = [c]\n"),
    ],
)
def test_the_result_would_be_no_python(item: str, place: dict[str, str], text: str) -> None:
    assert "the edits would leave invalid Python" in str(misfit(add(item, **place), text))


@pytest.mark.parametrize(
    "arguments",
    [{}, {"within": "f", "after": "a", "before": "b"}, {"into": "f("}, {"within": "f", "item": " "}],
)
def test_malformed(arguments: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="AddItem|the pattern"):
        add(**{"item": "new", **arguments})
