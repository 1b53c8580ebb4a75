"""Run one session: its folder, its lock, its browser, its events, until somebody ends it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio

from eikon_engine.debug.asked_breakpoint import Places, read_stop
from eikon_engine.debug.commands import BranchSave, BreakpointAdd
from eikon_engine.debug.debugger import Debugger
from eikon_engine.debug.journey import Journey
from eikon_engine.debug.lines import LineOptions, open_lines
from eikon_engine.debug.mailbox import Rejected, commands
from eikon_engine.debug.marking import Marking
from eikon_engine.debug.recording import give_up_by_hand
from eikon_engine.debug.selector_watch import demand_selector
from eikon_engine.debug.session_file import SessionFile, write_session_file
from eikon_engine.debug.session_folder import create_session_folder, demand_room, session_id
from eikon_engine.debug.session_lock import held_lock
from eikon_engine.debug.taken_over import take_over, verify
from eikon_engine.errors import BrowserDiedError, EikonError, InterruptedRunError, NetworkPartMissingError, OutputError
from eikon_engine.outcome.debug_events import CommandDone, CommandFailed, CommandRejected
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import RunEnd, RunStart
from eikon_engine.outcome.stored import InlineValue
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.redaction import Redactor
from eikon_engine.trace.wall_clock import fresh_id, utc_now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.debug.commands import CommandLine
    from eikon_engine.debug.lines import Lines
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.outcome.events import Ending, JournalLine
    from eikon_engine.trace.bundle import Bundle

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_MARK_LENGTH: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Everything that can be chosen about a session."""

    trace: Path
    """Bundle of the mission."""
    parent: Path
    """Folder of all sessions."""
    name: str | None = None
    """Id of the session; None makes one."""
    lines: LineOptions = field(default_factory=LineOptions)
    marking: Marking = field(default_factory=Marking)
    breakpoints: tuple[BreakpointAdd, ...] = ()
    run: bool = False
    """Whether it goes on at once, instead of waiting before the first step."""
    from_session: SessionFolder | None = None
    """Session whose checkpoints and branches it begins with."""
    readers: tuple[Callable[[JournalLine], None], ...] = ()
    """Readers of the stream of events."""
    is_deaf: bool = False
    """Whether Ctrl-C is meant for somebody else at this terminal."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = fresh_id


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended."""

    how: Ending
    reason: str | None


async def run_session(options: SessionOptions, begun: Callable[[SessionFolder], None]) -> Ended:
    """Run a session until it is quit, or stopped by a signal; `begun` is told where its files are.

    Nothing is written before the mission can begin; where it cannot begin with what an earlier session left, nothing
    stays.

    Raises:
        NetworkPartMissingError: the bundle has no recorded network to seal the session with.
        UsageError: a breakpoint cannot be, the id is no name of a folder or is there already.
        EikonError: the bundle cannot be replayed, there is no browser, the files cannot be written.
    """
    demand_room(options.parent, options.name)
    bundle = open_bundle(options.trace)
    if bundle.trace.network is None:
        message = f"{bundle.root}: a debug session wants a recorded network, the trace has none; record it with eikon"
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
        async with _files(options, bundle, has_begun) as folder:
            journey = Journey(folder, lines, line, options.now)
            for stop in stops:
                journey.table = journey.table.add(stop)[0]
            await journey.look_for_selectors()
            debugger = Debugger(journey, places, options.marking)
            with EventLog(folder.root, options.now, readers=options.readers) as log:
                return await _logged(debugger, log, options, lambda: _begin(folder, has_begun, begun))


def _begin(folder: SessionFolder, has_begun: anyio.Event, begun: Callable[[SessionFolder], None]) -> None:
    """Take note that a session has begun, and tell of it."""
    has_begun.set()
    begun(folder)


async def _logged(debugger: Debugger, log: EventLog, options: SessionOptions, begun: Callable[[], None]) -> Ended:
    """Run a session whose end is written to its events, whatever it is."""
    journey = debugger.journey
    line = journey.line
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
    journey.begin(log)
    try:
        if options.from_session is not None:
            take_over(journey, options.from_session)
        begun()
        ended = await _serve(debugger, options)
    except BaseException as fault:
        is_ours = not isinstance(fault, EikonError | asyncio.CancelledError | KeyboardInterrupt)
        how: Ending = "fault" if is_ours else "failed" if isinstance(fault, EikonError) else "interrupted"
        with suppress(OutputError):
            log.cut_off(how, f"{type(fault).__name__}: {fault}" if is_ours else str(fault) or "interrupted")
        raise
    await give_up_by_hand(journey)
    journey.settle()
    log.take(RunEnd(how=ended.how, ended_early=ended.reason, network=journey.line.runner.network()))
    return ended


async def _serve(debugger: Debugger, options: SessionOptions) -> Ended:
    """Carry out what comes, until an end comes."""
    stop = anyio.Event()
    serving = _Serving(debugger, stop)
    with _signals(serving.interrupt, is_deaf=options.is_deaf), _heard(debugger.journey.lines, serving.lose_browser):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serving.begin, options.run)
            async for line in commands(debugger.journey.folder.commands, stop):
                tasks.start_soon(serving.answer, line)
                if stop.is_set():
                    break
            await debugger.quit()
            tasks.cancel_scope.cancel()
    if serving.stopped_by is not None:  # the browser, which is of the same group, may have been stopped as well
        return Ended("interrupted", f"stopped by {serving.stopped_by}")
    if serving.fault is not None:
        raise serving.fault
    stand = debugger.journey.stand
    if stand.next is None:
        return Ended("complete", None)
    return Ended("stopped", f"quit at iteration {stand.iteration} of {stand.step_count} of {stand.branch}")


