"""NewFile: add a whole file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .base import Edit
from .misfit import Misfit
from .source import Source, Splice
from .syntax import check_syntax


@dataclass(frozen=True)
class NewFile(Edit):
    """Add the file ``path``; ``read`` gives its text (a donor's is ``lambda: donor.text``)."""

    read: Callable[[], str]

    def splices(self, source: Source) -> tuple[Splice, ...]:
        """Nothing where the file is there as we would write it; otherwise a misfit."""
        if source.text == self.read():
            return ()
        raise Misfit(source.path, "the file is there already and differs from ours")

    def text(self) -> str:
        text = self.read()
        check_syntax(self.path, text, "the new file is no valid Python")
        return text
