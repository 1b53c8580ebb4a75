"""Host one session: options, files, signals, browser, events and the command loop, until it ends."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import anyio

from eikon_engine.debug.branch_commands import abort_interactive
from eikon_engine.debug.breakpoints import BreakpointTargets, parse_condition
from eikon_engine.debug.checkpoint_policy import CheckpointPolicy
from eikon_engine.debug.command_redaction import CommandRedactor, typed_text
from eikon_engine.debug.command_server import CommandServer
from eikon_engine.debug.commands import BranchSave, BreakpointAdd, CommandLine
from eikon_engine.debug.context_pool import ContextOptions, open_context_pool
from eikon_engine.debug.earlier_session import import_session, require_same_mission
from eikon_engine.debug.executor import CommandExecutor
from eikon_engine.debug.protocol import CommandRequest, CommandResult, FollowRequest, RedactedText, RedactRequest
from eikon_engine.debug.selector_watch import require_selector
from eikon_engine.debug.session import DebugSession
from eikon_engine.debug.session_folder import (
    SessionFile,
    create_session_folder,
    new_session_id,
    require_available,
    write_session_file,
)
from eikon_engine.errors import (
    BrowserDiedError,
    EikonError,
    InterruptedRunError,
    OutputError,
    RequirementError,
    SessionError,
)
from eikon_engine.files.locking import hold_lock
from eikon_engine.files.wall_clock import random_id, utc_now
from eikon_engine.files.writing import AppendOnlyFile
from eikon_engine.outcome.debug_events import CommandDone, CommandFailed
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import RunEnd, RunStart
from eikon_engine.outcome.stored_values import InlineValue
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

    from eikon_engine.debug.command_server import Connection
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.context_pool import ContextPool
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.outcome.events import EventLine, RunEnding
    from eikon_engine.trace.bundle import Bundle

_ID_SUFFIX_LENGTH: Final = 4
_FOLDER_CHECK_S: Final = 0.5
"""Interval between checks that the session's folder exists."""


@asynccontextmanager
async def session_files(options: SessionOptions, bundle: Bundle, started: anyio.Event) -> AsyncIterator[SessionFolder]:
    """Create and lock the folder of a session while it runs; discarded steps are deleted after a clean end."""
    begun_at, replay = options.now(), options.contexts.replay
    name = options.name or new_session_id(begun_at, options.new_id()[:_ID_SUFFIX_LENGTH])
    folder = create_session_folder(options.parent, name)
    with _remove_unless_started(started, folder), hold_lock(folder.lock_path):
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
            breakpoints=_redacted(options.breakpoints, Redactor(replay.secrets)),
            checkpoint_interval=options.checkpoints.interval,
            keep_checkpoints=options.checkpoints.retention.automatic,
            parked=options.contexts.parked,
            from_session=str(options.from_session.root) if options.from_session else None,
        )
        write_session_file(folder.session_path, session)
        try:
            yield folder
        except Exception:
            raise  # not ended by the user: it is listed as crashed
        except BaseException:
            _write_end(folder, session, options)
            raise
        _write_end(folder, session, options)
        shutil.rmtree(folder.discarded, ignore_errors=True)


def _redacted(breakpoints: tuple[BreakpointAdd, ...], redactor: Redactor) -> tuple[BreakpointAdd, ...]:
    """Return breakpoints with secrets redacted."""
    plain = [redactor.redact_json(each.model_dump(mode="json")) for each in breakpoints]
    return tuple(BreakpointAdd.model_validate(each) for each in plain)


def _write_end(folder: SessionFolder, session: SessionFile, options: SessionOptions) -> None:
    """Record that a command or a signal ended the session."""
    write_session_file(folder.session_path, session.model_copy(update={"ended_at": options.now()}))


@contextmanager
def _remove_unless_started(started: anyio.Event, folder: SessionFolder) -> Iterator[None]:
    """Remove the files of a session that could not start, so that its name is free again."""
    try:
        yield
    except BaseException:
        if not started.is_set():
            shutil.rmtree(folder.root, ignore_errors=True)
        raise


