"""The copy of the user's tree in which tests run and fixes are tried.

Its states are stored in a separate git folder, so that the copy's own `.git`, if any, is left to the tests. A state is
the id of a git tree that contains every file, including ignored ones.
"""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from eikon_engine.errors import FixError, OutputError
from eikon_engine.files.writing import write_error_message
from eikon_engine.fix.git import ISOLATED_ENV, run_git, try_git
from eikon_engine.fix.user_tree import UserTree, link_target_in_copy, tree_files

_STATES: Final = "states.git"
_TREE: Final = "tree"
_NO_CONVERSION: Final = "* -text -filter -ident -working-tree-encoding\n"
"""Attributes that disable all git conversions."""
ABSENT: Final = "000000"
"""Mode of a missing file."""
REGULAR_MODES: Final = frozenset({"100644", "100755"})
"""Modes of regular files; the second is executable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file that differs between two states."""

    path: str
    """Relative to the root."""
    mode_before: str
    mode_after: str
    """File modes as git writes them; `ABSENT` if the file does not exist."""
    blob_before: str
    blob_after: str


class WorkCopy:
    """A copy in `folder` whose states can be stored, compared and restored."""

    def __init__(self, folder: Path, original: Path) -> None:
        """Set the paths; `copy_tree` creates the files."""
        self.root = folder / _TREE / (original.name or "root")
        self.folder = folder
        self._env = {**ISOLATED_ENV, "GIT_DIR": str(folder / _STATES), "GIT_WORK_TREE": str(self.root)}

    def store_state(self) -> str:
        """Store and return the current state.

        Raises:
            FixError: the tests deleted the copy.
        """
        self._require_present()
        self._git("add", "--all", "--force", ".")
        return self._git("write-tree").decode().strip()

    def restore(self, state: str) -> None:
        """Restore a state: all changes since are undone, including test caches.

        Raises:
            FixError: the tests deleted the copy.
        """
        self._require_present()
        self._git("read-tree", "--reset", "-u", state)
        self._git("clean", "-ffdxq")
        self._remove_special_files()

    def changes(self, before: str, after: str) -> tuple[Change, ...]:
        """Return the files that differ between two states."""
        words = self._git("diff", "--raw", "-z", "--no-abbrev", "--no-renames", before, after).split(b"\0")
        facts, paths = words[0:-1:2], words[1::2]
        return tuple(
            _parse_change(fact.decode(), path.decode(errors="surrogateescape"))
            for fact, path in zip(facts, paths, strict=True)
        )

    def diff(self, before: str, after: str) -> str:
        """Return the diff of two states in `git apply` format."""
        diff = self._git(
            "diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", before, after
        )
        return diff.decode(errors="replace")

    def content(self, blob: str) -> bytes:
        """Return the content of a blob."""
        return self._git("cat-file", "blob", blob)

    def remove(self) -> None:
        """Delete the copy and its states."""
        for name in (_TREE, _STATES):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def create_store(self) -> None:
        """Create the git folder of the states."""
        states = self.folder / _STATES
        self._git("init", "--quiet")
        (states / "info").mkdir(exist_ok=True)
        (states / "info" / "attributes").write_text(_NO_CONVERSION, encoding="utf-8")

    def _remove_special_files(self) -> None:
        """Remove sockets and pipes left by tests, which git ignores."""
        for folder, folders, names in os.walk(self.root):
            folders[:] = [each for each in folders if each != ".git"]
            for path in (Path(folder) / name for name in names):
                mode = path.lstat().st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
                    path.unlink()

    def _require_present(self) -> None:
        if not self.root.is_dir() or self.root.is_symlink() or self.root.parent.is_symlink():
            message = f"{self.root}: the tests deleted the copy they run in. Fix --test-cmd."
            raise FixError(message)

    def _git(self, *arguments: str) -> bytes:
        return run_git(
            self.root if self.root.is_dir() else self.folder,
            "-c",
            "core.quotePath=false",
            *arguments,
            env=self._env,
        )


def copy_tree(tree: UserTree, folder: Path, extra_files: tuple[str, ...] = ()) -> WorkCopy:
    """Copy a tree in its current state, with its history for tests that run git.

    Raises:
        OutputError: the copy cannot be written.
        FixError: git failed.
        UsageError: one of `also` does not exist, see `tree_files`; or a symlink points outside the tree.
    """
    files = tree_files(tree, extra_files)
    copy = WorkCopy(folder, tree.root)
    try:
        copy.root.parent.mkdir(parents=True)
        if tree.is_git:
            _clone(tree.root, copy.root)
        copy.root.mkdir(exist_ok=True)
        for each in files:
            place = copy.root / each
            place.parent.mkdir(parents=True, exist_ok=True)
            if (tree.root / each).is_symlink():
                place.symlink_to(link_target_in_copy(tree.root, each))
            else:
                shutil.copy2(tree.root / each, place, follow_symlinks=False)
    except OSError as error:
        raise OutputError(write_error_message(copy.root, error)) from error
    copy.create_store()
    return copy


def _clone(root: Path, copy: Path) -> None:
    """Give the copy access to the history by a shared clone; the user's repository is not written to."""
    if try_git(root, "rev-parse", "--quiet", "--verify", "HEAD").returncode != 0:
        run_git(root, "init", "--quiet", str(copy))  # nothing is committed yet
        return
    run_git(root, "clone", "--quiet", "--shared", "--no-checkout", str(root), str(copy))
    run_git(copy, "remote", "remove", "origin")
    run_git(copy, "reset", "--quiet")


def _parse_change(fact: str, path: str) -> Change:
    """Read one line of `git diff --raw`: `:100644 100644 <blob> <blob> M`.

    Source: https://git-scm.com/docs/diff-format
    """
    words = fact.removeprefix(":").split(" ")
    if len(words) != len(("mode", "mode", "blob", "blob", "status")):
        message = f"git diff: expected raw format, got {fact!r}. Use a newer git."
        raise FixError(message)
    return Change(path=path, mode_before=words[0], mode_after=words[1], blob_before=words[2], blob_after=words[3])
