"""How git is run: in the repository that was asked for, and never by way of the caller's index or hooks."""

from __future__ import annotations

import os
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

# What git sets for its hooks, and a shell may export, that leads to another repository, index or object store.
ELSEWHERE = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)

# update-ref would run a hook, commit-tree invent an identity, and i18n.commitEncoding label UTF-8 as something else.
SETTINGS = (f"core.hooksPath={os.devnull}", "user.useConfigOnly=true", "i18n.commitEncoding=UTF-8")


class GitError(Exception):
    """What was asked of a repository cannot be done. The message is for the user."""


class Git:
    """The git of one repository; ``directory`` is its git directory, in which every command runs."""

    def __init__(self, directory: Path, environment: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self._environment = clean_environment() if environment is None else environment

    @classmethod
    def of(cls, path: Path) -> Git:
        """The repository that ``path`` is in: a checkout, a folder of one, a linked worktree, or a bare repository."""
        if not path.is_dir():
            raise GitError(f"{path} is no directory; name a git checkout of Torch-TensorRT")
        try:
            found = _run(("git", "rev-parse", "--absolute-git-dir"), path, clean_environment())
        except CommandFailed as error:
            raise GitError(f"{path} cannot be used as a git repository: {error}") from error
        return cls(Path(found.removesuffix("\n")))

    def run(self, *arguments: str, given: bytes = b"") -> str:
        """What the command prints. Raises CommandFailed, with git's own words, where it fails."""
        return _run(self._command(arguments), self.directory, self._environment, given)

    def lines(self, *arguments: str) -> list[str]:
        """The lines that the command prints. (A name may hold what str.splitlines takes for the end of one.)"""
        return self.run(*arguments).split("\n")[:-1]

    def dialogue(self, *arguments: str) -> Dialogue:
        """Start a command that answers for as long as it is asked."""
        return Dialogue(self._command(arguments), self.directory, self._environment)

    def _command(self, arguments: Sequence[str]) -> tuple[str, ...]:
        settings = [word for setting in SETTINGS for word in ("-c", setting)]
        return ("git", f"--git-dir={self.directory}", *settings, *arguments)


class CommandFailed(GitError):
    """A git command failed; ``said`` is what it said."""

    def __init__(self, command: Sequence[str], said: bytes) -> None:
        words = (word for word in command[1:] if not word.startswith("-") and word not in SETTINGS)
        self.said = said.decode("utf-8", "replace").strip() or "it ended without a word"
        super().__init__(f"git {next(words)}: {self.said}")


class Dialogue:
    """A git process that answers questions, one at a time, until its owner is gone."""

    def __init__(self, command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        self._command = command
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _end)
        self._process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )
        weakref.finalize(self, _end, self._process, self._complaints)

    def ask(self, question: bytes) -> bytes:
        """The first line of the answer, without its end. Raises CommandFailed where there is none."""
        assert self._process.stdin and self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.write(question)
            self._process.stdin.flush()
        return self._process.stdout.readline()[:-1] or self._fail()

    def more(self, size: int) -> bytes:
        """The next ``size`` bytes of the answer. Raises CommandFailed where there are fewer."""
        assert self._process.stdout
        answer = self._process.stdout.read(size)
        return answer if len(answer) == size else self._fail()

    def _fail(self) -> bytes:
        self._complaints.seek(0)
        raise CommandFailed(self._command, self._complaints.read())


def clean_environment() -> dict[str, str]:
    """The caller's environment without what leads elsewhere; git speaks English in it."""
    return {name: value for name, value in os.environ.items() if name not in ELSEWHERE} | {"LC_ALL": "C"}


def _run(command: Sequence[str], directory: Path, environment: Mapping[str, str], given: bytes = b"") -> str:
    try:
        done = subprocess.run(command, cwd=directory, env=environment, input=given, capture_output=True)
    except FileNotFoundError as error:
        raise GitError("git is not on the PATH; install git, version 2.30 or later") from error
    if done.returncode:
        raise CommandFailed(command, done.stderr)
    return done.stdout.decode("utf-8", "surrogateescape")


def _end(process: subprocess.Popen[bytes], complaints: IO[bytes]) -> None:
    assert process.stdin and process.stdout
    with suppress(BrokenPipeError):
        process.stdin.close()
    process.stdout.close()
    complaints.close()
    process.wait()
