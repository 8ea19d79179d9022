"""Where modules come from when our own finder is not asked. Light: imported at every start of the interpreter."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

PACKAGE = "torch_tensorrt"


class OwnFinder:
    """What our finders on sys.meta_path derive from, so that they can be passed over."""


def find_spec(
    name: str, path: Sequence[str] | None = None, target: ModuleType | None = None, *, behind: object = None
) -> ModuleSpec | None:
    """The module's spec as the finders other than ours give it; with ``behind``, those that come after that finder."""
    finders = list(sys.meta_path)
    if behind in finders:
        del finders[: finders.index(behind)]
    for finder in finders:
        if isinstance(finder, OwnFinder) or not hasattr(finder, "find_spec"):
            continue
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            return spec
    return None


def loaded() -> str | None:
    """The name of a module of torch_tensorrt that is imported already: the package itself, if it is."""
    if PACKAGE in sys.modules:
        return PACKAGE
    return next((name for name in list(sys.modules) if name.startswith(PACKAGE + ".")), None)
