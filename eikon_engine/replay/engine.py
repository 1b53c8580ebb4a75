"""Replay a trace: the public `ReplayEngine`, one run with its artifacts, and many runs in one browser."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from eikon_engine.browser.launch import run_in_loop
from eikon_engine.errors import (
    BrowserDiedError,
    EikonError,
    InterruptedRunError,
    OutputError,
    ReplayDivergenceError,
    TraceSyntaxError,
)
from eikon_engine.files.paths import resolve_inside, safe_file_name
from eikon_engine.network.store import read_network
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import ActionPerformed, RunEnd, SkillRun, restore_outputs, skill_event
from eikon_engine.outcome.outcomes import ActionOutcome, SkillOutcome
from eikon_engine.outcome.stored_values import ValueStore
from eikon_engine.replay.artifacts import OUTCOME_FILE, ArtifactsFolder, EvidenceWriter
from eikon_engine.replay.collect import Collector
from eikon_engine.replay.context import (
    launch_kind,
    launch_replay_browser,
    open_network_source,
    open_replay_context,
)
from eikon_engine.replay.event_stream import replay_events
from eikon_engine.replay.options import DEFAULT_ARTIFACTS_DIR, ReplayOptions
from eikon_engine.replay.plan import plan_replay, require_same_plan
from eikon_engine.replay.step import StepRunner
from eikon_engine.report import standard_reports
from eikon_engine.trace.bundle import Bundle, bundle_without_files, open_bundle
from eikon_engine.trace.certificate import certificate_state
from eikon_engine.trace.execution import ExecutionTrace
from eikon_engine.trace.trace_file import TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from eikon_engine.browser.launch import LaunchedBrowser, LaunchOptions
    from eikon_engine.outcome.events import Event, RunEnding
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.replay.options import Report
    from eikon_engine.replay.plan import Plan, PlannedStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished replay."""

    outcome: ReplayOutcome
    folder: Path
    error: EikonError | None
    """The error that ended the run early; None if it completed or stopped at a divergence."""


async def run_replay(
    bundle: Bundle, options: ReplayOptions, reports: tuple[Report, ...], browser: LaunchedBrowser | None = None
) -> Run:
    """Replay a bundle and write its artifacts, however the run ends.

    `browser` is a running browser, for a bundle that is already verified. Without it, the bundle is verified while a
    browser starts.

    Raises:
        EikonError: the replay could not start, and nothing was written: a requirement is missing, or the HAR cannot be
            read.
        BaseException: the run was interrupted, or failed internally; its artifacts are written.
    """
    plan = plan_replay(bundle, options)
    with open_network_source(options) as other:
        plan = replace(plan, other_network=other)
        if browser is not None:
            return await _run(plan, options, reports, nullcontext(browser))
        async with _Launch(plan, options) as launch:
            await asyncio.to_thread(verify_bundle_files, plan.bundle)
            await launch.require_browser()
            return await _run(plan, options, reports, launch.browser())


class _Launch:
    """A browser that begins to start at the beginning of a block, and closes at its end."""

    def __init__(self, plan: Plan, options: ReplayOptions) -> None:
        self._exit_stack = AsyncExitStack()
        self._launching = launch_replay_browser(plan, options)
        self._start: asyncio.Task[LaunchedBrowser]

    async def __aenter__(self) -> Self:
        self._start = asyncio.create_task(self._exit_stack.enter_async_context(self._launching))
        return self

    async def __aexit__(self, *_raised: object) -> None:
        with suppress(EikonError):
            await self._start
        await self._exit_stack.aclose()

    async def require_browser(self) -> None:
        """Wait until the browser has started, or failed to: that is an error of the run.

        Raises:
            BrowserMissingError: no browser was found.
        """
        with suppress(BrowserDiedError):
            await self._start

    @asynccontextmanager
    async def browser(self) -> AsyncGenerator[LaunchedBrowser]:
        """Yield the browser.

        Raises:
            BrowserDiedError: it was found but did not start.
        """
        yield await self._start


