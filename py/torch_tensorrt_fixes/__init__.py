"""Fixes for Torch-TensorRT's dynamo path, made while the installed torch_tensorrt is imported.

    import torch_tensorrt_fixes.auto  # before anything imports torch_tensorrt
    import torch_tensorrt

No file of the installed package is changed. To choose among the fixes, or to be strict about them:

    import torch_tensorrt_fixes

    torch_tensorrt_fixes.install("1,2")  # only these; "-2" is all but one, "off" is none
    import torch_tensorrt

    torch_tensorrt_fixes.active()  # ("1/slice-bounds", ...): what the loaded code proves to be on
    torch_tensorrt_fixes.report()  # every commit of the series: on, waiting, present, off, left out or replaced

Without a change to the program: ``torchtrt-fixes run SCRIPT``, or once for the whole environment
``torchtrt-fixes enable``. The environment variable ``TORCH_TENSORRT_FIXES`` holds the choice where the program makes
none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .importer import AlreadyImported, FixLeftOut, Handle, HookInFront
    from .importer.report import Entry, Status

__version__ = "0.1.0"

__all__ = [
    "AlreadyImported",
    "Entry",
    "FixLeftOut",
    "Handle",
    "HookInFront",
    "Status",
    "active",
    "install",
    "report",
]


def install(only: str | None = None, *, strict: bool = False) -> Handle:
    """Fix torch_tensorrt when it is imported, which must not have happened yet. See :func:`.importer.install`."""
    from .importer import install

    return install(only, strict=strict)


def active() -> tuple[str, ...]:
    """The labels of the commits that the loaded code proves to be on, like ``1/slice-bounds``."""
    from .importer.report import active

    return active()


def report() -> tuple[Entry, ...]:
    """The state of every commit of the series, and why it is so."""
    from .importer.report import report

    return report()


def __getattr__(name: str) -> object:
    # Names of types are looked up when they are asked for: this module is imported at every start of the interpreter.
    if name in ("AlreadyImported", "FixLeftOut", "Handle", "HookInFront"):
        from . import importer

        return getattr(importer, name)
    if name in ("Entry", "Status"):
        from .importer import report

        return getattr(report, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
