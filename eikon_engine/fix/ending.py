"""What is written ahead of the change of the user's files, so that one that is cut off can be taken back.

ending.json      which files change, and how each is before and after; there from before the first change until the end
ending/0, 1 …    what these files held before, in their order
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import Field, ValidationError, field_validator

from eikon_engine.errors import SessionError, TreeChangedError
from eikon_engine.trace.bundle_path import leads_out
from eikon_engine.trace.record import Record
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ENDING_FILE: Final = "ending.json"
_CONTENTS: Final = "ending"

Standing: TypeAlias = Literal["before", "after", "neither"]


class FileState(Record):
    """A plain file as it is."""

    mode: int
    """Rights, as `stat` tells them."""
    sha256: str


class FileChange(Record):
    """One file that changes; None for one that is not there."""

    path: str
    """Relative to the tree."""
    before: FileState | None
    after: FileState | None

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, path: str) -> str:
        if leads_out(path):
            message = "a path that leads out of the tree"
            raise ValueError(message)
        return path


class Ending(Record):
    """One change of the user's tree."""

    ending_version: Literal[1] = 1
    mark: str = Field(pattern=r"^[\w-]{1,6}$")
    """Part of the names of files that wait beside their places."""
    files: tuple[FileChange, ...]
    folders: tuple[str, ...]
    """Those that are made for new files, each before what is in it."""


def state_of(place: Path) -> FileState | None:
    """Return what is at a place; None for nothing.

    Raises:
        TreeChangedError: it is no plain file, or a link leads there.
        OSError: it cannot be read.
    """
    try:
        status = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode) or place.parent.resolve() != place.parent:
        message = f"{place}: wanted a plain file, found something else; look at it"
        raise TreeChangedError(message)
    return FileState(mode=stat.S_IMODE(status.st_mode), sha256=digest_of(place.read_bytes()))


def digest_of(data: bytes) -> str:
    """Return the digest of a content."""
    return hashlib.sha256(data).hexdigest()


def write_ahead(session: Path, ending: Ending, contents: Sequence[bytes | None]) -> None:
    """Keep what files held, then what is going to happen to them.

    Raises:
        OutputError: the session folder cannot be written.
    """
    for number, data in enumerate(contents):
        if data is not None:
            write_whole(session / _CONTENTS / str(number), data)
    write_whole(session / ENDING_FILE, ending.model_dump_json(indent=1).encode())


def read_ending(session: Path) -> Ending | None:
    """Return the change that was begun in a session; None if none is under way, or it came to its end.

    Raises:
        SessionError: it cannot be read.
    """
    path = session / ENDING_FILE
    try:
        return Ending.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        found = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
        message = (
            f"{path}: wanted the change of a tree that was begun, found: {found}; restore the file, or look for half "
            f"changed files in the tree, then remove {session}"
        )
        raise SessionError(message) from error


def forget_ending(session: Path) -> None:
    """Say that a change came to its end, one way or the other."""
    (session / ENDING_FILE).unlink(missing_ok=True)
    shutil.rmtree(session / _CONTENTS, ignore_errors=True)


def standing(root: Path, change: FileChange) -> Standing:
    """Say whether a file is as it was before a change, or as it is to be after it.

    Raises:
        OSError: it cannot be read.
    """
    try:
        found = state_of(root / change.path)
    except TreeChangedError:
        return "neither"
    if found == change.before:
        return "before"
    return "after" if found == change.after else "neither"


def take_back(session: Path, root: Path, ending: Ending) -> None:
    """Make all files what they were before a change, and remove what was made for it. What is cut off can be repeated.

    Raises:
        TreeChangedError: a file is neither as before nor as after the change; nothing is touched.
        OSError: a file cannot be written.
    """
    standings = [standing(root, each) for each in ending.files]
    if "neither" in standings:
        path = ending.files[standings.index("neither")].path
        message = f"{root / path}: wanted it as it was before the fix or with it, found another"
        raise TreeChangedError(message)
    remove_waiting(root, ending)
    for number, (change, stands) in reversed(list(enumerate(zip(ending.files, standings, strict=True)))):
        if stands == "after" and change.before != change.after:
            place = root / change.path
            if change.before is None:
                place.unlink()
            else:
                data = (session / _CONTENTS / str(number)).read_bytes()
                write_beside(waiting(root, ending, change), data, change.before.mode).replace(place)
    for name in reversed(ending.folders):
        with contextlib.suppress(OSError):
            (root / name).rmdir()


def remove_waiting(root: Path, ending: Ending) -> None:
    """Remove what waits beside the places of files."""
    for each in ending.files:
        with contextlib.suppress(NotADirectoryError):
            waiting(root, ending, each).unlink(missing_ok=True)


def waiting(root: Path, ending: Ending, change: FileChange) -> Path:
    """Return where a file waits to be put in its place."""
    place = root / change.path
    return place.with_name(f".{place.name}.{ending.mark}.eikon")


def write_beside(path: Path, data: bytes, mode: int) -> Path:
    """Write a new file, which reaches the disk; return its path."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(mode)
    return path
