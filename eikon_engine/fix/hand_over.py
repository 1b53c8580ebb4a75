"""Write the kept fixes to the user's tree: all files, or none."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError, PatchRejectedError, TreeChangedError
from eikon_engine.fix.ending import (
    Ending,
    FileChange,
    FileState,
    digest_of,
    forget_ending,
    state_of,
    take_back,
    waiting,
    write_ahead,
    write_beside,
)
from eikon_engine.fix.work_copy import ABSENT, REGULAR, Change, WorkCopy

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXECUTABLE: Final = "100755"
_ANYBODY: Final = 0o111
_MARK_LETTERS: Final = 6


def demand_plain_files(changes: Sequence[Change]) -> None:
    """Check that only regular files change, no symlinks or nested repositories.

    Raises:
        PatchRejectedError: something else changes.
    """
    for change in changes:
        for mode in (change.mode_before, change.mode_after):
            if mode not in REGULAR and mode != ABSENT:
                message = f"{change.path}: expected a change to a regular file, got one to a symlink."
                raise PatchRejectedError(message)


def hand_over(root: Path, copy: WorkCopy, changes: Sequence[Change]) -> tuple[str, ...]:
    """Apply the changes of the copy to the user's files and return the changed paths.

    The journal is written to the session folder first and stays until `forget_ending` is called. Each new file is
    written beside its destination; then all are renamed into place, and rolled back if one rename fails.

    Raises:
        TreeChangedError: a file changed since the loop started.
        PatchRejectedError: something other than regular files would change.
        OutputError: a file cannot be written.
    """
    demand_plain_files(changes)
    try:
        ending = _plan(root, copy, changes)
        contents = [copy.content(each.blob_before) if each.mode_before != ABSENT else None for each in changes]
        write_ahead(copy.folder, ending, contents)
        _put(root, copy, changes, ending)
    except OSError as error:
        place = Path(error.filename) if error.filename else root
        why = error.strerror or str(error)
        message = (
            f"{place}: cannot write the fix: {why}. No file was changed; the fix is in changes.diff of the session, "
            "apply it manually."
        )
        raise OutputError(message) from error
    return tuple(sorted(change.path for change in changes))


def _plan(root: Path, copy: WorkCopy, changes: Sequence[Change]) -> Ending:
    """Compare the tree with the recorded state and plan the change."""
    files = tuple(_file_change(root, copy, each) for each in changes)
    new = (root / each.path for each in files if each.after is not None)
    missing = {folder for place in new for folder in place.relative_to(root).parents if not (root / folder).exists()}
    folders = tuple(folder.as_posix() for folder in sorted(missing))
    return Ending(mark=copy.folder.name[-_MARK_LETTERS:], files=files, folders=folders)


def _file_change(root: Path, copy: WorkCopy, change: Change) -> FileChange:
    place = root / change.path
    try:
        before = state_of(place)
    except TreeChangedError as error:
        raise _changed(change) from error
    if place.parent.resolve() != place.parent or _git_mode(before) != change.mode_before:
        raise _changed(change)
    if before is not None and before.sha256 != digest_of(copy.content(change.blob_before)):
        raise _changed(change)
    after = None
    if change.mode_after != ABSENT:
        mode = _new_mode(change, None if before is None else before.mode)
        after = FileState(mode=mode, sha256=digest_of(copy.content(change.blob_after)))
    return FileChange(path=change.path, before=before, after=after)


def _changed(change: Change) -> TreeChangedError:
    return TreeChangedError(
        f"{change.path}: the file changed since the loop started. The fix is in changes.diff of the session; apply "
        "it manually."
    )


def _git_mode(state: FileState | None) -> str:
    """Return the file mode as git writes it."""
    if state is None:
        return ABSENT
    return _EXECUTABLE if state.mode & stat.S_IXUSR else "100644"


def _new_mode(change: Change, old: int | None) -> int:
    """Keep the file's permissions, except the executable bits, which the fix may change."""
    mode = 0o644 if old is None else old
    if change.mode_after == change.mode_before:
        return mode
    return mode | (_ANYBODY & (mode >> 2)) if change.mode_after == _EXECUTABLE else mode & ~_ANYBODY


def _put(root: Path, copy: WorkCopy, changes: Sequence[Change], ending: Ending) -> None:
    """Write all files beside their destinations and rename them into place; roll back if interrupted."""
    try:
        for name in ending.folders:
            (root / name).mkdir()
        for change, each in zip(changes, ending.files, strict=True):
            if each.after is not None:
                write_beside(waiting(root, ending, each), copy.content(change.blob_after), each.after.mode)
        for each in ending.files:
            if each.after is None:
                (root / each.path).unlink()
            else:
                waiting(root, ending, each).replace(root / each.path)
    except BaseException:
        _undo(root, copy.folder, ending)
        raise


def _undo(root: Path, session: Path, ending: Ending) -> None:
    try:
        take_back(session, root, ending)
    except (OSError, TreeChangedError) as error:
        message = (
            f"{root}: cannot roll back a partly written fix: {error}. Some of {_named(ending)} may be changed; the "
            "next `eikon fix` tries again."
        )
        raise OutputError(message) from error
    forget_ending(session)


def _named(ending: Ending) -> str:
    return ", ".join(each.path for each in ending.files)
