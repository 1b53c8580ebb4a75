"""Read the fields of an older format and report those that no migration reads."""

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
    """Collects the warnings of a migration."""

    def __init__(self, source: str) -> None:
        """Start without warnings for the file `source`."""
        self.source = source
        self._warnings: dict[str, None] = {}
        self._lost: Counter[str] = Counter()
        self._naive = 0

    def warn(self, text: str) -> None:
        """Add a warning, once."""
        self._warnings[text] = None

    def lose(self, path: str, value: object, why: str = "") -> None:
        """Count a field that is dropped; its value is never shown, since it may be a secret."""
        if value is None or value is False or value in ("", [], {}):
            return
        entries = len(value) if isinstance(value, (list, dict)) else 1
        self._lost[re.sub(r"\[\d+\]", "[]", path) + (f", {why}" if why else "")] += entries

    def naive_time(self) -> None:
        """Count a time without a time zone."""
        self._naive += 1

    def warnings(self) -> list[str]:
        """Return all warnings, one sentence each."""
        naive = f"{self._naive} times without a time zone were interpreted as UTC"
        lost = (f"not carried over: {path} ({_entries(count)})" for path, count in sorted(self._lost.items()))
        return [*self._warnings, *([naive] if self._naive else ()), *lost]


class Fields:
    """One object of the older format, with typed access to its fields."""

    def __init__(self, data: object, path: str, ledger: Ledger) -> None:
        """Read `data`, found at `path` in the file."""
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
        """Read a field of any type; None if it is missing."""
        self._taken.add(name)
        return self.plain.get(name)

    def text(self, name: str) -> str | None:
        """Read an optional string."""
        value = self.take(name)
        if value is None or isinstance(value, str):
            return value
        raise field_error(self.ledger.source, self.at(name), "a string", value)

    def needed_text(self, name: str) -> str:
        """Read a required, non-empty string."""
        value = self.text(name)
        if value:
            return value
        raise self.fault(name, "this field is missing" if value is None else "expected a string, got an empty one")

    def whole(self, name: str, default: int | None = None) -> int:
        """Read an integer of at least 1; required unless there is a default."""
        value = self.take(name)
        if value is None and default is not None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        raise field_error(self.ledger.source, self.at(name), "a whole number of at least 1", value)

    def number(self, name: str) -> float | None:
        """Read an optional number."""
        value = self.take(name)
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            return value
        raise field_error(self.ledger.source, self.at(name), "a number", value)

    def entries(self, name: str) -> list[object]:
        """Read a list; empty if it is missing."""
        value = self.take(name)
        if value is None:
            return []
        if isinstance(value, list):
            return value
        raise field_error(self.ledger.source, self.at(name), "a list", value)

    def inner(self, name: str, value: object) -> Fields:
        """Read a value of this object as an object."""
        return Fields(value, self.at(name), self.ledger)

    def objects(self, name: str) -> list[Fields]:
        """Read a list of objects."""
        return [Fields(each, f"{self.at(name)}[{i}]", self.ledger) for i, each in enumerate(self.entries(name))]

    def choice(self, name: str, known: Iterable[str]) -> str:
        """Read one of the known values."""
        value = self.needed_text(name)
        if value in known:
            return value
        raise field_error(self.ledger.source, self.at(name), f"one of {', '.join(known)}", value)

    def time(self, name: str) -> str | None:
        """Read an ISO 8601 time; without a time zone it is UTC."""
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
        """Read start and end; the duration supplies a missing end, and is reported if it contradicts a recorded one."""
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
            self.ledger.lose(self.at("duration_ms"), duration, "which does not match start and end")
        return start, end

    def close(self) -> None:
        """Report every field that was not read."""
        for name in self.plain.keys() - self._taken:
            self.ledger.lose(self.at(name), self.plain[name])

    def fault(self, name: str, problem: str) -> TraceFieldError:
        """Build the error for a field."""
        return TraceFieldError(f"{self.ledger.source}: {self.at(name)}: {problem}")


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"
