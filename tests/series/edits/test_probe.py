from __future__ import annotations

from collections.abc import Callable

import pytest

from torch_tensorrt_fixes.edits import Every, Has, Lacks, Misfit, Probe

FILES = {
    "ops.py": "def walk(node):\n    for child in node:\n        walk(child)\n\n\n"
    "class A:\n    def walk(self):\n        return 1\n",
    "twice.py": "if a:\n    def f(): g()\nelse:\n    def f(): h()\n",
    "broken.py": "def f(:\n",
    "empty.py": "",
}


@pytest.mark.parametrize(
    ("probe", "holds"),
    [
        (Has("ops.py"), True),
        (Has("gone.py"), False),
        (Has("empty.py"), True),
        (Has("broken.py"), True),
        (Has("ops.py", within="walk"), True),
        (Has("ops.py", within="A.walk"), True),
        (Has("ops.py", within="B.walk"), False),
        (Has("gone.py", within="walk"), False),
        (Has("gone.py", find="walk($X)"), False),
        (Has("ops.py", within="walk", find="walk($X)"), True),
        (Has("ops.py", within="A.walk", find="walk($X)"), False),
        (Has("ops.py", within="A.walk", find="return"), False),
        (Has("ops.py", find="walk($X)"), True),
        (Has("ops.py", within="gone", find="walk($X)"), False),
        (Has("twice.py", within="f"), True),
        (Has("twice.py", within="f", find="h()"), True),
        (Has("twice.py", within="f", find="i()"), False),
    ],
)
def test_has_and_lacks(probe: Has, holds: bool) -> None:
    assert probe.holds(FILES.get) is holds
    assert Lacks(probe).holds(FILES.get) is not holds
    assert Every((probe, Has("ops.py"))).holds(FILES.get) is holds


def test_every() -> None:
    assert Every(()).holds(FILES.get)
    assert not Every((Has("ops.py"), Has("gone.py"))).holds(FILES.get)


def test_a_file_that_is_no_python_has_no_answer() -> None:
    for probe in (Has("broken.py", within="f"), Lacks(Has("broken.py", find="f"))):
        with pytest.raises(Misfit, match="broken.py: the file is no valid Python"):
            probe.holds(FILES.get)


def test_a_malformed_pattern() -> None:
    with pytest.raises(ValueError, match="the pattern"):
        Has("ops.py", find="f(")


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        (Has("a.py"), "a.py"),
        (Has("a.py", within="f"), "f in a.py"),
        (Has("a.py", find="g($X)"), "`g($X)` in a.py"),
        (Lacks(Has("a.py", within="f", find="g()")), "no `g()` in f in a.py"),
        (Every((Has("a.py"), Lacks(Has("b.py")))), "a.py and no b.py"),
    ],
)
def test_in_words(probe: Probe, words: str) -> None:
    assert str(probe) == words


def test_reads_no_more_than_its_file() -> None:
    asked: list[str] = []

    def read(path: str) -> str | None:
        asked.append(path)
        return FILES.get(path)

    reader: Callable[[str], str | None] = read
    assert Has("ops.py", within="walk").holds(reader)
    assert asked == ["ops.py"]
