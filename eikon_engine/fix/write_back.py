"""Write the kept fixes to the user's tree: all files, or none, also if the process is killed.

The change is written ahead to a journal in the session folder, so that an interrupted one can be rolled back:

ending.json      which files change, each with its state before and after; exists until the change is complete
ending/0, 1 …    contents of these files before the change, in order
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import Field, ValidationError, field_validator

from eikon_engine.errors import EikonError, FixError, OutputError, SessionError, WorkingTreeChangedError
from eikon_engine.files.limits import read_document
from eikon_engine.files.locking import hold_lock
from eikon_engine.files.models import FileModel
from eikon_engine.files.paths import escapes_bundle
from eikon_engine.files.writing import write_atomically, write_error_message
from eikon_engine.fix.session import DIFF_FILE, is_alive, read_session, set_final_state
from eikon_engine.fix.work_copy import ABSENT, REGULAR_MODES, Change, WorkCopy

if TYPE_CHECKING:
    from collections.abc import Sequence

JOURNAL_FILE: Final = "ending.json"
_BACKUPS: Final = "ending"

WriteProgress: TypeAlias = Literal["before", "after", "neither"]


class FileState(FileModel):
    """State of a regular file."""

    mode: int
    """Permission bits, as in `stat`."""
    sha256: str


class FileChange(FileModel):
    """One file that changes; a state is None if the file does not exist."""

    path: str
    """Relative to the tree."""
    before: FileState | None
    after: FileState | None

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, path: str) -> str:
        if escapes_bundle(path):
            message = "a path outside the tree"
            raise ValueError(message)
        return path


class WriteJournal(FileModel):
    """One change of the user's tree."""

    ending_version: Literal[1] = 1
    mark: str = Field(pattern=r"^[\w-]{1,6}$")
    """Part of the names of the temporary files beside their destinations."""
    files: tuple[FileChange, ...]
    folders: tuple[str, ...]
    """Folders to create for new files, parents first."""


def file_state(place: Path) -> FileState | None:
    """Return the state of a path; None if nothing is there.

    Raises:
        WorkingTreeChangedError: it is not a regular file, or is reached through a symlink.
        OSError: it cannot be read.
    """
    try:
        status = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode) or place.parent.resolve() != place.parent:
        message = f"{place}: expected a regular file, got something else. Inspect it."
        raise WorkingTreeChangedError(message)
    return FileState(mode=stat.S_IMODE(status.st_mode), sha256=sha256_of(place.read_bytes()))


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of a content, in hex."""
    return hashlib.sha256(data).hexdigest()


def write_journal(session: Path, journal: WriteJournal, contents: Sequence[bytes | None]) -> None:
    """Store the previous contents of files, then the planned change.

    Raises:
        OutputError: the session folder cannot be written.
    """
    for number, data in enumerate(contents):
        if data is not None:
            write_atomically(session / _BACKUPS / str(number), data)
    write_atomically(session / JOURNAL_FILE, journal.model_dump_json(indent=1).encode())


def read_journal(session: Path) -> WriteJournal | None:
    """Return the unfinished change of a session; None if there is none.

    Raises:
        SessionError: the journal cannot be read.
    """
    path = session / JOURNAL_FILE
    try:
        return WriteJournal.model_validate_json(read_document(path, root=path.parent))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        found = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
        message = (
            f"{path}: cannot read the journal of an interrupted change: {found}. Restore the file, or check the tree "
            f"for partly changed files and remove {session}."
        )
        raise SessionError(message) from error


def delete_journal(session: Path) -> None:
    """Delete the journal of a completed or rolled-back change."""
    (session / JOURNAL_FILE).unlink(missing_ok=True)
    shutil.rmtree(session / _BACKUPS, ignore_errors=True)


def progress_of(root: Path, change: FileChange) -> WriteProgress:
    """Return whether a file is in its state before or after a change, or neither.

    Raises:
        OSError: it cannot be read.
    """
    try:
        found = file_state(root / change.path)
    except WorkingTreeChangedError:
        return "neither"
    if found == change.before:
        return "before"
    return "after" if found == change.after else "neither"


def roll_back(session: Path, root: Path, journal: WriteJournal) -> None:
    """Restore the state before a change, and remove what was created for it; repeatable.

    Raises:
        WorkingTreeChangedError: a file is in neither state; nothing is touched.
        OSError: a file cannot be written.
    """
    states = [progress_of(root, each) for each in journal.files]
    if "neither" in states:
        path = journal.files[states.index("neither")].path
        message = f"{root / path}: expected the file as before or after the fix, got another version"
        raise WorkingTreeChangedError(message)
    remove_temporaries(root, journal)
    for number, (change, state) in reversed(list(enumerate(zip(journal.files, states, strict=True)))):
        if state == "after" and change.before != change.after:
            place = root / change.path
            if change.before is None:
                place.unlink()
            else:
                data = (session / _BACKUPS / str(number)).read_bytes()
                write_new_file(temporary_path(root, journal, change), data, change.before.mode).replace(place)
    for name in reversed(journal.folders):
        with contextlib.suppress(OSError):
            (root / name).rmdir()


def remove_temporaries(root: Path, journal: WriteJournal) -> None:
    """Remove the temporary files beside their destinations."""
    for each in journal.files:
        with contextlib.suppress(NotADirectoryError):
            temporary_path(root, journal, each).unlink(missing_ok=True)


def temporary_path(root: Path, journal: WriteJournal, change: FileChange) -> Path:
    """Return the path of the temporary file beside a destination."""
    place = root / change.path
    return place.with_name(f".{place.name}.{journal.mark}.eikon")


def write_new_file(path: Path, data: bytes, mode: int) -> Path:
    """Write and fsync a new file; return its path."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(mode)
    return path