async def _run(
    plan: Plan,
    options: ReplayOptions,
    reports: tuple[Report, ...],
    running: AbstractAsyncContextManager[LaunchedBrowser],
) -> Run:
    """Replay a checked plan."""
    root = _artifacts_dir(plan, options)
    unsure = require_same_plan(plan, options, root / OUTCOME_FILE)
    folder = ArtifactsFolder(root)
    watch = options.gates.monitor(ValueStore(folder.root).load) if options.gates is not None else None
    log = EventLog(folder.root, options.now, watch=watch, readers=options.readers)
    collector = Collector(plan, options, options.now(), unchecked=unsure)
    error: EikonError | None = None
    try:
        logged = _logged_events(plan, options, (folder, log), running, draws_pictures=bool(reports))
        async with aclosing(logged) as events:
            async for event in events:
                collector.add(event)
    except EikonError as caught:
        error = caught
        _close_log_early(log, "failed", caught.message)
    except BaseException as caught:
        interrupted = isinstance(caught, asyncio.CancelledError | KeyboardInterrupt)
        reason = "interrupted" if interrupted else f"internal error: {type(caught).__name__}: {caught}"
        _close_log_early(log, "interrupted" if interrupted else "fault", reason)
        collector.gates = log.gate_results
        _write_outcome(collector, folder, options, reports, reason)
        raise
    else:
        log.close()
    collector.gates = log.gate_results
    outcome = _write_outcome(collector, folder, options, reports, error.message if error else None)
    return Run(outcome=outcome, folder=folder.root, error=error)


def _close_log_early(log: EventLog, how: RunEnding, reason: str) -> None:
    """Close the event log of a run that an error ended; a write error here would hide the first one."""
    with suppress(OutputError):
        log.write_interrupted(how, reason)
        log.close()


async def _logged_events(
    plan: Plan,
    options: ReplayOptions,
    kept: tuple[ArtifactsFolder, EventLog],
    running: AbstractAsyncContextManager[LaunchedBrowser],
    *,
    draws_pictures: bool,
) -> AsyncGenerator[Event]:
    """Yield the events of a run after logging them; the worker is always closed before its browser."""
    replaying = partial(_replay_events, plan, options, kept, draws_pictures=draws_pictures)
    async with running as browser, aclosing(replaying(browser)) as events:
        async for event in events:
            kept[1].append(event)
            yield event


async def _replay_events(
    plan: Plan,
    options: ReplayOptions,
    kept: tuple[ArtifactsFolder, EventLog],
    browser: LaunchedBrowser,
    *,
    draws_pictures: bool,
) -> AsyncGenerator[Event]:
    """Yield the events of a run; the last one after the worker is closed, so that nothing reaches the sink after it.

    The consumer has logged an event when it asks for the next one, so an exceeded gate ends the run before the next
    step.
    """
    folder, log = kept
    steps = {(step.subgoal.id, step.step.sequence): step for each in plan.subgoals for step in each.steps}
    end: RunEnd | None = None
    async with open_replay_context(browser, plan, options) as opened:
        runner = StepRunner(plan, opened.worker, options, opened.environment)
        evidence = EvidenceWriter(folder, runner, opened.worker, draws_pictures=draws_pictures)

        def switch_to_live() -> None:
            if plan.visits_site:
                opened.switch_to_live()
                runner.switch_to_live()

        browser_and_environment = (opened.browser, opened.environment)
        async with aclosing(replay_events(plan, runner, options, browser_and_environment, switch_to_live)) as events:
            async for event in events:
                if isinstance(event, RunEnd):
                    end = event
                else:
                    yield await _with_evidence(event, steps, evidence)
                if log.stop_reason is not None:
                    end = RunEnd(how="stopped", ended_early=log.stop_reason, network=runner.network_outcome())
                    break
    if end is not None and end.network is not None:
        violations = opened.worker.network_outcome().violations
        yield end.model_copy(update={"network": end.network.model_copy(update={"violations": violations})})


