"""Write what the loop found into the tree of the user: all files at once, or none."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError, PatchRejectedError, TreeChangedError
from eikon_engine.fix.work_copy import ABSENT, REGULAR, Change, WorkCopy

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXECUTABLE: Final = "100755"
_ANYBODY: Final = 0o111


@dataclass(frozen=True, slots=True, kw_only=True)
class _Staged:
    """One file that waits to be put in its place."""

    place: Path
    ready: Path | None
    """Its new content, beside the place; None where the file is to go."""
    before: Path | None
    """Its old content, beside the place; None where there was no file."""


def demand_plain_files(changes: Sequence[Change]) -> None:
    """Make sure that files alone change: no link, and nothing that is a repository of its own.

    Raises:
        PatchRejectedError: something else does.
    """
    for change in changes:
        for mode in (change.mode_before, change.mode_after):
            if mode not in REGULAR and mode != ABSENT:
                message = f"{change.path}: wanted a change of a plain file, found one of a link; leave links alone"
                raise PatchRejectedError(message)


def hand_over(root: Path, copy: WorkCopy, changes: Sequence[Change]) -> tuple[str, ...]:
    """Change the files of the user as those of the copy were changed; return their paths.

    Each new file is written beside its place first; then all are put there, and put back if one of them cannot be.

    Raises:
        TreeChangedError: a file is not as it was when the loop began.
        PatchRejectedError: something else than plain files is to be changed.
        OutputError: a file cannot be written.
    """
    demand_plain_files(changes)
    staged: list[_Staged] = []
    folders: list[Path] = []
    try:
        for change in changes:
            _demand_unchanged(root, copy, change)
        for change in changes:
            _stage(root, copy, change, staged, folders)
        _put(staged)
    except OSError as error:
        _remove(staged, folders)
        place = Path(error.filename) if error.filename else root
        why = error.strerror or str(error)
        message = (
            f"{place}: wanted to write the fix, found: {why}; no file was changed, the fix is in changes.diff of the "
            "session, apply it by hand"
        )
        raise OutputError(message) from error
    except BaseException:
        _remove(staged, folders)
        raise
    finally:
        _remove(staged, ())
    return tuple(sorted(change.path for change in changes))


def _remove(staged: Sequence[_Staged], folders: Sequence[Path]) -> None:
    """Remove what waits beside its place, then folders that were made for it, the deepest first."""
    for each in staged:
        for left in (each.ready, each.before):
            if left is not None:
                with contextlib.suppress(OSError):
                    left.unlink(missing_ok=True)
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _demand_unchanged(root: Path, copy: WorkCopy, change: Change) -> None:
    place = root / change.path
    stands = place.parent.resolve() == place.parent and (_mode(place) == change.mode_before)
    if stands and change.mode_before != ABSENT:
        stands = place.read_bytes() == copy.content(change.blob_before)
    if not stands:
        message = (
            f"{change.path}: wanted the file as it was when the loop began, found another; the fix is in changes.diff "
            "of the session, apply it by hand"
        )
        raise TreeChangedError(message)


def _mode(place: Path) -> str:
    """Return the mode as git writes it; a word that is none for links and folders."""
    try:
        mode = place.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    if not stat.S_ISREG(mode):
        return "no plain file"
    return _EXECUTABLE if mode & stat.S_IXUSR else "100644"


def _stage(root: Path, copy: WorkCopy, change: Change, staged: list[_Staged], folders: list[Path]) -> None:
    place = root / change.path
    old = stat.S_IMODE(place.stat().st_mode) if change.mode_before != ABSENT else None
    ready = before = None
    if old is not None:
        before = _beside(place, place.read_bytes(), old)
    staged.append(_Staged(place=place, ready=None, before=before))
    if change.mode_after != ABSENT:
        _make_folders(place.parent, folders)
        ready = _beside(place, copy.content(change.blob_after), _new_mode(change, old))
        staged[-1] = _Staged(place=place, ready=ready, before=before)


def _make_folders(folder: Path, made: list[Path]) -> None:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir()
        made.append(each)


def _new_mode(change: Change, old: int | None) -> int:
    """Keep the rights of a file, but for those to run it, which the fix may change."""
    mode = 0o644 if old is None else old
    if change.mode_after == change.mode_before:
        return mode
    return mode | (_ANYBODY & (mode >> 2)) if change.mode_after == _EXECUTABLE else mode & ~_ANYBODY


def _beside(place: Path, data: bytes, mode: int) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".eikon", dir=place.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    Path(name).chmod(mode)
    return Path(name)


def _put(staged: Sequence[_Staged]) -> None:
    """Put all files in their places; on a failure, put back what was there."""
    done: list[_Staged] = []
    try:
        for each in staged:
            if each.ready is None:
                each.place.unlink()
            else:
                each.ready.replace(each.place)
            done.append(each)
    except BaseException:
        for each in reversed(done):
            if each.before is None:
                each.place.unlink(missing_ok=True)
            else:
                each.before.replace(each.place)
        raise
