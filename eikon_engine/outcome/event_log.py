"""Write `events.jsonl`: numbered lines in the order of occurrence, each in a single write."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Protocol, Self

from eikon_engine.errors import OutputError
from eikon_engine.outcome.debug_events import CommandDone, Evaluated
from eikon_engine.outcome.events import (
    CompletionGiven,
    Ending,
    Event,
    GateResultGiven,
    JournalLine,
    RunEnd,
    SkillUsed,
    ToolCall,
    ToolResult,
)
from eikon_engine.outcome.stored import ValueFolder
from eikon_engine.trace.appended_file import AppendedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

    from eikon_engine.outcome.gate_result import GateResult

EVENTS_FILE: Final = "events.jsonl"


class Watch(Protocol):
    """Watch a run for exceeded limits."""

    def note(self, line: JournalLine) -> GateResult | None:
        """Process the next line; return the result of a gate that it exceeds, which must stop the run."""

    def finish(self) -> tuple[GateResult, ...]:
        """Return a result for each gate at the end of the run."""


class NoWatch:
    """A watch without gates."""

    def note(self, line: JournalLine) -> GateResult | None:  # noqa: ARG002 - every line alike
        """Ignore the line."""
        return None

    def finish(self) -> tuple[GateResult, ...]:
        """Return no results."""
        return ()


class EventLog:
    """The only writer of `events.jsonl`; thread-safe.

    `stop_reason` is set as soon as a gate is exceeded. The runner checks it before each step, and after an
    `action_start` or `tool_call`, which are written before the action or call happens.
    """

    def __init__(
        self,
        folder: Path,
        now: Callable[[], datetime],
        *,
        watch: Watch | None = None,
        readers: Iterable[Callable[[JournalLine], None]] = (),
    ) -> None:
        """Create an `events.jsonl` in `folder`.

        Raises:
            OutputError: the file cannot be written, or exists already.
        """
        self.stop_reason: str | None = None
        """The gate that was exceeded; None if there is none."""
        self.gate_results: tuple[GateResult, ...] = ()
        """One result for each gate, set at the end of the run."""
        self._now = now
        self._watch: Watch = watch or NoWatch()
        self._readers = tuple(readers)
        self._values = ValueFolder(folder)
        self._sequence = 0
        self._is_over = False
        self._lock = threading.RLock()
        self._file = AppendedFile(folder / EVENTS_FILE, if_there="the file already exists. Choose another folder.")

    @property
    def path(self) -> Path:
        """Return the path of `events.jsonl`."""
        return self._file.path

    def take(self, event: Event) -> None:
        """Write an event and pass it to the readers and gates. `run_end` is written after the gates' results.

        Raises:
            OutputError: the file cannot be written.
        """
        with self._lock:
            if isinstance(event, RunEnd):
                self._end(event)
                return
            line = self._line(event)
            self._put(line)
            exceeded = self._watch.note(line)
            if exceeded is not None:
                self._put(self._line(_given(exceeded)))
                self.stop_reason = self.stop_reason or f"gate {exceeded.gate}: {exceeded.message}"

    def cut_off(self, how: Ending, reason: str) -> None:
        """Write the end of an interrupted run; do nothing if the run has ended or not started.

        Readers are not called, since one of them may be what failed.

        Raises:
            OutputError: the file cannot be written.
        """
        with self._lock:
            if not self._is_over and self._sequence:
                self._readers = ()
                self._end(RunEnd(how=how, ended_early=reason))

    def close(self) -> None:
        """Flush the file to disk and close it.

        Raises:
            OutputError: the file cannot be written.
        """
        self._file.close()

    def __enter__(self) -> Self:
        """Return the log itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def _end(self, event: RunEnd) -> None:
        self._is_over = True
        self._watch.note(self._next(event))
        self.gate_results = self._watch.finish()
        for result in self.gate_results:
            if not result.while_running:
                self._put(self._line(_given(result)))
        self._put(self._line(event))

    def _next(self, event: Event) -> JournalLine:
        return JournalLine(sequence=self._sequence + 1, at=self._now(), event=event)

    def _line(self, event: Event) -> JournalLine:
        line = self._next(event)
        self._sequence = line.sequence
        return line

    def _put(self, line: JournalLine) -> None:
        kept = line.model_copy(update={"event": with_large_values_kept(line.event, self._values)})
        try:
            self._file.append(kept.model_dump_json())
        except OutputError:
            self._is_over = True  # nothing may follow an incomplete line
            raise
        for read in self._readers:
            read(line)


def with_large_values_kept(event: Event, values: ValueFolder) -> Event:  # noqa: PLR0911 - one case a kind
    """Move the large values of an event into separate files.

    Raises:
        OutputError: a file cannot be written.
    """
    match event:
        case ToolCall(args=args):
            return event.model_copy(update={"args": values.keep(args)})
        case ToolResult(result=result) if result is not None:
            return event.model_copy(update={"result": values.keep(result)})
        case CompletionGiven(response=response) if response is not None:
            return event.model_copy(update={"response": values.keep(response)})
        case CommandDone(result=result):
            return event.model_copy(update={"result": values.keep(result)})
        case Evaluated(result=result) if result is not None:
            return event.model_copy(update={"result": values.keep(result)})
        case SkillUsed(output=output, expected_output=expected):
            kept = values.keep(expected) if expected is not None else None
            return event.model_copy(update={"output": values.keep(output), "expected_output": kept})
        case _:
            return event


def _given(result: GateResult) -> GateResultGiven:
    return GateResultGiven(**dict(result))
