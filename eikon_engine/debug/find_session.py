"""Find the session that a command refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.session_folder import SessionFolder, session_folders
from eikon_engine.errors import SessionAmbiguousError, SessionEndedError, SessionMissingError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def find_running(parent: Path, name: str | None) -> SessionFolder:
    """Return the session with this name, or the only running one.

    Raises:
        SessionMissingError: no session has this name, or there are no sessions.
        SessionEndedError: it is not running.
        SessionAmbiguousError: several sessions are running, and no name was given.
    """
    if name is not None:
        found = _named(parent, name)
        if not found.runs():
            raise has_ended(found)
        return found
    folders = tuple(session_folders(parent))
    running = tuple(folder for folder in folders if folder.runs())
    match running:
        case (only,):
            return only
        case ():
            if folders:
                raise has_ended(folders[-1])
            raise SessionMissingError(_none(parent))
        case _:
            found_names = " and ".join(folder.name for folder in running)
            message = f"several sessions are running: {found_names}; choose one with --session"
            raise SessionAmbiguousError(message)


def find_any(parent: Path, name: str | None) -> SessionFolder:
    """Return the session with this name, the only running one, or else the most recent.

    Raises:
        SessionMissingError: no session has this name, or there are no sessions.
        SessionAmbiguousError: several sessions are running, and no name was given.
    """
    if name is not None:
        return _named(parent, name)
    try:
        return find_running(parent, None)
    except SessionEndedError:
        return tuple(session_folders(parent))[-1]


def find_ended(parent: Path, name: str) -> SessionFolder:
    """Return a session that is not running.

    Raises:
        SessionMissingError: no session has this name.
        UsageError: it is still running.
    """
    found = _named(parent, name, option="--from-session")
    if found.runs():
        raise UsageError(f"--from-session {name}: the session is still running; quit it first")
    return found


def _named(parent: Path, name: str, *, option: str = "--session") -> SessionFolder:
    names = [folder.name for folder in session_folders(parent)]
    if name in names:
        return SessionFolder(parent / name)
    if not names:
        raise SessionMissingError(_none(parent))
    found = ", ".join(names[-3:])
    raise SessionMissingError(f"{option} {name}: no such session, the latest are {found}; run `eikon debug sessions`")


def _none(parent: Path) -> str:
    return f"{parent}: no debug sessions; start one with `eikon debug start --trace …`"


def has_ended(folder: SessionFolder) -> SessionEndedError:
    """Return the error for a session that is not running."""
    return SessionEndedError(
        f"session {folder.name} has {folder.state()}; its checkpoints can be used in a new one: "
        f"eikon debug start --from-session {folder.name}"
    )
