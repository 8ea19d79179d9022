"""The lines of edited modules, as tracebacks, inspect and debuggers show them.

They read a module's lines by its file name, and on disk the file is stock. So linecache is told the edited ones. Python
before 3.13 prints an uncaught exception without linecache: there sys.excepthook becomes one that prints the same by
way of linecache, unless the program has a hook of its own.
"""

from __future__ import annotations

import io
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_sources: dict[str, str] = {}


def show_source_lines(file: str, source: str) -> None:
    """From now on ``file`` is shown with the lines of ``source``."""
    import linecache

    _sources[file] = source
    linecache.cache.pop(file, None)
    show_again()
    if sys.version_info < (3, 13) and sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_exception


def show_again() -> None:
    """Tell linecache, which forgets everything in ``linecache.clearcache()``."""
    import linecache

    for file, source in _sources.items():
        if file not in linecache.cache or linecache.cache[file][1:2] != (None,):
            # Without a time of change linecache takes the entry for a loader's, and does not check it against the disk.
            linecache.cache[file] = (len(source), None, io.StringIO(source).readlines(), file)


def stop_showing() -> None:
    """Restore sys.excepthook."""
    _sources.clear()
    if sys.excepthook is _print_exception:
        sys.excepthook = sys.__excepthook__


def _print_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    import traceback

    show_again()
    traceback.print_exception(kind, error, trace)
