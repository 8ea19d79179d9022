"""A tree in a folder: laid out like a checkout, or like the installed package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DirectoryTree:
    """The source files under ``root``; with ``package`` that is where ``torch_tensorrt`` is installed.

    Raises ValueError for a path that leads out of ``root``, and for a file that is not UTF-8.
    """

    root: Path
    package: bool = False

    @property
    def tests(self) -> bool:
        return not self.package

    def read(self, path: str) -> str | None:
        file = self._file(path)
        if file is None or not file.is_file():
            return None
        try:
            return file.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{file} is not UTF-8 ({error.reason} at byte {error.start})") from error

    def write(self, files: Mapping[str, str]) -> None:
        """Put landed files in, each in one step; another hard link to the old file keeps its text."""
        for path, text in files.items():
            file = self._file(path)
            if file is None:
                raise ValueError(f"{path} has no place in an installed package")
            file.parent.mkdir(parents=True, exist_ok=True)
            new = file.with_name(f"{file.name}.new")
            new.write_bytes(text.encode("utf-8"))
            if file.exists():
                new.chmod(file.stat().st_mode)
            new.replace(file)

    def _file(self, path: str) -> Path | None:
        if self.package and not path.startswith("py/torch_tensorrt/"):
            return None
        file = (self.root / (path.removeprefix("py/") if self.package else path)).resolve()
        if not file.is_relative_to(self.root.resolve()):
            raise ValueError(f"{path} leads out of {self.root}")
        return file
