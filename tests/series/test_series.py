from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from torch_tensorrt_fixes import series
from torch_tensorrt_fixes.commit import Commit, Fix, Kind
from torch_tensorrt_fixes.edits import Rewrite
from torch_tensorrt_fixes.series import UnknownFix, commits, find, parse

EDIT = Rewrite("py/torch_tensorrt/ops.py", find="a", put="b")


def a_fix(slug: str, number: int | None = None, *needs: str, kind: Kind = Kind.FIX, count: int = 1) -> Fix:
    made = tuple(Commit(subject=f"fix: {slug} {i}", edits=(EDIT,), needs=needs) for i in range(count))
    return Fix(slug=slug, number=number, doc=slug, symptom="", commits=made, kind=kind)


COND = a_fix("torch-cond", kind=Kind.PREREQUISITE)
OUTPUTS = a_fix("output-tensors", None, "torch-cond", kind=Kind.PREREQUISITE)
SLICES = a_fix("slice-bounds", 1)
BRANCHES = a_fix("cond-branches", 4, "torch-cond")
CASTS = a_fix("float64-casts", 6, "output-tensors")
SELECT = a_fix("uint8-select", 12, count=2)
NO_GPU = a_fix("no-gpu", kind=Kind.EXTRA)
SERIES = (COND, OUTPUTS, SLICES, BRANCHES, CASTS, SELECT, NO_GPU)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    yield lambda *fixes: monkeypatch.setattr(series, "all_fixes", lambda: fixes)


@pytest.fixture
def synthetic(use: Callable[..., None]) -> None:
    use(*SERIES)


# --- a choice in words ---


@pytest.mark.usefixtures("synthetic")
@pytest.mark.parametrize(
    ("choice", "fixes"),
    [
        ("all", (SLICES, BRANCHES, CASTS, SELECT, NO_GPU)),
        ("", (SLICES, BRANCHES, CASTS, SELECT, NO_GPU)),
        (" , ", (SLICES, BRANCHES, CASTS, SELECT, NO_GPU)),
        ("off", ()),
        ("1", (SLICES,)),
        ("12,1, 4", (SLICES, BRANCHES, SELECT)),
        ("1,1,slice-bounds", (SLICES,)),
        (" slice-bounds , 6/float64-casts,", (SLICES, CASTS)),
        ("no-gpu,1", (SLICES, NO_GPU)),
        ("extra/no-gpu", (NO_GPU,)),
        ("torch-cond", (COND,)),
        ("prerequisite/torch-cond,4", (COND, BRANCHES)),
        ("-4", (SLICES, CASTS, SELECT, NO_GPU)),
        ("-4, -no-gpu, - 1/slice-bounds", (CASTS, SELECT)),
        ("-1,-4,-6,-12,-no-gpu", ()),
    ],
)
def test_a_choice(choice: str, fixes: tuple[Fix, ...]) -> None:
    assert parse(choice) == fixes


@pytest.mark.usefixtures("synthetic")
@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("1,-4", "'1,-4' mixes fixes to take with fixes to leave out"),
        ("-4,no-gpu", "mixes fixes to take"),
        ("all,1", "'all,1' says all or off and more"),
        ("off,-1", "says all or off and more"),
        ("all,off", "says all or off and more"),
        ("3", "no fix is called '3'"),
        ("None", "no fix is called 'None'"),
        ("-", "no fix is called ''"),
        ("--4", "no fix is called '-4'"),
        ("1 4", "no fix is called '1 4'"),
        ("01", "no fix is called '01'"),
        ("ALL", "no fix is called 'ALL'"),
        ("4/slice-bounds", "no fix is called '4/slice-bounds'"),
        ("-torch-cond", "prerequisite/torch-cond cannot be left out"),
    ],
)
def test_a_choice_that_cannot_be_read(choice: str, message: str) -> None:
    with pytest.raises(UnknownFix) as raised:
        parse(choice)
    assert message in str(raised.value)


