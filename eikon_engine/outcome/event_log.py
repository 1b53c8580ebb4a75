"""Write `events.jsonl`: numbered lines in the order of occurrence, each in a single write."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Protocol, Self

from eikon_engine.errors import OutputError
from eikon_engine.files.writing import AppendOnlyFile
from eikon_engine.outcome.debug_events import CommandDone, Evaluated
from eikon_engine.outcome.events import (
    CompletionReceived,
    Event,
    EventLine,
    GateEvaluated,
    RunEnd,
    RunEnding,
    SkillRun,
    ToolCall,
    ToolResult,
)
from eikon_engine.outcome.stored_values import ValueStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

    from eikon_engine.outcome.outcomes import GateResult

EVENTS_FILE: Final = "events.jsonl"


class Watch(Protocol):
    """Watch a run for exceeded limits."""

    def process(self, line: EventLine) -> GateResult | None:
        """Process the next line; return the result of a gate that it exceeds, which must stop the run."""

    def finish(self) -> tuple[GateResult, ...]:
        """Return a result for each gate at the end of the run."""


class NullWatch:
    """A watch without gates."""

    def process(self, line: EventLine) -> GateResult | None:  # noqa: ARG002 - every line alike
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
        readers: Iterable[Callable[[EventLine], None]] = (),
    ) -> None:
        """Create an `events.jsonl` in `folder`.

        Raises:
            OutputError: the file cannot be written, or exists already.
        """
        self.stop_reason: str | None = None
        """The gate that was exceeded; None if there is none."""
        self.gate_results: tuple[GateResult, ...] = ()
        """One result for each gate, set at the end of the run."""
        self._clock = now
        self._watch: Watch = watch or NullWatch()
        self._readers = tuple(readers)
        self._values = ValueStore(folder)
        self._sequence = 0
        self._is_over = False
        self._lock = threading.RLock()
        self._file = AppendOnlyFile(
            folder / EVENTS_FILE, exists_message="the file already exists. Choose another folder."
        )

    @property
    def path(self) -> Path:
        """Return the path of `events.jsonl`."""
        return self._file.path

    def append(self, event: Event) -> None:
        """Write an event and pass it to the readers and gates. `run_end` is written after the gates' results.

        Raises:
            OutputError: the file cannot be written.
        """
        with self._lock:
            if isinstance(event, RunEnd):
                self._write_end(event)
                return
            line = self._next_line(event)
            self._write_line(line)
            exceeded = self._watch.process(line)
            if exceeded is not None:
                self._write_line(self._next_line(_gate_event(exceeded)))
                self.stop_reason = self.stop_reason or f"gate {exceeded.gate}: {exceeded.message}"

    def write_interrupted(self, how: RunEnding, reason: str) -> None:
        """Write the end of an interrupted run; do nothing if the run has ended or not started.

        Readers are not called, since one of them may be what failed.

        Raises:
            OutputError: the file cannot be written.
        """
        with self._lock:
            if not self._is_over and self._sequence:
                self._readers = ()
                self._write_end(RunEnd(how=how, ended_early=reason))

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

    def _write_end(self, event: RunEnd) -> None:
        self._is_over = True
        self._watch.process(self._peek_line(event))
        self.gate_results = self._watch.finish()
        for result in self.gate_results:
            if not result.while_running:
                self._write_line(self._next_line(_gate_event(result)))
        self._write_line(self._next_line(event))

    def _peek_line(self, event: Event) -> EventLine:
        return EventLine(sequence=self._sequence + 1, at=self._clock(), event=event)

    def _next_line(self, event: Event) -> EventLine:
        line = self._peek_line(event)
        self._sequence = line.sequence
        return line

    def _write_line(self, line: EventLine) -> None:
        kept = line.model_copy(update={"event": externalize_values(line.event, self._values)})
        try:
            self._file.append(kept.model_dump_json())
        except OutputError:
            self._is_over = True  # nothing may follow an incomplete line
            raise
        for read in self._readers:
            read(line)


def externalize_values(event: Event, values: ValueStore) -> Event:  # noqa: PLR0911 - one case a kind
    """Move the large values of an event into separate files.

    Raises:
        OutputError: a file cannot be written.
    """
    match event:
        case ToolCall(args=args):
            return event.model_copy(update={"args": values.store(args)})
        case ToolResult(result=result) if result is not None:
            return event.model_copy(update={"result": values.store(result)})
        case CompletionReceived(response=response) if response is not None:
            return event.model_copy(update={"response": values.store(response)})
        case CommandDone(result=result):
            return event.model_copy(update={"result": values.store(result)})
        case Evaluated(result=result) if result is not None:
            return event.model_copy(update={"result": values.store(result)})
        case SkillRun(output=output, expected_output=expected):
            kept = values.store(expected) if expected is not None else None
            return event.model_copy(update={"output": values.store(output), "expected_output": kept})
        case _:
            return event


def _gate_event(result: GateResult) -> GateEvaluated:
    return GateEvaluated(**dict(result))
