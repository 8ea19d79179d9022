"""What every kind of edit is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from .source import Source, Splice


@dataclass(frozen=True)
class Edit(ABC):
    """One structural change to one file of a tree.

    ``path`` is the file's path in a Torch-TensorRT checkout.
    """

    path: str

    @abstractmethod
    def splices(self, source: Source) -> tuple[Splice, ...]:
        """What to change in the file, or nothing where the edit's effect is there already.

        Raises:
            Misfit: the file is not as the edit needs it
        """

    @property
    def imports(self) -> tuple[str, ...]:
        """The import statements that what this edit brings needs in the file."""
        return ()