async def _with_evidence(event: Event, steps: dict[tuple[str, int], PlannedStep], evidence: EvidenceWriter) -> Event:
    match event:
        case ActionPerformed(outcome=ActionOutcome() as action):
            step = steps[event.subgoal, action.sequence]
            return event.model_copy(update={"outcome": await evidence.add_action_evidence(step, action)})
        case SkillRun(outcome=SkillOutcome() as skill):
            step = steps[event.subgoal, skill.sequence]
            return skill_event(event.subgoal, evidence.add_skill_evidence(step, restore_outputs(skill, event)))
        case _:
            return event


def plan_verified_replay(bundle: Bundle, options: ReplayOptions) -> Plan:
    """Return the plan of a replay, after checking all that it needs but a browser.

    Raises:
        EikonError: a requirement is missing, or a file of the bundle is missing or damaged.
    """
    plan = plan_replay(bundle, options)
    verify_bundle_files(plan.bundle)
    return plan


def verify_bundle_files(bundle: Bundle) -> None:
    """Verify every file that the trace refers to.

    Raises:
        TraceError: a file is missing; a file does not match its digest.
        TraceSyntaxError: the network index is truncated, although the recording was complete.
    """
    bundle.verify()
    if bundle.trace.network is None:
        return
    recording = read_network(resolve_inside(bundle.root, bundle.trace.network.folder, "network.folder"))
    if recording.truncation is not None and (bundle.root / TRACE_FILE).exists():
        message = f"{recording.truncation}. The recording was complete, so the bundle is damaged. Restore it."
        raise TraceSyntaxError(message)
    for ref in recording.refs:
        recording.blobs.verify(ref)


def _artifacts_dir(plan: Plan, options: ReplayOptions) -> Path:
    return options.artifacts_dir or DEFAULT_ARTIFACTS_DIR / safe_file_name(plan.trace.mission_id, "mission")


def _write_outcome(
    collector: Collector,
    folder: ArtifactsFolder,
    options: ReplayOptions,
    reports: tuple[Report, ...],
    ended_early: str | None,
) -> ReplayOutcome:
    found = collector.outcome(options.now(), ended_early, collector.plan.warnings)
    found = found.model_copy(update={"gates": collector.gates})
    outcome = _with_certificate(found, collector.plan)
    folder.write(OUTCOME_FILE, outcome.model_dump_json(indent=1) + "\n")
    for report in reports:
        if (text := report.render(outcome, folder.root)) is not None:
            folder.write(report.file_name, text)
    return outcome


def _with_certificate(outcome: ReplayOutcome, plan: Plan) -> ReplayOutcome:
    state = certificate_state(plan.bundle.root, plan.bundle.trace)
    why = "; ".join(filter(None, (state.reason, plan.accepted)))
    explanation, last = outcome.explanation, state.last_certification
    is_certified = state.status == "certified"  # then the certification that failed was another one
    if explanation is not None and last is not None and not is_certified and last.network_mode == plan.network:
        from eikon_engine.divergence.explain import after_certification  # noqa: PLC0415 - see step.py

        explanation = after_certification(explanation, last)
    return outcome.model_copy(
        update={
            "certified": state.status,
            "certified_why": why,
            "certified_with_reset": state.is_reset and plan.network == "live",
            "explanation": explanation,
        }
    )


