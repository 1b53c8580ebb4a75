"""Write the kept fixes to the user's tree: all files, or none."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError, PatchRejectedError, WorkingTreeChangedError
from eikon_engine.fix.ending import (
    FileChange,
    FileState,
    WriteJournal,
    delete_journal,
    file_state,
    roll_back,
    sha256_of,
    temporary_path,
    write_journal,
    write_new_file,
)
from eikon_engine.fix.work_copy import ABSENT, REGULAR_MODES, Change, WorkCopy

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXECUTABLE: Final = "100755"
_ALL_EXECUTE: Final = 0o111
_MARK_LENGTH: Final = 6


def require_regular_files(changes: Sequence[Change]) -> None:
    """Check that only regular files change, no symlinks or nested repositories.

    Raises:
        PatchRejectedError: something else changes.
    """
    for change in changes:
        for mode in (change.mode_before, change.mode_after):
            if mode not in REGULAR_MODES and mode != ABSENT:
                message = f"{change.path}: expected a change to a regular file, got one to a symlink."
                raise PatchRejectedError(message)


def write_back(root: Path, copy: WorkCopy, changes: Sequence[Change]) -> tuple[str, ...]:
    """Apply the changes of the copy to the user's files and return the changed paths.

    The journal is written to the session folder first and stays until `delete_journal` is called. Each new file is
    written beside its destination; then all are renamed into place, and rolled back if one rename fails.

    Raises:
        WorkingTreeChangedError: a file changed since the loop started.
        PatchRejectedError: something other than regular files would change.
        OutputError: a file cannot be written.
    """
    require_regular_files(changes)
    try:
        ending = _plan_journal(root, copy, changes)
        contents = [copy.content(each.blob_before) if each.mode_before != ABSENT else None for each in changes]
        write_journal(copy.folder, ending, contents)
        _write_files(root, copy, changes, ending)
    except OSError as error:
        place = Path(error.filename) if error.filename else root
        why = error.strerror or str(error)
        message = (
            f"{place}: cannot write the fix: {why}. No file was changed; the fix is in changes.diff of the session, "
            "apply it manually."
        )
        raise OutputError(message) from error
    return tuple(sorted(change.path for change in changes))


def _plan_journal(root: Path, copy: WorkCopy, changes: Sequence[Change]) -> WriteJournal:
    """Compare the tree with the recorded state and plan the change."""
    files = tuple(_file_change(root, copy, each) for each in changes)
    new = (root / each.path for each in files if each.after is not None)
    missing = {folder for place in new for folder in place.relative_to(root).parents if not (root / folder).exists()}
    folders = tuple(folder.as_posix() for folder in sorted(missing))
    return WriteJournal(mark=copy.folder.name[-_MARK_LENGTH:], files=files, folders=folders)


def _file_change(root: Path, copy: WorkCopy, change: Change) -> FileChange:
    place = root / change.path
    try:
        before = file_state(place)
    except WorkingTreeChangedError as error:
        raise _changed_since(change) from error
    if place.parent.resolve() != place.parent or _git_mode(before) != change.mode_before:
        raise _changed_since(change)
    if before is not None and before.sha256 != sha256_of(copy.content(change.blob_before)):
        raise _changed_since(change)
    after = None
    if change.mode_after != ABSENT:
        mode = _merged_mode(change, None if before is None else before.mode)
        after = FileState(mode=mode, sha256=sha256_of(copy.content(change.blob_after)))
    return FileChange(path=change.path, before=before, after=after)


def _changed_since(change: Change) -> WorkingTreeChangedError:
    return WorkingTreeChangedError(
        f"{change.path}: the file changed since the loop started. The fix is in changes.diff of the session; apply "
        "it manually."
    )


def _git_mode(state: FileState | None) -> str:
    """Return the file mode as git writes it."""
    if state is None:
        return ABSENT
    return _EXECUTABLE if state.mode & stat.S_IXUSR else "100644"


def _merged_mode(change: Change, old: int | None) -> int:
    """Keep the file's permissions, except the executable bits, which the fix may change."""
    mode = 0o644 if old is None else old
    if change.mode_after == change.mode_before:
        return mode
    return mode | (_ALL_EXECUTE & (mode >> 2)) if change.mode_after == _EXECUTABLE else mode & ~_ALL_EXECUTE


def _write_files(root: Path, copy: WorkCopy, changes: Sequence[Change], journal: WriteJournal) -> None:
    """Write all files beside their destinations and rename them into place; roll back if interrupted."""
    try:
        for name in journal.folders:
            (root / name).mkdir()
        for change, each in zip(changes, journal.files, strict=True):
            if each.after is not None:
                write_new_file(temporary_path(root, journal, each), copy.content(change.blob_after), each.after.mode)
        for each in journal.files:
            if each.after is None:
                (root / each.path).unlink()
            else:
                temporary_path(root, journal, each).replace(root / each.path)
    except BaseException:
        _roll_back(root, copy.folder, journal)
        raise


def _roll_back(root: Path, session: Path, journal: WriteJournal) -> None:
    try:
        roll_back(session, root, journal)
    except (OSError, WorkingTreeChangedError) as error:
        message = (
            f"{root}: cannot roll back a partly written fix: {error}. Some of {_joined_paths(journal)} may be changed; the "
            "next `eikon fix` tries again."
        )
        raise OutputError(message) from error
    delete_journal(session)


def _joined_paths(journal: WriteJournal) -> str:
    return ", ".join(each.path for each in journal.files)
