"""Reading and writing git objects without an index and without filters: bytes go in and come out as they are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from .git_process import Dialogue, Git, GitError

FILE, FOLDER, SUBMODULE = "100644", "40000", "160000"
KINDS = {FOLDER: "tree", SUBMODULE: "commit"}
WORDS = {FOLDER: "a folder", SUBMODULE: "a submodule", "120000": "a symbolic link"}


class Object(NamedTuple):
    oid: str
    kind: str
    content: bytes


class Entry(NamedTuple):
    """What a folder holds under one name."""

    mode: str
    oid: str


class Objects:
    """The objects of a repository. A new one is reachable from nothing until some branch leads to it."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def find(self, name: str) -> Object | None:
        """The object of that name (``HEAD~2``, ``v2.14.0:setup.py``), or None where there is none or no single one."""
        if "\n" in name:
            return None
        header = self._reader.ask(f"{name}\n".encode("utf-8", "surrogateescape"))
        oid, *rest = header.decode("utf-8", "replace").rsplit(" ", 2)
        if len(rest) != 2 or not rest[1].isdigit():
            return None
        content = self._reader.more(int(rest[1]) + 1)
        return Object(oid, rest[0], content[:-1])

    def with_files(self, tree: str | None, files: Mapping[str, str], above: str = "") -> str:
        """The tree of that name (None: an empty one) with the files' texts put in. A file that is there keeps its mode.

        ``above`` is the tree's own path, with a final slash, for messages. Raises GitError where a file would have to
        take the place of something else.
        """
        entries = self._entries(tree) if tree else {}
        folders: dict[str, dict[str, str]] = {}
        for path, text in files.items():
            name, slash, below = path.partition("/")
            if slash:
                folders.setdefault(name, {})[below] = text
            else:
                there = entries.get(name, Entry(FILE, ""))
                if there.mode in WORDS:
                    raise _in_the_way(above + name, WORDS[there.mode], "a file")
                entries[name] = Entry(there.mode, self._write_file(text))
        for name, inside in folders.items():
            folder = entries.get(name)
            if folder and folder.mode != FOLDER:
                raise _in_the_way(above + name, WORDS.get(folder.mode, "a file"), "a folder")
            oid = self.with_files(folder and folder.oid, inside, f"{above}{name}/")
            entries[name] = Entry(FOLDER, oid)
        return self._write_tree(entries)

    def _entries(self, tree: str) -> dict[str, Entry]:
        found = self.find(tree)
        if found is None:
            raise GitError(f"the repository lacks the tree {tree}; `git fsck` tells what else it lacks")
        entries, rest, size = {}, found.content, len(found.oid) // 2
        while rest:
            head, _, rest = rest.partition(b"\0")
            mode, name = head.decode("utf-8", "surrogateescape").split(" ", 1)
            entries[name] = Entry(mode, rest[:size].hex())
            rest = rest[size:]
        return entries

    def _write_file(self, text: str) -> str:
        oid = self._git.run("hash-object", "-w", "--no-filters", "--stdin", given=text.encode("utf-8"))
        return oid.strip()

    def _write_tree(self, entries: Mapping[str, Entry]) -> str:
        lines = "".join(
            f"{entry.mode} {KINDS.get(entry.mode, 'blob')} {entry.oid}\t{name}\0" for name, entry in entries.items()
        )
        return self._tree_writer.ask(f"{lines}\0".encode("utf-8", "surrogateescape")).decode()

    @cached_property
    def _reader(self) -> Dialogue:
        return self._git.dialogue("cat-file", "--batch")

    @cached_property
    def _tree_writer(self) -> Dialogue:
        # --missing: in a partial clone the files next to ours need not be fetched to be named.
        return self._git.dialogue("mktree", "--batch", "--missing", "-z")


def _in_the_way(path: str, there: str, wanted: str) -> GitError:
    return GitError(f"{path} is {there} in this tree where {wanted} is to be put; leave out the commit that needs it")
