"""Which session a command is meant for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.session_folder import SessionFolder, session_folders
from eikon_engine.errors import SessionAmbiguousError, SessionEndedError, SessionMissingError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def find_running(parent: Path, name: str | None) -> SessionFolder:
    """Return the session of that name, or the only one that runs.

    Raises:
        SessionMissingError: there is none of that name, or none at all.
        SessionEndedError: it does not run any more.
        SessionAmbiguousError: several run, and none was named.
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
            message = f"wanted one running session, found {found_names}; name one with --session"
            raise SessionAmbiguousError(message)


def find_any(parent: Path, name: str | None) -> SessionFolder:
    """Return the session of that name, or the only one that runs, or else the last one that began.

    Raises:
        SessionMissingError: there is none of that name, or none at all.
        SessionAmbiguousError: several run, and none was named.
    """
    if name is not None:
        return _named(parent, name)
    try:
        return find_running(parent, None)
    except SessionEndedError:
        return tuple(session_folders(parent))[-1]


def find_ended(parent: Path, name: str) -> SessionFolder:
    """Return a session that does not run any more.

    Raises:
        SessionMissingError: there is none of that name.
        UsageError: it runs.
    """
    found = _named(parent, name, option="--from-session")
    if found.runs():
        raise UsageError(f"--from-session {name}: wanted a session that ended, found one that runs; quit it first")
    return found


def _named(parent: Path, name: str, *, option: str = "--session") -> SessionFolder:
    names = [folder.name for folder in session_folders(parent)]
    if name in names:
        return SessionFolder(parent / name)
    if not names:
        raise SessionMissingError(_none(parent))
    found = ", ".join(names[-3:])
    raise SessionMissingError(f"{option} {name}: wanted a debug session, found {found}; run `eikon debug sessions`")


def _none(parent: Path) -> str:
    return f"{parent}: wanted a debug session, found none; begin one with `eikon debug start --trace …`"


def has_ended(folder: SessionFolder) -> SessionEndedError:
    """Return the error of a session that does not run any more."""
    return SessionEndedError(
        f"session {folder.name} has {folder.state()}; its checkpoints can be used in a new one: "
        f"eikon debug start --from-session {folder.name}"
    )
