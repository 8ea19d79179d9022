from __future__ import annotations

import pytest

from torch_tensorrt_fixes.edits import Misfit, Nearest
from torch_tensorrt_fixes.edits.misfit import times

FACTS = {"within": "f", "pattern": "g($X)", "found": 0, "wanted": 2, "nearest": Nearest(3, "g(1, 2)")}


def test_the_message_tells_all() -> None:
    misfit = Misfit("a.py", "`g($X)` is found nowhere,\n  wanted twice", **FACTS)
    assert str(misfit) == "a.py, f: `g($X)` is found nowhere, wanted twice (nearest: line 3: g(1, 2))"
    assert str(Misfit("a.py", "gone")) == "a.py: gone"


def test_the_label_comes_first_and_the_facts_stay() -> None:
    misfit = Misfit("a.py", "gone", **FACTS)
    labelled = misfit.labelled("1/slice-bounds")
    assert str(labelled) == f"1/slice-bounds: {misfit}"
    assert not misfit.label
    for name, value in FACTS.items():
        assert getattr(labelled, name) == value


def test_it_is_raised_and_caught() -> None:
    with pytest.raises(Misfit, match="^a.py: gone$"):
        raise Misfit("a.py", "gone")


@pytest.mark.parametrize(("count", "words"), [(0, "nowhere"), (1, "once"), (2, "twice"), (3, "3 times")])
def test_counts_in_words(count: int, words: str) -> None:
    assert times(count) == words
