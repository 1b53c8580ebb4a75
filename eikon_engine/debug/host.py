"""Host one session: its files, its browser and its events, until it ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from eikon_engine.debug.asked_breakpoint import Places, read_stop
from eikon_engine.debug.debugger import Debugger
from eikon_engine.debug.journey import Journey
from eikon_engine.debug.kept_files import kept_files
from eikon_engine.debug.lines import open_lines
from eikon_engine.debug.recording import give_up_by_hand
from eikon_engine.debug.selector_watch import demand_selector
from eikon_engine.debug.serving import serve
from eikon_engine.debug.session_folder import demand_room
from eikon_engine.debug.taken_over import take_over, verify
from eikon_engine.debug.vetting import Vetting, vetted
from eikon_engine.errors import EikonError, NetworkPartMissingError, OutputError
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import RunEnd, RunStart
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.debug.serving import Ended
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.session_options import SessionOptions
    from eikon_engine.outcome.events import Ending


async def run_session(options: SessionOptions, begun: Callable[[SessionFolder], None]) -> Ended:
    """Run a session until it quits or a signal stops it; `begun` is called with its folder once it started.

    Nothing is written before the mission can start. If an earlier session cannot be resumed, no files remain.

    Raises:
        NetworkPartMissingError: the bundle has no recorded network, which a sealed session needs.
        UsageError: invalid breakpoint; the session id is invalid or taken.
        EikonError: the bundle cannot be replayed, no browser is available, or the files cannot be written.
    """
    demand_room(options.parent, options.name)
    bundle = open_bundle(options.trace)
    if bundle.trace.network is None:
        message = f"{bundle.root}: a debug session needs a recorded network, the trace has none; record it with eikon"
        raise NetworkPartMissingError(message)
    if options.from_session is not None:
        verify(options.from_session, bundle)
    async with open_lines(bundle, options.lines) as lines:
        line = await lines.open(bundle)
        places = Places.of(line.plan, [skill.name for skill in options.lines.replay.skills])
        stops = [read_stop(each, places) for each in options.breakpoints]
        for each in options.breakpoints:
            if each.on == "selector":
                await demand_selector(line.session, str(each.value))
        has_begun = anyio.Event()
        async with kept_files(options, bundle, has_begun) as folder:
            session = Journey(folder, lines, line, options.now)
            for stop in stops:
                session.table = session.table.add(stop)[0]
            await session.look_for_selectors()
            debugger = Debugger(session, places, options.marking)
            with EventLog(folder.root, options.now, readers=options.readers) as log:
                return await _logged(debugger, log, options, lambda: _begin(folder, has_begun, begun))


def _begin(folder: SessionFolder, has_begun: anyio.Event, begun: Callable[[SessionFolder], None]) -> None:
    """Note that the session started, and notify the caller."""
    has_begun.set()
    begun(folder)


async def _logged(debugger: Debugger, log: EventLog, options: SessionOptions, begun: Callable[[], None]) -> Ended:
    """Run a session, and record its end as an event whatever happens."""
    session = debugger.journey
    line = session.line
    log.take(
        RunStart(
            kind="debug_session",
            mission_id=line.plan.trace.mission_id,
            mission_text=line.plan.trace.mission_text,
            network_mode="sealed",
            headless=options.lines.replay.headless,
            browser=line.opened.browser,
            environment=line.opened.environment,
            subgoals=len(line.plan.subgoals),
            steps=line.step_count,
        )
    )
    session.begin(log)
    try:
        if options.from_session is not None:
            take_over(session, options.from_session)
        redactor = Vetting(session, session.lines.replay.secrets)
        async with vetted(session.folder, redactor):
            begun()
            ended = await serve(debugger, redactor, options)
    except BaseException as fault:
        is_ours = not isinstance(fault, EikonError | asyncio.CancelledError | KeyboardInterrupt)
        how: Ending = "fault" if is_ours else "failed" if isinstance(fault, EikonError) else "interrupted"
        with suppress(OutputError):
            log.cut_off(how, f"{type(fault).__name__}: {fault}" if is_ours else str(fault) or "interrupted")
        raise
    await give_up_by_hand(session)
    if not session.line.is_torn:  # responses to an interrupted step belong to no step
        session.settle()
    log.take(RunEnd(how=ended.how, ended_early=ended.reason, network=session.line.runner.network()))
    return ended
