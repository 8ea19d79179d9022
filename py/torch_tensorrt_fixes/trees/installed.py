"""The installed torch_tensorrt as a tree: found and read without importing it."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import os
import struct
from functools import cached_property
from importlib.machinery import ModuleSpec

from ..edits import Misfit
from ..edits.syntax import known_sound
from ..importer.lookup import PACKAGE, find_spec

IN_CHECKOUT = f"py/{PACKAGE}/"
"""Where a checkout keeps the files of the package."""


class NotInstalled(ImportError):
    """There is no torch_tensorrt in this environment, or none whose source can be read."""


class InstalledTree:
    """The torch_tensorrt that ``import torch_tensorrt`` would take, from a directory or a zip archive.

    ``spec`` is its spec where the caller has it. Raises NotInstalled.
    """

    tests = False

    def __init__(self, spec: ModuleSpec | None = None) -> None:
        found = spec or find_spec(PACKAGE)
        if found is None:
            raise NotInstalled(
                f"{PACKAGE} is not installed in this environment: install it, or put its directory on sys.path",
                name=PACKAGE,
            )
        if not found.submodule_search_locations or not hasattr(found.loader, "get_data"):
            raise NotInstalled(
                f"{PACKAGE} is found at {found.origin or list(found.submodule_search_locations or ())}, but it is no "
                "package with source files: reinstall it",
                name=PACKAGE,
            )
        self.spec = found
        self._texts: dict[str, str | None] = {}

    @property
    def origin(self) -> str | None:
        """The package's ``__init__.py``."""
        return self.spec.origin

    @cached_property
    def version(self) -> str:
        """What ``torch_tensorrt.__version__`` would be, else what the installer wrote down, else nothing."""
        for statement in ast.parse(self.read(f"{IN_CHECKOUT}_version.py") or "").body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__version__":
                return str(ast.literal_eval(statement.value))
        for distribution in ("torch-tensorrt", "torch-tensorrt-rtx"):
            try:
                return importlib.metadata.version(distribution)
            except importlib.metadata.PackageNotFoundError:
                continue
        return ""

    def files(self, path: str) -> list[str]:
        """The files that may hold what a checkout has at ``path``, the likeliest first; none outside the package."""
        if not path.startswith(IN_CHECKOUT):
            return []
        parts = path.removeprefix(IN_CHECKOUT).split("/")
        return [os.path.join(folder, *parts) for folder in self.spec.submodule_search_locations or ()]

    def read(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> str | None:
        for file in self.files(path):
            try:
                data: bytes = self.spec.loader.get_data(file)  # type: ignore[union-attr]
            except OSError:
                continue
            try:
                text = data.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise Misfit(path, f"the file is not UTF-8: {error}") from error
            if has_bytecode(file):
                known_sound(text)
            return text
        return None


def has_bytecode(file: str) -> bool:
    """Whether Python has compiled this file as it is now: then nobody needs to ask whether it is Python.

    By the file's time and size in the header of its bytecode (PEP 552).
    """
    try:
        with open(importlib.util.cache_from_source(file), "rb") as cached:
            magic, hashed, time, size = struct.unpack("<4s3I", cached.read(16))
        now = os.stat(file)
    except (OSError, struct.error, NotImplementedError):
        return False
    stamp = (int(now.st_mtime) & 0xFFFFFFFF, now.st_size & 0xFFFFFFFF)
    return bool(magic == importlib.util.MAGIC_NUMBER and not hashed and (time, size) == stamp)
