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

from eikon_engine.fix.appliers.git_apart import git_apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_AS_IT_IS: Final = "* -text -filter -ident -working-tree-encoding\n"
"""Attributes that preserve every byte, whatever those of the folder say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeBefore:
    """Snapshot of a folder."""

    root: Path
    repository: Path
    kept: str
    """Git tree id of the snapshot."""

    def changed(self) -> tuple[str, ...]:
        """Return the files that changed since, relative to the folder, sorted."""
        now = _keep(self.root, self.repository)
        listed = self._git("diff-tree", "-r", "-z", "--name-only", "--no-renames", self.kept, now)
        return tuple(sorted(name.decode("utf-8", "surrogateescape") for name in listed.split(b"\0") if name))

    def data(self, name: str) -> bytes | None:
        """Return the content of a file in the snapshot; None if it did not exist."""
        if not self._git("ls-tree", "-z", self.kept, "--", name):
            return None
        return self._git("cat-file", "blob", f"{self.kept}:{name}")

    def restore(self) -> None:
        """Restore all files, and remove new ones."""
        self._git("read-tree", "--reset", "-u", self.kept)

    def _git(self, *arguments: str) -> bytes:
        return git_apart(arguments, self.root, settings=_settings(self.root, self.repository))


@contextmanager
def remembered(root: Path, ignored: Sequence[str] = ()) -> Iterator[TreeBefore]:
    """Snapshot a folder for the duration of the block; `ignored` are patterns of files to exclude.

    Raises:
        GitMissingError: git is not installed.
        ApplierFailedError: git failed.
    """
    with tempfile.TemporaryDirectory(prefix="eikon-fix-") as name:
        repository = Path(name) / "before"
        git_apart(("init", "--quiet", "--bare", "--template=", str(repository)), Path(name))
        (repository / "info").mkdir(exist_ok=True)
        (repository / "info" / "attributes").write_text(_AS_IT_IS, encoding="utf-8")
        (repository / "info" / "exclude").write_text("".join(f"{each}\n" for each in ignored), encoding="utf-8")
        yield TreeBefore(root=root, repository=repository, kept=_keep(root, repository))


def _keep(root: Path, repository: Path) -> str:
    settings = _settings(root, repository)
    git_apart(("-c", "core.compression=0", "add", "--all", "--", "."), root, settings=settings)
    return git_apart(("write-tree",), root, settings=settings).decode().strip()


def _settings(root: Path, repository: Path) -> dict[str, str]:
    return {"GIT_DIR": str(repository), "GIT_WORK_TREE": str(root)}
