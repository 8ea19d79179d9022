from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import pytest

from torch_tensorrt_fixes import commit as commit_module
from torch_tensorrt_fixes.commit import Commit, Fix, Kind, Variant
from torch_tensorrt_fixes.edits import (
    AddDefinition,
    AddImport,
    AddItem,
    Definition,
    Edit,
    Every,
    Has,
    Insert,
    Lacks,
    Misfit,
    NewFile,
    Rewrite,
)
from torch_tensorrt_fixes.landing import Outcome, Overlay, State, land, plan

OPS, UTILS, NEW = "py/torch_tensorrt/ops.py", "py/torch_tensorrt/utils.py", "py/torch_tensorrt/new.py"
TEST = "tests/py/dynamo/test_it.py"
FILES = {
    OPS: """\
import os


def first(x):
    return old(x)


def second(x):
    return old(x)


TABLE = ["a"]
""",
    UTILS: "def helper(x):\n    return x\n",
}
TEST_TEXT = "def test_it():\n    assert True\n"


@dataclass(frozen=True)
class Files:
    """A tree in memory."""

    files: Mapping[str, str] = field(default_factory=lambda: FILES)
    tests: bool = False

    def read(self, path: str) -> str | None:
        return self.files.get(path)


def a_fix(slug: str, *edits: Edit, number: int = 1, **more: object) -> Fix:
    commit = Commit(subject=f"fix: {slug}", edits=edits, **more)  # type: ignore[arg-type]
    return Fix(number=number, slug=slug, doc=f"{slug}.\n\nThe story of {slug}.", symptom="wrong", commits=(commit,))


def rewrite(within: str, find: str = "old(x)", put: str = "new(x)", path: str = OPS) -> Rewrite:
    return Rewrite(path, within=within, find=find, put=put)


FIRST, SECOND = rewrite("first"), rewrite("second")
HELP = rewrite("helper", "return x", "return y", UTILS)


def landed(outcome: Outcome) -> Mapping[str, str]:
    assert (outcome.state, outcome.reason, outcome.misfit) == (State.LANDED, "", None)
    return outcome.files


def the_misfit(outcome: Outcome) -> Misfit:
    """The misfit that an outcome is; nothing is landed of its commit."""
    assert (outcome.state, outcome.files, outcome.well) == (State.MISFIT, {}, False)
    assert outcome.misfit is not None
    assert str(outcome.misfit) == f"{outcome.commit.label}: {outcome.reason}"
    return outcome.misfit


# --- one commit ---


def test_landed() -> None:
    (commit,) = a_fix("it", FIRST, HELP, NewFile(NEW, lambda: "x = 1\n")).commits
    outcome = plan(commit, Files())
    assert landed(outcome) == {
        OPS: FILES[OPS].replace("old", "new", 1),
        UTILS: "def helper(x):\n    return y\n",
        NEW: "x = 1\n",
    }
    assert outcome.well


def test_the_tree_is_not_touched() -> None:
    files = dict(FILES)
    (commit,) = a_fix("it", FIRST, HELP).commits
    landed(plan(commit, Files(files)))
    assert files == FILES


def test_landed_twice_is_present() -> None:
    (commit,) = a_fix("it", FIRST, HELP, NewFile(NEW, lambda: "x = 1\n")).commits
    once, again = land([commit, commit], Files())
    assert landed(once)
    assert (again.state, again.files, again.reason, again.well) == (State.PRESENT, {}, "", True)


def test_present_in_upstreams_own_words() -> None:
    (commit,) = a_fix("it", rewrite("gone"), present=(Has("gone.py"), Has(OPS, within="second", find="old(x)"))).commits
    outcome = plan(commit, Files())
    assert (outcome.state, outcome.reason) == (State.PRESENT, "the tree has its own version of it")
    (commit,) = a_fix("it", FIRST, present=(Has("gone.py"), Has(OPS, within="first", find="new(x)"))).commits
    assert landed(plan(commit, Files()))


def test_all_or_nothing() -> None:
    (commit,) = a_fix("it", FIRST, HELP, rewrite("second", "older(x)")).commits
    found = the_misfit(plan(commit, Files()))
    assert (found.label, found.path, found.within, found.pattern) == ("1/it", OPS, "second", "older(x)")
    assert (found.found, found.wanted, found.nearest and found.nearest.line) == (0, 1, 9)
    assert str(found) == (f"1/it: {OPS}, second: `older(x)` is found nowhere, wanted once (nearest: line 9: old(x))")