_EXECUTABLE: Final = "100755"
_ALL_EXECUTE: Final = 0o111
_MARK_LENGTH: Final = 6


def require_regular_files(changes: Sequence[Change]) -> None:
    """Check that only regular files change, no symlinks or nested repositories.

    Raises:
        FixError: something else changes.
    """
    for change in changes:
        for mode in (change.mode_before, change.mode_after):
            if mode not in REGULAR_MODES and mode != ABSENT:
                message = f"{change.path}: expected a change to a regular file, got one to a symlink."
                raise FixError(message, code="patch-rejected")


def write_back(root: Path, copy: WorkCopy, changes: Sequence[Change]) -> tuple[str, ...]:
    """Apply the changes of the copy to the user's files and return the changed paths.

    The journal is written to the session folder first and stays until `delete_journal` is called. Each new file is
    written beside its destination; then all are renamed into place, and rolled back if one rename fails.

    Raises:
        WorkingTreeChangedError: a file changed since the loop started.
        FixError: something other than regular files would change.
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
            f"{root}: cannot roll back a partly written fix: {error}. Some of "
            f"{_joined_paths(journal)} may be changed; the "
            "next `eikon fix` tries again."
        )
        raise OutputError(message) from error
    delete_journal(session)


def _joined_paths(journal: WriteJournal) -> str:
    return ", ".join(each.path for each in journal.files)


_RECOVERY_LOCK: Final = "ending.lock"


def recover(session: Path) -> str | None:
    """Complete or roll back an interrupted change; return a sentence about it, None if there is nothing to do.

    The change is rolled back, unless all files had been written already; then they stay.

    Raises:
        WorkingTreeChangedError: a file is in neither its old nor its new state; nothing is touched.
        SessionError: the session cannot be read.
        OutputError: a file cannot be written.
    """
    if read_journal(session) is None or is_alive(session):
        return None
    try:
        with hold_lock(session / _RECOVERY_LOCK):  # recoveries of one session run one after the other
            ending = read_journal(session)
            return None if ending is None else _recover(session, ending)
    except OSError as error:
        raise OutputError(write_error_message(Path(error.filename or session), error)) from error


def recover_tree(sessions: Path, tree: Path) -> tuple[str, ...]:
    """Recover interrupted changes of one tree before a loop starts there; return messages.

    An unreadable session is reported and skipped: its tree is unknown, and most likely another one.

    Raises:
        EikonError: a change cannot be recovered, see `settle`.
    """
    messages: list[str | None] = []
    for folder in _interrupted_sessions(sessions):
        try:
            is_here = read_session(folder).tree == str(tree)
        except SessionError as error:
            messages.append(_skipped_message(folder, error))
            continue
        if is_here:
            messages.append(recover(folder))
    return tuple(each for each in messages if each is not None)


def recover_all(sessions: Path) -> tuple[str, ...]:
    """Recover all interrupted changes; return messages about successes and failures."""
    messages = []
    for folder in _interrupted_sessions(sessions):
        try:
            messages.append(recover(folder))
        except EikonError as error:
            messages.append(error.message)
    return tuple(each for each in messages if each is not None)


def _skipped_message(folder: Path, error: SessionError) -> str:
    return (
        f"warning: {folder} was interrupted while it changed a tree, and the tree is unknown: {error.message} If no "
        f"file is partly changed, remove {folder}."
    )


def _interrupted_sessions(sessions: Path) -> list[Path]:
    return sorted(path.parent for path in sessions.glob(f"*/{JOURNAL_FILE}"))


def _recover(session: Path, journal: WriteJournal) -> str:
    note = read_session(session)
    root = Path(note.tree)
    files = ", ".join(each.path for each in journal.files)
    is_whole = all(progress_of(root, each) == "after" for each in journal.files)
    if is_whole:
        remove_temporaries(root, journal)
    else:
        _roll_back_or_explain(session, root, journal)
    delete_journal(session)
    if note.state in {"writing", "interrupted"}:
        set_final_state(session, "completed" if is_whole else "rolled_back")
    if is_whole:
        return f"session {note.id} was interrupted after its fix was completely written to {root}: {files}"
    return (
        f"session {note.id} was interrupted while it changed {files} in {root}: rolled back. The fix is in "
        f"{session / DIFF_FILE}"
    )


def _roll_back_or_explain(session: Path, root: Path, journal: WriteJournal) -> None:
    try:
        roll_back(session, root, journal)
    except WorkingTreeChangedError as error:
        message = (
            f"{error.message}: session {session.name} was interrupted while it changed the tree, and its fix may be "
            f"partly written. Repair it manually with {session / DIFF_FILE}, then remove {session}."
        )
        raise WorkingTreeChangedError(message) from error
