from __future__ import annotations

from textwrap import indent

import pytest
from checking import PATH, check, check_unchanged, edited, misfit

from torch_tensorrt_fixes.edits import AddDefinition, Definition, Nearest, apply

FUNCTION = Definition(
    "clamp",
    'def clamp(bound: int) -> int:\n    """Clamp it.\n\n    As Python does.\n    """\n    return max(bound, 0)',
    (),
)
DECORATED = Definition("clamp", "# About it.\n@cache\ndef clamp():\n    return 0", ())
CLASS = Definition("Clamp", "class Clamp:\n    low = 0\n\n    def high(self):\n        return 1", ())
CONSTANT = Definition("LIMIT", "LIMIT = 8", ())
ANNOTATED = Definition("LIMIT", "LIMIT: Final = [\n    8,\n]", ())


def add(definition: Definition, **place: str) -> AddDefinition:
    return AddDefinition(PATH, definition, **place)


# --- at a file's top level ---


@pytest.mark.parametrize("definition", [FUNCTION, DECORATED, CLASS])
def test_before_a_function(definition: Definition) -> None:
    check(
        add(definition, before="f"),
        """
        import os


        # about f
        @a
        @b(
            1,
        )
        async def f():
            pass
        """,
        f"""
import os


{definition.text}


# about f
@a
@b(
    1,
)
async def f():
    pass
""",
    )


@pytest.mark.parametrize("definition", [FUNCTION, DECORATED, CLASS])
def test_after_a_function(definition: Definition) -> None:
    start = "@a\ndef f():\n    pass\n    # the end of f\n"
    end = "\n\n# about g\ndef g():\n    pass\n"
    check(add(definition, after="f"), start + end, f"{start}\n\n{definition.text}\n{end}")
    check(add(definition, after="f"), start, f"{start}\n\n{definition.text}\n")


def test_at_the_end_of_a_file_without_a_newline() -> None:
    before, after = "def f():\n    pass", f"def f():\n    pass\n\n\n{FUNCTION.text}"
    assert edited(add(FUNCTION, after="f"), before) == after
    assert edited(add(FUNCTION, after="f"), before.replace("\n", "\r\n")) == after.replace("\n", "\r\n")


def test_before_the_first_definition() -> None:
    check(add(FUNCTION, before="f"), "def f():\n    pass\n", f"{FUNCTION.text}\n\n\ndef f():\n    pass\n")
    check(add(CONSTANT, before="f"), "def f():\n    pass\n", "LIMIT = 8\n\n\ndef f():\n    pass\n")
    check(
        add(FUNCTION, before="x"),
        '"""Doc."""\n\nx = 1\n',
        f'"""Doc."""\n\n\n{FUNCTION.text}\n\n\nx = 1\n',
    )


def test_a_function_between_constants_gets_blank_lines_on_both_sides() -> None:
    for place in ({"before": "b"}, {"after": "a"}):
        check(add(FUNCTION, **place), "a = 1\nb = 2\n", f"a = 1\n\n\n{FUNCTION.text}\n\n\nb = 2\n")
    check(
        add(FUNCTION, before="a"),
        "import os\n\na = 1\n",
        f"import os\n\n\n{FUNCTION.text}\n\n\na = 1\n",
    )


@pytest.mark.parametrize("constant", [CONSTANT, ANNOTATED])
def test_a_constant_beside_a_constant(constant: Definition) -> None:
    check(
        add(constant, before="a"),
        "import os\n\n# about a\na = 1\n",
        f"import os\n\n{constant.text}\n# about a\na = 1\n",
    )
    check(
        add(constant, after="a"),
        "a = 1  # one\n\n\ndef f():\n    pass\n",
        f"a = 1  # one\n{constant.text}\n\n\ndef f():\n    pass\n",
    )
    check(add(constant, after="a"), "a: int = 1\nb = 2\n", f"a: int = 1\n{constant.text}\nb = 2\n")


def test_a_constant_beside_a_function() -> None:
    start, end = "def f():\n    pass\n", "\n\ndef g():\n    pass\n"
    for place in ({"after": "f"}, {"before": "g"}):
        check(add(CONSTANT, **place), start + end, f"{start}\n\nLIMIT = 8\n{end}")


