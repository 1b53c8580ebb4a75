"""Snapshot a folder, so that changes made by an external program can be detected and undone.

The snapshot is in a separate git repository: the folder's own repository, if any, is neither read nor written. Files
that the folder's .gitignore excludes are not included, nor are the given patterns.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.appliers.git_apart import run_isolated_git

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NO_CONVERSION: Final = "* -text -filter -ident -working-tree-encoding\n"
"""Attributes that preserve every byte, whatever those of the folder say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSnapshot:
    """Snapshot of a folder."""

    root: Path
    repository: Path
    tree_id: str
    """Git tree id of the snapshot."""

    def changed_files(self) -> tuple[str, ...]:
        """Return the files that changed since, relative to the folder, sorted."""
        now = _store_tree(self.root, self.repository)
        listed = self._git("diff-tree", "-r", "-z", "--name-only", "--no-renames", self.tree_id, now)
        return tuple(sorted(name.decode("utf-8", "surrogateescape") for name in listed.split(b"\0") if name))

    def content(self, name: str) -> bytes | None:
        """Return the content of a file in the snapshot; None if it did not exist."""
        if not self._git("ls-tree", "-z", self.tree_id, "--", name):
            return None
        return self._git("cat-file", "blob", f"{self.tree_id}:{name}")

    def restore(self) -> None:
        """Restore all files, and remove new ones."""
        self._git("read-tree", "--reset", "-u", self.tree_id)

    def _git(self, *arguments: str) -> bytes:
        return run_isolated_git(arguments, self.root, env=_git_env(self.root, self.repository))


@contextmanager
def tree_snapshot(root: Path, ignored: Sequence[str] = ()) -> Iterator[TreeSnapshot]:
    """Snapshot a folder for the duration of the block; `ignored` are patterns of files to exclude.

    Raises:
        GitMissingError: git is not installed.
        ApplierFailedError: git failed.
    """
    with tempfile.TemporaryDirectory(prefix="eikon-fix-") as name:
        repository = Path(name) / "before"
        run_isolated_git(("init", "--quiet", "--bare", "--template=", str(repository)), Path(name))
        (repository / "info").mkdir(exist_ok=True)
        (repository / "info" / "attributes").write_text(_NO_CONVERSION, encoding="utf-8")
        (repository / "info" / "exclude").write_text("".join(f"{each}\n" for each in ignored), encoding="utf-8")
        yield TreeSnapshot(root=root, repository=repository, tree_id=_store_tree(root, repository))


def _store_tree(root: Path, repository: Path) -> str:
    settings = _git_env(root, repository)
    run_isolated_git(("-c", "core.compression=0", "add", "--all", "--", "."), root, env=settings)
    return run_isolated_git(("write-tree",), root, env=settings).decode().strip()


def _git_env(root: Path, repository: Path) -> dict[str, str]:
    return {"GIT_DIR": str(repository), "GIT_WORK_TREE": str(root)}
