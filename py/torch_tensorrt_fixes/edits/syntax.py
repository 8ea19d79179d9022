"""Is this text Python? Asked before an edit and after, of files of thousands of lines."""

from __future__ import annotations

import threading
import warnings
from collections import deque

from .misfit import Misfit, Nearest


def check_syntax(path: str, text: str, complaint: str) -> None:
    """Raise a :class:`Misfit` that names the line where ``text`` is no Python."""
    if text in _SOUND:
        return
    if error := syntax_error(text):
        line = getattr(error, "lineno", None) or 1
        lines = [*text.split("\n"), ""]
        shown = lines[min(line, len(lines)) - 1].strip()
        what = getattr(error, "msg", None) or str(error)
        raise Misfit(path, f"{complaint}: {what}", nearest=Nearest(line, shown)) from error
    known_sound(text)


_SOUND: deque[str] = deque(maxlen=64)
"""Texts that are known to be Python: what one commit leaves is what the next one starts from."""


def known_sound(text: str) -> None:
    """Take it that ``text`` is Python: somebody has looked."""
    _SOUND.append(text)


_QUIET = threading.Lock()
"""Held while warnings are off: modules are edited in the threads that import them."""


def syntax_error(text: str) -> Exception | None:
    """What Python's compiler says: it knows more than the parser, an argument given twice for one."""
    try:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text.encode(), "<text>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return error
    return None