_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def _interrupt_args(number: signal.Signals) -> tuple[str, ...]:
    """Return the arguments of a `KeyboardInterrupt` for a signal; none for Ctrl-C."""
    return () if number is signal.SIGINT else (number.name,)


def _on_signal(number: signal.Signals, stop: Callable[[str], None]) -> None:
    InterruptedRunError.signal = None if number is signal.SIGINT else number.name
    stop(InterruptedRunError.stop_cause(KeyboardInterrupt(*_interrupt_args(number))))


@contextmanager
def handle_signals(stop: Callable[[str], None], *, ignore_sigint: bool) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the session instead of the program; restore the handlers afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {each: signal.getsignal(each) for each in _SIGNALS}
    for each in _SIGNALS:
        if each is signal.SIGINT and ignore_sigint:
            loop.add_signal_handler(each, lambda: None)
        else:
            loop.add_signal_handler(each, _on_signal, each, stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a session ended."""

    how: RunEnding
    reason: str | None


async def run_command_loop(
    executor: CommandExecutor, redactor: CommandRedactor, server: CommandServer, options: SessionOptions
) -> SessionEnd:
    """Execute the commands of clients until the session ends.

    A signal does not wait for the running step: it may wait for something that the same signal ended. The step counts
    as not run, as if the process had been killed.
    """
    stop = anyio.Event()
    with _CommandLog(executor.session.folder.commands_path, redactor, options.now) as command_log:
        async with anyio.create_task_group() as tasks:
            loop = _CommandLoop(executor, command_log, stop, tasks.cancel_scope)
            with (
                handle_signals(loop.interrupt, ignore_sigint=options.ignore_sigint),
                _watch_browser(executor.session.pool, loop.on_browser_lost),
            ):
                tasks.start_soon(loop.begin, options.run)
                tasks.start_soon(loop.watch_folder, executor.session.folder)
                tasks.start_soon(loop.serve, server)
                await stop.wait()
                await executor.quit()
            tasks.cancel_scope.cancel()
    if loop.stopped_by is not None:  # the signal may have stopped the browser, too (same process group)
        return SessionEnd("interrupted", f"stopped by {loop.stopped_by}")
    if loop.error is not None:
        raise loop.error
    position = executor.session.position
    if position.next is None:
        return SessionEnd("complete", None)
    return SessionEnd(
        "stopped", f"quit at iteration {position.iteration} of {position.step_count} of {position.branch}"
    )


class _CommandLog:
    """Write `commands.jsonl`: each command before it is executed, with secrets replaced by their names."""

    def __init__(self, path: Path, redactor: CommandRedactor, now: Callable[[], datetime]) -> None:
        """Create the file.

        Raises:
            OutputError: it cannot be written.
        """
        self._redactor = redactor
        self._now = now
        self._file = AppendOnlyFile(path, exists_message="the file already exists. Choose another session id.")

    def __enter__(self) -> Self:
        """Return the log itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    async def accept(self, request: CommandRequest) -> Command:
        """Log a command; return it as it is to be executed.

        Raises:
            PlaintextSecretError: it contains an unknown secret; it is not logged.
            OutputError: it cannot be written.
        """
        command = await self._redactor.redact_command(request.command)
        self._file.append(CommandLine(id=request.id, at=self._now(), command=command).model_dump_json())
        return command

    def redact_text(self, text: str) -> str | None:
        """Return an input line as it may be written to a file; None if it contains an unknown secret."""
        return self._redactor.redact_text(text)


class _CommandLoop:
    """Answer commands as they arrive; the session may end at any time."""

    def __init__(
        self, executor: CommandExecutor, command_log: _CommandLog, stop: anyio.Event, cancel_scope: anyio.CancelScope
    ) -> None:
        self.stopped_by: str | None = None
        self.error: EikonError | None = None
        self._executor = executor
        self._command_log = command_log
        self._stop = stop
        self._cancel_scope = cancel_scope

    async def begin(self, run: bool) -> None:  # noqa: FBT001 - given to a task group
        """Start the session at its initial position."""
        try:
            await self._executor.begin(run=run)
        except EikonError as error:
            self.fail(error)

    async def watch_folder(self, folder: SessionFolder) -> None:
        """End the session when its folder is removed."""
        while folder.commands_path.exists():  # noqa: ASYNC110 - nothing announces it
            await anyio.sleep(_FOLDER_CHECK_S)
        message = f"{folder.commands_path}: the file was removed; keep the folder until the session ends"
        self.fail(SessionError(message))

    async def serve(self, server: CommandServer) -> None:
        """Answer the requests of all clients."""
        async with anyio.create_task_group() as clients:
            async for connection in server.connections():
                clients.start_soon(self._serve_client, server, connection)

    async def _serve_client(self, server: CommandServer, connection: Connection) -> None:
        """Answer the requests of one client until it sends no more, and all are answered."""
        async with anyio.create_task_group() as running:
            async for request in connection.requests():
                if self._stop.is_set():
                    return
                match request:
                    case RedactRequest(text=text):
                        connection.send(RedactedText(text=self._command_log.redact_text(text)))
                    case FollowRequest():
                        connection.follows = True
                    case CommandRequest():
                        connection.follows = True
                        try:
                            if typed_text(request.command) is not None:  # a password field is known by its page
                                await self._executor.wait_for_pages(request.command)
                            command = await self._command_log.accept(request)
                        except EikonError as error:
                            self._answer_error(connection, request, error)
                        else:
                            running.start_soon(self._execute, connection, request.id, command)
        await server.disconnect(connection)

    async def _execute(self, connection: Connection, request_id: str, command: Command) -> None:
        """Execute a command, record its result and send it to the client."""
        try:
            result = await self._executor.execute(command)
        except EikonError as error:
            self._answer_error(connection, CommandRequest(id=request_id, command=command), error)
        else:
            done = CommandDone(command_id=request_id, command=command.type, result=InlineValue(value=result))
            if self._record(done):
                connection.send(CommandResult(id=request_id, result=result))
        if self._executor.is_quit:
            self._stop.set()

    def _answer_error(self, connection: Connection, request: CommandRequest, error: EikonError) -> None:
        """Record why a command failed and send it to the client; end the session if it cannot continue."""
        failed = CommandFailed(
            command_id=request.id,
            command=request.command.type,
            code=error.code,
            message=error.message,
            exit_status=error.exit_status,
        )
        if self._record(failed):
            connection.send_error(request.id, error)
        is_elsewhere = isinstance(request.command, BranchSave)  # its output is not a session file
        if isinstance(error, BrowserDiedError) or (isinstance(error, OutputError) and not is_elsewhere):
            self.fail(error)

    def _record(self, event: CommandDone | CommandFailed) -> bool:
        """Record an answer; if that is impossible, end the session and return False."""
        try:
            self._executor.session.record(event)
        except OutputError as error:
            self.fail(error)
            return False
        return True

    def interrupt(self, name: str) -> None:
        """End the session and cancel what is running, because of a signal."""
        self.stopped_by = name
        self._stop.set()
        self._cancel_scope.cancel()

    def on_browser_lost(self) -> None:
        """End the session, because its browser disconnected."""
        self.fail(BrowserDiedError("the browser crashed or was closed; all its pages are gone"))

    def fail(self, error: EikonError) -> None:
        """End the session with an error; the first error is reported."""
        self.error = self.error or error
        self._stop.set()


@contextmanager
def _watch_browser(pool: ContextPool, on_lost: Callable[[], None]) -> Iterator[None]:
    """Call `on_lost` if the browser disconnects."""
    browser = pool.launched.browser

    def on_disconnected(_: object) -> None:
        on_lost()

    browser.on("disconnected", on_disconnected)
    try:
        yield
    finally:
        browser.remove_listener("disconnected", on_disconnected)


async def run_session(options: SessionOptions, on_started: Callable[[SessionFolder], None]) -> SessionEnd:
    """Run a session until it quits or a signal stops it; `begun` is called with its folder once it started.

    Nothing is written before the mission can start. If an earlier session cannot be resumed, no files remain.

    Raises:
        RequirementError: the bundle has no recorded network, which a sealed session needs.
        UsageError: invalid breakpoint; the session id is invalid or taken.
        EikonError: the bundle cannot be replayed, no browser is available, or the files cannot be written.
    """
    require_available(options.parent, options.name)
    bundle = open_bundle(options.trace)
    if bundle.trace.network is None:
        message = f"{bundle.root}: a debug session needs a recorded network, the trace has none; record it with eikon"
        raise RequirementError(message, code="network-part-missing")
    if options.from_session is not None:
        require_same_mission(options.from_session, bundle)
    async with open_context_pool(bundle, options.contexts) as pool:
        context = await pool.open(bundle)
        targets = BreakpointTargets.from_plan(context.plan, [skill.name for skill in options.contexts.replay.skills])
        breakpoints = [parse_condition(each, targets) for each in options.breakpoints]
        for each in options.breakpoints:
            if each.on == "selector":
                await require_selector(context.session, str(each.value))
        has_begun = anyio.Event()
        async with session_files(options, bundle, has_begun) as folder:
            session = DebugSession(folder, pool, context, options.now)
            for breakpoint_ in breakpoints:
                session.breakpoints = session.breakpoints.add(breakpoint_)[0]
            await session.update_selector_matches()
            executor = CommandExecutor(session, targets, options.checkpoints)
            server = CommandServer()
            with EventLog(folder.root, options.now, readers=(*options.event_readers, server.publish)) as log:
                return await _run_logged(
                    executor, server, log, options, lambda: _mark_started(folder, has_begun, on_started)
                )


def _mark_started(folder: SessionFolder, started: anyio.Event, on_started: Callable[[SessionFolder], None]) -> None:
    """Note that the session started, and notify the caller."""
    started.set()
    on_started(folder)


async def _run_logged(
    executor: CommandExecutor,
    server: CommandServer,
    log: EventLog,
    options: SessionOptions,
    on_started: Callable[[], None],
) -> SessionEnd:
    """Run a session, and record its end as an event whatever happens."""
    session = executor.session
    context = session.context
    log.append(
        RunStart(
            kind="debug_session",
            mission_id=context.plan.trace.mission_id,
            mission_text=context.plan.trace.mission_text,
            network_mode="sealed",
            headless=options.contexts.replay.headless,
            browser=context.browser.opened.browser,
            environment=context.browser.opened.environment,
            subgoals=len(context.plan.subgoals),
            steps=context.step_count,
        )
    )
    session.begin(log)
    try:
        if options.from_session is not None:
            import_session(session, options.from_session)
        redactor = CommandRedactor(session, session.pool.replay_options.secrets)
        async with server.open(session.folder):
            on_started()
            ended = await run_command_loop(executor, redactor, server, options)
            await abort_interactive(session)
            if not session.context.browser.is_interrupted:  # responses to an interrupted step belong to no step
                session.finish_branch_step()
            network = session.context.runner.network_outcome()
            log.append(RunEnd(how=ended.how, ended_early=ended.reason, network=network))
            return ended
    except BaseException as error:
        is_internal = not isinstance(error, EikonError | asyncio.CancelledError | KeyboardInterrupt)
        how: RunEnding = "fault" if is_internal else "failed" if isinstance(error, EikonError) else "interrupted"
        with suppress(OutputError):
            log.write_interrupted(
                how, f"{type(error).__name__}: {error}" if is_internal else str(error) or "interrupted"
            )
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """All options of a session."""

    trace: Path
    """Bundle of the mission."""
    parent: Path
    """Folder of all sessions."""
    name: str | None = None
    """Session id; None generates one."""
    contexts: ContextOptions = field(default_factory=ContextOptions)
    checkpoints: CheckpointPolicy = field(default_factory=CheckpointPolicy)
    breakpoints: tuple[BreakpointAdd, ...] = ()
    run: bool = False
    """Whether to run at once instead of pausing before the first step."""
    from_session: SessionFolder | None = None
    """Session whose checkpoints and branches it starts with."""
    event_readers: tuple[Callable[[EventLine], None], ...] = ()
    """Receive every event."""
    ignore_sigint: bool = False
    """Whether another process of this terminal handles Ctrl-C."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id
