"""A small git repository that holds a Torch-TensorRT of our own invention, and two fixes for it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torch_tensorrt_fixes.commit import Commit, Fix
from torch_tensorrt_fixes.edits import NewFile, Rewrite
from torch_tensorrt_fixes.landing import Outcome, State, land
from torch_tensorrt_fixes.trees.git import Repository

SLICES = "py/torch_tensorrt/dynamo/slices.py"
TOOL = "py/torch_tensorrt/dynamo/tool.py"
NEW = "py/torch_tensorrt/dynamo/größe/rounding.py"
FILES = {
    "py/torch_tensorrt/__init__.py": '"""A compiler."""\n',
    SLICES: "def stop(start, length, size):\n    # the end of a slice\n    return start + length\n",
    TOOL: "def report(rows):\n    print(len(rows))\n",
    "docs/Übersicht und mehr.md": "Größe\n",
    "docs-of-old": "beside a folder whose name begins as its own does\n",
}

CLAMP = Fix(
    number=1,
    slug="clamp",
    doc="Clamp slices.\n\nA slice past the end gave the größte mögliche row.\n",
    symptom="wrong rows",
    commits=(
        Commit(
            subject="fix(dynamo): clamp the end of a slice",
            edits=(
                Rewrite(SLICES, within="stop", find="return start + $N", put="return min(start + $N, size)"),
                Rewrite(TOOL, within="report", find="len(rows)", put="len(list(rows))"),
            ),
        ),
    ),
)
ROUND = Fix(
    number=2,
    slug="round",
    doc="Round to even.\n\nHalves were rounded up.\n",
    symptom="values off by one",
    commits=(
        Commit(
            subject="fix(dynamo): round to even – ½ → 0",
            edits=(NewFile(NEW, lambda: 'SIGN = "½"\n\n\ndef to_even(x):\n    return round(x)\n'),),
        ),
    ),
)
COMMITS = CLAMP.commits + ROUND.commits


@dataclass(frozen=True)
class Checkout:
    root: Path

    @classmethod
    def new(cls, root: Path, *options: str, files: dict[str, str] = FILES) -> Checkout:
        checkout = cls(root)
        root.mkdir()
        checkout.git("init", "--quiet", "--initial-branch=main", *options)
        for path, text in files.items():
            checkout.write(path, text)
        if TOOL in files:
            (root / TOOL).chmod(0o755)
        checkout.commit("the first version")
        return checkout

    def git(self, *arguments: str) -> str:
        done = subprocess.run(("git", *arguments), cwd=self.root, capture_output=True, text=True, encoding="utf-8")
        assert not done.returncode, f"git {' '.join(arguments)}: {done.stderr}"
        return done.stdout.removesuffix("\n")

    def write(self, path: str, text: str | bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def blob(self, name: str) -> bytes:
        return subprocess.run(("git", "cat-file", "blob", name), cwd=self.root, check=True, capture_output=True).stdout

    @property
    def git_directory(self) -> Path:
        return self.root / self.git("rev-parse", "--git-dir")

    @property
    def bare(self) -> bool:
        return self.git("rev-parse", "--is-bare-repository") == "true"

    def state(self) -> dict[str, str]:
        """All that landing must not touch: work tree, index, HEAD and refs; and whether a lock or the like is left."""
        files = [f for f in self.root.rglob("*") if f.is_file() and f.suffix != ".pack"]
        kept = {f for f in files if "objects" not in f.parts and "refs" not in f.parts and "logs" not in f.parts}
        state = {str(f.relative_to(self.root)): hashlib.sha256(f.read_bytes()).hexdigest() for f in kept}
        state |= {f"time of {f}": str(f.lstat().st_mtime_ns) for f in kept}
        state |= {f"left over: {f}": "" for f in files if f.suffix == ".lock" or f.name.startswith("tmp_")}
        state["refs"] = self.git("for-each-ref")
        if not self.bare:
            state["status"] = self.git("--no-optional-locks", "status", "--porcelain", "--ignored")
        return state

    @contextmanager
    def untouched(self, branch: str = "") -> Iterator[None]:
        """Hold that all is as it was, but for the branch."""
        before = self.state()
        yield
        after = self.state()
        if branch:
            of_others = [line for line in after["refs"].splitlines() if not line.endswith(f"\trefs/heads/{branch}")]
            assert len(of_others) == len(after["refs"].splitlines()) - 1, f"no branch {branch}"
            after["refs"] = "\n".join(of_others)
        assert after == before

    def land(self, branch: str = "fixes", ref: str = "HEAD", sign: bool = False) -> tuple[Outcome, ...]:
        """Land both fixes as the command does, and hold that nothing else is touched."""
        repository = Repository(self.root)
        tree = repository.tree(ref)
        with self.untouched(branch):
            outcomes = land(COMMITS, tree)
            repository.create_branch(branch, repository.commit(outcomes, tree.commit, sign=sign))
        assert [outcome.state for outcome in outcomes] == [State.LANDED, State.LANDED]
        return outcomes

    def changed(self, branch: str = "fixes", base: str = "HEAD") -> list[str]:
        """What the branch changes, a line a file: old mode, new mode, kind, path."""
        raw = self.git("-c", "core.quotePath=false", "diff-tree", "-r", "--raw", base, branch).splitlines()
        words = (line.replace("\t", " ").split(" ", 5) for line in raw)
        return [f"{old[1:]} {new} {kind} {path}" for old, new, _, _, kind, path in words]


CHANGED = [
    f"000000 100644 A {NEW}",
    f"100644 100644 M {SLICES}",
    f"100755 100755 M {TOOL}",
]


def configure(settings: dict[str, str]) -> None:
    """Set the user's own configuration (``conftest.py`` gives every test a new one)."""
    for name, value in settings.items():
        subprocess.run(("git", "config", "--file", os.environ["GIT_CONFIG_GLOBAL"], name, value), check=True)
