"""Where the unit tests that land with a commit are kept."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def in_tree_test(path: str) -> str:
    """The text of the in-tree test with that path in a Torch-TensorRT checkout.

    A wheel carries the tests inside the package (setup.py puts them there); in a checkout of this project they stand
    at its top. Raises FileNotFoundError where neither has it.
    """
    for root in (_PACKAGE / "intree_tests", _PACKAGE.parents[1]):
        if (root / path).is_file():
            return (root / path).read_text(encoding="utf-8")
    raise FileNotFoundError(f"this installation lacks the in-tree test {path}")
