"""The folder of a run while it goes on: its facts, its events, and how it ends, whatever ends it."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError, GateFailedError, InternalError, InterruptedRunError, OutputError
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import RunEnd
from eikon_engine.outcome.outcomes import EXIT_STATUS
from eikon_engine.outcome.verdict import worst
from eikon_engine.scenario.rehidden_events import hide_in_events
from eikon_engine.scenario.run_events import RunEvents
from eikon_engine.scenario.run_note import OUTPUTS_FILE, SUMMARY_FILE, EndedBy, RunNote, write_note
from eikon_engine.scenario.summary import Tally, render_summary
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.outcome.event_log import Watch
    from eikon_engine.outcome.events import Ending, JournalLine, RunStart
    from eikon_engine.outcome.gate_result import GateResult
    from eikon_engine.scenario.run_note import State
    from eikon_engine.trace.redaction import Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run that is over."""

    folder: Path
    note: RunNote
    gates: tuple[GateResult, ...]
    error: EikonError | None

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command line."""
        if self.error is not None:
            return self.error.exit_status
        verdict = worst(
            ("faithful", *([self.note.verdict] if self.note.verdict else []), *(g.verdict for g in self.gates))
        )
        return EXIT_STATUS[verdict] or (0 if self.note.certified in {None, "certified"} else 1)


class OpenFolder:
    """Keep the files of a run; mutable while it goes on."""

    def __init__(
        self,
        folder: Path,
        note: RunNote,
        now: Callable[[], datetime],
        *,
        watch: Watch | None = None,
        readers: tuple[Callable[[JournalLine], None], ...] = (),
    ) -> None:
        """Begin the run in a new folder.

        Raises:
            OutputError: it cannot be written.
        """
        self.folder = folder
        self.note = note
        self.tally = Tally()
        self._now = now
        write_note(folder, note)
        self.log = EventLog(folder, now, watch=watch, readers=(self.tally.read, *readers))
        self.events = RunEvents(self.log)
        self.error: EikonError | None = None
        self.redactor: Redactor | None = None
        """Hides in the events, when they are over, what turned out to be a secret later; None in a replay."""

    def note_fact(self, **facts: object) -> None:
        """Keep something more that the run says of itself."""
        self.note = self.note.model_copy(update=facts)

    def write_outputs(self, outputs: dict[str, JsonValue]) -> None:
        """Write what the steps gave."""
        write_whole(self.folder / OUTPUTS_FILE, output_text(outputs))

    @contextmanager
    def running(self, start: RunStart) -> Iterator[None]:
        """Do the run inside the block; what it fails by is kept as `error`, what interrupts it goes on.

        Raises:
            InterruptedRunError: a person or a signal stopped the run; its files are written.
        """
        self.log.take(start)
        try:
            yield
        except EikonError as error:
            self.error = error
            stopped = self.log.stop_reason is not None
            self.end("failed", "stopped" if stopped else "failed", error)
        except (asyncio.CancelledError, KeyboardInterrupt):
            message = f"the run was stopped before its end; what was done is in {self.folder}"
            self.end("interrupted", "interrupted", InterruptedRunError(message))
            raise
        except BaseException as fault:
            self.end("failed", "fault", InternalError(f"internal error: {type(fault).__name__}: {fault}"))
            raise
        else:
            self.end("complete", "complete", None)

    def result(self) -> RunResult:
        """Return what the run came to."""
        return RunResult(folder=self.folder, note=self.note, gates=self.log.gate_results, error=self.error)

    def end(self, state: State, how: Ending, error: EikonError | None) -> None:
        """Write the end of the run, once; where that cannot be, what ended the run is told all the same."""
        with suppress(OutputError):
            if error is None:
                self.log.take(RunEnd(how=how))
            else:
                self.log.cut_off(how, error.message)
            self.log.close()
            if self.redactor is not None:
                hide_in_events(self.folder, self.redactor)
        failed = next((gate for gate in self.log.gate_results if gate.passed is False), None)
        if failed is not None and error is None:
            state, error = "failed", GateFailedError(f"gate {failed.gate}: {failed.message}")
            self.error = error
        ended_by = None if error is None else EndedBy(code=error.code, message=error.message)
        self.note_fact(state=state, ended_at=self._now(), error=ended_by)
        with suppress(OutputError):
            write_whole(self.folder / SUMMARY_FILE, render_summary(self.result(), self.tally).encode())
        write_note(self.folder, self.note)


def output_text(outputs: dict[str, JsonValue]) -> bytes:
    """Write outputs as JSON, in the order of their steps."""
    return json.dumps(outputs, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"
