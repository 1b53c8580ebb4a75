"""Read plain data of an older format field by field, and know which fields nobody took."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.field_errors import field_error

if TYPE_CHECKING:
    from collections.abc import Iterable

Plain: TypeAlias = dict[str, object]


class Ledger:
    """Collect what a migration has to say about the trace it changes."""

    def __init__(self, source: str) -> None:
        """Start with nothing to say about the file `source`."""
        self.source = source
        self._warnings: dict[str, None] = {}
        self._lost: Counter[str] = Counter()
        self._naive = 0

    def warn(self, text: str) -> None:
        """Say something once."""
        self._warnings[text] = None

    def lose(self, path: str, value: object, why: str = "") -> None:
        """Count a field that is not carried over; its value is never shown, it may be secret."""
        if value is None or value is False or value in ("", [], {}):
            return
        entries = len(value) if isinstance(value, (list, dict)) else 1
        self._lost[re.sub(r"\[\d+\]", "[]", path) + (f", {why}" if why else "")] += entries

    def naive_time(self) -> None:
        """Count a time without a zone."""
        self._naive += 1

    def warnings(self) -> list[str]:
        """Return everything, one sentence each."""
        naive = f"{self._naive} times without a time zone were taken as UTC"
        lost = (f"not carried over: {path} ({_entries(count)})" for path, count in sorted(self._lost.items()))
        return [*self._warnings, *([naive] if self._naive else ()), *lost]


class Fields:
    """One object of the older format; whoever takes a field says of which type it must be."""

    def __init__(self, data: object, path: str, ledger: Ledger) -> None:
        """Read `data`, which lies at `path` of the file."""
        if not isinstance(data, dict):
            raise field_error(ledger.source, path or "trace", "an object", data)
        self.path = path
        self.ledger = ledger
        self.plain: Plain = data
        self._taken: set[str] = set()

    def at(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def take(self, name: str) -> object:
        """Take a field of any type; None if it is missing."""
        self._taken.add(name)
        return self.plain.get(name)

    def text(self, name: str) -> str | None:
        """Take a text that may be missing."""
        value = self.take(name)
        if value is None or isinstance(value, str):
            return value
        raise field_error(self.ledger.source, self.at(name), "a string", value)

    def needed_text(self, name: str) -> str:
        """Take a text that must be there."""
        value = self.text(name)
        if value:
            return value
        raise self.fault(name, "this field is missing" if value is None else "wanted a string, found an empty one")

    def whole(self, name: str, default: int | None = None) -> int:
        """Take a whole number of at least 1; it must be there unless there is a default."""
        value = self.take(name)
        if value is None and default is not None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        raise field_error(self.ledger.source, self.at(name), "a whole number of at least 1", value)

    def number(self, name: str) -> float | None:
        """Take a number that may be missing."""
        value = self.take(name)
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            return value
        raise field_error(self.ledger.source, self.at(name), "a number", value)

    def entries(self, name: str) -> list[object]:
        """Take a list; empty if it is missing."""
        value = self.take(name)
        if value is None:
            return []
        if isinstance(value, list):
            return value
        raise field_error(self.ledger.source, self.at(name), "a list", value)

    def inner(self, name: str, value: object) -> Fields:
        """Read a value of this object as an object itself."""
        return Fields(value, self.at(name), self.ledger)

    def objects(self, name: str) -> list[Fields]:
        """Take a list of objects."""
        return [Fields(each, f"{self.at(name)}[{i}]", self.ledger) for i, each in enumerate(self.entries(name))]

    def choice(self, name: str, known: Iterable[str]) -> str:
        """Take one of the known words."""
        value = self.needed_text(name)
        if value in known:
            return value
        raise field_error(self.ledger.source, self.at(name), f"one of {', '.join(known)}", value)

    def time(self, name: str) -> str | None:
        """Take a time in ISO 8601; without a zone it is UTC."""
        value = self.text(name)
        if value is None:
            return None
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            raise field_error(self.ledger.source, self.at(name), "a date and time (ISO 8601)", value) from None
        if time.tzinfo is None:
            self.ledger.naive_time()
            time = time.replace(tzinfo=UTC)
        return time.isoformat()

    def stamps(self) -> tuple[str | None, str | None]:
        """Take start and end; the duration gives a missing end, and is named if it contradicts a recorded one."""
        start, end, duration = self.time("started_at"), self.time("ended_at"), self.number("duration_ms")
        if start is None or duration is None:
            self.ledger.lose(self.at("duration_ms"), duration)
            return start, end
        try:
            by_duration = datetime.fromisoformat(start) + timedelta(milliseconds=duration)
        except (OverflowError, ValueError):
            raise field_error(self.ledger.source, self.at("duration_ms"), "a duration", duration) from None
        if end is None:
            return start, by_duration.isoformat()
        if abs(datetime.fromisoformat(end) - by_duration) > timedelta(milliseconds=1):
            self.ledger.lose(self.at("duration_ms"), duration, "which is not the time between start and end")
        return start, end

    def close(self) -> None:
        """Put every field that nobody took into the ledger."""
        for name in self.plain.keys() - self._taken:
            self.ledger.lose(self.at(name), self.plain[name])

    def fault(self, name: str, problem: str) -> TraceFieldError:
        """Build the error for a field."""
        return TraceFieldError(f"{self.ledger.source}: {self.at(name)}: {problem}")


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"
