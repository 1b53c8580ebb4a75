"""Execute the commands of a session as they arrive, until a command, a signal or a fault ends it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from eikon_engine.debug.commands import BranchSave
from eikon_engine.debug.mailbox import RejectedLine, follow_commands
from eikon_engine.debug.session_signals import handle_signals
from eikon_engine.errors import BrowserDiedError, EikonError, OutputError, SessionError
from eikon_engine.outcome.debug_events import CommandDone, CommandFailed, CommandRejected
from eikon_engine.outcome.stored import InlineValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.debug.commands import CommandLine
    from eikon_engine.debug.debugger import CommandExecutor
    from eikon_engine.debug.lines import ContextPool
    from eikon_engine.debug.session_options import SessionOptions
    from eikon_engine.debug.vetting import CommandRedactor
    from eikon_engine.outcome.events import RunEnding


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a session ended."""

    how: RunEnding
    reason: str | None


async def run_command_loop(
    executor: CommandExecutor, redaction: CommandRedactor, options: SessionOptions
) -> SessionEnd:
    """Execute commands until the session ends.

    A signal does not wait for the running step: it may wait for something that the same signal ended. The step counts
    as not run, as if the process had been killed.
    """
    stop = anyio.Event()
    async with anyio.create_task_group() as tasks:
        serving = _CommandLoop(executor, redaction, stop, tasks.cancel_scope)
        with (
            handle_signals(serving.interrupt, ignore_sigint=options.ignore_sigint),
            _watch_browser(executor.session.pool, serving.on_browser_lost),
        ):
            tasks.start_soon(serving.begin, options.run)
            try:
                async for line in follow_commands(executor.session.folder.commands_path, stop):
                    tasks.start_soon(serving.respond, line)
                    if stop.is_set():
                        break
            except SessionError as error:
                serving.fail(error)
            await executor.quit()
        tasks.cancel_scope.cancel()
    if serving.stopped_by is not None:  # the signal may have stopped the browser, too (same process group)
        return SessionEnd("interrupted", f"stopped by {serving.stopped_by}")
    if serving.error is not None:
        raise serving.error
    stand = executor.session.position
    if stand.next is None:
        return SessionEnd("complete", None)
    return SessionEnd("stopped", f"quit at iteration {stand.iteration} of {stand.step_count} of {stand.branch}")


class _CommandLoop:
    """Respond to commands as they arrive; the session may end at any time."""

    def __init__(
        self, executor: CommandExecutor, vetting: CommandRedactor, stop: anyio.Event, under_way: anyio.CancelScope
    ) -> None:
        self.stopped_by: str | None = None
        self.error: EikonError | None = None
        self._executor = executor
        self._redaction = vetting
        self._stop = stop
        self._cancel_scope = under_way

    async def begin(self, run: bool) -> None:  # noqa: FBT001 - given to a task group
        """Start the session at its initial position."""
        try:
            await self._executor.begin(run=run)
        except EikonError as error:
            self.fail(error)

    async def respond(self, line: CommandLine | RejectedLine) -> None:
        """Execute a command and record its response; end the session if that cannot be written."""
        try:
            await self._respond(line)
        except OutputError as error:
            self.fail(error)

    async def _respond(self, line: CommandLine | RejectedLine) -> None:
        tell = self._executor.session.record
        if isinstance(line, RejectedLine):
            tell(CommandRejected(line=line.line, message=line.message))
            return
        command = line.command
        try:
            result = await self._executor.execute(await self._redaction.redact_command(command))
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
            is_elsewhere = isinstance(command, BranchSave)  # its output is not a session file
            if isinstance(error, BrowserDiedError) or (isinstance(error, OutputError) and not is_elsewhere):
                self.fail(error)
        else:
            tell(CommandDone(command_id=line.id, command=command.type, result=InlineValue(value=result)))
        if self._executor.is_quit:
            self._stop.set()

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
    """Call `lost` if the browser disconnects."""
    browser = pool.launched.browser

    def tell(_: object) -> None:
        on_lost()

    browser.on("disconnected", tell)
    try:
        yield
    finally:
        browser.remove_listener("disconnected", tell)