@pytest.mark.parametrize("path", [OPS, UTILS])
def test_half_of_it_is_there(path: str) -> None:
    (commit,) = a_fix("it", FIRST, HELP).commits
    whole = landed(plan(commit, Files()))
    found = the_misfit(plan(commit, Files({**FILES, path: whole[path]})))
    other = UTILS if path == OPS else OPS
    within = "first" if path == OPS else "helper"
    assert str(found) == (
        f"1/it: {path}, {within}: this Rewrite is in the tree already, but the commit's edits to {other} are not"
    )


def test_half_of_it_is_there_in_one_file() -> None:
    (commit,) = a_fix("it", FIRST, SECOND).commits
    found = the_misfit(plan(commit, Files({**FILES, OPS: FILES[OPS].replace("old", "new", 1)})))
    assert (
        str(found)
        == f"1/it: {OPS}, first: this Rewrite is in the tree already, but the commit's edits to {OPS} are not"
    )


def test_a_definition_that_is_there_is_named() -> None:
    helper = AddDefinition(OPS, Definition("clamp", "def clamp():\n    return 1", ()), before="first")
    (commit,) = a_fix("it", helper, FIRST).commits
    text = landed(plan(commit, Files()))[OPS].replace("new(x)", "old(x)")
    found = the_misfit(plan(commit, Files({**FILES, OPS: text})))
    assert f"{OPS}, clamp: this AddDefinition is in the tree already" in str(found)


def test_an_import_for_other_reasons_does_not_count() -> None:
    (commit,) = a_fix(
        "it", FIRST, AddImport(OPS, ("import os", "import math")), AddImport(UTILS, ("import os",))
    ).commits
    files = landed(plan(commit, Files()))
    assert files[OPS].startswith("import math\nimport os\n\n\ndef first(x):\n    return new(x)\n")
    assert files[UTILS].startswith("import os\n")
    there = Files({**FILES, UTILS: files[UTILS]})
    assert landed(plan(commit, there)) == {OPS: files[OPS]}
    assert plan(commit, Overlay(Files(), files)).state is State.PRESENT


def test_a_file_that_is_missing_or_no_python() -> None:
    (commit,) = a_fix("it", FIRST, HELP).commits
    assert str(the_misfit(plan(commit, Files({OPS: FILES[OPS]})))) == f"1/it: {UTILS}: the tree has no such file"
    assert "no valid Python" in str(the_misfit(plan(commit, Files({**FILES, UTILS: "def helper(:"}))))


@pytest.mark.parametrize(
    "edits", [(FIRST, rewrite("first", "x", "y")), (rewrite("first", "$F(x)", "$F($F(x))"), FIRST)]
)
def test_edits_that_overlap(edits: tuple[Edit, ...]) -> None:
    (commit,) = a_fix("it", *edits).commits
    assert plan(commit, Files()).state is State.MISFIT


def test_the_order_of_a_commits_edits_never_matters() -> None:
    clamp = Definition("clamp", "def clamp():\n    return math.pi", ("import math",))
    edits = (
        FIRST,
        SECOND,
        HELP,
        AddItem(OPS, within="TABLE", item='"b"'),
        AddDefinition(OPS, clamp, before="first"),
        Insert(OPS, within="second", at="start", text="x = first(x)"),
    )
    texts = {
        tuple(sorted(landed(plan(a_fix("it", *order).commits[0], Files())).items())) for order in permutations(edits)
    }
    assert len(texts) == 1


# --- in-tree tests ---


@pytest.fixture
def in_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_module, "in_tree_test", {TEST: TEST_TEXT}.__getitem__)


@pytest.mark.usefixtures("in_tree")
def test_tests_land_where_there_is_a_place_for_them() -> None:
    (commit,) = a_fix("it", HELP, tests=(TEST,)).commits
    assert set(landed(plan(commit, Files()))) == {UTILS}
    files = landed(plan(commit, Files(tests=True)))
    assert set(files) == {UTILS, TEST}
    assert files[TEST] == TEST_TEXT
    assert plan(commit, Overlay(Files(tests=True), files)).state is State.PRESENT
    assert set(landed(plan(commit, Files({**FILES, TEST: TEST_TEXT}, tests=True)))) == {UTILS}


