"""Find the session that a command refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.session_folder import SessionFolder, list_session_folders
from eikon_engine.errors import SessionAmbiguousError, SessionEndedError, SessionMissingError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def find_running_session(parent: Path, name: str | None) -> SessionFolder:
    """Return the session with this name, or the only running one.

    Raises:
        SessionMissingError: no session has this name, or there are no sessions.
        SessionEndedError: it is not running.
        SessionAmbiguousError: several sessions are running, and no name was given.
    """
    if name is not None:
        found = _get_session(parent, name)
        if not found.is_running():
            raise session_ended_error(found)
        return found
    folders = tuple(list_session_folders(parent))
    running = tuple(folder for folder in folders if folder.is_running())
    match running:
        case (only,):
            return only
        case ():
            if folders:
                raise session_ended_error(folders[-1])
            raise SessionMissingError(_no_sessions_message(parent))
        case _:
            found_names = " and ".join(folder.name for folder in running)
            message = f"several sessions are running: {found_names}; choose one with --session"
            raise SessionAmbiguousError(message)


def find_session(parent: Path, name: str | None) -> SessionFolder:
    """Return the session with this name, the only running one, or else the most recent.

    Raises:
        SessionMissingError: no session has this name, or there are no sessions.
        SessionAmbiguousError: several sessions are running, and no name was given.
    """
    if name is not None:
        return _get_session(parent, name)
    try:
        return find_running_session(parent, None)
    except SessionEndedError:
        return tuple(list_session_folders(parent))[-1]


def find_ended_session(parent: Path, name: str) -> SessionFolder:
    """Return a session that is not running.

    Raises:
        SessionMissingError: no session has this name.
        UsageError: it is still running.
    """
    found = _get_session(parent, name, option="--from-session")
    if found.is_running():
        raise UsageError(f"--from-session {name}: the session is still running; quit it first")
    return found


def _get_session(parent: Path, name: str, *, option: str = "--session") -> SessionFolder:
    names = [folder.name for folder in list_session_folders(parent)]
    if name in names:
        return SessionFolder(parent / name)
    if not names:
        raise SessionMissingError(_no_sessions_message(parent))
    found = ", ".join(names[-3:])
    raise SessionMissingError(f"{option} {name}: no such session, the latest are {found}; run `eikon debug sessions`")


def _no_sessions_message(parent: Path) -> str:
    return f"{parent}: no debug sessions; start one with `eikon debug start --trace …`"


def session_ended_error(folder: SessionFolder) -> SessionEndedError:
    """Return the error for a session that is not running."""
    return SessionEndedError(
        f"session {folder.name} has {folder.state()}; its checkpoints can be used in a new one: "
        f"eikon debug start --from-session {folder.name}"
    )
