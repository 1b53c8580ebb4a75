"""The events of a session: the iteration each belongs to, and printing a recording again without a browser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.session_folder import list_session_folders
from eikon_engine.errors import EventsError, RequirementError, UsageError
from eikon_engine.files.text import pluralize
from eikon_engine.gates.event_sources import events_of_bundle
from eikon_engine.outcome.debug_events import BranchSwitched, BreakpointHit, Paused, Resumed, Rewound
from eikon_engine.outcome.event_filter import EVENT_TYPES
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.outcome.events import ActionPerformed, ActionStart, ObservationMade, RunStart, SkillRun
from eikon_engine.outcome.read_events import EventsParser, ParsedLine, open_events
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.trace_file import JOURNAL_FILE, TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.outcome.events import Event, EventLine


class IterationCounter:
    """Count the steps of a run while its events are read in order."""

    def __init__(self) -> None:
        """Start before the first step."""
        self._step: tuple[str, int] | None = None
        self._iteration = 0

    def advance(self, event: Event) -> int:
        """Return the iteration of an event: of its step, or the last one that started.

        A breakpoint hit belongs to the step before which it pauses.
        """
        match event:
            case Rewound() | BranchSwitched() | Paused() | Resumed():
                self._step, self._iteration = None, event.iteration
            case BreakpointHit(context=context):
                return context.iteration
            case ActionStart() | ObservationMade():
                self._start_step(event.subgoal, event.sequence)
            case ActionPerformed() | SkillRun():
                self._start_step(event.subgoal, event.outcome.sequence)
            case _:
                pass
        return self._iteration

    def _start_step(self, subgoal: str, sequence: int) -> None:
        if self._step != (subgoal, sequence):
            self._step = (subgoal, sequence)
            self._iteration += 1


MAX_GAP_S: Final = 5.0
"""Longer gaps between events are shortened to this."""
COMPLETE: Final = "--- Replay complete ---"
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedLine:
    """A line to print, parsed."""

    text: str
    lines: tuple[EventLine, ...]
    """Only those of the selected event types."""
    iterations: tuple[int | None, ...]
    """One per line; None if the recording is not a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReplayOptions:
    """Which events to print, and how fast."""

    is_timed: bool = False
    speed: float = 1.0
    types: frozenset[str] = frozenset()
    """Event types to print; all if empty."""
    from_iteration: int = 0
    """Begin with the first event of this step or a later one; everything after it is printed."""
    from_sequence: int = 0

    def replay(self, lines: Iterable[ParsedLine], wait: Callable[[float], None]) -> Iterator[ReplayedLine]:
        """Yield the lines to print, each after its original delay; `wait` takes seconds.

        Raises:
            UsageError: the recording ends before the requested start.
        """
        iterations = IterationCounter()
        steps = events = 0
        has_begun = is_session = False
        before: datetime | None = None
        for read in lines:
            numbers = [iterations.advance(line.event) for line in read.lines]
            iteration = max(numbers)
            steps, events = max(steps, iteration), read.lines[-1].sequence
            has_begun = has_begun or (iteration >= self.from_iteration and read.lines[0].sequence >= self.from_sequence)
            is_session = is_session or any(_begins_session(line.event) for line in read.lines)
            selected = [
                (line, number if is_session else None)
                for line, number in zip(read.lines, numbers, strict=True)
                if not self.types or line.event.type in self.types
            ]
            if not has_begun or not selected:
                continue
            if self.is_timed and before is not None:
                passed = (selected[0][0].at - before).total_seconds() / self.speed
                wait(min(max(passed, 0.0), MAX_GAP_S))
            before = selected[-1][0].at
            yield ReplayedLine(
                text=read.text,
                lines=tuple(line for line, _ in selected),
                iterations=tuple(number for _, number in selected),
            )
        if not has_begun and (self.from_iteration or self.from_sequence):
            options = f"--from-iteration {self.from_iteration}, --from-sequence {self.from_sequence}"
            message = f"{options}: the recording has only {pluralize(steps, 'step')}"
            raise UsageError(f"{message} and {pluralize(events, 'event')}; begin earlier")


def _begins_session(event: Event) -> bool:
    return isinstance(event, RunStart) and event.kind == "debug_session"


def parse_speed(text: str) -> float:
    """Parse `2x`, `0.5x` or `2`.

    Raises:
        UsageError: not a positive number.
    """
    try:
        speed = float(text.removesuffix("x"))
    except ValueError:
        speed = math.nan
    if math.isfinite(speed) and speed > 0:
        return speed
    raise UsageError(f"--speed: expected a positive number such as 2x or 0.5x, got {text!r}")


def parse_types(texts: Iterable[str]) -> frozenset[str]:
    """Parse comma-separated event types.

    Raises:
        UsageError: unknown event type.
    """
    found = [each.strip() for text in texts for each in text.split(",")]
    for name in found:
        if name not in EVENT_TYPES:
            known = ", ".join(EVENT_TYPES)
            raise UsageError(f"--filter: unknown event type {name!r}; available: {known}")
    return frozenset(found)


def find_recording(parent: Path, source: Path) -> Path:
    """Return the `events.jsonl` or bundle that a path or session id refers to.

    Raises:
        RequirementError: neither exists.
    """
    named = next((folder.root for folder in list_session_folders(parent) if folder.name == str(source)), None)
    path = named or source
    if path.is_dir() and (path / EVENTS_FILE).exists():
        return path / EVENTS_FILE
    if path.is_file() or any((path / name).is_file() for name in (TRACE_FILE, JOURNAL_FILE)):
        return path
    found = "a folder with neither events.jsonl nor trace.json" if path.is_dir() else "no such path"
    message = f"{source}: expected a session, a folder with events or a bundle, got {found}; run `eikon debug sessions`"
    raise RequirementError(message, code="session-missing")


def read_recording(path: Path, warn: Callable[[str], None]) -> Iterator[ParsedLine]:
    """Yield the events of a recording; `note` is called with a warning if it has no proper end.

    Raises:
        EventsError: the events cannot be read.
        TraceError: the bundle cannot be read.
    """
    if path.suffix == ".jsonl" and path.name != JOURNAL_FILE:
        yield from _read_events(path, warn)
        return
    for line in events_of_bundle(open_bundle(path)):
        yield ParsedLine(text=line.model_dump_json(), lines=(line,))


def _read_events(path: Path, warn: Callable[[str], None]) -> Iterator[ParsedLine]:
    reader = EventsParser(str(path))
    try:
        with open_events(path) as file:
            while data := file.read(_CHUNK):
                yield from reader.feed(data)
    except OSError as error:
        raise EventsError(f"{path}: the events cannot be read ({error.strerror}); check the path") from error
    last, truncated_line = reader.finish()
    if last is not None:
        yield last
    if truncated_line is not None:
        warn(truncated_line)
    if not reader.has_ended:
        warn(f"{path}: no run_end: the session still runs, or was killed")
