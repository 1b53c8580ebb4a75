"""Make the replays of a suite in several processes; what ends a process or a browser costs only its missions."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.errors import InternalError
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.outcome.suite_results import MissionResult
from eikon_engine.suite.worker import STOP_S
from eikon_engine.suite.worker_process import run_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from eikon_engine.suite.worker import Answer, Job

REPLAYS_AT_ONCE: Final = 2
"""Replays of a worker at once: while one waits for its browser, another one computes."""
OVERDUE_S: Final = 30.0
"""Wall time after which a process counts as stuck that has not ended a mission whose time was over."""
_POLL_S: Final = 0.5


@dataclass(slots=True, eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    jobs: dict[int, tuple[Job, float, datetime]] = field(default_factory=dict)
    """Those that it has not answered, with the monotonic time and the date at which they began."""

    @property
    def sources(self) -> frozenset[Connection | int]:
        """Return what is ready when it has answered, or ended."""
        return frozenset({self.connection, self.process.sentinel})

    @property
    def is_overdue(self) -> bool:
        """Whether it has not ended a mission whose time was over long ago."""
        now = time.monotonic()
        return any(
            job.timeout_s is not None and now > begun + job.timeout_s + OVERDUE_S
            for job, begun, _ in self.jobs.values()
        )


class Runner(Protocol):
    """Makes the replays of a suite."""

    @property
    def ended_early(self) -> str:
        """Return why jobs were not made; empty if all were."""

    def run(self, jobs: Iterable[Job]) -> Iterator[MissionResult]:
        """Yield the result of each job as it ends, in any order."""


class Retries:
    """Which replays were made again, each once, because what made them ended."""

    def __init__(self) -> None:
        """Begin without any."""
        self._reasons: dict[int, str] = {}

    def result_or_retry(self, job: Job, result: MissionResult, lost: str) -> MissionResult | None:
        """Return the result of a job, marked if it was retried; None if it is to be made again.

        `lost` is why its process or its browser ended; empty if they did not.
        """
        if lost and job.number not in self._reasons:
            self._reasons[job.number] = lost
            return None
        return result.model_copy(update={"retried": self._reasons.get(job.number, "")})


class SuiteRunner:
    """Replays jobs in worker processes, and retries each once whose process or browser ended."""

    def __init__(self, workers: int, *, should_stop: Callable[[], str] = lambda: "") -> None:
        """Use so many processes. `should_stop` returns why no further replay is to begin; empty to proceed."""
        self._size = workers
        self._should_stop = should_stop
        self._workers: list[_Worker] = []
        self._waiting: deque[Job] = deque()
        self._retries = Retries()
        self.ended_early = ""
        """Why jobs were not made; empty if all were."""

    def run(self, jobs: Iterable[Job]) -> Iterator[MissionResult]:
        """Yield the result of each job as it ends, in any order. All processes have ended when the iterator has."""
        self._waiting = deque(jobs)
        try:
            while self._waiting or any(worker.jobs for worker in self._workers):
                if not self.ended_early and self._waiting:
                    self.ended_early = self._should_stop()
                if self.ended_early:
                    self._waiting.clear()
                self._hand_out()
                yield from self._collect()
        finally:
            self._stop()

    def _hand_out(self) -> None:
        """Give jobs to the workers with the fewest, and start workers while there is more to do than they can."""
        while self._waiting:
            free = [each for each in self._workers if len(each.jobs) < REPLAYS_AT_ONCE]
            idle = [each for each in free if not each.jobs]
            if not idle and len(self._workers) < self._size:
                self._workers.append(_start_worker())
                continue
            if not free:
                return
            worker = min(free, key=lambda each: len(each.jobs))
            job = self._waiting.popleft()
            worker.jobs[job.number] = (job, time.monotonic(), utc_now())
            with suppress(OSError):  # it has ended, which is found next
                worker.connection.send(job)

    def _collect(self) -> Iterator[MissionResult]:
        """Wait for what happens next, and yield results."""
        for worker in list(self._workers):
            if worker.is_overdue:
                _kill(worker.process)
        ready = wait([source for each in self._workers for source in each.sources], timeout=_POLL_S)
        for worker in [each for each in self._workers if not each.sources.isdisjoint(ready)]:
            yield from self._receive(worker)

    def _receive(self, worker: _Worker) -> Iterator[MissionResult]:
        """Yield what a worker has answered; if it has ended, make its jobs again."""
        with suppress(EOFError, OSError):
            while worker.connection.poll():
                answer: Answer = worker.connection.recv()
                job, *_ = worker.jobs.pop(answer.number)
                yield from self._result_or_retry(job, answer.result, answer.lost_browser)
        if worker.process.is_alive():
            return
        worker.process.join()
        worker.connection.close()
        self._workers.remove(worker)
        reason = f"its worker process ended ({_exit_text(worker.process.exitcode)})"
        for job, begun, begun_at in worker.jobs.values():
            lost = MissionResult(
                name=job.name,
                repeat=job.repeat,
                tags=job.tags,
                verdict="failed",
                exit_status=InternalError.exit_status,
                summary=reason,
                started_at=begun_at,
                duration_ms=round((time.monotonic() - begun) * 1000),
            )
            yield from self._result_or_retry(job, lost, reason)

    def _result_or_retry(self, job: Job, result: MissionResult, lost: str) -> Iterator[MissionResult]:
        """Yield a result, unless the replay is made again because its process or its browser was lost."""
        made = self._retries.result_or_retry(job, result, "" if self.ended_early else lost)
        if made is None:
            self._waiting.appendleft(job)
        else:
            yield made

    def _stop(self) -> None:
        """End all workers: those that replay complete their artifacts."""
        for worker in self._workers:
            worker.connection.close()
        deadline = time.monotonic() + STOP_S
        for worker in self._workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                _kill(worker.process)
                worker.process.join()
        self._workers.clear()


def default_workers() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_worker() -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=run_worker, args=(theirs,), name="eikon-suite-worker")
    resource_tracker.ensure_running()  # it unblocks signals when it starts
    with _interrupts_deferred():  # until it is in a session of its own
        process.start()
    theirs.close()
    return _Worker(process, ours)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Block Ctrl-C in processes that are started in the block; here, it is received at the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _kill(process: BaseProcess) -> None:
    """Kill a worker with its browser, which is in its session; before it has one, alone."""
    with suppress(ProcessLookupError, PermissionError):
        if process.pid is not None:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _exit_text(status: int | None) -> str:
    if status is not None and status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"exit status {status}"
