"""Which functions two texts differ in, and whether a live one is what a module's code made."""

from __future__ import annotations

from types import CodeType, ModuleType

import pytest

from torch_tensorrt_fixes.importer.live_code import live, runs, touched_functions

TEXT = """
import functools
import os

def plain(): return 1

class Thing:
    def __private(self): return 2

    @staticmethod
    def static(): return 3

    @classmethod
    def of_class(cls): return 4

    @property
    def both(self): return 5

    @both.setter
    def both(self, value): pass

    @functools.cached_property
    def cached(self): return 6

    class Inner:
        async def deep(self): return 7

def plainly(function):
    return lambda *args: function(*args)

@plainly
def wrapped(): return 8

@functools.lru_cache
def lru(): return 9

@functools.singledispatch
def single(x): return 10

def number(function): return 11

@number
def nothing_left(): return 12

if os:
    def conditional(): return 13

@functools.partial(functools.partial)
def part(): return 14
"""
NAMES = [
    *("plain", "Thing.__private", "Thing.static", "Thing.of_class", "Thing.both", "Thing.cached", "Thing.Inner.deep"),
    *("plainly", "wrapped", "lru", "single", "number", "nothing_left", "part"),
]


def loaded(text: str = TEXT) -> tuple[ModuleType, CodeType]:
    module, code = ModuleType("m"), compile(text, "m.py", "exec")
    exec(code, module.__dict__)
    return module, code


def test_touched() -> None:
    assert list(touched_functions("", TEXT)) == NAMES
    assert touched_functions(TEXT, TEXT) == {}
    assert touched_functions(TEXT, TEXT.replace("\n", "\r\n")) == {}
    assert touched_functions(TEXT, "# moved\n" + TEXT) == {}
    assert touched_functions(TEXT, TEXT.replace("return 1\n", "return 0\n")) == {"plain": False}
    assert touched_functions(TEXT, TEXT.replace("@functools.lru_cache\n", "@functools.cache\n")) == {"lru": True}
    assert touched_functions(TEXT, TEXT.replace("pass", "self.x = value")) == {"Thing.both": True}
    assert touched_functions(TEXT, TEXT.replace("import os", "import os.path as os")) == {}


@pytest.mark.parametrize("name", NAMES)
def test_runs(name: str) -> None:
    module, code = loaded()
    decorated = touched_functions("", TEXT)[name]
    assert runs(live(module, name), name, code, wrapped=decorated)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "nothing_left"])
def test_does_not_run_what_another_text_made(name: str) -> None:
    module, _ = loaded()
    other = compile(TEXT.replace("return ", "return 0, ").replace("pass", "del value"), "m.py", "exec")
    decorated = touched_functions("", TEXT)[name]
    assert not runs(live(module, name), name, other, wrapped=decorated)
