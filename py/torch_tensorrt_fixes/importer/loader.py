"""The loader of an edited module: the module's own loader, but for the text.

Light, like importer.py.
"""

from __future__ import annotations

import sys

from .source_lines import show_source_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

    from . import Finder
    from .planning import Edited


class Loader:
    """Runs a module's edited text. In all else it is ``base``, the loader that the module would have had."""

    code: CodeType | None = None
    """The module's code, from which the functions that live in the module are made."""

    def __init__(self, finder: Finder, name: str, base: Any) -> None:
        self.finder = finder
        self.name = name
        self.base = base

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "base":  # not set yet: we are being copied
            raise AttributeError(attribute)
        return getattr(self.base, attribute)

    def edited(self) -> Edited | None:
        """What the module becomes; None where it stays as it is. Plans, if that has not been done."""
        return self.finder.plan().modules.get(self.name)

    def has_foreign_base(self) -> bool:
        """Whether another hook compiles the module in its own way, and may wrap functions as it does."""
        from importlib.machinery import SourceFileLoader
        from zipimport import zipimporter

        return type(self.base) not in (SourceFileLoader, zipimporter)

    def exec_module(self, module: ModuleType) -> None:
        if self.edited() is None:
            module.__loader__ = self.base
            if module.__spec__ is not None:
                module.__spec__.loader = self.base
            self.base.exec_module(module)
        else:
            exec(self.get_code(self.name), module.__dict__)

    def get_source(self, fullname: str) -> str:
        edited = self.edited()
        source: str = edited.text.replace("\r\n", "\n") if edited else self.base.get_source(fullname)
        return source

    def get_code(self, fullname: str) -> CodeType:
        edited = self.edited()
        if edited is None:
            stock: CodeType = self.base.get_code(fullname)
            return stock
        if self.code is None:
            self.code = self._compile(edited)
            show_source_lines(self.code.co_filename, self.get_source(fullname))
        return self.code

    def _compile(self, edited: Edited) -> CodeType:
        """The edited text's code, by way of ``base``: other hooks, which compile in their own ways, have their say."""
        import copy
        from importlib.machinery import SourceFileLoader

        data = edited.text.encode()
        if not isinstance(self.base, SourceFileLoader):  # from a zip archive, say
            return compile(data, self.base.get_filename(self.name), "exec", dont_inherit=True)
        reader: Any = copy.copy(self.base)
        reader.get_data = lambda path: data
        reader.path_stats = _no_path_stats
        code: CodeType = reader.get_code(self.name)
        return code


def _no_path_stats(path: str) -> dict[str, Any]:
    """Without a source's age no bytecode is looked for, and none is written under the stock file's name."""
    raise OSError(f"{path} is edited in memory")


def foreign_loader(name: str) -> str | None:
    """The type of the loader that loaded a module, if it is loaded and the loader is not ours."""
    loader = getattr(getattr(sys.modules.get(name), "__spec__", None), "loader", None)
    return None if loader is None or isinstance(loader, Loader) else type_name(loader)


def type_name(thing: object) -> str:
    kind = thing if isinstance(thing, type) else type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"
