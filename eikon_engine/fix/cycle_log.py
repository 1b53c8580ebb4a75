"""Record each cycle of the loop and report progress."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from eikon_engine.errors import EikonError, FixTaskFailedError
from eikon_engine.fix.task_result import CycleRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.fix.application import AppliedFix
    from eikon_engine.fix.context import Context
    from eikon_engine.fix.failure import Analysis
    from eikon_engine.fix.loop_options import LoopOptions
    from eikon_engine.fix.proposal import Proposal
    from eikon_engine.fix.session import FixSession
    from eikon_engine.fix.task_result import Verification
    from eikon_engine.fix.test_run import TestRun

PROGRESS_INTERVAL_SECONDS: Final = 10.0
"""Interval of the "still running" messages of a slow step, in seconds."""


class CycleFields(TypedDict, total=False):
    """Fields that can be recorded for a cycle."""

    test: TestRun
    analysis: Analysis
    context: Context
    proposal: Proposal
    application: AppliedFix
    verification: Verification


class CycleLog:
    """The cycles of one loop; each update is written to the session immediately."""

    def __init__(self, session: FixSession, options: LoopOptions) -> None:
        """Write records to `session` and progress messages to `options.tell`."""
        self._session = session
        self._options = options
        self._records: list[CycleRecord] = []

    @property
    def records(self) -> tuple[CycleRecord, ...]:
        """Return the cycles so far."""
        return tuple(self._records)

    @property
    def cycle(self) -> int:
        """Return the number of the current cycle, from 1; 0 before the first."""
        return len(self._records)

    def start_cycle(self) -> None:
        """Start the next cycle."""
        self._records.append(CycleRecord(cycle=len(self._records) + 1))

    def update(self, cycle: int, **known: Unpack[CycleFields]) -> None:
        """Update the record of a cycle."""
        record = self._records[cycle - 1].model_copy(update=dict(known))
        self._records[cycle - 1] = record
        self._session.write_cycle(record)

    def report(self, text: str) -> None:
        """Report progress of the current cycle."""
        self._options.on_progress(f"cycle {self.cycle} of {self._options.max_cycles}: {text}")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Run the block as one step of the current cycle, and record its duration.

        Raises:
            FixTaskFailedError: the block raised an `EikonError`.
        """
        self._session.update_progress(cycle=self.cycle, step=name)
        self.report(name)
        clock = self._options.clock
        begun = clock()
        try:
            with _report_while_running(lambda seconds: self.report(f"{name} still running after {seconds:.0f} s")):
                yield
        except FixTaskFailedError:
            raise
        except EikonError as error:
            raise FixTaskFailedError(name, error) from error
        finally:
            record = self._records[-1]
            taken = record.durations_ms.get(name, 0) + round((clock() - begun) * 1000)
            self._records[-1] = record.model_copy(update={"durations_ms": {**record.durations_ms, name: taken}})


@contextmanager
def _report_while_running(report: Callable[[float], None]) -> Iterator[None]:
    done = threading.Event()

    def wait() -> None:
        seconds = 0.0
        while not done.wait(PROGRESS_INTERVAL_SECONDS):
            seconds += PROGRESS_INTERVAL_SECONDS
            report(seconds)

    thread = threading.Thread(target=wait, name="eikon-fix-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
