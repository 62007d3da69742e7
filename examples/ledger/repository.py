"""What git knows of the code: the commit, a hash of its tree, what changed, how far it moved on. It is only ever asked.

Commits are asked, never the working folder, so that what was judged can be found again.
"""

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Set

from chain import Refused, Row, Unreadable
from deltas import Tree
from writing import OWN_FILES

UNKNOWN = Tree(lambda _: False, lambda _: None)  # outside of git nothing is known to be gone


def repository() -> "Optional[Repository]":
    """The repository of the working folder; None outside of git. Raises Unreadable for one that git cannot read."""
    folder = os.path.realpath(".")
    ran = _git(folder, "rev-parse", "--git-dir")
    if ran is not None and ran.returncode == 0:
        return Repository(folder)
    said = ran.stderr.decode("utf-8", "replace").strip() if ran is not None else "there is no git"
    nothing = not any(os.path.lexists(place / ".git") for place in (Path(folder), *Path(folder).parents))
    if said.startswith("fatal: not a git repository (or any") or (ran is None and nothing):
        return None
    raise Unreadable(f"{folder}: git cannot read this repository: {said}")


def _git(folder: str, *arguments: str) -> "Optional[subprocess.CompletedProcess[bytes]]":
    try:
        command = ["git", "--no-replace-objects", *arguments]
        env = {**os.environ, "LC_ALL": "C"}  # its messages in English
        return subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return None


class Repository:
    """A repository, asked about commits."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        top = self._ask("rev-parse", "--show-toplevel")
        self.top = os.fsdecode(top[:-1]) if top else None  # a bare repository has none

    def _ask(self, *arguments: str) -> Optional[bytes]:
        ran = _git(self.folder, *arguments)
        return ran.stdout if ran is not None and ran.returncode == 0 else None

    def commit(self, name: str) -> Optional[str]:
        """The full id of a commit; None where there is none of that name."""
        said = None if name.startswith("-") else self._ask("rev-parse", "--verify", "--quiet", name + "^{commit}")
        return said.decode().strip() if said else None

    def _entries(self, commit: str) -> Dict[str, bytes]:
        said = self._ask("ls-tree", "-r", "-z", "--full-tree", commit)
        if said is None:
            raise Unreadable(f"git cannot list the files of {commit}")
        pairs = (entry.split(b"\t", 1) for entry in said.split(b"\0") if entry)
        return {path.decode("utf-8", "surrogateescape"): about for about, path in pairs}

    def code(self, commit: str, root: str, paths: Sequence[str]) -> Row:
        """A hash of the commit's tree, or of some paths of it, without the ledger's own files; and the paths."""
        place = os.path.relpath(os.path.realpath(root), self.top or self.folder).replace(os.sep, "/")
        own = {name if place == "." else f"{place}/{name}" for name in OWN_FILES}
        entries = {path: about for path, about in self._entries(commit).items() if path not in own}
        if paths:
            entries = {path: about for path, about in entries.items() if any(under(path, part) for part in paths)}
        lines = (
            about + b"\t" + path.encode("utf-8", "surrogateescape") + b"\0" for path, about in sorted(entries.items())
        )
        return {"sha256": hashlib.sha256(b"".join(lines)).hexdigest(), "files": len(entries), "paths": list(paths)}

    def changed(self, base: str, commit: str) -> List[str]:
        """The paths, from the top, of the files that differ between two commits. Raises Refused."""
        options = ("-r", "--no-ext-diff", "--ignore-submodules=none", "--no-renames", "--name-only", "-z")
        ran = _git(self.top or self.folder, "diff-tree", *options, base, commit, "--")
        if ran is None or ran.returncode:
            raise Refused(f"git cannot compare {base} with {commit}")
        return [path.decode("utf-8", "replace") for path in ran.stdout.split(b"\0") if path]

    def tree(self, commit: str) -> Tree:
        """What is known of the commit's files."""
        names: Set[str] = set()

        def gone(path: str) -> bool:
            if not names:
                names.add("")
                for file in self._entries(commit):
                    parts = file.split("/")
                    names.update("/".join(parts[:n]) for n in range(1, len(parts) + 1))
            return path not in names

        def text(path: str) -> Optional[str]:
            said = self._ask("cat-file", "blob", f"{commit}:{path}")
            return None if said is None else said.decode("utf-8", "replace")

        return Tree(gone, text)

    def moved_on(self, run: Row, root: str, most: int) -> str:
        """Why HEAD is further from the code of a run than most commits; "" if it is not, or is the same code."""
        head = self.commit("HEAD")
        if head is None or not run["sha"]:
            return "the code moved on by an unknown distance: the run or HEAD has no commit"
        if self.code(head, root, run["code"]["paths"]) == run["code"]:
            return ""
        if self._ask("merge-base", "--is-ancestor", run["sha"], head) is None:
            return (
                f"the code moved on by an unknown distance from {run['sha'][:12]}: fetch more history, or record a run"
            )
        behind = int(self._ask("rev-list", "--count", f"{run['sha']}..{head}") or b"-1")
        return "" if 0 <= behind <= most else f"the code moved on by {behind} commits, at most {most} are allowed"


def under(path: str, part: str) -> bool:
    """Whether a path is part, or lies below it."""
    return path == part or path.startswith(part + "/")
