"""What a session is about: `session.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.debug.commands import BreakpointAdd
from eikon_engine.errors import SessionError
from eikon_engine.trace.field_errors import trace_error
from eikon_engine.trace.record import Record
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path

SESSION_VERSION: Literal[1] = 1


class SessionFile(Record):
    """One debug session, as it was begun."""

    session_version: Literal[1] = SESSION_VERSION
    id: str
    mission_id: str
    mission_text: str
    trace: str
    """Path of the bundle, absolute."""
    trace_id: str
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    """None while it runs, and where its process was killed or could not go on."""
    pid: int
    """Of its process, for people; whether it lives is told by the lock."""
    headless: bool
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of the trace that were given."""
    timeout_ms: float | None = None
    """Deadline of every action, in page time; None for the recorded ones."""
    browser_path: str | None = None
    """Of the browser that was asked for; None where one was looked for."""
    breakpoints: tuple[BreakpointAdd, ...] = ()
    """Those at the start, the one on divergences included; without secrets."""
    checkpoint_interval: int
    keep_checkpoints: int
    """How many of the automatic ones are kept."""
    parked: int
    from_session: str | None = None
    """Path of the session whose checkpoints it began with; None if it began with none."""


def read_session_file(path: Path) -> SessionFile:
    """Read `session.json`.

    Raises:
        SessionError: it cannot be read, or holds something else.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SessionError(f"{path}: wanted a debug session, found {error.strerror}; check the path") from error
    try:
        return SessionFile.model_validate_json(data)
    except ValidationError as error:
        raise SessionError(str(trace_error(error, data, str(path)))) from error


def write_session_file(path: Path, session: SessionFile) -> None:
    """Write `session.json`, whole.

    Raises:
        OutputError: it cannot be written.
    """
    write_whole(path, session.model_dump_json(indent=1).encode() + b"\n")
