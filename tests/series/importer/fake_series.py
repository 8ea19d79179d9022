"""A small torch_tensorrt and a series of fixes to it, with every end that a commit can come to."""

from __future__ import annotations

from pathlib import Path

from torch_tensorrt_fixes import series
from torch_tensorrt_fixes.commit import Commit, Fix, Kind
from torch_tensorrt_fixes.edits import AddDefinition, AddImport, Definition, NewFile, Rewrite

PACKAGE = {
    "__init__.py": "from ._version import __version__\nfrom .maths import double\n",
    "_version.py": '__version__ = "9.8.7"\n',
    "maths.py": '''"""Arithmetic."""

import functools

LIMIT = 10


def double(x):
    return x + x + 1


def untouched(x):
    return x


def fail(x):
    raise ValueError("failed")


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


class Shape:
    def __init__(self, side):
        self.side = side

    @logged
    def area(self):
        return self.side

    @property
    def sides(self):
        return 3


if __name__ == "__main__":
    print("doubled:", double(2))
''',
    "dynamo/__init__.py": "",
    "dynamo/late.py": "def half(x):\n    return x // 2\n",
    "dynamo/data.txt": "data",
}
MATHS = "py/torch_tensorrt/maths.py"
LATE = "py/torch_tensorrt/dynamo/late.py"
HELPER = "py/torch_tensorrt/dynamo/_helper.py"
HELPER_TEXT = '"""Division."""\n\n\ndef divide(x, y):\n    return x / y\n'
TWICE = Definition("twice", "def twice(x):\n    return 2 * x", ())


def fix(number: int, slug: str, *edits: object, needs: tuple[str, ...] = ()) -> Fix:
    return Fix(number=number, slug=slug, doc=f"{slug}.", symptom="", commits=(Commit(slug, edits, needs=needs),))  # type: ignore[arg-type]


FIXES = (
    Fix(
        slug="groundwork",
        kind=Kind.PREREQUISITE,
        doc="Groundwork.",
        symptom="",
        commits=(Commit("groundwork", (Rewrite(MATHS, find="LIMIT = 10", put="LIMIT = 20"),)),),
    ),
    fix(
        1,
        "double",
        AddDefinition(MATHS, TWICE, before="double"),
        Rewrite(MATHS, within="double", find="x + x + 1", put="twice(x)"),
        Rewrite(MATHS, within="fail", find='ValueError("failed")', put='ValueError("edited")'),
    ),
    fix(
        2,
        "late",
        NewFile(HELPER, lambda: HELPER_TEXT),
        AddImport(LATE, ("from torch_tensorrt.dynamo._helper import divide",)),
        Rewrite(LATE, within="half", find="x // 2", put="divide(x, 2)"),
    ),
    fix(3, "misfit", Rewrite(MATHS, within="double", find="y * $Y", put="0"), Rewrite(LATE, find="x", put="y")),
    fix(4, "needy", Rewrite(MATHS, within="untouched", find="return x", put="return 0"), needs=("misfit",)),
    fix(5, "present", Rewrite(MATHS, within="untouched", find="return $X + 1", put="return x")),
    fix(6, "grounded", Rewrite(MATHS, within="Shape.sides", find="return 3", put="return 4"), needs=("groundwork",)),
    fix(7, "area", Rewrite(MATHS, within="Shape.area", find="self.side", put="self.side * self.side")),
)


def use() -> None:
    """Put this series in the place of the real one."""
    series.all_fixes = lambda: FIXES  # type: ignore[assignment]


def write_package(site: Path) -> Path:
    """Write the stock package into a directory and return its folder."""
    for name, text in PACKAGE.items():
        file = site / "torch_tensorrt" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return site / "torch_tensorrt"
