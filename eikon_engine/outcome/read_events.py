"""Read `events.jsonl` at once or incrementally. A file left by a killed process is read up to its last whole line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from eikon_engine.errors import EventsError, EventsVersionError
from eikon_engine.outcome.events import EVENTS_VERSION, JournalLine, RunEnd
from eikon_engine.outcome.events_v1 import from_v1
from eikon_engine.trace.field_errors import shown, trace_error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COLUMN: Final = re.compile(r" at line \d+ column (\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLine:
    """One line of the file and its parsed events."""

    text: str
    lines: tuple[JournalLine, ...]
    """One event; two if an older version stored both in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsRead:
    """The events of one run."""

    lines: tuple[JournalLine, ...]
    torn: str | None = None
    """Warning about a truncated last line; None if the last line is complete."""

    @property
    def has_ended(self) -> bool:
        """Return whether the file contains the end of the run."""
        return isinstance(self.lines[-1].event, RunEnd)


def read_events(path: Path) -> EventsRead:
    """Read the events of a run.

    Raises:
        EventsError: the file is unreadable, empty, or has an invalid line.
        EventsVersionError: the version of the events is not supported.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EventsError(f"{path}: cannot read events: {error.strerror}. Check the path.") from error
    return parse_events(data, str(path))


def parse_events(data: bytes, source: str) -> EventsRead:
    """Parse the content of an `events.jsonl`; `source` names it in messages.

    Raises:
        EventsError: there are no events, or a line is invalid.
        EventsVersionError: the version of the events is not supported.
    """
    reader = EventsReader(source)
    lines = [line for read in reader.feed(data) for line in read.lines]
    last, torn = reader.finish()
    lines.extend(last.lines if last is not None else ())
    if not lines:
        raise EventsError(f"{source}: no events found: {torn or 'the file is empty'}")
    return EventsRead(lines=tuple(lines), torn=torn)


class EventsReader:
    """Parse events incrementally, from chunks of any size."""

    def __init__(self, source: str) -> None:
        """Start before the first line; `source` names the file in messages."""
        self._source = source
        self._rest = b""
        self._number = 0
        self._sequence = 0
        self._given = 0
        self._version = 0
        self.has_ended = False
        """Whether the end of the run was read."""

    def feed(self, data: bytes) -> Iterator[ReadLine]:
        """Add a chunk and yield the lines that are now complete.

        Raises:
            EventsError: a line is invalid.
            EventsVersionError: the version of the events is not supported.
        """
        *whole, self._rest = (self._rest + data).split(b"\n")
        for text in whole:
            yield self._read(text)

    def finish(self) -> tuple[ReadLine | None, str | None]:
        """Return the last line if only its line break is missing, or a warning about its remains.

        Raises:
            EventsError: the line is complete but invalid.
        """
        text, self._rest = self._rest, b""
        if not text:
            return None, None
        try:
            from_json(text)
        except ValueError:
            number = self._number + 1
            return None, f"{self._source}: line {number} is truncated after {len(text)} bytes and was skipped"
        return self._read(text), None

    def _read(self, text: bytes) -> ReadLine:
        self._number += 1
        place = f"{self._source}: line {self._number}"
        if self.has_ended:
            raise EventsError(f"{place}: unexpected line after run_end. Restore the file.")
        plain = self._plain(text, place)
        sequence = plain.get("sequence")
        if type(sequence) is int and sequence != self._sequence + 1:
            message = f"{place}: expected sequence {self._sequence + 1}, got {sequence}. Restore the file."
            raise EventsError(message)
        self._sequence += 1
        lines = tuple(self._lines(plain, text, place))
        self.has_ended = isinstance(lines[-1].event, RunEnd)
        return ReadLine(text=text.decode(), lines=lines)

    def _plain(self, text: bytes, place: str) -> dict[str, JsonValue]:
        try:
            plain = from_json(text)
        except ValueError as error:
            column = _COLUMN.search(str(error))
            where = f", column {column[1]}" if column else ""
            problem = _COLUMN.sub("", str(error))
            raise EventsError(f"{place}{where}: expected one event as JSON: {problem}. Restore the file.") from error
        if not isinstance(plain, dict) or not isinstance(plain.get("event"), dict):
            message = (
                f"{place}: expected an object with sequence, at and event, got {shown(plain)}. Pass an events.jsonl."
            )
            raise EventsError(message)
        if self._number == 1:
            self._version = _version(plain["event"], place)
        elif plain["event"].get("type") == "run_start":
            raise EventsError(f"{place}: unexpected second run_start; only line 1 has one. Restore the file.")
        return plain

    def _lines(self, plain: dict[str, JsonValue], text: bytes, place: str) -> Iterator[JournalLine]:
        """Parse a line; events of an older version are renumbered, since one line may become several events."""
        event = plain["event"]
        if self._version == EVENTS_VERSION:
            yield _parsed(text, place)
        elif isinstance(event, dict):
            for newer in from_v1(event):
                self._given += 1
                migrated = {**plain, "sequence": self._given, "event": newer}
                yield _parsed(json.dumps(migrated, ensure_ascii=False).encode(), place)


def _version(event: dict[str, JsonValue], place: str) -> int:
    if event.get("type") != "run_start":
        message = (
            f"{place}: expected run_start, which has the version, got {shown(event.get('type'))}. Restore the file."
        )
        raise EventsError(message)
    version = event.get("events_version")
    if type(version) is int and 1 <= version <= EVENTS_VERSION:
        return version
    message = (
        f"{place}: unsupported events_version: expected 1 to {EVENTS_VERSION}, got {shown(version)}. "
        "Use the eikon version that wrote the file, or a newer one."
    )
    raise EventsVersionError(message)


def _parsed(text: bytes, place: str) -> JournalLine:
    try:
        return JournalLine.model_validate_json(text)
    except ValidationError as error:
        raise EventsError(str(trace_error(error, text, place))) from error
