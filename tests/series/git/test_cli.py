"""The command torchtrt-fixes, as its user sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkouts import CLAMP, ROUND, SLICES, Checkout
from click.testing import CliRunner, Result

from torch_tensorrt_fixes import cli, series


@pytest.fixture(autouse=True)
def two_fixes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "all_fixes", lambda: (CLAMP, ROUND))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout.new(tmp_path / "trt")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments], prog_name="torchtrt-fixes")


def called(code: int, *arguments: object) -> str:
    """What a call prints that must exit with ``code``."""
    result = call(*arguments)
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def facts(code: int, *arguments: object) -> Any:
    result = call(*arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def states(report: Any) -> dict[str, str]:
    return {commit["label"]: commit["state"] for commit in report["commits"]}


def test_list_and_show() -> None:
    assert "1/clamp" in called(0, "list")
    assert [fix["slug"] for fix in facts(0, "list")] == ["clamp", "round"]
    for name in ("1", "clamp", "1/clamp"):
        text = called(0, "show", name)
        assert "Clamp slices" in text and "größte mögliche row" in text and SLICES in text
    assert facts(0, "show", "2")["commits"][0]["subject"].startswith("fix(dynamo): round to even")


def test_show_unknown_fix() -> None:
    text = called(2, "show", "clam")
    assert "'clam'" in text and "clamp" in text


def test_check_land_check(checkout: Checkout) -> None:
    with checkout.untouched():
        assert states(facts(1, "check", checkout.root)) == {"1/clamp": "would land", "2/round": "would land"}
    with checkout.untouched("fixes"):
        report = facts(0, "land", checkout.root, "--branch", "fixes")
    assert states(report) == {"1/clamp": "landed", "2/round": "landed"}
    assert report["tip"] == checkout.git("rev-parse", "fixes")
    hashes = checkout.git("rev-list", "--reverse", "HEAD..fixes").split()
    assert [commit["commit"] for commit in report["commits"]] == hashes
    assert states(facts(0, "check", checkout.root, "--onto", "fixes")) == {"1/clamp": "present", "2/round": "present"}
    with checkout.untouched():
        assert "has them all; no branch was made" in called(
            0, "land", checkout.root, "--onto", "fixes", "--branch", "again"
        )


def test_only_and_without(checkout: Checkout) -> None:
    assert states(facts(1, "check", checkout.root, "--only", "clamp")) == {"1/clamp": "would land"}
    assert states(facts(1, "check", checkout.root, "--without", "1")) == {"2/round": "would land"}
    assert states(facts(1, "check", checkout.root, "--only", "-2")) == {"1/clamp": "would land"}
    assert states(facts(1, "check", checkout.root, "--only", "1", "--only", "2")).keys() == {"1/clamp", "2/round"}
    assert "leave no fix" in called(2, "check", checkout.root, "--without", "1", "--without", "2")
    assert "'9'" in called(2, "check", checkout.root, "--only", "9")
    assert "names no fix" in called(2, "check", checkout.root, "--without", "")
    assert "'-2'" in called(2, "check", checkout.root, "--without=-2")


def test_nothing_chosen(checkout: Checkout) -> None:
    assert "leave no fix" in called(2, "check", checkout.root, "--only", "1", "--without", "1")


def test_misfit_lands_nothing(checkout: Checkout) -> None:
    checkout.write(SLICES, "def stop(start, length, size):\n    return start - length\n")
    checkout.commit("drift")
    with checkout.untouched():
        text = called(1, "land", checkout.root, "--branch", "fixes")
    assert "misfit" in text and "`return start + $N` is found nowhere, wanted once" in text
    assert "nearest: line 2" in text and "--without clamp" in text
    misfit = facts(1, "check", checkout.root)["commits"][0]["misfit"]
    assert (misfit["path"], misfit["within"], misfit["found"], misfit["wanted"]) == (SLICES, "stop", 0, 1)
    assert misfit["nearest"]["line"] == 2
    with checkout.untouched("fixes"):
        called(0, "land", checkout.root, "--branch", "fixes", "--without", "clamp")


def test_export(checkout: Checkout, tmp_path: Path) -> None:
    with checkout.untouched():
        report = facts(0, "export", checkout.root, "-o", tmp_path / "patches")
    assert [Path(file).name[:4] for file in report["patches"]] == ["0001", "0002"]
    checkout.git("am", "--quiet", *report["patches"])
    assert states(facts(0, "check", checkout.root)) == {"1/clamp": "present", "2/round": "present"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "{root}/nowhere"], "no directory"),
        (["check", "{root}/.."], "git repository"),
        (["check", "{root}", "--onto", "man"], "did you mean main"),
        (["land", "{root}", "--branch", "main", "--force"], "checked out"),
        (["land", "{root}", "--branch", "a..b"], "no name for a branch"),
        (["land", "{root}", "--branch", "refs/heads/a"], "no name for a branch"),
        (["export", "{root}", "-o", "{root}/.git/config/x"], "cannot be written"),
        (["export", "{root}", "-o", "{root}"], "no empty directory"),
    ],
)
def test_users_mistakes(checkout: Checkout, arguments: list[str], said: str) -> None:
    with checkout.untouched():
        result = call(*(argument.format(root=checkout.root) for argument in arguments))
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_internal_error(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli.landing, "land", broken)
    result = call("check", checkout.root)
    assert result.exit_code == 123
    assert "ZeroDivisionError" in result.output and "report" in result.output


def test_needs_no_torch() -> None:
    program = "import sys; import torch_tensorrt_fixes.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
