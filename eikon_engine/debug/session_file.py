"""The description of a session: `session.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.debug.commands import BreakpointAdd
from eikon_engine.errors import SessionError
from eikon_engine.trace.field_errors import validation_error
from eikon_engine.trace.record import FileModel
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

SESSION_VERSION: Literal[1] = 1


class SessionFile(FileModel):
    """A debug session as it was started."""

    session_version: Literal[1] = SESSION_VERSION
    id: str
    mission_id: str
    mission_text: str
    trace: str
    """Absolute path of the bundle."""
    trace_id: str
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    """None while it runs, and if its process was killed or failed."""
    pid: int
    """Process id, informational; the lock tells whether it is alive."""
    headless: bool
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of trace variables that were given."""
    timeout_ms: float | None = None
    """Deadline of every action, in page time; None uses the recorded ones."""
    browser_path: str | None = None
    """Browser that was requested; None if it was searched for."""
    breakpoints: tuple[BreakpointAdd, ...] = ()
    """Initial breakpoints, including the one on divergences; redacted."""
    checkpoint_interval: int
    keep_checkpoints: int
    """How many automatic checkpoints are retained."""
    parked: int
    from_session: str | None = None
    """Path of the session whose checkpoints it started with; None if there was none."""


def read_session_file(path: Path) -> SessionFile:
    """Read `session.json`.

    Raises:
        SessionError: it cannot be read, or is invalid.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SessionError(f"{path}: the session cannot be read ({error.strerror}); check the path") from error
    try:
        return SessionFile.model_validate_json(data)
    except ValidationError as error:
        raise SessionError(str(validation_error(error, data, str(path)))) from error


def write_session_file(path: Path, session: SessionFile) -> None:
    """Write `session.json` atomically.

    Raises:
        OutputError: it cannot be written.
    """
    write_atomically(path, session.model_dump_json(indent=1).encode() + b"\n")