@pytest.mark.usefixtures("in_tree")
def test_another_test_of_that_name() -> None:
    (commit,) = a_fix("it", HELP, tests=(TEST,)).commits
    found = the_misfit(plan(commit, Files({**FILES, TEST: "x = 1\n"}, tests=True)))
    assert str(found) == f"1/it: {TEST}: the file is there already and differs from ours"


# --- variants ---


def variants(*whens_and_edits: tuple[Has | Lacks | Every, Edit]) -> Commit:
    commit = Commit(subject="fix: it", variants=tuple(Variant(when, (edit,)) for when, edit in whens_and_edits))
    return Fix(number=1, slug="it", doc="It.", symptom="", commits=(commit,)).commits[0]


def test_the_first_variant_that_holds() -> None:
    commit = variants((Has("gone.py"), HELP), (Has(OPS, within="first"), FIRST), (Has(OPS), SECOND))
    assert landed(plan(commit, Files())) == {OPS: FILES[OPS].replace("old", "new", 1)}


def test_no_variant_holds() -> None:
    commit = variants(
        (Has("gone.py"), HELP), (Every((Has(OPS), Lacks(Has(OPS, within="first", find="old(x)")))), FIRST)
    )
    assert str(the_misfit(plan(commit, Files()))) == (
        f"1/it: {UTILS}, {OPS}: none of the commit's variants is for this tree: "
        f"they want gone.py; or {OPS} and no `old(x)` in first in {OPS}"
    )


def test_either_edits_or_variants() -> None:
    for arguments in ({}, {"edits": (FIRST,), "variants": (Variant(Has(OPS), (FIRST,)),)}):
        with pytest.raises(ValueError, match="fix: it: a commit has either edits or variants"):
            Commit(subject="fix: it", **arguments)  # type: ignore[arg-type]


# --- several commits ---


def test_each_lands_upon_those_before() -> None:
    one = a_fix("one", FIRST)
    two = a_fix("two", rewrite("first", "new(x)", "newest(x)"), number=2)
    outcomes = land([*one.commits, *two.commits], Files())
    assert landed(outcomes[1])[OPS] == FILES[OPS].replace("old", "newest", 1)
    other_way = land([*two.commits, *one.commits], Files())
    assert [outcome.state for outcome in other_way] == [State.MISFIT, State.LANDED]


def test_a_misfit_leaves_the_tree_to_the_others() -> None:
    one, two = a_fix("one", FIRST, rewrite("gone")), a_fix("two", SECOND, number=2)
    outcomes = land([*one.commits, *two.commits], Files())
    assert [outcome.state for outcome in outcomes] == [State.MISFIT, State.LANDED]
    assert "def first(x):\n    return old(x)" in outcomes[1].files[OPS]


def test_independent_commits_give_the_same_text_in_any_order() -> None:
    fixes = [
        a_fix("one", FIRST, AddImport(OPS, ("import math", "from a import b"))),
        a_fix("two", SECOND, AddImport(OPS, ("import abc", "from a import c")), number=2),
        a_fix("three", AddItem(OPS, within="TABLE", item='"b"'), HELP, number=3),
        a_fix("four", AddDefinition(OPS, Definition("f", "def f():\n    pass", ()), after="first"), number=4),
    ]
    results = set()
    for order in permutations(fixes):
        tree = Overlay(Files(), {})
        for outcome in land([commit for fix in order for commit in fix.commits], tree):
            tree = Overlay(tree, landed(outcome))
        results.add((tree.read(OPS), tree.read(UTILS)))
    assert len(results) == 1


def test_an_overlay_reads_through() -> None:
    overlay = Overlay(Overlay(Files(tests=True), {OPS: "x = 1\n"}), {NEW: ""})
    assert (overlay.read(OPS), overlay.read(UTILS), overlay.read(NEW), overlay.read("gone.py")) == (
        "x = 1\n",
        FILES[UTILS],
        "",
        None,
    )
    assert overlay.tests


# --- needs ---


def prerequisite(slug: str, *edits: Edit, **more: object) -> Fix:
    commit = Commit(subject=f"feat: {slug}", edits=edits, **more)  # type: ignore[arg-type]
    return Fix(slug=slug, doc=slug, symptom="", commits=(commit,), kind=Kind.PREREQUISITE)