def test_inside_an_if_at_the_top_level() -> None:
    check(
        add(FUNCTION, before="f"),
        "if x:\n\n    def f():\n        pass\n",
        f"if x:\n\n{indent(FUNCTION.text, '    ')}\n\n    def f():\n        pass\n",
    )


def test_crlf_form_feed_tab_and_a_chain_of_assignments() -> None:
    text = "\ufeffx = y = 'é𝜋'\r\n\r\n\x0c\r\ndef g():\n\tpass\r\n"
    assert edited(add(CONSTANT, after="y"), text) == text.replace("'\r\n", "'\r\nLIMIT = 8\r\n")
    assert (
        edited(add(CONSTANT, after="g.x"), "def g():\n\tx = 1\n\tpass\n") == "def g():\n\tx = 1\n\tLIMIT = 8\n\tpass\n"
    )


# --- in another definition ---


@pytest.mark.parametrize("place", [{"after": "A.f"}, {"before": "A.g"}])
def test_a_method(place: dict[str, str]) -> None:
    check(
        add(FUNCTION, **place),
        '''
        class A:
            """Doc."""

            x = 1

            @a
            def f(self):
                pass

            # about g
            @b
            def g(self):
                pass


        def g():
            pass
        ''',
        '''
        class A:
            """Doc."""

            x = 1

            @a
            def f(self):
                pass

            def clamp(bound: int) -> int:
                """Clamp it.

                As Python does.
                """
                return max(bound, 0)

            # about g
            @b
            def g(self):
                pass


        def g():
            pass
        ''',
    )


def test_the_first_and_the_last_method() -> None:
    text = "class A:\n    def f(self):\n        pass\n"
    ours = "    # About it.\n    @cache\n    def clamp():\n        return 0\n"
    check(add(DECORATED, before="A.f"), text, f"class A:\n{ours}\n    def f(self):\n        pass\n")
    check(add(DECORATED, after="A.f"), text, f"{text}\n{ours}")
    check(add(DECORATED, after="A.f"), text + "\n\nx = 1\n", f"{text}\n{ours}\n\nx = 1\n")


def test_a_method_beside_an_attribute() -> None:
    ours = "    # About it.\n    @cache\n    def clamp():\n        return 0\n"
    check(
        add(DECORATED, after="A.x"),
        "class A:\n    x = 1\n    y = 2\n",
        f"class A:\n    x = 1\n\n{ours}\n    y = 2\n",
    )
    check(add(CONSTANT, after="A.x"), "class A:\n    x = 1\n", "class A:\n    x = 1\n    LIMIT = 8\n")
    check(
        add(DECORATED, before="A.x"),
        'class A:\n    """Doc."""\n\n    x = 1\n',
        f'class A:\n    """Doc."""\n\n{ours}\n    x = 1\n',
    )


def test_in_a_nested_scope() -> None:
    check(
        add(CONSTANT, before="f.A.x"),
        "def f():\n    class A:\n        x = 1\n\n    return A\n",
        "def f():\n    class A:\n        LIMIT = 8\n        x = 1\n\n    return A\n",
    )


def test_a_string_of_the_definition_is_not_indented() -> None:
    ours = Definition("f", 'def f():\n    """Doc.\n\n    More.\n    """\n    return """\nzero\n  two\n"""', ())
    check(
        add(ours, after="A.g"),
        "class A:\n    def g():\n        pass\n",
        "class A:\n    def g():\n        pass\n\n    def f():\n"
        '        """Doc.\n\n        More.\n        """\n        return """\nzero\n  two\n"""\n',
    )


def test_the_name_within_its_scope() -> None:
    assert add(FUNCTION, after="f").qualified_name == "clamp"
    assert add(FUNCTION, before="A.B.f").qualified_name == "A.B.clamp"


# --- what is there already ---


