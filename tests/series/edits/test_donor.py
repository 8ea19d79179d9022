from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from torch_tensorrt_fixes.edits import Definition, Donor

MODULE = '''\
"""A donor, größer."""

from __future__ import annotations

import functools
import math as maths
import os.path
import torch, torch.fx
from collections.abc import Sequence
from typing import (
    Any,
    Optional as Maybe,
)

from . import sibling

LIMIT = 8  # rows
NAMES: dict[str, Any] = {
    "a": "ä",
}
left = right = 1


def plain(x: Maybe[int]) -> int:
    from torch import nn

    return maths.ceil(x)


# Unlike plain,
# this one caches.
@functools.cache
@sibling.mark
async def decorated(paths: Sequence[str]) -> str:
    # inside
    return os.path.join(*paths)  # join


class Holder(torch.fx.Interpreter):
    """Doc.

    More.
    """

    # of the class
    size = LIMIT

    @property
    def text(self) -> str:
        """Doc.

        More.
        """
        return """
no indent
            deep
"""

    class Inner:
        def run(self):
            pass


def twice():
    pass


def twice():
    pass
'''


@pytest.fixture
def donor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Donor]:
    package = tmp_path / "a_package_of_donors"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "donor.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield Donor(package.name, "donor")
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        del sys.modules[name]


def test_the_whole_text_is_read_and_not_run(donor: Donor) -> None:
    assert donor.text == MODULE
    assert f"{donor.package}.donor" not in sys.modules


def test_a_function_and_what_it_imports(donor: Donor) -> None:
    assert donor["plain"] == Definition(
        "plain",
        "def plain(x: Maybe[int]) -> int:\n    from torch import nn\n\n    return maths.ceil(x)",
        ("import math as maths", "from typing import Optional as Maybe"),
    )


def test_decorators_and_the_comments_above_come_along(donor: Donor) -> None:
    found = donor["decorated"]
    assert found.text.startswith(
        "# Unlike plain,\n# this one caches.\n@functools.cache\n@sibling.mark\nasync def decorated("
    )
    assert found.text.endswith("    # inside\n    return os.path.join(*paths)  # join")
    assert found.imports == (
        "import functools",
        "import os.path",
        "from collections.abc import Sequence",
        "from . import sibling",
    )


@pytest.mark.parametrize(
    ("name", "text", "imports"),
    [
        ("LIMIT", "LIMIT = 8  # rows", ()),
        ("NAMES", 'NAMES: dict[str, Any] = {\n    "a": "ä",\n}', ("from typing import Any",)),
        ("right", "left = right = 1", ()),
        ("Holder.size", "# of the class\nsize = LIMIT", ()),
        ("Holder.Inner.run", "def run(self):\n    pass", ()),
    ],
)
def test_constants_and_members(donor: Donor, name: str, text: str, imports: tuple[str, ...]) -> None:
    assert donor[name] == Definition(name.rpartition(".")[2], text, imports)


def test_a_class(donor: Donor) -> None:
    assert donor["Holder"].imports == ("import torch", "import torch.fx")
    assert donor["Holder"].text.startswith("class Holder(torch.fx.Interpreter):\n")


def test_a_method_keeps_its_strings(donor: Donor) -> None:
    assert donor["Holder.text"].text == dedent('''\
        @property
        def text(self) -> str:
            """Doc.

            More.
            """
            return """
        no indent
                    deep
        """''').replace("        no", "no").replace("    deep\n", "    deep\n")


@pytest.mark.parametrize(("name", "found"), [("gone", 0), ("Holder.gone", 0), ("plain.x", 0), ("twice", 2), ("nn", 0)])
def test_no_one_definition(donor: Donor, name: str, found: int) -> None:
    with pytest.raises(KeyError, match=f"a_package_of_donors.donor has {found} definitions of {name}, wanted one"):
        donor[name]


def test_the_module_is_missing(donor: Donor) -> None:
    with pytest.raises(FileNotFoundError):
        Donor(donor.package, "gone")["x"]
