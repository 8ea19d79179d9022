"""The functions of a loaded module against the code that the module was run from."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, partial
from types import CodeType, FunctionType, ModuleType


def touched_functions(before: str, after: str) -> dict[str, bool]:
    """The functions and methods that differ between two texts or are new, by qualified name, and whether decorated.

    A function inside a function counts as part of the outer one, one that only a condition defines as part of the
    module.
    """
    old = _functions(before)
    return {
        name: any(text.startswith("@") for text in texts)
        for name, texts in _functions(after).items()
        if old.get(name) != texts
    }


@cache
def _functions(text: str) -> Mapping[str, tuple[str, ...]]:
    """The texts of each function's definitions (a property has several) with decorators, by qualified name."""
    lines = text.replace("\r\n", "\n").split("\n")
    found: dict[str, tuple[str, ...]] = {}

    def visit(body: list[ast.stmt], scope: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{scope}{node.name}.")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = scope + node.name
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                definition = "\n".join(lines[first - 1 : node.end_lineno]).lstrip()
                found[name] = (*found.get(name, ()), definition)

    visit(ast.parse(text).body, "")
    return found


def live(module: ModuleType, qualified_name: str) -> object:
    """What a qualified name stands for in the module as it is now; None if it is gone."""
    found: object = module
    for name in qualified_name.split("."):
        if isinstance(found, type) and name.startswith("__") and not name.endswith("__"):
            name = f"_{found.__name__.lstrip('_')}{name}"
        found = getattr(found, "__dict__", {}).get(name)
    return found


def runs(found: object, qualified_name: str, code: CodeType, *, wrapped: bool) -> bool:
    """Whether a live object is the function of that name in a module's code or, with ``wrapped``, wraps it.

    What a decorator made into something that holds no Python function cannot be told, and counts.
    """
    compiled = [inner for inner in _codes_in(code) if inner.co_qualname == qualified_name]
    if not wrapped:
        return getattr(found, "__code__", None) in compiled
    codes = list(_codes_behind(found))
    return any(each in compiled for each in codes) or (found is not None and not codes)


def described(found: object) -> str:
    """What stands where a function should, for a message."""
    if found is None:
        return "gone"
    if isinstance(found, FunctionType):
        where = f"{found.__code__.co_filename}, line {found.__code__.co_firstlineno}"
        return f"another function now: {found.__module__}.{found.__qualname__} ({where})"
    kind = type(found)
    return f"something else now: a {kind.__module__}.{kind.__qualname__}"


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes_in(inner)


def _codes_behind(found: object) -> Iterator[CodeType]:
    """The code of a function and of those that it wraps: as a method, by ``__wrapped__``, in a decorator's closure."""
    queue, seen = [found], set()
    while queue:
        item = queue.pop()
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        match item:
            case FunctionType():
                yield item.__code__
                queue += [held for held in _closure(item) if isinstance(held, FunctionType)]
            case property():
                queue += [item.fget, item.fset, item.fdel]
            case staticmethod() | classmethod():
                queue.append(item.__func__)
            case partial() | cached_property():
                queue.append(item.func)
        queue.append(getattr(item, "__dict__", {}).get("__wrapped__"))


def _closure(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # an empty cell: a name that is not bound yet
            continue