@pytest.mark.usefixtures("synthetic")
def test_an_unknown_name_lists_what_there_is() -> None:
    there = (
        "prerequisite/torch-cond, prerequisite/output-tensors, 1/slice-bounds, 4/cond-branches, 6/float64-casts, "
        "12/uint8-select, extra/no-gpu"
    )
    with pytest.raises(UnknownFix) as raised:
        find("slice-bound")
    assert str(raised.value) == f"no fix is called 'slice-bound'; there are: {there}; did you mean slice-bounds?"
    with pytest.raises(UnknownFix) as raised:
        find("zzz")
    assert str(raised.value) == f"no fix is called 'zzz'; there are: {there}"


@pytest.mark.usefixtures("synthetic")
@pytest.mark.parametrize("name", ["4", "cond-branches", "4/cond-branches"])
def test_a_fix_by_each_of_its_names(name: str) -> None:
    assert find(name) is BRANCHES


# --- the commits of a choice ---


def labels(*chosen: Fix) -> list[str]:
    return [commit.label for commit in commits(iter(chosen))]


@pytest.mark.usefixtures("synthetic")
def test_what_is_needed_comes_along_and_first() -> None:
    assert labels(SLICES) == ["1/slice-bounds"]
    assert labels(BRANCHES) == ["prerequisite/torch-cond", "4/cond-branches"]
    assert labels(CASTS) == ["prerequisite/torch-cond", "prerequisite/output-tensors", "6/float64-casts"]


@pytest.mark.usefixtures("synthetic")
def test_the_order_is_the_series_whatever_the_choices() -> None:
    everything = [
        *("prerequisite/torch-cond", "4/cond-branches", "prerequisite/output-tensors", "6/float64-casts"),
        *("12/uint8-select", "12/uint8-select#2", "extra/no-gpu"),
    ]
    assert labels(NO_GPU, SELECT, CASTS, BRANCHES, BRANCHES) == everything
    assert labels(BRANCHES, CASTS, SELECT, NO_GPU) == everything
    assert labels() == []


def test_needs_in_a_circle(use: Callable[..., None]) -> None:
    one, two = a_fix("one", 1, "two"), a_fix("two", 2, "one")
    use(one, two)
    with pytest.raises(ValueError, match="fixes need each other in a circle: one -> two -> one"):
        commits([one])


def test_a_need_that_no_fix_is(use: Callable[..., None]) -> None:
    use(one := a_fix("one", 1, "gone"))
    with pytest.raises(UnknownFix, match="no fix is called 'gone'; there are: 1/one"):
        commits([one])


# --- the series itself ---


def test_the_real_series_is_in_order() -> None:
    fixes = series.all_fixes()
    kinds = [Kind.PREREQUISITE, Kind.FIX, Kind.EXTRA]
    assert [kinds.index(fix.kind) for fix in fixes] == sorted(kinds.index(fix.kind) for fix in fixes)
    numbers = [fix.number for fix in fixes if fix.number]
    assert numbers == sorted(set(numbers))
    assert len({fix.slug for fix in fixes}) == len(fixes)
    assert len(set(commits(fixes))) == sum(len(fix.commits) for fix in fixes)


@pytest.mark.parametrize("fix", series.all_fixes(), ids=lambda fix: fix.slug)
def test_every_fix_tells_its_story(fix: Fix) -> None:
    assert fix.title
    assert "\n" not in fix.title
    assert fix.story
    assert fix.symptom
    for commit in fix.commits:
        assert len(commit.subject) <= 72, "git log cuts longer ones"
        assert max(map(len, (commit.body or fix.story).split("\n"))) <= 76, "git log indents by four"
        assert commit.message.endswith(f"\n\nTorch-TensorRT-Fix: {commit.label}\n")


def test_the_series_is_defined_without_torch_or_tensorrt() -> None:
    program = (
        "import sys; from torch_tensorrt_fixes import series; series.commits(series.all_fixes()); "
        "print(sorted({'torch', 'tensorrt', 'torch_tensorrt', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
