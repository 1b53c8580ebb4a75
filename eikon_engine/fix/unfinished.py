"""Recover changes of the user's files that were interrupted by a kill."""

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
    """Complete or roll back an interrupted change; return a sentence about it, None if there is nothing to do.

    The change is rolled back, unless all files had been written already; then they stay.

    Raises:
        TreeChangedError: a file is in neither its old nor its new state; nothing is touched.
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
    """Recover interrupted changes of one tree before a loop starts there; return messages.

    An unreadable session is reported and skipped: its tree is unknown, and most likely another one.

    Raises:
        EikonError: a change cannot be recovered, see `settle`.
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
    """Recover all interrupted changes; return messages about successes and failures."""
    told = []
    for folder in _unsettled(sessions):
        try:
            told.append(settle(folder))
        except EikonError as error:
            told.append(error.message)
    return tuple(each for each in told if each is not None)


def _passed_by(folder: Path, error: SessionError) -> str:
    return (
        f"warning: {folder} was interrupted while it changed a tree, and the tree is unknown: {error.message} If no "
        f"file is partly changed, remove {folder}."
    )


def _unsettled(sessions: Path) -> list[Path]:
    return sorted(path.parent for path in sessions.glob(f"*/{ENDING_FILE}"))


@contextmanager
def _alone(session: Path) -> Iterator[None]:
    """Hold the lock that serializes recoveries of the same session."""
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
        return f"session {note.id} was interrupted after its fix was completely written to {root}: {files}"
    return (
        f"session {note.id} was interrupted while it changed {files} in {root}: rolled back. The fix is in "
        f"{session / DIFF_FILE}"
    )


def _take_back(session: Path, root: Path, ending: Ending) -> None:
    try:
        take_back(session, root, ending)
    except TreeChangedError as error:
        message = (
            f"{error.message}: session {session.name} was interrupted while it changed the tree, and its fix may be "
            f"partly written. Repair it manually with {session / DIFF_FILE}, then remove {session}."
        )
        raise TreeChangedError(message) from error
