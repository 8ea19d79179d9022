from __future__ import annotations

import isort
import pytest
from checking import ISORT, PATH, check, check_unchanged, edited
from hypothesis import given
from hypothesis import strategies as st

from torch_tensorrt_fixes.edits import AddImport, apply


def add(*statements: str) -> AddImport:
    return AddImport(PATH, statements)


SECTION = """\
from __future__ import annotations

import logging
from typing import Any, Optional

import numpy as np
import torch
from torch.fx import Node
from torch_tensorrt.dynamo.utils import DYNAMIC_DIM

from packaging import version

logger = logging.getLogger(__name__)
"""


@pytest.mark.parametrize(
    ("statement", "old", "new"),
    [
        # a new line among its like
        ("import abc", "import logging\n", "import abc\nimport logging\n"),
        ("import math", "import logging\n", "import logging\nimport math\n"),
        ("from dataclasses import field", "from typing", "from dataclasses import field\nfrom typing"),
        ("from types import X", "from typing", "from types import X\nfrom typing"),
        ("from weakref import ref", "Optional\n", "Optional\nfrom weakref import ref\n"),
        ("import tensorrt as trt", "import torch\n", "import tensorrt as trt\nimport torch\n"),
        ("import torch.fx as fx", "import torch\n", "import torch\nimport torch.fx as fx\n"),
        (
            "from torch_tensorrt import _enums",
            "from torch_tensorrt.",
            "from torch_tensorrt import _enums\nfrom torch_tensorrt.",
        ),
        ("from packaging import tags as t", "from packaging", "from packaging import tags as t\nfrom packaging"),
        ("from torch_tensorrt.fx import y", "DIM\n", "DIM\nfrom torch_tensorrt.fx import y\n"),
        # a name more
        ("from typing import Dict", "Any, Optional", "Any, Dict, Optional"),
        ("from torch.fx import Graph", "import Node", "import Graph, Node"),
        ("from packaging import tags", "import version", "import tags, version"),
        ("from __future__ import division", "annotations", "annotations, division"),
        # a new section
        ("from . import passes", "import version\n", "import version\n\nfrom . import passes\n"),
    ],
)
def test_the_place_that_isort_gives_it(statement: str, old: str, new: str) -> None:
    check(add(statement), SECTION, SECTION.replace(old, new))


@pytest.mark.parametrize(
    ("before", "statement", "after"),
    [
        ("import torch\n", "import os", "import os\n\nimport torch\n"),
        ("import os\n", "import torch", "import os\n\nimport torch\n"),
        (
            "import os\n\nfrom packaging import v\n",
            "import torch",
            "import os\n\nimport torch\n\nfrom packaging import v\n",
        ),
        (
            "import os\n\n# why\nfrom . import a\n",
            "import torch",
            "import os\n\nimport torch\n\n# why\nfrom . import a\n",
        ),
        ("import os\n", "from __future__ import annotations", "from __future__ import annotations\n\nimport os\n"),
        ("from __future__ import annotations\n", "import os", "from __future__ import annotations\n\nimport os\n"),
        ("import os\n\n# why\nimport torch\n", "import numpy", "import os\n\nimport numpy\n\n# why\nimport torch\n"),
    ],
)
def test_a_new_section(before: str, statement: str, after: str) -> None:
    check(add(statement), before, after)


# --- what the file has ---


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("import os\n", "import os"),
        ("import os, sys\n", "import sys"),
        ("import numpy as np\n", "import numpy as np"),
        ("from a import (\n    b,\n    c,  # why\n)\n", "from a import c"),
        ("from a import b as c\n", "from a import b as c"),
        ("from a import b  # noqa: F401\n", "from a import b"),
        ("from .base import x\n", "from .base import x"),
        ("from .base import x\n", "from torch_tensorrt.dynamo.lowering.base import x"),
        ("from . import base\n", "from torch_tensorrt.dynamo.lowering import base"),
        ("from ..utils import x as y\n", "from torch_tensorrt.dynamo.utils import x as y"),
        ("from torch_tensorrt.dynamo.utils import x\n", "from ..utils import x"),
        ("x = 1\nimport os\n", "import os"),
    ],
)
def test_a_name_that_is_imported(text: str, statement: str) -> None:
    check_unchanged(add(statement), text)


