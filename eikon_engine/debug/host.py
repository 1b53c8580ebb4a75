"""Host one session: its files, its browser and its events, until it ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from eikon_engine.debug.asked_breakpoint import BreakpointTargets, parse_condition
from eikon_engine.debug.debugger import CommandExecutor
from eikon_engine.debug.journey import DebugSession
from eikon_engine.debug.kept_files import session_files
from eikon_engine.debug.lines import open_context_pool
from eikon_engine.debug.recording import abort_interactive
from eikon_engine.debug.selector_watch import require_selector
from eikon_engine.debug.serving import run_command_loop
from eikon_engine.debug.session_folder import require_available
from eikon_engine.debug.taken_over import import_session, require_same_mission
from eikon_engine.debug.vetting import CommandRedactor, serve_redaction
from eikon_engine.errors import EikonError, OutputError, RecordedNetworkMissingError
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import RunEnd, RunStart
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.debug.serving import SessionEnd
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.session_options import SessionOptions
    from eikon_engine.outcome.events import RunEnding


async def run_session(options: SessionOptions, on_started: Callable[[SessionFolder], None]) -> SessionEnd:
    """Run a session until it quits or a signal stops it; `begun` is called with its folder once it started.

    Nothing is written before the mission can start. If an earlier session cannot be resumed, no files remain.

    Raises:
        RecordedNetworkMissingError: the bundle has no recorded network, which a sealed session needs.
        UsageError: invalid breakpoint; the session id is invalid or taken.
        EikonError: the bundle cannot be replayed, no browser is available, or the files cannot be written.
    """
    require_available(options.parent, options.name)
    bundle = open_bundle(options.trace)
    if bundle.trace.network is None:
        message = f"{bundle.root}: a debug session needs a recorded network, the trace has none; record it with eikon"
        raise RecordedNetworkMissingError(message)
    if options.from_session is not None:
        require_same_mission(options.from_session, bundle)
    async with open_context_pool(bundle, options.contexts) as lines:
        line = await lines.open(bundle)
        places = BreakpointTargets.from_plan(line.plan, [skill.name for skill in options.contexts.replay.skills])
        stops = [parse_condition(each, places) for each in options.breakpoints]
        for each in options.breakpoints:
            if each.on == "selector":
                await require_selector(line.session, str(each.value))
        has_begun = anyio.Event()
        async with session_files(options, bundle, has_begun) as folder:
            session = DebugSession(folder, lines, line, options.now)
            for stop in stops:
                session.breakpoints = session.breakpoints.add(stop)[0]
            await session.update_selector_matches()
            debugger = CommandExecutor(session, places, options.checkpoints)
            with EventLog(folder.root, options.now, readers=options.event_readers) as log:
                return await _run_logged(debugger, log, options, lambda: _mark_started(folder, has_begun, on_started))


def _mark_started(folder: SessionFolder, started: anyio.Event, on_started: Callable[[SessionFolder], None]) -> None:
    """Note that the session started, and notify the caller."""
    started.set()
    on_started(folder)


async def _run_logged(
    executor: CommandExecutor, log: EventLog, options: SessionOptions, on_started: Callable[[], None]
) -> SessionEnd:
    """Run a session, and record its end as an event whatever happens."""
    session = executor.session
    line = session.context
    log.append(
        RunStart(
            kind="debug_session",
            mission_id=line.plan.trace.mission_id,
            mission_text=line.plan.trace.mission_text,
            network_mode="sealed",
            headless=options.contexts.replay.headless,
            browser=line.opened.browser,
            environment=line.opened.environment,
            subgoals=len(line.plan.subgoals),
            steps=line.step_count,
        )
    )
    session.begin(log)
    try:
        if options.from_session is not None:
            import_session(session, options.from_session)
        redactor = CommandRedactor(session, session.pool.replay_options.secrets)
        async with serve_redaction(session.folder, redactor):
            on_started()
            ended = await run_command_loop(executor, redactor, options)
    except BaseException as fault:
        is_ours = not isinstance(fault, EikonError | asyncio.CancelledError | KeyboardInterrupt)
        how: RunEnding = "fault" if is_ours else "failed" if isinstance(fault, EikonError) else "interrupted"
        with suppress(OutputError):
            log.write_interrupted(how, f"{type(fault).__name__}: {fault}" if is_ours else str(fault) or "interrupted")
        raise
    await abort_interactive(session)
    if not session.context.is_interrupted:  # responses to an interrupted step belong to no step
        session.finish_branch_step()
    log.append(RunEnd(how=ended.how, ended_early=ended.reason, network=session.context.runner.network_outcome()))
    return ended
