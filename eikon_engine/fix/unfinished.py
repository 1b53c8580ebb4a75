"""Recover changes of the user's files that were interrupted by a kill."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError, OutputError, SessionError, WorkingTreeChangedError
from eikon_engine.fix.ending import (
    JOURNAL_FILE,
    WriteJournal,
    delete_journal,
    progress_of,
    read_journal,
    remove_temporaries,
    roll_back,
)
from eikon_engine.fix.session import DIFF_FILE, is_alive, read_session, set_final_state
from eikon_engine.trace.whole_file import write_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        with _recovery_lock(session):
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
    told: list[str | None] = []
    for folder in _interrupted_sessions(sessions):
        try:
            is_here = read_session(folder).tree == str(tree)
        except SessionError as error:
            told.append(_skipped_message(folder, error))
            continue
        if is_here:
            told.append(recover(folder))
    return tuple(each for each in told if each is not None)


def recover_all(sessions: Path) -> tuple[str, ...]:
    """Recover all interrupted changes; return messages about successes and failures."""
    told = []
    for folder in _interrupted_sessions(sessions):
        try:
            told.append(recover(folder))
        except EikonError as error:
            told.append(error.message)
    return tuple(each for each in told if each is not None)


def _skipped_message(folder: Path, error: SessionError) -> str:
    return (
        f"warning: {folder} was interrupted while it changed a tree, and the tree is unknown: {error.message} If no "
        f"file is partly changed, remove {folder}."
    )


def _interrupted_sessions(sessions: Path) -> list[Path]:
    return sorted(path.parent for path in sessions.glob(f"*/{JOURNAL_FILE}"))


@contextmanager
def _recovery_lock(session: Path) -> Iterator[None]:
    """Hold the lock that serializes recoveries of the same session."""
    with (session / _RECOVERY_LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


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
        set_final_state(session, "handed_over" if is_whole else "taken_back")
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