@pytest.mark.parametrize("definition", [FUNCTION, DECORATED, CLASS, CONSTANT, ANNOTATED])
def test_the_same_is_there_wherever_it_stands(definition: Definition) -> None:
    text = f"{definition.text}\n\n\ndef f():\n    pass\n\n\ndef g():\n    pass\n"
    check_unchanged(add(definition, after="g"), text)
    check_unchanged(add(definition, before="gone"), text)


@pytest.mark.parametrize(
    "theirs",
    [
        FUNCTION.text.replace("0", "1"),
        "@cache\n" + FUNCTION.text,
        "async " + FUNCTION.text,
        FUNCTION.text.replace("As Python does.", "Differently."),
        "clamp = 1",
        "class clamp:\n    pass",
    ],
)
def test_another_is_there(theirs: str) -> None:
    found = misfit(add(FUNCTION, before="f"), f"{theirs}\n\n\ndef f(): ...\n")
    assert found.within == "clamp"
    assert "clamp is defined already, at line 1, and differs from ours" in str(found)


def test_a_decorator_of_ours_counts() -> None:
    undecorated = Definition("clamp", "def clamp():\n    return 0", ())
    misfit(add(DECORATED, before="f"), f"{undecorated.text}\n\n\ndef f(): ...\n")
    misfit(add(undecorated, before="f"), f"{DECORATED.text}\n\n\ndef f(): ...\n")


def test_it_is_there_twice() -> None:
    text = f"{FUNCTION.text}\n\n\n{FUNCTION.text}\n\n\ndef f(): ...\n"
    assert "clamp is defined twice" in str(misfit(add(FUNCTION, before="f"), text))


# --- refusals ---


def test_the_neighbour_is_missing() -> None:
    found = misfit(add(FUNCTION, before="slice_op"), "import os\n\n\ndef slice_ops(): ...\n")
    assert (found.within, found.found, found.wanted, found.nearest) == ("slice_op", 0, 1, Nearest(4, "slice_ops"))


def test_the_neighbour_is_there_twice() -> None:
    text = "class A:\n    @property\n    def x(self): ...\n\n    @x.setter\n    def x(self, y): ...\n"
    assert "A.x is defined twice (lines 2, 5), wanted once" in str(misfit(add(FUNCTION, after="A.x"), text))


@pytest.mark.parametrize("text", ["x = 1; y = 2\n", "if a: x = 1\n", "class A: x = 1\n"])
def test_the_neighbour_shares_its_line(text: str) -> None:
    name = "A.x" if "class" in text else "x"
    for place in ({"before": name}, {"after": name}):
        assert "holds other code beside the statement" in str(misfit(add(FUNCTION, **place), text))


def test_either_before_or_after() -> None:
    for place in ({}, {"before": "a", "after": "b"}):
        with pytest.raises(ValueError, match="either before or after"):
            add(FUNCTION, **place)


# --- imports ---


def test_what_it_needs_is_imported_unless_the_file_has_it() -> None:
    needs = ("import math", "from typing import Optional", "from torch_tensorrt.dynamo.utils import DYNAMIC_DIM")
    check(
        add(Definition("half", "def half(x):\n    return x / 2", needs), before="f"),
        """
        import os
        from typing import Any, Optional

        import torch


        def f():
            pass
        """,
        """
        import math
        import os
        from typing import Any, Optional

        import torch
        from torch_tensorrt.dynamo.utils import DYNAMIC_DIM


        def half(x):
            return x / 2


        def f():
            pass
        """,
    )


def test_the_file_does_not_import_from_itself() -> None:
    needs = ("from torch_tensorrt.dynamo.lowering.passes import f", "from torch_tensorrt.dynamo.lowering import f")
    definition = Definition("LIMIT", "LIMIT = f()", needs)
    text = "def f():\n    pass\n"
    assert needs[0] not in apply(PATH, text, [add(definition, after="f")]).text
    assert needs[1] in apply(PATH, text, [add(definition, after="f")]).text
    package = AddDefinition("py/torch_tensorrt/dynamo/lowering/__init__.py", definition, after="f")
    assert needs[1] not in apply(package.path, text, [package]).text
    assert needs[0] in apply(package.path, text, [package]).text