class _Serving:
    """Answer commands as they come; mutable, because an end may come in the midst."""

    def __init__(self, debugger: Debugger, stop: anyio.Event) -> None:
        self.stopped_by: str | None = None
        self.fault: EikonError | None = None
        self._debugger = debugger
        self._stop = stop

    async def begin(self, run: bool) -> None:  # noqa: FBT001 - given to a task group
        """Take up the position in which the session begins."""
        try:
            await self._debugger.begin(run=run)
        except EikonError as error:
            self._fail(error)

    async def answer(self, line: CommandLine | Rejected) -> None:
        """Carry out one command, and tell what came of it."""
        tell = self._debugger.journey.tell
        if isinstance(line, Rejected):
            tell(CommandRejected(line=line.line, message=line.message))
            return
        command = line.command
        try:
            result = await self._debugger.do(command)
        except EikonError as error:
            tell(
                CommandFailed(
                    command_id=line.id,
                    command=command.type,
                    code=error.code,
                    message=error.message,
                    exit_status=error.exit_status,
                )
            )
            is_elsewhere = isinstance(command, BranchSave)  # what it cannot write is no file of the session
            if isinstance(error, BrowserDiedError) or (isinstance(error, OutputError) and not is_elsewhere):
                self._fail(error)
        else:
            tell(CommandDone(command_id=line.id, command=command.type, result=InlineValue(value=result)))
        if self._debugger.is_quit:
            self._stop.set()

    def interrupt(self, name: str) -> None:
        """End the session, since a signal says so."""
        self.stopped_by = name
        self._stop.set()

    def lose_browser(self) -> None:
        """End the session, since its browser went away while nobody asked for it."""
        self._fail(BrowserDiedError("the browser went away; all pages went with it"))

    def _fail(self, error: EikonError) -> None:
        """End the session, since it cannot go on; what went wrong first is why."""
        self.fault = self.fault or error
        self._stop.set()


@contextmanager
def _heard(lines: Lines, lost: Callable[[], None]) -> Iterator[None]:
    """Hear of a browser that goes away."""
    browser = lines.launched.browser

    def tell(_: object) -> None:
        lost()

    browser.on("disconnected", tell)
    try:
        yield
    finally:
        browser.remove_listener("disconnected", tell)


@asynccontextmanager
async def _files(options: SessionOptions, bundle: Bundle, has_begun: anyio.Event) -> AsyncIterator[SessionFolder]:
    """Keep the folder of a session, with its lock, while it runs; what was discarded goes when it ends well."""
    begun_at, replay = options.now(), options.lines.replay
    name = options.name or session_id(begun_at, options.new_id()[:_MARK_LENGTH])
    folder = create_session_folder(options.parent, name)
    with _removed_unless(has_begun, folder), held_lock(folder.lock):
        session = SessionFile(
            id=name,
            mission_id=bundle.trace.mission_id,
            mission_text=bundle.trace.mission_text,
            trace=str(bundle.root.absolute()),
            trace_id=bundle.trace.id,
            started_at=begun_at,
            pid=os.getpid(),
            headless=replay.headless,
            variables=dict(replay.variables),
            timeout_ms=replay.timeout_ms,
            browser_path=None if replay.browser_path is None else str(replay.browser_path.absolute()),
            breakpoints=_without_secrets(options.breakpoints, Redactor(replay.secrets)),
            checkpoint_interval=options.marking.interval,
            keep_checkpoints=options.marking.policy.automatic,
            parked=options.lines.parked,
            from_session=str(options.from_session.root) if options.from_session else None,
        )
        write_session_file(folder.session, session)
        try:
            yield folder
        except Exception:
            raise  # nobody ended it: it is listed as crashed
        except BaseException:
            _write_end(folder, session, options)
            raise
        _write_end(folder, session, options)
        shutil.rmtree(folder.discarded, ignore_errors=True)


def _without_secrets(breakpoints: tuple[BreakpointAdd, ...], redactor: Redactor) -> tuple[BreakpointAdd, ...]:
    """Return breakpoints as they may be written down."""
    plain = [redactor.redact_texts(each.model_dump(mode="json")) for each in breakpoints]
    return tuple(BreakpointAdd.model_validate(each) for each in plain)


def _write_end(folder: SessionFolder, session: SessionFile, options: SessionOptions) -> None:
    """Say that somebody ended the session: by a command, or by a signal."""
    write_session_file(folder.session, session.model_copy(update={"ended_at": options.now()}))


@contextmanager
def _removed_unless(has_begun: anyio.Event, folder: SessionFolder) -> Iterator[None]:
    """Leave nothing of a session that could not begin: its name is free for another try."""
    try:
        yield
    except BaseException:
        if not has_begun.is_set():
            shutil.rmtree(folder.root, ignore_errors=True)
        raise


def _named(number: signal.Signals) -> tuple[str, ...]:
    """Return what a `KeyboardInterrupt` says of a signal: nothing of Ctrl-C."""
    return () if number is signal.SIGINT else (number.name,)


@contextmanager
def _signals(stop: Callable[[str], None], *, is_deaf: bool) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the session instead of the program; afterwards they do as before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {each: signal.getsignal(each) for each in _SIGNALS}
    for each in _SIGNALS:
        if each is signal.SIGINT and is_deaf:
            loop.add_signal_handler(each, lambda: None)
        else:
            loop.add_signal_handler(each, stop, InterruptedRunError.stopper(KeyboardInterrupt(*_named(each))))
    try:
        yield
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)
