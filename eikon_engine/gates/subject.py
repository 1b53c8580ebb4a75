"""Read the events of a finished run: from its event log, its outcome, or the bundle of a mission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError
from pydantic_core import from_json

from eikon_engine.errors import TraceError, TraceMissingError, TraceVersionError
from eikon_engine.gates.outcome_events import events_of_outcome
from eikon_engine.gates.trace_events import events_of_bundle
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.outcome.outcomes import OUTCOME_VERSION, ReplayOutcome
from eikon_engine.outcome.read_events import read_events
from eikon_engine.outcome.stored import ValueStore
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.field_errors import describe_value, syntax_error, validation_error
from eikon_engine.trace.journal import JOURNAL_FILE
from eikon_engine.trace.serializer import TRACE_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.gates.meter import ResolveValue
    from eikon_engine.outcome.events import EventLine

OUTCOME_FILE: Final = "outcome.json"
_KNOWN_FILES: Final = (EVENTS_FILE, OUTCOME_FILE, TRACE_FILE, JOURNAL_FILE)
"""Files to look for in a folder, most informative first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvents:
    """The events of one run."""

    file: Path
    """The file they were read from."""
    lines: tuple[EventLine, ...]
    value_of: ResolveValue
    torn: str | None = None
    """Message about a truncated file; None if it is complete."""


def read_run_events(path: Path) -> RunEvents:
    """Read the events at `path`: `events.jsonl`, `outcome.json`, `trace.json`, or a folder with one of them.

    Raises:
        TraceError: there is no such file, or it cannot be read.
        EventsError: the events cannot be read.
    """
    file = _find_file(path)
    value_of = ValueStore(file.parent).load
    if file.name == JOURNAL_FILE or (file.suffix != ".jsonl" and _version_key(file) == "trace_version"):
        lines = tuple(events_of_bundle(open_bundle(file)))
        return RunEvents(file=file, lines=lines, value_of=value_of)
    if file.suffix == ".jsonl":
        read = read_events(file)
        return RunEvents(file=file, lines=read.lines, value_of=value_of, torn=read.truncation)
    return RunEvents(file=file, lines=tuple(events_of_outcome(read_outcome(file))), value_of=value_of)


def read_outcome(file: Path) -> ReplayOutcome:
    """Read the outcome of a replay.

    Raises:
        TraceError: the file cannot be read.
        TraceSyntaxError: the text is not JSON.
        TraceFieldError: a field is missing, unknown or invalid.
        TraceVersionError: the version is not supported.
    """
    data = _read_file(file)
    try:
        plain = from_json(data)
    except ValueError as error:
        raise syntax_error(str(error), str(file)) from error
    version = plain.get("outcome_version") if isinstance(plain, dict) else None
    if version is None:
        message = f"{file}: expected {', '.join(_KNOWN_FILES[:3])} or a folder with one of them, got other JSON"
        raise TraceMissingError(message)
    if version != OUTCOME_VERSION:
        message = (
            f"{file}: expected outcome_version {OUTCOME_VERSION}, got {describe_value(version)}; use a newer eikon"
        )
        raise TraceVersionError(message)
    try:
        return ReplayOutcome.model_validate_json(data)
    except ValidationError as error:
        raise validation_error(error, data, str(file)) from error


def _find_file(path: Path) -> Path:
    if path.is_dir():
        for name in _KNOWN_FILES:
            if (path / name).is_file():
                return path / name
        message = (
            f"{path}: expected a folder with {', '.join(_KNOWN_FILES[:3])}, got none of them; use the folder of the run"
        )
        raise TraceMissingError(message)
    if not path.exists():
        message = f"{path}: expected {', '.join(_KNOWN_FILES[:3])} or a folder with one of them, got nothing"
        raise TraceMissingError(message)
    return path


def _version_key(file: Path) -> str:
    """Return `trace_version` if a JSON file has that key, else an empty string."""
    try:
        plain = from_json(_read_file(file))
    except ValueError:
        return ""
    return "trace_version" if isinstance(plain, dict) and "trace_version" in plain else ""


def _read_file(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise TraceError(f"{file}: cannot read the file ({error.strerror}); check its permissions") from error
