"""Landed commits as files for ``git am``."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkouts import COMMITS, FILES, SLICES, Checkout, configure

from torch_tensorrt_fixes.landing import land
from torch_tensorrt_fixes.trees.git import GitError, Repository

HOSTILE = {
    "color.diff": "always",
    "color.ui": "always",
    "core.abbrev": "4",
    "core.quotePath": "false",
    "diff.algorithm": "patience",
    "diff.context": "0",
    "diff.external": "/bin/false",
    "diff.interHunkContext": "9",
    "diff.mnemonicPrefix": "true",
    "diff.noprefix": "true",
    "diff.relative": "true",
    "diff.renames": "copies",
    "diff.submodule": "log",
    "diff.suppressBlankEmpty": "true",
    "diff.wordRegex": ".",
    "format.attach": "x",
    "format.cc": "everyone@example.org",
    "format.coverLetter": "true",
    "format.encodeEmailHeaders": "false",
    "format.filenameMaxLength": "7",
    "format.from": "Someone Else <else@example.org>",
    "format.headers": "Subject: something else",
    "format.noprefix": "true",
    "format.notes": "true",
    "format.numbered": "false",
    "format.outputDirectory": "/nowhere",
    "format.pretty": "oneline",
    "format.signOff": "true",
    "format.signature": "a signature",
    "format.subjectPrefix": "no brackets] here",
    "format.suffix": ".txt",
    "format.thread": "deep",
    "format.to": "everyone@example.org",
    "format.useAutoBase": "true",
    "i18n.logOutputEncoding": "ISO-8859-1",
    "log.showSignature": "true",
    "mailinfo.scissors": "false",
}


def export(checkout: Checkout, directory: Path) -> list[Path]:
    repository = Repository(checkout.root)
    tree = repository.tree("HEAD")
    with checkout.untouched():
        return repository.export(land(COMMITS, tree), tree.commit, directory)


def applied(checkout: Checkout, patches: list[Path], place: Path) -> Checkout:
    """A clean clone with the patches applied."""
    checkout.git("clone", "--quiet", "--branch=main", f"file://{checkout.root}", str(place))
    clone = Checkout(place)
    clone.git("am", *map(str, patches))
    return clone


def test_am_gives_the_same_trees_and_messages(checkout: Checkout, tmp_path: Path) -> None:
    patches = export(checkout, tmp_path / "patches")
    assert [patch.name for patch in patches] == [
        "0001-fix-dynamo-clamp-the-end-of-a-slice.patch",
        "0002-fix-dynamo-round-to-even-0.patch",
    ]
    assert not any("\n-- \n" in patch.read_text() for patch in patches)  # a signature would name the version of git
    clone = applied(checkout, patches, tmp_path / "clone")
    checkout.land()
    for format in ("%T", "%B", "%an <%ae>"):
        assert clone.git("log", f"--format={format}") == checkout.git("log", f"--format={format}", "fixes")


def test_configuration_changes_nothing(checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, "2026-01-01T12:00:00Z")
    plain = export(checkout, tmp_path / "plain")
    configure(HOSTILE)
    for name, value in HOSTILE.items():
        checkout.git("config", name, value)
        checkout.git("config", "--file", str(tmp_path / ".gitconfig"), name, value)
    checkout.write(".git/info/attributes", "*.py -diff\n")
    monkeypatch.setenv("GIT_DIFF_OPTS", "--unified=0")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/bin/false")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'diff.noprefix=true'")
    hostile = export(checkout, tmp_path / "hostile")
    assert [patch.read_bytes() for patch in hostile] == [patch.read_bytes() for patch in plain]
    assert [patch.name for patch in hostile] == [patch.name for patch in plain]


def test_carriage_returns_survive(tmp_path: Path) -> None:
    checkout = Checkout.new(tmp_path / "checkout", files=FILES | {SLICES: FILES[SLICES].replace("\n", "\r\n")})
    clone = applied(checkout, export(checkout, tmp_path / "patches"), tmp_path / "clone")
    checkout.land()
    assert clone.git("rev-parse", "HEAD^{tree}") == checkout.git("rev-parse", "fixes^{tree}")


@pytest.mark.parametrize("options", [("--object-format=sha256",), ("--object-format=sha1",)])
def test_from_a_shallow_clone(tmp_path: Path, options: tuple[str, ...]) -> None:
    checkout = Checkout.new(tmp_path / "checkout", *options)
    for version in ("second", "third"):
        checkout.write("version", version)
        checkout.commit(f"the {version} version")
    checkout.git("clone", "--quiet", "--depth=1", f"file://{checkout.root}", str(tmp_path / "shallow"))
    patches = export(Checkout(tmp_path / "shallow"), tmp_path / "patches")
    clone = applied(checkout, patches, tmp_path / "clone")
    checkout.land()
    assert clone.git("rev-parse", "HEAD^{tree}") == checkout.git("rev-parse", "fixes^{tree}")


def test_from_a_linked_worktree(checkout: Checkout, tmp_path: Path) -> None:
    checkout.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    patches = export(Checkout(tmp_path / "linked"), tmp_path / "patches")
    applied(checkout, patches, tmp_path / "clone")


def test_directory_may_be_there_if_it_is_empty(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "patches").mkdir()
    assert len(export(checkout, tmp_path / "patches")) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkout", "gitconfig", "patches"]


def test_directory_is_relative_to_where_the_caller_is(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(export(checkout, Path("new/patches"))) == 2
    assert len(list((tmp_path / "new/patches").iterdir())) == 2


@pytest.mark.parametrize("what", ["full", "file"])
def test_directory_that_is_in_use(checkout: Checkout, tmp_path: Path, what: str) -> None:
    place = tmp_path / "patches"
    if what == "full":
        place.mkdir()
        (place / "mine").write_text("keep")
    else:
        place.write_text("keep")
    with pytest.raises(GitError, match=f"{place} is there already and no empty directory"):
        export(checkout, place)
    assert (place / "mine" if what == "full" else place).read_text() == "keep"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkout", "gitconfig", "patches"]


def test_failure_leaves_nothing(checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, target: Path) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(GitError, match="cannot be written: the disk is full"):
        export(checkout, tmp_path / "patches")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkout", "gitconfig"]


def test_nothing_landed_nothing_written(checkout: Checkout, tmp_path: Path) -> None:
    checkout.land()
    checkout.git("switch", "--quiet", "fixes")
    assert export(checkout, tmp_path / "patches") == []
    assert not (tmp_path / "patches").exists()