class ReplayEngine:
    """Re-execute recorded missions without planner, model, retry or selector repair."""

    def __init__(self, options: ReplayOptions | None = None) -> None:
        """Use the given options, or the defaults."""
        self.options = options or ReplayOptions()
        self.last_run: Run | None = None
        """The latest run, with its artifacts folder; None before the first one."""

    def replay(self, trace: Bundle | ExecutionTrace | Path | str) -> ReplayOutcome:
        """Replay a trace and return its outcome; also works inside a running event loop.

        Args:
            trace: a bundle, the path of a bundle folder or its trace.json, or a trace that refers to no files.

        Raises:
            UsageError: the trace refers to files, which its bundle has.
            ReplayDivergenceError: the run diverged from the recording; all artifacts are already written.
            TraceError: the trace cannot be read.
            BrowserError: no browser was found, or it crashed.
            RequirementError: a skill, secret or recording that the trace needs is missing.
            InterruptedRunError: the user or a signal stopped the run; its artifacts are already written.
        """
        try:
            return run_in_loop(self.replay_async, trace)
        except (KeyboardInterrupt, asyncio.CancelledError) as error:
            stopper = InterruptedRunError.stop_cause(error)
            message = f"the replay was stopped by {stopper}; its artifacts cover the steps completed so far"
            raise InterruptedRunError(message) from error

    async def replay_async(self, trace: Bundle | ExecutionTrace | Path | str) -> ReplayOutcome:
        """Replay like `replay`, in the running event loop."""
        if isinstance(trace, ExecutionTrace):
            bundle = bundle_without_files(trace)
        else:
            bundle = trace if isinstance(trace, Bundle) else open_bundle(Path(trace))
        reports = self.options.reports if self.options.reports is not None else standard_reports()
        self.last_run = run = await run_replay(bundle, self.options, reports)
        if run.error is not None:
            raise run.error
        if run.outcome.divergences:
            first = run.outcome.divergences[0]
            raise ReplayDivergenceError(
                first.subgoal_id,
                first.sequence,
                first.expected,
                first.observed,
                layer=first.layer,
                divergence_code=first.code,
                summary_path=run.folder / "replay_summary.txt",
            )
        return run.outcome


class SharedBrowsers:
    """Browsers that replays of any bundles share, each in its own context: one for each kind of launch.

    A browser that has ended is replaced for the next replay.
    """

    def __init__(self) -> None:
        """Launch nothing yet."""
        self._running: dict[LaunchOptions, tuple[LaunchedBrowser, AsyncExitStack]] = {}
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Begin to share."""
        return self

    async def __aexit__(self, *_raised: object) -> None:
        """Close all browsers."""
        for _, opened in self._running.values():
            await opened.aclose()

    async def replay(self, bundle: Bundle, options: ReplayOptions, reports: tuple[Report, ...]) -> Run:
        """Replay a bundle; see `run_replay`."""
        plan = await asyncio.to_thread(plan_verified_replay, bundle, options)
        return await run_replay(bundle, options, reports, await self._find_browser(plan, options))

    async def _find_browser(self, plan: Plan, options: ReplayOptions) -> LaunchedBrowser:
        """Return a running browser, or launch it."""
        kind = launch_kind(plan, options)
        async with self._lock:
            if kind in self._running and self._running[kind][0].browser.is_connected():
                return self._running[kind][0]
            if kind in self._running:
                await self._running.pop(kind)[1].aclose()
            opened = AsyncExitStack()
            launched = await opened.enter_async_context(launch_replay_browser(plan, options))
            self._running[kind] = launched, opened
            return launched


DEFAULT_PARALLEL: Final = 4
"""Default number of concurrent replays; more than about 8 brings no speed-up."""


async def replay_many(
    bundle: Bundle,
    runs: Sequence[ReplayOptions],
    *,
    parallel: int = DEFAULT_PARALLEL,
    on_run_end: Callable[[int, Run], None] | None = None,
) -> tuple[Run, ...]:
    """Replay a bundle once for each of `runs`, at most `parallel` at once, each in its own context.

    The browser is launched with the options of the first run. `on_run_end` is called with the index and the result of
    each finished run. An error of one run is its `error` and does not affect the others.

    Raises:
        EikonError: the bundle cannot be replayed, no browser was found, or one of `runs` could not start; the others
            have finished by then.
    """
    if not runs:
        return ()
    plan = plan_verified_replay(bundle, runs[0])
    free = asyncio.Semaphore(parallel)
    async with launch_replay_browser(plan, runs[0]) as browser:

        async def replay_one(place: int, options: ReplayOptions) -> Run | EikonError:
            async with free:
                try:
                    run = await run_replay(bundle, options, options.reports or (), browser)
                except EikonError as error:
                    return error
            if on_run_end is not None:
                on_run_end(place, run)
            return run

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(replay_one(place, options)) for place, options in enumerate(runs)]
        return tuple(map(_result_or_raise, (task.result() for task in tasks)))


def _result_or_raise(run: Run | EikonError) -> Run:
    if isinstance(run, EikonError):
        raise run
    return run
