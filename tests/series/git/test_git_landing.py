"""Landing on a git checkout, in all the states that one can be in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from checkouts import CHANGED, CLAMP, COMMITS, FILES, NEW, SLICES, TOOL, Checkout, configure

from torch_tensorrt_fixes.landing import Outcome, State, land
from torch_tensorrt_fixes.trees.git import GitError, Repository

FIXED = "def stop(start, length, size):\n    # the end of a slice\n    return min(start + length, size)\n"


def test_a_commit_a_fix(checkout: Checkout) -> None:
    checkout.land()
    assert checkout.changed() == CHANGED
    assert checkout.changed(base="fixes~1") == CHANGED[:1]
    assert checkout.git("rev-parse", "fixes~2") == checkout.git("rev-parse", "main")
    assert checkout.blob(f"fixes:{SLICES}").decode() == FIXED
    checkout.git("fsck", "--strict")


def test_message_author_and_committer(checkout: Checkout) -> None:
    checkout.land()
    for name, commit in (("fixes~1", COMMITS[0]), ("fixes", COMMITS[1])):
        assert checkout.git("show", "--no-patch", "--format=%B", name) == commit.message
        people = checkout.git("show", "--no-patch", "--format=%an <%ae>, %cn <%ce>", name)
        assert people == "Ada Lövelace <ada@example.org>, Ada Lövelace <ada@example.org>"


def test_landing_twice_changes_nothing(checkout: Checkout) -> None:
    checkout.land()
    repository = Repository(checkout.root)
    tree = repository.tree("fixes")
    outcomes = land(COMMITS, tree)
    assert [outcome.state for outcome in outcomes] == [State.PRESENT, State.PRESENT]
    assert repository.commit(outcomes, tree.commit) == tree.commit


def test_what_did_not_land_gets_no_commit(checkout: Checkout) -> None:
    checkout.write(SLICES, "def stop(start, length, size):\n    return length\n")
    base = checkout.commit("another way")
    repository = Repository(checkout.root)
    outcomes = land(COMMITS, repository.tree("HEAD"))
    assert [outcome.state for outcome in outcomes] == [State.MISFIT, State.LANDED]
    repository.create_branch("fixes", repository.commit(outcomes, base))
    assert checkout.git("log", "--format=%s", f"{base}..fixes") == COMMITS[1].subject


def test_dirty_work_tree(checkout: Checkout) -> None:
    checkout.write(".gitignore", "*.log\n")
    checkout.commit("ignore logs")
    checkout.write(SLICES, "edited and staged")
    checkout.git("add", SLICES)
    checkout.write(SLICES, "edited again")
    (checkout.root / TOOL).unlink()
    checkout.write(NEW, "untracked, where a fix puts a file")
    checkout.write("run.log", "ignored")
    checkout.land()
    assert checkout.changed() == CHANGED


def test_merge_with_conflicts_under_way(checkout: Checkout) -> None:
    checkout.git("switch", "--quiet", "--create", "other")
    checkout.write(SLICES, "other = 1\n")
    checkout.commit("other")
    checkout.git("switch", "--quiet", "main")
    checkout.write(SLICES, FILES[SLICES] + "\nmain = 1\n")
    checkout.commit("main")
    assert subprocess.run(("git", "merge", "other"), cwd=checkout.root, capture_output=True).returncode
    checkout.land()
    assert checkout.changed() == CHANGED


def test_detached_head(checkout: Checkout) -> None:
    checkout.git("checkout", "--quiet", "--detach")
    checkout.land()
    assert checkout.changed() == CHANGED


def test_another_ref_than_head(checkout: Checkout) -> None:
    checkout.git("tag", "--annotate", "--message", "released", "v1.0")
    (checkout.root / SLICES).unlink()
    checkout.commit("without slices")
    checkout.land(ref="v1.0")
    assert checkout.changed(base="v1.0") == CHANGED


def test_folder_of_a_checkout(checkout: Checkout) -> None:
    repository = Repository(checkout.root / "py/torch_tensorrt")
    assert repository.tree("HEAD").read(SLICES) == FILES[SLICES]


def test_bare_repository(checkout: Checkout, tmp_path: Path) -> None:
    checkout.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    bare = Checkout(tmp_path / "bare.git")
    bare.land()
    assert bare.changed() == CHANGED


def test_linked_worktree(checkout: Checkout, tmp_path: Path) -> None:
    checkout.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    linked = Checkout(tmp_path / "linked")
    linked.write(SLICES, FILES[SLICES] + "\nside = 1\n")
    linked.commit("on the side")
    with checkout.untouched("fixes"):
        linked.land()
    assert linked.changed(base="side") == CHANGED


def test_shallow_clone(checkout: Checkout, tmp_path: Path) -> None:
    checkout.write("second", "version\n")
    checkout.commit("the second version")
    checkout.git("clone", "--quiet", "--depth=1", f"file://{checkout.root}", str(tmp_path / "shallow"))
    shallow = Checkout(tmp_path / "shallow")
    shallow.land()
    assert shallow.changed() == CHANGED
    assert shallow.git("rev-list", "--count", "fixes") == "3"


def test_partial_clone_fetches_no_more_than_it_reads(checkout: Checkout, tmp_path: Path) -> None:
    checkout.git("config", "uploadpack.allowFilter", "true")
    source = f"file://{checkout.root}"
    checkout.git("clone", "--quiet", "--bare", "--filter=blob:none", source, str(tmp_path / "partial.git"))
    partial = Checkout(tmp_path / "partial.git")
    repository = Repository(partial.root)
    tree = repository.tree("HEAD")
    repository.create_branch("fixes", repository.commit(land(COMMITS, tree), tree.commit))
    assert partial.changed() == CHANGED
    missing = partial.git("rev-list", "--objects", "--missing=print", "fixes").splitlines()
    unread = {checkout.git("rev-parse", f"HEAD:{path}") for path in ("docs-of-old", "docs/Übersicht und mehr.md")}
    assert {line[1:] for line in missing if line.startswith("?")} == unread


def test_submodules_and_links_are_kept(checkout: Checkout, tmp_path: Path) -> None:
    Checkout.new(tmp_path / "library", files={"lib.c": "int x;\n"})
    checkout.git("submodule", "--quiet", "add", str(tmp_path / "library"), "py/torch_tensorrt/dynamo/library")
    (checkout.root / "py/torch_tensorrt/dynamo/link.py").symlink_to("slices.py")
    checkout.commit("a submodule and a link")
    checkout.land()
    assert checkout.changed() == CHANGED
    checkout.git("fsck", "--strict")


def test_sha256_repository(tmp_path: Path) -> None:
    checkout = Checkout.new(tmp_path / "checkout", "--object-format=sha256")
    assert len(checkout.git("rev-parse", "HEAD")) == 64
    checkout.land()
    assert checkout.changed() == CHANGED
    checkout.git("fsck", "--strict")


@pytest.mark.parametrize("settings", [{"core.autocrlf": "true"}, {"core.autocrlf": "input"}, {"core.eol": "crlf"}])
@pytest.mark.parametrize(
    "attributes", ["", "* text=auto\n", "*.py text eol=crlf\n", "*.py text eol=lf\n", "*.py ident\n"]
)
def test_line_ends_are_those_in_the_repository(tmp_path: Path, settings: dict[str, str], attributes: str) -> None:
    configure(settings)
    checkout = Checkout.new(tmp_path / "checkout", files=FILES | {".gitattributes": attributes})
    (checkout.root / SLICES).unlink()
    checkout.git("checkout", "--", SLICES)
    checkout.land()
    assert checkout.blob(f"fixes:{SLICES}").decode() == FIXED
    assert b"\r" not in checkout.blob(f"fixes:{NEW}")


@pytest.mark.parametrize("autocrlf", ["false", "true", "input"])
def test_file_with_carriage_returns_in_the_repository(tmp_path: Path, autocrlf: str) -> None:
    checkout = Checkout.new(tmp_path / "checkout", files=FILES | {SLICES: FILES[SLICES].replace("\n", "\r\n")})
    configure({"core.autocrlf": autocrlf})
    checkout.land()
    assert checkout.blob(f"fixes:{SLICES}").decode() == FIXED.replace("\n", "\r\n")


@pytest.fixture
def signer(tmp_path: Path) -> Path:
    """A program that signs as gpg would be asked to, and leaves word that it was asked."""
    program = tmp_path / "signer"
    program.write_text(
        f"#!/bin/sh\necho asked >> {tmp_path}/asked\ncat > {tmp_path}/signed\n"
        "echo '[GNUPG:] SIG_CREATED ' >&2\necho '-----BEGIN PGP SIGNATURE-----'\n"
    )
    program.chmod(0o755)
    return program


def test_signing_only_when_asked_for(checkout: Checkout, tmp_path: Path, signer: Path) -> None:
    configure({"commit.gpgSign": "true", "user.signingKey": "ada", "gpg.program": str(signer)})
    checkout.land("plain")
    assert not (tmp_path / "asked").exists()
    checkout.land("signed", sign=True)
    assert (tmp_path / "asked").read_text() == "asked\n" * 2
    assert "\ngpgsig -----BEGIN PGP SIGNATURE-----\n" in checkout.git("cat-file", "commit", "signed")


def test_signing_that_fails(checkout: Checkout) -> None:
    configure({"user.signingKey": "ada", "gpg.program": "/bin/false"})
    repository = Repository(checkout.root)
    tree = repository.tree("HEAD")
    with checkout.untouched(), pytest.raises(GitError, match="commit-tree: .*gpg failed to sign"):
        repository.commit(land(COMMITS, tree), tree.commit, sign=True)


@pytest.mark.parametrize("lacking, said", [("user.name", "no name was given"), ("user.email", "no email was given")])
def test_nobody_configured(checkout: Checkout, lacking: str, said: str) -> None:
    checkout.git("config", "--global", "--unset", lacking)
    repository = Repository(checkout.root)
    tree = repository.tree("HEAD")
    with checkout.untouched(), pytest.raises(GitError, match=f"{said}.*git config --global user.name"):
        repository.commit(land(COMMITS, tree), tree.commit)


def test_identity_from_the_environment(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout.git("config", "--global", "--remove-section", "user")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", f"the {who}")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "nobody@example.org")
    checkout.land()
    assert checkout.git("show", "--no-patch", "--format=%an, %cn", "fixes") == "the AUTHOR, the COMMITTER"


def test_message_is_utf_8_whatever_the_configured_encoding(checkout: Checkout) -> None:
    configure({"i18n.commitEncoding": "ISO-8859-1"})
    checkout.land()
    raw = checkout.git("cat-file", "commit", "fixes~1")
    assert raw.endswith(COMMITS[0].message.removesuffix("\n"))
    assert "\nencoding " not in raw


def test_environment_of_a_hook(checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Checkout.new(tmp_path / "other", files={"a": "b\n"})
    with other.untouched(), monkeypatch.context() as hook:
        hook.setenv("GIT_DIR", str(other.root / ".git"))
        hook.setenv("GIT_WORK_TREE", str(other.root))
        hook.setenv("GIT_INDEX_FILE", str(other.root / ".git/index"))
        hook.setenv("GIT_OBJECT_DIRECTORY", str(other.root / ".git/objects"))
        repository = Repository(checkout.root)
        tree = repository.tree("HEAD")
        repository.create_branch("fixes", repository.commit(land(COMMITS, tree), tree.commit))
        patches = repository.export(land(COMMITS, tree), tree.commit, tmp_path / "patches")
    assert len(patches) == 2
    assert checkout.changed() == CHANGED


def test_no_hook_runs(checkout: Checkout, tmp_path: Path) -> None:
    hooks = ("reference-transaction", "pre-commit", "post-commit", "commit-msg", "post-index-change", "post-checkout")
    for hook in hooks:
        checkout.write(f".git/hooks/{hook}", f"#!/bin/sh\necho {hook} >> {tmp_path}/ran\n")
        (checkout.root / ".git/hooks" / hook).chmod(0o755)
    checkout.git("branch", "made-by-git")
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    repository = Repository(checkout.root)
    tree = repository.tree("HEAD")
    repository.create_branch("fixes", repository.commit(land(COMMITS, tree), tree.commit))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["nowhere", "-x", "", "HEAD~99", "main\nmain", "main:py", "@{-1}"])
def test_unknown_ref(checkout: Checkout, name: str) -> None:
    with pytest.raises(GitError, match="names no commit in .*checkout; "):
        Repository(checkout.root).resolve(name)


def test_unknown_ref_unlike_any_other(checkout: Checkout) -> None:
    with pytest.raises(GitError, match="`git fetch` it first if another repository has it"):
        Repository(checkout.root).resolve("release/2.15")


def test_unknown_ref_like_others(checkout: Checkout) -> None:
    checkout.git("tag", "v2.14.0")
    checkout.git("update-ref", "refs/remotes/origin/release/2.15", "HEAD")
    repository = Repository(checkout.root)
    with pytest.raises(GitError, match="did you mean origin/release/2.15?"):
        repository.resolve("release/2.15")
    with pytest.raises(GitError, match="did you mean v2.14.0?"):
        repository.resolve("v2.14")


def test_repository_without_a_commit(tmp_path: Path) -> None:
    subprocess.run(("git", "init", "--quiet", str(tmp_path / "empty")), check=True)
    with pytest.raises(GitError, match="'HEAD' names no commit"):
        Repository(tmp_path / "empty").tree("HEAD")


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(GitError, match=f"{tmp_path} cannot be used as a git repository: .*not a git repository"):
        Repository(tmp_path)
    with pytest.raises(GitError, match="no directory"):
        Repository(tmp_path / "nowhere")


def test_no_torch_tensorrt(tmp_path: Path) -> None:
    other = Checkout.new(tmp_path / "other", files={"setup.py": "x = 1\n"})
    with pytest.raises(GitError, match="main in .*other is no Torch-TensorRT: it lacks py/torch_tensorrt/__init__.py"):
        Repository(other.root).tree("main")


def test_no_git(checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="git is not on the PATH"):
        Repository(checkout.root)


def test_reading(checkout: Checkout) -> None:
    checkout.write("latin.py", "é\n".encode("latin-1"))
    checkout.write("mixed.py", "a\r\nb\nc\r")
    checkout.write("empty.py", "")
    checkout.commit("more files")
    tree = Repository(checkout.root).tree("HEAD")
    assert tree.tests
    assert tree.read("docs/Übersicht und mehr.md") == "Größe\n"
    assert tree.read("mixed.py") == "a\r\nb\nc\r"
    assert tree.read("empty.py") == ""
    assert tree.read("py/torch_tensorrt") is None
    assert tree.read("nothing here blob 3") is None
    assert tree.read("nothing\nhere") is None
    assert tree.read(SLICES) == FILES[SLICES]
    with pytest.raises(GitError, match=r"latin.py at \w{12} is not UTF-8"):
        tree.read("latin.py")


@pytest.mark.parametrize(
    "path, there", [("docs-of-old/new.py", "a file"), ("docs", "a folder"), ("link", "a symbolic link")]
)
def test_file_that_would_take_the_place_of_something_else(checkout: Checkout, path: str, there: str) -> None:
    (checkout.root / "link").symlink_to("docs")
    checkout.commit("a link")
    repository = Repository(checkout.root)
    outcome = Outcome(CLAMP.commits[0], State.LANDED, {path: "x = 1\n"})
    with checkout.untouched(), pytest.raises(GitError, match=f"is {there} in this tree"):
        repository.commit([outcome], repository.resolve("HEAD"))


def test_tree_that_is_lacking_is_not_taken_for_an_empty_one(checkout: Checkout) -> None:
    repository = Repository(checkout.root)
    tree = repository.tree("HEAD")
    outcomes = land(COMMITS, tree)
    for name in ("HEAD:py/torch_tensorrt", "HEAD^{tree}"):
        oid = checkout.git("rev-parse", name)
        (checkout.root / ".git/objects" / oid[:2] / oid[2:]).unlink()
        with pytest.raises(GitError, match="the repository lacks the tree "):
            Repository(checkout.root).commit(outcomes, tree.commit)


def test_damaged_repository_is_told_in_gits_words(checkout: Checkout) -> None:
    repository = Repository(checkout.root)
    oid = checkout.git("rev-parse", f"HEAD:{SLICES}")
    file = checkout.root / ".git/objects" / oid[:2] / oid[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:12])
    with pytest.raises(GitError, match=f"git cat-file: fatal: .*{oid}"):
        repository.tree("HEAD").read(SLICES)
