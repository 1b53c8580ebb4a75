"""Move the repaired bundle to its destination, atomically; the old one stays or is renamed."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError, UsageError
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.files.writing import write_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BACKUP_SUFFIX: Final = "before-repair"
WORK_PREFIX: Final = ".eikon-fix-"
"""Prefix of the temporary folder beside the destination."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where the repaired bundle goes; nowhere if neither option is set."""

    root: Path
    """The original bundle."""
    output: Path | None = None
    in_place: bool = False

    @property
    def is_set(self) -> bool:
        """Return whether the repaired bundle is stored."""
        return self.in_place or self.output is not None

    def require_available(self) -> None:
        """Check that the destination is available, before the site is visited.

        Raises:
            UsageError: both options are set, or the output folder is inside the bundle.
            OutputError: the output folder exists and is not empty.
        """
        output = self.output
        if output is None:
            return
        if self.in_place:
            message = "--output and --in-place are mutually exclusive. Drop one of them."
            raise UsageError(message)
        if output.resolve().is_relative_to(self.root.resolve()):
            message = f"--output: expected a folder outside the bundle {self.root}, got {output}. Choose another."
            raise UsageError(message)
        try:
            taken = output.is_symlink() or (output.exists() and (not output.is_dir() or any(output.iterdir())))
        except OSError as error:
            raise OutputError(write_error_message(output, error)) from error
        if taken:
            message = f"{output}: expected a new or empty folder, got one with files. Choose another."
            raise OutputError(message)

    @contextmanager
    def work_folder(self) -> Iterator[Path]:
        """Yield a temporary folder on the same file system, deleted at the end of the block.

        Raises:
            OutputError: it cannot be created.
        """
        near = None
        if self.is_set:
            near = self.root.resolve().parent if self.output is None else self.output.absolute().parent
        with temporary_folder("fix", near=near) as folder:
            yield folder

    def move(self, repaired: Path) -> tuple[Path | None, Path | None]:
        """Move the repaired bundle to its destination; return its path, and that of the old bundle if moved.

        Raises:
            OutputError: it cannot be moved; the old bundle is where it was.
        """
        if self.output is not None:
            _rename(repaired, self.output)
            return self.output, None
        if not self.in_place:
            return None, None
        root = self.root.resolve()  # a symlink stays, and points to the repaired bundle
        backup = _backup_path(root)
        _rename(root, backup)
        try:
            _rename(repaired, root)
        except OutputError:
            _rename(backup, root)
            raise
        return self.root, backup


def _backup_path(root: Path) -> Path:
    names = (f"{root.name}.{BACKUP_SUFFIX}{f'-{number}' if number > 1 else ''}" for number in count(1))
    return next(path for name in names if not _exists(path := root.with_name(name)))


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _rename(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as error:
        raise OutputError(write_error_message(target, error)) from error
