"""Commits as files that ``git am`` takes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .git_process import Git, GitError, clean_environment


def format_patches(git: Git, tip: str, count: int, directory: Path, binary: bool) -> list[Path]:
    """Write the last ``count`` commits before and with ``tip`` to ``directory``, which appears with all of them in it.

    ``binary`` writes the changes so that ``git am`` does not alter them (from others it strips carriage returns).
    Raises GitError where the directory is there and not empty.
    """
    directory = directory.absolute()
    if directory.is_dir() and any(directory.iterdir()) or directory.exists() and not directory.is_dir():
        raise GitError(f"{directory} is there already and no empty directory; name another one")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        written = Path(scratch, "patches")
        plain = _plain_repository(git, Path(scratch, "repository"), tip)
        if binary:
            (plain.directory / "info").mkdir(exist_ok=True)
            (plain.directory / "info/attributes").write_text("* -diff\n")
        plain.run("format-patch", "--quiet", "--no-signature", f"--output-directory={written}", f"-{count}", tip)
        if directory.is_dir():
            directory.rmdir()
        written.rename(directory)
    return sorted(directory.iterdir())


def _plain_repository(git: Git, directory: Path, tip: str) -> Git:
    """A repository that has the objects of ``git`` and no configuration at all.

    Some twenty settings (``diff.noprefix``, ``format.attach``, ...) would change a patch, and new gits bring new ones.
    """
    objects = git.directory / git.run("rev-parse", "--git-path", "objects").removesuffix("\n")
    home = {"HOME": str(directory), "XDG_CONFIG_HOME": str(directory), "GIT_CONFIG_NOSYSTEM": "1"}
    others = {name: value for name, value in clean_environment().items() if not name.startswith("GIT_")}
    plain = Git(directory, others | home)
    directory.mkdir()
    plain.run("init", "--bare", "--quiet", "--template=", f"--object-format={'sha256' if len(tip) == 64 else 'sha1'}")
    (directory / "objects/info/alternates").write_text(f"{objects}\n")
    return plain
