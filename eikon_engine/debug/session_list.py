"""List all sessions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.debug.session_folder import list_session_folders
from eikon_engine.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from eikon_engine.debug.session_file import SessionFile
    from eikon_engine.debug.session_folder import SessionFolder, SessionState
    from eikon_engine.debug.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """One session of the list."""

    name: str
    state: SessionState | None
    """None if its files cannot be read."""
    session: SessionFile | None = None
    timeline: Timeline | None = None
    """None if it does not exist yet."""
    problem: str | None = None
    """What is wrong with its files."""


def list_sessions(parent: Path) -> tuple[ListedSession, ...]:
    """Return all sessions, including damaged ones.

    Raises:
        SessionError: the folder cannot be read.
    """
    return tuple(_read_listed(folder) for folder in list_session_folders(parent))


def render_sessions_json(sessions: Iterable[ListedSession]) -> str:
    """Return the list as a JSON array."""
    rows = [
        {
            "id": each.name,
            "state": each.state,
            "session": None if each.session is None else each.session.model_dump(mode="json"),
            "timeline": None if each.timeline is None else each.timeline.model_dump(mode="json"),
            "problem": each.problem,
        }
        for each in sessions
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def render_sessions(parent: Path, sessions: tuple[ListedSession, ...]) -> str:
    """Return the list as text, one line per session."""
    if not sessions:
        return f"no sessions in {parent}; start one with `eikon debug start --trace …`\n"
    return "".join(f"{_session_line(each)}\n" for each in sessions)


def _read_listed(folder: SessionFolder) -> ListedSession:
    try:
        session, state = folder.read_session(), folder.state()
    except SessionError as error:
        return ListedSession(name=folder.name, state=None, problem=error.message)
    try:
        timeline = folder.read_timeline() if folder.timeline_path.exists() else None
    except SessionError as error:
        return ListedSession(name=folder.name, state=state, session=session, problem=error.message)
    return ListedSession(name=folder.name, state=state, session=session, timeline=timeline)


def _session_line(each: ListedSession) -> str:
    if each.session is None:
        return f"{each.name}  unreadable: {each.problem}"
    where = ""
    if each.timeline is not None:
        active = each.timeline.active
        where = f", {active.name} at {active.iteration} of {active.step_count}"
    problem = f"; {each.problem}" if each.problem else ""
    return f"{each.name}  {each.state}{where}  {each.session.mission_id}: {each.session.mission_text}{problem}"