def test_what_is_needed_may_have_landed_or_be_present() -> None:
    base, fix = prerequisite("base", HELP), a_fix("it", FIRST, needs=("base",))
    commits = [*base.commits, *fix.commits]
    assert [outcome.state for outcome in land(commits, Files())] == [State.LANDED, State.LANDED]
    there = Overlay(Files(), {UTILS: "def helper(x):\n    return y\n"})
    assert [outcome.state for outcome in land(commits, there)] == [State.PRESENT, State.LANDED]


def test_what_is_needed_cannot_land() -> None:
    base = prerequisite("base", rewrite("gone"))
    middle = prerequisite("middle", HELP, needs=("base",))
    fix = a_fix("it", FIRST, needs=("middle", "absent"))
    free = a_fix("free", SECOND, number=2)
    outcomes = land([c for each in (base, middle, fix, free) for c in each.commits], Files())
    assert [outcome.state for outcome in outcomes] == [State.MISFIT, State.NEEDS, State.NEEDS, State.LANDED]
    assert [outcome.reason for outcome in outcomes[1:3]] == [
        "needs base (ended in misfit)",
        "needs middle (ended in needs), absent (not among the commits)",
    ]
    assert all(not outcome.files and outcome.misfit is None and not outcome.well for outcome in outcomes[1:3])


def test_a_fix_of_two_commits_is_needed_as_a_whole() -> None:
    commits = (
        Commit(subject="fix: one", edits=(rewrite("gone"),)),
        Commit(subject="fix: two", edits=(FIRST,)),
    )
    base = Fix(number=1, slug="base", doc="Base.", symptom="", commits=commits)
    after = a_fix("after", SECOND, number=2, needs=("base",))
    outcomes = land([*base.commits, *after.commits], Files())
    assert [outcome.state for outcome in outcomes] == [State.MISFIT, State.LANDED, State.NEEDS]
    assert [outcome.commit.label for outcome in outcomes] == ["1/base", "1/base#2", "2/after"]


# --- commit messages ---


def test_the_whole_message() -> None:
    commit = Commit(subject="fix(dynamo): größer", edits=(FIRST,), tests=(TEST, "tests/py/dynamo/test_more.py"))
    fix = Fix(
        number=7,
        slug="bigger",
        doc="Be bigger.\n\nIt was too small.\n\nNow: it is bigger.\n",
        symptom="wrong rows, silently",
        affects="2.14.0",
        risk="none",
        commits=(commit,),
    )
    (owned,) = fix.commits
    assert (fix.title, fix.label, owned.label, owned.fix) == ("Be bigger", "7/bigger", "7/bigger", fix)
    assert owned.message == (
        "fix(dynamo): größer\n\nIt was too small.\n\nNow: it is bigger.\n\nSymptom: wrong rows, silently\n"
        f"Affects: 2.14.0\nRisk: none\nTest: {TEST}, tests/py/dynamo/test_more.py\n\nTorch-TensorRT-Fix: 7/bigger\n"
    )


def test_a_message_leaves_out_what_there_is_not() -> None:
    fix = Fix(
        slug="no-gpu",
        doc="Import without a GPU.",
        symptom="",
        affects="",
        kind=Kind.EXTRA,
        commits=(
            Commit(subject="feat: one", edits=(FIRST,)),
            Commit(subject="feat: two", edits=(HELP,), body="Only two."),
        ),
    )
    assert [commit.message for commit in fix.commits] == [
        "feat: one\n\nTorch-TensorRT-Fix: extra/no-gpu\n",
        "feat: two\n\nOnly two.\n\nTorch-TensorRT-Fix: extra/no-gpu#2\n",
    ]


def test_git_reads_the_trailer_and_nothing_else_as_one(tmp_path: Path) -> None:
    fix = a_fix("it", FIRST, tests=(TEST,))
    parsed = subprocess.run(
        ["git", "interpret-trailers", "--parse"],
        input=fix.commits[0].message,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert parsed.stdout == "Torch-TensorRT-Fix: 1/it\n"


def test_a_fix_has_a_number_and_nothing_else_has() -> None:
    for arguments in ({"number": None}, {"number": 1, "kind": Kind.EXTRA}, {"number": 1, "kind": Kind.PREREQUISITE}):
        with pytest.raises(ValueError, match="it: a fix has a number"):
            Fix(slug="it", doc="", symptom="", commits=(), **arguments)  # type: ignore[arg-type]
