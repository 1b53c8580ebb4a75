"""The journal of a change to the user's tree, written ahead so that an interrupted change can be rolled back.

ending.json      which files change, each with its state before and after; exists until the change is complete
ending/0, 1 …    contents of these files before the change, in order
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import Field, ValidationError, field_validator

from eikon_engine.errors import SessionError, WorkingTreeChangedError
from eikon_engine.trace.bundle_path import escapes_bundle
from eikon_engine.trace.record import FileModel
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
        return WriteJournal.model_validate_json(path.read_bytes())
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
    standings = [progress_of(root, each) for each in journal.files]
    if "neither" in standings:
        path = journal.files[standings.index("neither")].path
        message = f"{root / path}: expected the file as before or after the fix, got another version"
        raise WorkingTreeChangedError(message)
    remove_temporaries(root, journal)
    for number, (change, stands) in reversed(list(enumerate(zip(journal.files, standings, strict=True)))):
        if stands == "after" and change.before != change.after:
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
