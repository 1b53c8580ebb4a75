"""Read `events.jsonl` at once, incrementally, or while another process writes it; migrate version 1.

A file left by a killed process is read up to its last whole line.
"""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from eikon_engine.errors import EventsError
from eikon_engine.files.limits import MAX_RECORDED_VALUES, LineBuffer, open_file, read_document
from eikon_engine.files.models import describe_value, validation_error
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.outcome.events import EVENTS_VERSION, EventLine, RunEnd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import BufferedReader
    from pathlib import Path


def migrate_v1(event: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """Yield the version 2 events for one version 1 event; invalid parts are left for validation."""
    match event.get("type"):
        case "run_start":
            yield {**event, "events_version": 2, "kind": "bundle_replay"}
        case "action_end":
            yield from _migrate_action(event)
        case "skill_end":
            yield _migrate_skill(event)
        case "run_end":
            yield {**event, "how": "complete" if event.get("ended_early") is None else "stopped"}
        case _:
            yield dict(event)


def _migrate_action(event: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    outcome = event.get("outcome")
    if isinstance(outcome, dict) and outcome.get("observation") is not None:
        place = {"subgoal": event.get("subgoal"), "sequence": outcome.get("sequence")}
        yield {"type": "observation", **place, "observation": outcome["observation"]}
        outcome = {**outcome, "observation": None}
    yield {**event, "type": "action", "outcome": outcome}


def _migrate_skill(event: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    outcome = event.get("outcome")
    if not isinstance(outcome, dict):
        return {**event, "type": "skill"}
    outputs: dict[str, JsonValue] = {
        name: {"kind": "inline", "value": outcome.get(name)} for name in ("output", "expected_output")
    }
    return {**event, "type": "skill", "outcome": {**outcome, "output": None, "expected_output": None}, **outputs}


_COLUMN: Final = re.compile(r" at line \d+ column (\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedLine:
    """One line of the file and its parsed events."""

    text: str
    lines: tuple[EventLine, ...]
    """One event; two if an older version stored both in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvents:
    """The events of one run."""

    lines: tuple[EventLine, ...]
    truncation: str | None = None
    """Warning about a truncated last line; None if the last line is complete."""

    @property
    def has_ended(self) -> bool:
        """Return whether the file contains the end of the run."""
        return isinstance(self.lines[-1].event, RunEnd)


def read_events(path: Path) -> RunEvents:
    """Read the events of a run.

    Raises:
        EventsError: the file is unreadable, empty, or has an invalid line; the version of the events is not supported.
    """
    try:
        data = read_document(path, root=_root(path), values=MAX_RECORDED_VALUES)
    except OSError as error:
        raise EventsError(f"{path}: cannot read events: {error.strerror}. Check the path.") from error
    return parse_events(data, str(path))


def open_events(path: Path) -> BufferedReader:
    """Open a file of events, which must be inside its folder if it is that of a run.

    Raises:
        OSError: it cannot be opened.
        BundlePathError: it is outside its folder, or no regular file.
    """
    return open_file(path, root=_root(path))


def _root(path: Path) -> Path | None:
    """Return the folder of a run that a file belongs to; None if a person named another file."""
    return path.parent if path.name == EVENTS_FILE else None


def parse_events(data: bytes, source: str) -> RunEvents:
    """Parse the content of an `events.jsonl`; `source` names it in messages.

    Raises:
        EventsError: there are no events, or a line is invalid; the version of the events is not supported.
    """
    reader = EventsParser(source)
    lines = [line for read in reader.feed(data) for line in read.lines]
    last, truncated_line = reader.finish()
    lines.extend(last.lines if last is not None else ())
    if not lines:
        raise EventsError(f"{source}: no events found: {truncated_line or 'the file is empty'}")
    return RunEvents(lines=tuple(lines), truncation=truncated_line)


class EventsParser:
    """Parse events incrementally, from chunks of any size."""

    def __init__(self, source: str) -> None:
        """Start before the first line; `source` names the file in messages."""
        self._source = source
        self._lines = LineBuffer(source)
        self._number = 0
        self._sequence = 0
        self._migrated_count = 0
        self._version = 0
        self.has_ended = False
        """Whether the end of the run was read."""

    def feed(self, data: bytes) -> Iterator[ParsedLine]:
        """Add a chunk and yield the lines that are now complete.

        Raises:
            EventsError: a line is invalid; the version of the events is not supported.
        """
        for text in self._lines.feed(data):
            yield self._parse(text)

    def finish(self) -> tuple[ParsedLine | None, str | None]:
        """Return the last line if only its line break is missing, or a warning about its remains.

        Raises:
            EventsError: the line is complete but invalid.
        """
        text, self._lines = self._lines.rest(), LineBuffer(self._source)
        if not text:
            return None, None
        try:
            from_json(text)
        except ValueError:
            number = self._number + 1
            return None, f"{self._source}: line {number} is truncated after {len(text)} bytes and was skipped"
        return self._parse(text), None

    def _parse(self, text: bytes) -> ParsedLine:
        self._number += 1
        place = f"{self._source}: line {self._number}"
        if self.has_ended:
            raise EventsError(f"{place}: unexpected line after run_end. Restore the file.")
        plain = self._decode(text, place)
        sequence = plain.get("sequence")
        if type(sequence) is int and sequence != self._sequence + 1:
            message = f"{place}: expected sequence {self._sequence + 1}, got {sequence}. Restore the file."
            raise EventsError(message)
        self._sequence += 1
        lines = tuple(self._migrate(plain, text, place))
        self.has_ended = isinstance(lines[-1].event, RunEnd)
        return ParsedLine(text=text.decode(), lines=lines)

    def _decode(self, text: bytes, place: str) -> dict[str, JsonValue]:
        try:
            plain = from_json(text)
        except ValueError as error:
            column = _COLUMN.search(str(error))
            where = f", column {column[1]}" if column else ""
            problem = _COLUMN.sub("", str(error))
            raise EventsError(f"{place}{where}: expected one event as JSON: {problem}. Restore the file.") from error
        if not isinstance(plain, dict) or not isinstance(plain.get("event"), dict):
            message = (
                f"{place}: expected an object with sequence, at and event, got {describe_value(plain)}. "
                "Pass an events.jsonl."
            )
            raise EventsError(message)
        if self._number == 1:
            self._version = _version(plain["event"], place)
        elif plain["event"].get("type") == "run_start":
            raise EventsError(f"{place}: unexpected second run_start; only line 1 has one. Restore the file.")
        return plain

    def _migrate(self, plain: dict[str, JsonValue], text: bytes, place: str) -> Iterator[EventLine]:
        """Parse a line; events of an older version are renumbered, since one line may become several events."""
        event = plain["event"]
        if self._version == EVENTS_VERSION:
            yield _parse_event_line(text, place)
        elif isinstance(event, dict):
            for newer in migrate_v1(event):
                self._migrated_count += 1
                migrated = {**plain, "sequence": self._migrated_count, "event": newer}
                yield _parse_event_line(json.dumps(migrated, ensure_ascii=False).encode(), place)


def _version(event: dict[str, JsonValue], place: str) -> int:
    if event.get("type") != "run_start":
        message = (
            f"{place}: expected run_start, which has the version, got "
            f"{describe_value(event.get('type'))}. Restore the file."
        )
        raise EventsError(message)
    version = event.get("events_version")
    if type(version) is int and 1 <= version <= EVENTS_VERSION:
        return version
    message = (
        f"{place}: unsupported events_version: expected 1 to {EVENTS_VERSION}, got {describe_value(version)}. "
        "Use the eikon version that wrote the file, or a newer one."
    )
    raise EventsError(message, code="events-version")


def _parse_event_line(text: bytes, place: str) -> EventLine:
    try:
        return EventLine.model_validate_json(text)
    except ValidationError as error:
        raise EventsError(str(validation_error(error, text, place))) from error


POLL_INTERVAL_S: Final = 0.1
"""Seconds between two reads when there is no new data."""
_CHUNK_SIZE: Final = 1 << 20


def follow_events(path: Path) -> Iterator[ParsedLine]:
    """Yield the lines of a run as they are written, until its end; wait for a file that does not exist yet.

    Raises:
        EventsError: a line is invalid, the file cannot be read, or it was replaced; the version of the events is not
            supported.
    """
    nothing = threading.Event()
    while not path.exists():
        nothing.wait(POLL_INTERVAL_S)
    reader = EventsParser(str(path))
    try:
        with open_events(path) as file:
            while not reader.has_ended:
                data = file.read1(_CHUNK_SIZE)
                if data:
                    yield from reader.feed(data)
                    continue
                _require_same_file(path, file.fileno(), file.tell())
                nothing.wait(POLL_INTERVAL_S)
    except OSError as error:
        raise EventsError(f"{path}: cannot read events: {error.strerror}. Check the path.") from error


def _require_same_file(path: Path, handle: int, read: int) -> None:
    """Raise if the open file was removed, truncated or replaced by a new run, since nothing will be appended to it."""
    opened = os.fstat(handle)
    try:
        there = path.stat()
    except FileNotFoundError:
        there = None
    if there is None or (there.st_ino, there.st_dev) != (opened.st_ino, opened.st_dev) or opened.st_size < read:
        raise EventsError(f"{path}: the file was removed or replaced while following it. Start again.")
