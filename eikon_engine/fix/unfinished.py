"""Changes of the user's files that a kill cut off: they are taken back by whoever comes next."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError, OutputError, SessionError, TreeChangedError
from eikon_engine.fix.ending import ENDING_FILE, Ending, forget_ending, read_ending, remove_waiting, standing, take_back
from eikon_engine.fix.session import DIFF_FILE, is_alive, mark_session, read_session
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK: Final = "ending.lock"


def settle(session: Path) -> str | None:
    """Bring a change that was cut off to an end, and say how in a sentence; None where there is nothing to do.

    A change is taken back, so that a loop that was killed leaves files as they were. If all files were in their places
    already, they stay.

    Raises:
        TreeChangedError: a file is neither as it was nor as the fix makes it; nothing is touched.
        SessionError: the session cannot be read.
        OutputError: a file cannot be written.
    """
    if read_ending(session) is None or is_alive(session):
        return None
    try:
        with _alone(session):
            ending = read_ending(session)
            return None if ending is None else _settle(session, ending)
    except OSError as error:
        raise OutputError(cannot_write(Path(error.filename or session), error)) from error


def settle_before(sessions: Path, tree: Path) -> tuple[str, ...]:
    """Settle all changes of one tree that were cut off, before a loop begins there; return what was done.

    A session that cannot be read is told, and passed by: nobody knows which tree it is about, and most are others.

    Raises:
        EikonError: one cannot be settled, see `settle`.
    """
    told: list[str | None] = []
    for folder in _unsettled(sessions):
        try:
            is_here = read_session(folder).tree == str(tree)
        except SessionError as error:
            told.append(_passed_by(folder, error))
            continue
        if is_here:
            told.append(settle(folder))
    return tuple(each for each in told if each is not None)


def settle_all(sessions: Path) -> tuple[str, ...]:
    """Settle all changes that were cut off; return what was done, and what could not be."""
    told = []
    for folder in _unsettled(sessions):
        try:
            told.append(settle(folder))
        except EikonError as error:
            told.append(error.message)
    return tuple(each for each in told if each is not None)


def _passed_by(folder: Path, error: SessionError) -> str:
    return (
        f"warning: {folder} was cut off while it changed a tree, and does not tell which: {error.message}; if no file "
        f"is half changed, remove {folder}"
    )


def _unsettled(sessions: Path) -> list[Path]:
    return sorted(path.parent for path in sessions.glob(f"*/{ENDING_FILE}"))


@contextmanager
def _alone(session: Path) -> Iterator[None]:
    """Keep others that would settle the same change out of the block."""
    with (session / _LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _settle(session: Path, ending: Ending) -> str:
    note = read_session(session)
    root = Path(note.tree)
    files = ", ".join(each.path for each in ending.files)
    is_whole = all(standing(root, each) == "after" for each in ending.files)
    if is_whole:
        remove_waiting(root, ending)
    else:
        _take_back(session, root, ending)
    forget_ending(session)
    if note.state in {"writing", "interrupted"}:
        mark_session(session, "handed_over" if is_whole else "taken_back")
    if is_whole:
        return f"session {note.id} was cut off when its fix was whole in {root}: {files}"
    return (
        f"session {note.id} was cut off while it changed {files} of {root}: all files are as they were before; the fix "
        f"is in {session / DIFF_FILE}"
    )


def _take_back(session: Path, root: Path, ending: Ending) -> None:
    try:
        take_back(session, root, ending)
    except TreeChangedError as error:
        message = (
            f"{error.message}; session {session.name} was cut off while it changed the tree, and half of its fix may "
            f"be there: mend it by hand, with {session / DIFF_FILE}, then remove {session}"
        )
        raise TreeChangedError(message) from error
