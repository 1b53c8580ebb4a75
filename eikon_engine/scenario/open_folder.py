"""The folder of an active run: its metadata, events and summary, however it ends."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError, GateExceededError, InternalError, InterruptedRunError, OutputError
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import RunEnd
from eikon_engine.outcome.outcomes import EXIT_STATUS
from eikon_engine.outcome.verdict import combine_verdicts
from eikon_engine.scenario.rehidden_events import redact_events_again
from eikon_engine.scenario.run_events import RunEvents
from eikon_engine.scenario.run_note import OUTPUTS_FILE, SUMMARY_FILE, RunError, RunRecord, write_run_record
from eikon_engine.scenario.summary import EventCounts, render_scenario_summary
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.outcome.event_log import Watch
    from eikon_engine.outcome.events import EventLine, RunEnding, RunStart
    from eikon_engine.outcome.gate_result import GateResult
    from eikon_engine.scenario.run_note import RunState
    from eikon_engine.trace.redaction import Redactor


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