def test_relative_to_a_package() -> None:
    edit = AddImport("py/torch_tensorrt/dynamo/__init__.py", ("from torch_tensorrt.dynamo.utils import x",))
    text = "from .utils import x\n"
    assert apply(edit.path, text, [edit]).text == text


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("import numpy\n", "import numpy as np"),
        ("import os.path\n", "import os"),
        ("from a import b as c\n", "from a import b"),
        ("from a import *\n", "from a import b"),
        ("from a.b import c\n", "from a import c"),
        ("from .a import c\n", "from a import c"),
        ("try:\n    import os\nexcept ImportError:\n    pass\n", "import os"),
        ("if TYPE_CHECKING:\n    from a import b\n", "from a import b"),
        ("def f():\n    import os\n", "import os"),
        ("# import os\n", "import os"),
        ('"""\nimport os\n"""\n', "import os"),
    ],
)
def test_a_name_that_is_not(text: str, statement: str) -> None:
    after = edited(add(statement), text)
    assert after != text
    assert f"\n{statement}\n" in f"\n{after}\n"


# --- a line that is there already takes the name ---


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from a import b, z\n", "from a import b, c, z\n"),
        ("from a import b as x\n", "from a import b as x\nfrom a import c\n"),
        ("from a import b as x\nfrom a import d\n", "from a import b as x\nfrom a import c, d\n"),
        ("from a import *\n", "from a import *\nfrom a import c\n"),
        ("from a import b  # noqa\n", "from a import b  # noqa\nfrom a import c\n"),
        ("from a import b  # noqa: F401\nfrom a import d\n", "from a import b  # noqa: F401\nfrom a import c, d\n"),
    ],
)
def test_a_name_more(before: str, after: str) -> None:
    check(add("from a import c"), before, after)


def test_a_line_that_grows_too_long() -> None:
    names = [f"quite_a_long_name_{i}" for i in range(4)]
    check(
        add(f"from a import {names[3]}"),
        f"from a import {', '.join(names[:3])}, z\n",
        "from a import (\n" + "".join(f"    {name},\n" for name in [*names, "z"]) + ")\n",
    )


def test_a_line_that_is_long_already() -> None:
    names = [f"quite_a_long_name_{i}" for i in range(4)]
    wrapped = "from a import (\n{})\n"
    check(
        add(f"from a import {names[1]}"),
        wrapped.format("".join(f"    {name},\n" for name in names[:1] + names[2:] + ["z" * 20])),
        wrapped.format("".join(f"    {name},\n" for name in [*names, "z" * 20])),
    )


def test_a_new_line_that_is_too_long() -> None:
    module, name = "torch_tensorrt.dynamo.conversion.a_long_module_name", "and_a_function_with_a_long_name"
    after = edited(add(f"from {module} import {name}"), "import os\n")
    assert after == f"import os\n\nfrom {module} import (\n    {name},\n)\n"
    assert isort.code(after, config=ISORT) == after


def test_comments_in_the_line_are_kept() -> None:
    after = edited(add("from a import d"), "from a import (\n    b,  # why b\n    c,  # why c\n)\n")
    assert after.count("# why b") == after.count("# why c") == 1
    assert isort.code(after, config=ISORT) == after


# --- where there is no import yet ---


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "import os\n"),
        ("# only\n", "# only\n\nimport os\n"),
        ("x = 1\n", "import os\n\nx = 1\n"),
        ("def f():\n    pass\n", "import os\n\n\ndef f():\n    pass\n"),
        ("# about f\n@a\ndef f():\n    pass\n", "import os\n\n\n# about f\n@a\ndef f():\n    pass\n"),
        ("# license\n\n# about x\nx = 1\n", "# license\n\nimport os\n\n# about x\nx = 1\n"),
        ('"""Doc."""\n', '"""Doc."""\n\nimport os\n'),
        ('"""Doc."""\n\nx = 1\n', '"""Doc."""\n\nimport os\n\nx = 1\n'),
        ('"""Doc."""\n\n\ndef f():\n    pass\n', '"""Doc."""\n\nimport os\n\n\ndef f():\n    pass\n'),
        ('r"""Doc.\n\nMore."""  # noqa\n\nx = 1\n', 'r"""Doc.\n\nMore."""  # noqa\n\nimport os\n\nx = 1\n'),
        ('"a".join(b)\n', 'import os\n\n"a".join(b)\n'),
        (
            "try:\n    import a\nexcept ImportError:\n    pass\n",
            "import os\n\ntry:\n    import a\nexcept ImportError:\n    pass\n",
        ),
        ("class A:\n    pass\n\n\nimport a\n", "import os\n\n\nclass A:\n    pass\n\n\nimport a\n"),
    ],
)
def test_the_first_import(before: str, after: str) -> None:
    check(add("import os"), before, after)


