"""Put a mended bundle where it is wanted, whole or not at all; the old one stays, or is kept aside."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError, UsageError
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import Iterator

ASIDE: Final = "before-repair"
WORK: Final = ".eikon-fix-"
"""How the folder begins in which a bundle is mended, beside the place where it goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a mended bundle goes; nowhere if neither is given."""

    root: Path
    """The bundle that is mended."""
    output: Path | None = None
    in_place: bool = False

    @property
    def is_somewhere(self) -> bool:
        """Say whether a mended bundle is kept."""
        return self.in_place or self.output is not None

    def demand_free(self) -> None:
        """Make sure that a bundle can be put there, before a site is visited.

        Raises:
            UsageError: both are asked for, or the copy would lie inside the bundle.
            OutputError: something is there already.
        """
        output = self.output
        if output is None:
            return
        if self.in_place:
            message = "--output and --in-place both say where the mended bundle goes; drop one of the two"
            raise UsageError(message)
        if output.resolve().is_relative_to(self.root.resolve()):
            message = f"wanted a folder outside of the bundle {self.root}, found {output}; choose another one"
            raise UsageError(message)
        try:
            taken = output.is_symlink() or (output.exists() and (not output.is_dir() or any(output.iterdir())))
        except OSError as error:
            raise OutputError(cannot_write(output, error)) from error
        if taken:
            message = f"{output}: wanted a new or empty folder for the mended bundle, found something; choose another"
            raise OutputError(message)

    @contextmanager
    def workshop(self) -> Iterator[Path]:
        """Give a folder on the same file system, which is gone at the end of the block.

        Raises:
            OutputError: none can be made.
        """
        near = None
        if self.is_somewhere:
            near = self.root.resolve().parent if self.output is None else self.output.absolute().parent
        try:
            if near is not None:
                near.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=WORK, dir=near))
        except OSError as error:
            raise OutputError(cannot_write(near or Path(tempfile.gettempdir()), error)) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def take(self, mended: Path) -> tuple[Path | None, Path | None]:
        """Move a mended bundle there; return where it is, and where the old one is if it was moved.

        Raises:
            OutputError: it cannot be moved; the old bundle is where it was.
        """
        if self.output is not None:
            _rename(mended, self.output)
            return self.output, None
        if not self.in_place:
            return None, None
        root = self.root.resolve()  # a link stays, and leads to the mended bundle
        aside = _free_name(root)
        _rename(root, aside)
        try:
            _rename(mended, root)
        except OutputError:
            _rename(aside, root)
            raise
        return self.root, aside


def _free_name(root: Path) -> Path:
    names = (f"{root.name}.{ASIDE}{f'-{number}' if number > 1 else ''}" for number in count(1))
    return next(path for name in names if not _is_there(path := root.with_name(name)))


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _rename(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as error:
        raise OutputError(cannot_write(target, error)) from error
