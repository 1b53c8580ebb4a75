"""Read the fields of an older format and report those that no migration reads."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.errors import TraceFieldError
from eikon_engine.files.models import field_error

if TYPE_CHECKING:
    from collections.abc import Iterable

JsonObject: TypeAlias = dict[str, object]


class MigrationLog:
    """Collects the warnings of a migration."""

    def __init__(self, source: str) -> None:
        """Start without warnings for the file `source`."""
        self.source = source
        self._warnings: dict[str, None] = {}
        self._dropped: Counter[str] = Counter()
        self._naive = 0

    def warn(self, text: str) -> None:
        """Add a warning, once."""
        self._warnings[text] = None

    def record_dropped(self, path: str, value: object, why: str = "") -> None:
        """Count a field that is dropped; its value is never shown, since it may be a secret."""
        if value is None or value is False or value in ("", [], {}):
            return
        entries = len(value) if isinstance(value, (list, dict)) else 1
        self._dropped[re.sub(r"\[\d+\]", "[]", path) + (f", {why}" if why else "")] += entries

    def count_naive_time(self) -> None:
        """Count a time without a time zone."""
        self._naive += 1

    def warnings(self) -> list[str]:
        """Return all warnings, one sentence each."""
        naive = f"{self._naive} times without a time zone were interpreted as UTC"
        lost = (f"not carried over: {path} ({_entry_count(count)})" for path, count in sorted(self._dropped.items()))
        return [*self._warnings, *([naive] if self._naive else ()), *lost]


class FieldReader:
    """One object of the older format, with typed access to its fields."""

    def __init__(self, data: object, path: str, report: MigrationLog) -> None:
        """Read `data`, found at `path` in the file."""
        if not isinstance(data, dict):
            raise field_error(report.source, path or "trace", "an object", data)
        self.path = path
        self.report = report
        self.plain: JsonObject = data
        self._taken: set[str] = set()

    def path_of(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def read(self, name: str) -> object:
        """Read a field of any type; None if it is missing."""
        self._taken.add(name)
        return self.plain.get(name)

    def read_text(self, name: str) -> str | None:
        """Read an optional string."""
        value = self.read(name)
        if value is None or isinstance(value, str):
            return value
        raise field_error(self.report.source, self.path_of(name), "a string", value)

    def read_required_text(self, name: str) -> str:
        """Read a required, non-empty string."""
        value = self.read_text(name)
        if value:
            return value
        raise self.error(name, "this field is missing" if value is None else "expected a string, got an empty one")

    def read_positive_int(self, name: str, default: int | None = None) -> int:
        """Read an integer of at least 1; required unless there is a default."""
        value = self.read(name)
        if value is None and default is not None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        raise field_error(self.report.source, self.path_of(name), "a whole number of at least 1", value)

    def read_number(self, name: str) -> float | None:
        """Read an optional number."""
        value = self.read(name)
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            return value
        raise field_error(self.report.source, self.path_of(name), "a number", value)

    def read_list(self, name: str) -> list[object]:
        """Read a list; empty if it is missing."""
        value = self.read(name)
        if value is None:
            return []
        if isinstance(value, list):
            return value
        raise field_error(self.report.source, self.path_of(name), "a list", value)

    def nested(self, name: str, value: object) -> FieldReader:
        """Read a value of this object as an object."""
        return FieldReader(value, self.path_of(name), self.report)

    def read_objects(self, name: str) -> list[FieldReader]:
        """Read a list of objects."""
        return [
            FieldReader(each, f"{self.path_of(name)}[{i}]", self.report) for i, each in enumerate(self.read_list(name))
        ]

    def read_choice(self, name: str, known: Iterable[str]) -> str:
        """Read one of the known values."""
        value = self.read_required_text(name)
        if value in known:
            return value
        raise field_error(self.report.source, self.path_of(name), f"one of {', '.join(known)}", value)

    def read_time(self, name: str) -> str | None:
        """Read an ISO 8601 time; without a time zone it is UTC."""
        value = self.read_text(name)
        if value is None:
            return None
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            raise field_error(self.report.source, self.path_of(name), "a date and time (ISO 8601)", value) from None
        if time.tzinfo is None:
            self.report.count_naive_time()
            time = time.replace(tzinfo=UTC)
        return time.isoformat()

    def read_times(self) -> tuple[str | None, str | None]:
        """Read start and end; the duration supplies a missing end, and is reported if it contradicts a recorded one."""
        start, end, duration = self.read_time("started_at"), self.read_time("ended_at"), self.read_number("duration_ms")
        if start is None or duration is None:
            self.report.record_dropped(self.path_of("duration_ms"), duration)
            return start, end
        try:
            by_duration = datetime.fromisoformat(start) + timedelta(milliseconds=duration)
        except (OverflowError, ValueError):
            raise field_error(self.report.source, self.path_of("duration_ms"), "a duration", duration) from None
        if end is None:
            return start, by_duration.isoformat()
        if abs(datetime.fromisoformat(end) - by_duration) > timedelta(milliseconds=1):
            self.report.record_dropped(self.path_of("duration_ms"), duration, "which does not match start and end")
        return start, end

    def report_unread(self) -> None:
        """Report every field that was not read, but `type`, which only names the kind of the object."""
        for name in self.plain.keys() - self._taken - {"type"}:
            self.report.record_dropped(self.path_of(name), self.plain[name])

    def error(self, name: str, problem: str) -> TraceFieldError:
        """Build the error for a field."""
        return TraceFieldError(f"{self.report.source}: {self.path_of(name)}: {problem}")


def _entry_count(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"
