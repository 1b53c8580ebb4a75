"""The process of a suite that replays missions, several at once in one browser.

It receives jobs over a connection and answers each with a result. It ends when the connection is closed, also because
the suite was killed; its browsers end with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.launch import ignore_calls_to_gone_browser, shared_driver
from eikon_engine.errors import BrowserDiedError, EikonError, InternalError, ReplayError
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.outcome.suite_results import MissionResult
from eikon_engine.outcome.verdict import combine_verdicts
from eikon_engine.replay.engine import SharedBrowsers
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.report import standard_reports
from eikon_engine.suite.missions import mission_id_of, storable
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.outcome.suite_results import MissionVerdict
    from eikon_engine.replay.engine import Run

STOP_S: Final = 10.0
"""Wall time within which replays that are cancelled complete their artifacts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One replay to make. Pickled: it may hold secrets, which must not be in a file or an argument of a process."""

    number: int
    name: str
    bundle: Path
    repeat: int
    suite_folder: Path
    artifacts: str
    """Artifacts folder, relative to that of the suite."""
    tags: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Arguments of `ReplayOptions`."""
    reports_all: bool = False
    """Whether a faithful replay has a report, too."""
    timeout_s: float | None = None
    """Wall time of the whole replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a job."""

    number: int
    result: MissionResult
    lost_browser: str = ""
    """Why the browser ended, which may be another replay's fault; empty if it did not."""


def work(connection: Connection) -> None:
    """Make the replays that come over a connection, until it is closed."""
    os.setsid()  # Ctrl-C is for the suite, which stops its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked until here
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout = sys.stderr
    asyncio.run(_serve(connection))


async def _serve(connection: Connection) -> None:
    ignore_calls_to_gone_browser()
    loop, jobs = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    closed = asyncio.Event()

    async with shared_driver(), AsyncExitStack() as stack:
        browsers = await stack.enter_async_context(SharedBrowsers())

        def receive() -> None:
            try:
                job: Job = connection.recv()
            except (EOFError, OSError):
                loop.remove_reader(connection.fileno())
                closed.set()
                return
            task = asyncio.create_task(_answer(connection, job, browsers))
            jobs.add(task)
            task.add_done_callback(jobs.discard)

        loop.add_reader(connection.fileno(), receive)
        await closed.wait()
        for each in jobs:
            each.cancel()
        if jobs:
            await asyncio.wait(jobs, timeout=STOP_S)


async def _answer(connection: Connection, job: Job, browsers: SharedBrowsers) -> None:
    answer = await replay_job(job, browsers)
    with suppress(OSError):  # the suite is gone
        connection.send(answer)


async def replay_job(job: Job, browsers: SharedBrowsers) -> Answer:
    """Replay a mission; every way in which that ends is a result, except that it is cancelled."""
    begun_at, begin = utc_now(), time.monotonic()
    run: Run | None = None
    error: EikonError | None = None
    try:
        async with asyncio.timeout(job.timeout_s):
            bundle = await asyncio.to_thread(open_bundle, job.bundle)
            options = ReplayOptions(artifacts_dir=job.suite_folder / job.artifacts, **job.settings)
            run = await browsers.replay(bundle, options, standard_reports(for_all=job.reports_all))
            error = run.error
    except EikonError as failure:
        error = failure
    except Exception as fault:  # noqa: BLE001 - one mission must not end the suite
        is_late = isinstance(fault, TimeoutError) and job.timeout_s is not None
        late = ReplayError(f"the mission took more than {job.timeout_s or 0:g} s")
        error = late if is_late else InternalError(f"internal error: {type(fault).__name__}: {fault}")
    outcome = None if run is None else run.outcome
    result = MissionResult(
        name=job.name,
        repeat=job.repeat,
        mission_id=mission_id_of(job.bundle) if outcome is None else storable(outcome.mission_id),
        tags=job.tags,
        verdict=_verdict(outcome, error),
        exit_status=error.exit_status if error is not None else 0 if outcome is None else outcome.exit_status,
        summary=storable(error.message if error is not None else _summary(outcome)),
        artifacts=job.artifacts if (job.suite_folder / job.artifacts).is_dir() else "",
        started_at=begun_at,
        duration_ms=round((time.monotonic() - begin) * 1000),
    )
    is_lost = isinstance(error, BrowserDiedError)
    return Answer(number=job.number, result=result, lost_browser=result.summary if is_lost else "")


def _verdict(outcome: ReplayOutcome | None, error: EikonError | None) -> MissionVerdict:
    if outcome is None or error is not None:
        return "failed"
    return combine_verdicts((outcome.verdict, *(gate.verdict for gate in outcome.gates)))


def _summary(outcome: ReplayOutcome | None) -> str:
    """Return why a replay is not faithful, or that it is faithful to a failure, in a sentence; else an empty text."""
    if outcome is None:
        return ""
    if outcome.exit_status == 0:
        return f"faithful to a mission that {outcome.recorded_failure}" if outcome.recorded_failure else ""
    if outcome.explanation is not None:
        return outcome.explanation.sentence
    gates = tuple(f"gate {gate.gate}: {gate.message}" for gate in outcome.gates if gate.passed is not True)
    return next(iter((*(each.message for each in outcome.divergences), *gates, *outcome.reasons)), outcome.verdict)
