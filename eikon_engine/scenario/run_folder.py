"""The folder of an active run: its metadata, events and summary, however it ends."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError, GateExceededError, InternalError, InterruptedRunError, OutputError
from eikon_engine.files.writing import write_atomically
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import (
    CompletionReceived,
    Note,
    RunEnd,
    SubgoalEnd,
    SubgoalStart,
    TokenUsage,
    ToolCall,
    ToolFailure,
    ToolResult,
)
from eikon_engine.outcome.outcomes import EXIT_STATUS
from eikon_engine.outcome.run_record import OUTPUTS_FILE, SUMMARY_FILE, RunError, RunRecord, write_run_record
from eikon_engine.outcome.stored_values import InlineValue
from eikon_engine.outcome.verdict import combine_verdicts
from eikon_engine.report.scenario_summary import EventCounts, render_scenario_summary
from eikon_engine.scenario.redaction import redact_events_again

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.llm import ServedResponse
    from eikon_engine.outcome.event_log import Watch
    from eikon_engine.outcome.events import Event, EventLine, RunEnding, RunStart
    from eikon_engine.outcome.outcomes import GateResult
    from eikon_engine.outcome.run_record import RunState
    from eikon_engine.scenario.calls import ToolCallEnd, ToolCallStart
    from eikon_engine.secrets.redaction import Redactor
    from eikon_engine.trace.execution import MissionStatus


class RunEvents:
    """Write events with their position in the mission; observes the calls of tools and models."""

    def __init__(self, log: EventLog) -> None:
        """Start outside any subgoal."""
        self.log = log
        self.subgoal = ""
        """Id of the current attempt."""
        self.sequence = 0
        """Number of the current step in its subgoal."""

    def emit(self, event: Event) -> None:
        """Write an event."""
        self.log.append(event)

    def require_within_limits(self) -> None:
        """Check that no gate is exceeded.

        Raises:
            GateExceededError: one is, so the run must stop.
        """
        if self.log.stop_reason is not None:
            raise GateExceededError(f"{self.log.stop_reason}; the run stops")

    def start_subgoal(self, number: int, subgoal: str, subgoal_id: str, description: str, steps: int) -> None:
        """Start a subgoal; its steps are numbered from 1."""
        self.subgoal, self.sequence = subgoal, 0
        self.emit(SubgoalStart(number=number, id=subgoal, subgoal_id=subgoal_id, description=description, steps=steps))

    def end_subgoal(self, number: int, status: MissionStatus) -> None:
        """End the current subgoal."""
        self.emit(SubgoalEnd(number=number, id=self.subgoal, status=status))

    def note(self, text: str) -> None:
        """Write a note."""
        self.emit(Note(text=text))

    def on_call_started(self, made: ToolCallStart) -> None:
        """Write the start of a tool call.

        Raises:
            GateExceededError: it exceeds a limit.
        """
        self.emit(
            ToolCall(
                subgoal=self.subgoal,
                sequence=self.sequence,
                call_id=made.call_id,
                tool=made.tool,
                args=InlineValue(value=made.args),
                args_hash=made.args_hash,
                occurrence=made.occurrence,
            )
        )
        self.require_within_limits()

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        """Write the end of a tool call."""
        error = answered.error
        self.emit(
            ToolResult(
                subgoal=self.subgoal,
                sequence=self.sequence,
                call_id=answered.start.call_id,
                tool=answered.start.tool,
                source=answered.source,
                result=None if error is not None else InlineValue(value=answered.result),
                error=None if error is None else ToolFailure(kind=error.type, message=error.message),
                latency_ms=answered.latency_ms,
            )
        )

    def on_completion(self, answered: ServedResponse) -> None:
        """Write the response of a model."""
        response = answered.response
        self.emit(
            CompletionReceived(
                subgoal=self.subgoal,
                sequence=self.sequence,
                metric_id=response.metric_id,
                model=response.answered_by or response.model,
                prompt_digest=response.prompt_digest,
                source=answered.source,
                response=None if response.response is None else InlineValue(value=response.response),
                error=None if response.error is None else f"{response.error.code}: {response.error.message}",
                usage=TokenUsage(**dict(response.usage)),
                latency_ms=answered.latency_seconds * 1000,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One finished run."""

    folder: Path
    record: RunRecord
    gates: tuple[GateResult, ...]
    error: EikonError | None

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command."""
        if self.error is not None:
            return self.error.exit_status
        verdict = combine_verdicts(
            ("faithful", *([self.record.verdict] if self.record.verdict else []), *(g.verdict for g in self.gates))
        )
        return EXIT_STATUS[verdict] or (0 if self.record.certified in {None, "certified"} else 1)


class RunFolder:
    """Write the files of an active run."""

    def __init__(
        self,
        folder: Path,
        note: RunRecord,
        now: Callable[[], datetime],
        *,
        watch: Watch | None = None,
        readers: tuple[Callable[[EventLine], None], ...] = (),
    ) -> None:
        """Start the run in a new folder.

        Raises:
            OutputError: it cannot be written.
        """
        self.folder = folder
        self.record = note
        self.tally = EventCounts()
        self._now = now
        write_run_record(folder, note)
        self.log = EventLog(folder, now, watch=watch, readers=(self.tally.read, *readers))
        self.events = RunEvents(self.log)
        self.error: EikonError | None = None
        self.redactor: Redactor | None = None
        """Redacts, at the end, secrets in the events that were found after they were written; None in a replay."""

    def update_record(self, **facts: object) -> None:
        """Update fields of run.json."""
        self.record = self.record.model_copy(update=facts)

    def write_outputs(self, outputs: dict[str, JsonValue]) -> None:
        """Write the outputs of the steps."""
        write_atomically(self.folder / OUTPUTS_FILE, serialize_outputs(outputs))

    @contextmanager
    def running(self, start: RunStart) -> Iterator[None]:
        """Run the block; store its failure as `error`, and re-raise interruptions.

        Raises:
            InterruptedRunError: the user or a signal stopped the run; its files are written.
        """
        self.log.append(start)
        try:
            yield
        except EikonError as error:
            self.error = error
            stopped = self.log.stop_reason is not None
            self.end("failed", "stopped" if stopped else "failed", error)
        except (asyncio.CancelledError, KeyboardInterrupt):
            message = f"the run was interrupted; its files are in {self.folder}"
            self.end("interrupted", "interrupted", InterruptedRunError(message))
            raise
        except BaseException as fault:
            self.end("failed", "fault", InternalError(f"internal error: {type(fault).__name__}: {fault}"))
            raise
        else:
            self.end("complete", "complete", None)

    def result(self) -> RunResult:
        """Return the result of the run."""
        return RunResult(folder=self.folder, record=self.record, gates=self.log.gate_results, error=self.error)

    def end(self, state: RunState, how: RunEnding, error: EikonError | None) -> None:
        """Write the end of the run; write errors do not hide what ended it."""
        with suppress(OutputError):
            if error is None:
                self.log.append(RunEnd(how=how))
            else:
                self.log.write_interrupted(how, error.message)
            self.log.close()
            if self.redactor is not None:
                redact_events_again(self.folder, self.redactor)
        failed = next((gate for gate in self.log.gate_results if gate.passed is False), None)
        if failed is not None and error is None:
            state, error = "failed", GateExceededError(f"gate {failed.gate}: {failed.message}")
            self.error = error
        ended_by = None if error is None else RunError(code=error.code, message=error.message)
        self.update_record(state=state, ended_at=self._now(), error=ended_by)
        with suppress(OutputError):
            write_atomically(
                self.folder / SUMMARY_FILE,
                render_scenario_summary(self.record, self.log.gate_results, self.tally).encode(),
            )
        write_run_record(self.folder, self.record)


def serialize_outputs(outputs: dict[str, JsonValue]) -> bytes:
    """Serialize outputs as JSON, in step order."""
    return json.dumps(outputs, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"
