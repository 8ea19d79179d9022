"""Turn the fixes on for every program of an environment, by a ``.pth`` file in its site-packages; and off again."""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from pathlib import Path

# Python runs a line that begins with "import" at every start. Where this package has since been uninstalled it is
# silent.
LINE = 'import sys; exec("try: import torch_tensorrt_fixes.auto\\nexcept ModuleNotFoundError: pass")\n'


class NotWritable(OSError):
    """The environment's site-packages cannot be changed by this user."""


@dataclass(frozen=True)
class Change:
    """What was done: to which file, and whether it had to be (otherwise all was so already)."""

    path: Path
    made: bool


def pth_file() -> Path:
    return Path(sysconfig.get_path("purelib"), "torch_tensorrt_fixes.pth")


def is_enabled() -> bool:
    """Whether programs that this environment's Python starts have the fixes."""
    try:
        return pth_file().read_text(encoding="utf-8") == LINE
    except OSError:
        return False


def enable() -> Change:
    """Write the file, or bring it up to date. Raises NotWritable."""
    path = pth_file()
    if is_enabled():
        return Change(path, False)
    try:
        path.write_text(LINE, encoding="utf-8")
    except OSError as error:
        raise NotWritable(
            f"cannot write {path} ({error.strerror}): use an environment of your own (python -m venv), or put "
            "`import torch_tensorrt_fixes.auto` at the top of the program"
        ) from error
    return Change(path, True)


def disable() -> Change:
    """Remove the file. Raises NotWritable."""
    path = pth_file()
    try:
        path.unlink()
    except FileNotFoundError:
        return Change(path, False)
    except OSError as error:
        raise NotWritable(
            f"cannot remove {path} ({error.strerror}): let whoever owns it do so, or set TORCH_TENSORRT_FIXES=off"
        ) from error
    return Change(path, True)
