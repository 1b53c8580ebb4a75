"""Execute the commands of a session as they arrive, until a command, a signal or a fault ends it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from eikon_engine.debug.commands import BranchSave
from eikon_engine.debug.mailbox import Rejected, commands
from eikon_engine.debug.session_signals import signals
from eikon_engine.errors import BrowserDiedError, EikonError, OutputError, SessionError
from eikon_engine.outcome.debug_events import CommandDone, CommandFailed, CommandRejected
from eikon_engine.outcome.stored import InlineValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.debug.commands import CommandLine
    from eikon_engine.debug.debugger import Debugger
    from eikon_engine.debug.lines import Lines
    from eikon_engine.debug.session_options import SessionOptions
    from eikon_engine.debug.vetting import Vetting
    from eikon_engine.outcome.events import Ending


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended."""

    how: Ending
    reason: str | None


async def serve(debugger: Debugger, vetting: Vetting, options: SessionOptions) -> Ended:
    """Execute commands until the session ends.

    A signal does not wait for the running step: it may wait for something that the same signal ended. The step counts
    as not run, as if the process had been killed.
    """
    stop = anyio.Event()
    async with anyio.create_task_group() as tasks:
        serving = _Serving(debugger, vetting, stop, tasks.cancel_scope)
        with signals(serving.interrupt, is_deaf=options.is_deaf), _heard(debugger.journey.lines, serving.lose_browser):
            tasks.start_soon(serving.begin, options.run)
            try:
                async for line in commands(debugger.journey.folder.commands, stop):
                    tasks.start_soon(serving.answer, line)
                    if stop.is_set():
                        break
            except SessionError as error:
                serving.fail(error)
            await debugger.quit()
        tasks.cancel_scope.cancel()
    if serving.stopped_by is not None:  # the signal may have stopped the browser, too (same process group)
        return Ended("interrupted", f"stopped by {serving.stopped_by}")
    if serving.fault is not None:
        raise serving.fault
    stand = debugger.journey.stand
    if stand.next is None:
        return Ended("complete", None)
    return Ended("stopped", f"quit at iteration {stand.iteration} of {stand.step_count} of {stand.branch}")


class _Serving:
    """Respond to commands as they arrive; the session may end at any time."""

    def __init__(self, debugger: Debugger, vetting: Vetting, stop: anyio.Event, under_way: anyio.CancelScope) -> None:
        self.stopped_by: str | None = None
        self.fault: EikonError | None = None
        self._debugger = debugger
        self._vetting = vetting
        self._stop = stop
        self._under_way = under_way

    async def begin(self, run: bool) -> None:  # noqa: FBT001 - given to a task group
        """Start the session at its initial position."""
        try:
            await self._debugger.begin(run=run)
        except EikonError as error:
            self.fail(error)

    async def answer(self, line: CommandLine | Rejected) -> None:
        """Execute a command and record its response; end the session if that cannot be written."""
        try:
            await self._answer(line)
        except OutputError as error:
            self.fail(error)

    async def _answer(self, line: CommandLine | Rejected) -> None:
        tell = self._debugger.journey.tell
        if isinstance(line, Rejected):
            tell(CommandRejected(line=line.line, message=line.message))
            return
        command = line.command
        try:
            result = await self._debugger.do(await self._vetting.command(command))
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
        if self._debugger.is_quit:
            self._stop.set()

    def interrupt(self, name: str) -> None:
        """End the session and cancel what is running, because of a signal."""
        self.stopped_by = name
        self._stop.set()
        self._under_way.cancel()

    def lose_browser(self) -> None:
        """End the session, because its browser disconnected."""
        self.fail(BrowserDiedError("the browser crashed or was closed; all its pages are gone"))

    def fail(self, error: EikonError) -> None:
        """End the session with an error; the first error is reported."""
        self.fault = self.fault or error
        self._stop.set()


@contextmanager
def _heard(lines: Lines, lost: Callable[[], None]) -> Iterator[None]:
    """Call `lost` if the browser disconnects."""
    browser = lines.launched.browser

    def tell(_: object) -> None:
        lost()

    browser.on("disconnected", tell)
    try:
        yield
    finally:
        browser.remove_listener("disconnected", tell)