@pytest.mark.parametrize("before", ["# only", '"""Doc."""'])
def test_the_first_import_of_a_file_without_a_newline(before: str) -> None:
    after = edited(add("import os"), before)
    assert after.rstrip("\n") == f"{before}\n\nimport os"


@pytest.mark.parametrize(
    "first", ["#!/usr/bin/env python\n", "# coding: utf-8\n", "#!/bin/x\n# -*- coding: utf-8 -*-\n"]
)
@pytest.mark.parametrize("rest", ["import torch\n", "x = 1\n"])
def test_a_shebang_and_an_encoding_stay_first(first: str, rest: str) -> None:
    after = edited(add("import os", "from __future__ import annotations"), first + rest)
    assert after == f"{first}from __future__ import annotations\n\nimport os\n\n{rest}"


def test_a_license_above_the_first_import_stays_first() -> None:
    check(add("import abc"), "# license\nimport os\n", "# license\nimport abc\nimport os\n")


def test_what_comes_before_imports() -> None:
    check(
        add("import abc", "from __future__ import annotations"),
        '"""Doc."""\n\nimport os\n',
        '"""Doc."""\n\nfrom __future__ import annotations\n\nimport abc\nimport os\n',
    )


# --- several, and sections that are not in isort's order ---


def test_several_at_once() -> None:
    check(
        add(
            "import torch",
            "from torch.fx import Node",
            "import abc",
            "from typing import Any",
            "from typing import Dict",
            "from packaging import version",
            "from . import passes",
            "import abc",
        ),
        "import os\n\nx = 1\n",
        """
        import abc
        import os
        from typing import Any, Dict

        import torch
        from torch.fx import Node

        from packaging import version

        from . import passes

        x = 1
        """,
    )


def test_code_between_imports() -> None:
    text = "import os\n\nos.environ['A'] = 'é𝜋'\n\nimport torch\nimport zoo\n"
    assert edited(add("import tvm"), text) == text.replace("import zoo", "import tvm\nimport zoo")
    assert edited(add("import abc"), text) == "import abc\n" + text


def test_a_section_that_is_not_in_order_is_left_as_it_is() -> None:
    text = (
        "import zoo\nimport torch; import sys  # why\n\nfrom b import c\nimport abc\n\nimport torch_tensorrt\n\nx = 1\n"
    )
    for statement in ("import math", "from b import d", "import tensorrt", "from torch import fx", "from . import a"):
        after = edited(add(statement), text)
        added = statement if statement != "from b import d" else "from b import c, d"
        assert f"\n{added}\n" in f"\n{after}"
        left = after.replace("from b import c, d", "from b import c").replace(f"{statement}\n", "").replace("\n", "")
        assert left == text.replace("\n", "")


def test_line_ends_that_differ_within_the_file_stay() -> None:
    text = "import os\r\nimport sys\n\nimport torch\r\n\r\n\x0c\nx = 1\n"
    after = edited(add("import math", "from torch import fx"), text)
    assert after == "import math\r\n" + text.replace("torch\r\n", "torch\r\nfrom torch import fx\r\n")


NAMES = st.sampled_from(["os", "abc", "zlib", "torch", "tensorrt", "zoo", "packaging", "a.b", "torch_tensorrt"])
STATEMENTS = st.one_of(
    NAMES.map("import {}".format),
    NAMES.map("import {} as alias".format),
    st.tuples(NAMES, st.sampled_from(["x", "B", "CONSTANT", "y" * 70])).map(
        lambda names: "from {} import {}".format(*names)
    ),
    st.tuples(st.sampled_from([".", "..", ".a", "__future__"]), st.sampled_from(["division", "generators"])).map(
        lambda names: "from {} import {}".format(*names)
    ),
)


@given(st.lists(STATEMENTS, max_size=6), st.lists(STATEMENTS, min_size=1, max_size=4, unique=True))
def test_any_imports_end_as_isort_would_have_them(there: list[str], new: list[str]) -> None:
    before = isort.code("".join(f"{line}\n" for line in there) + "\nx = 1\n", config=ISORT)
    together = edited(add(*new), before)
    assert isort.code(together, config=ISORT) == together
    for order in (new, new[::-1]):
        text = before
        for statement in order:
            text = edited(add(statement), text)
        assert text == together
