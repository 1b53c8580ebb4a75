"""Execute commands on a session: one at a time if they need the pages, immediately otherwise."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from eikon_engine.debug import commands
from eikon_engine.debug.asked_breakpoint import read_stop
from eikon_engine.debug.branching import change as change_branch
from eikon_engine.debug.branching import create as create_branch
from eikon_engine.debug.branching import delete as delete_branch
from eikon_engine.debug.going import begin_going, go, stop_here
from eikon_engine.debug.looking import evaluate, find, look_at
from eikon_engine.debug.marking import berths
from eikon_engine.debug.marking import create as create_checkpoint
from eikon_engine.debug.marking import delete as delete_checkpoint
from eikon_engine.debug.recording import begin_by_hand, end_by_hand
from eikon_engine.debug.results import Listed, Stand
from eikon_engine.debug.saving import save
from eikon_engine.debug.selector_watch import demand_selector
from eikon_engine.debug.travelling import rewind, switch
from eikon_engine.errors import SessionBusyError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pydantic import JsonValue

    from eikon_engine.debug.asked_breakpoint import Places
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.marking import Marking
    from eikon_engine.trace.record import Record


class Debugger:
    """Execute the commands of one session."""

    def __init__(self, journey: Journey, places: Places, marking_rules: Marking) -> None:
        """Start at the session's position. `places` lists what breakpoints may refer to."""
        self.journey = journey
        self._places = places
        self._marking = marking_rules
        self._alone = asyncio.Lock()
        self._doing: str | None = None
        """Type of the command that runs steps; None while the session is paused."""
        self._is_stopped = False
        self._stood = asyncio.Event()
        self._stood.set()
        self.is_quit = False
        """Whether the user ended the session."""

    async def do(self, command: commands.Command) -> JsonValue:
        """Execute a command and return its result.

        Raises:
            SessionBusyError: the session is running, and the command needs it paused.
            EikonError: the command failed; the session is unchanged.
        """
        result = await self._result(command)
        answer: JsonValue = result.model_dump(mode="json")
        return answer

    async def begin(self, *, run: bool) -> None:
        """Pause before the first step, or run until something stops the session."""
        if run and stop_here(self.journey) is None:
            await self.do(commands.Resume())
            return
        if not run:
            self.journey.pause("start")
        self._stand()

    async def quit(self) -> Stand:
        """Stop before the next step; no command runs steps from then on."""
        self.is_quit = True
        self._is_stopped = True
        await self._stood.wait()
        return self.journey.stand

    async def _result(self, command: commands.Command) -> Record:  # noqa: PLR0911 - one case a kind
        match command:
            case commands.Pause():
                self._is_stopped = not self._stood.is_set()
                await self._stood.wait()
                return self.journey.stand
            case commands.Quit():
                return await self.quit()
            case commands.Resume() | commands.Step() | commands.NextSubgoal() | commands.RunTo():
                return await self._go(command)
            case commands.BreakpointList():
                return self._listed()
            case commands.BreakpointChange() | commands.BreakpointClear():
                return self._change_breakpoints(command)
            case commands.BreakpointAdd() if command.on != "selector":
                self.journey.table = self.journey.table.add(read_stop(command, self._reached()))[0]
                return self._listed()
            case _:
                self._demand_still(command)
                async with self._pages():
                    return await self._do_standing(command)

    async def _do_standing(self, command: commands.StandingCommand) -> Record:  # noqa: PLR0911 - as above
        session = self.journey
        match command:
            case commands.BreakpointAdd():
                await demand_selector(session.line.session, str(command.value or ""))
                session.table = session.table.add(read_stop(command, self._reached()))[0]
                await session.look_for_selectors()
                return self._listed()
            case commands.Inspect():
                return await look_at(session, command)
            case commands.Locate():
                return await find(session, command)
            case commands.Evaluate():
                return await evaluate(session, command)
            case commands.CheckpointCreate(label=label):
                return await create_checkpoint(session, label)
            case commands.CheckpointDelete(checkpoint=name):
                return delete_checkpoint(session, name)
            case commands.Rewind():
                return await rewind(session, command)
            case commands.BranchSwitch():
                return await switch(session, command)
            case _:
                return await self._do_branch(command)

    async def _do_branch(self, command: commands.BranchCommand) -> Record:  # noqa: PLR0911 - as above
        session = self.journey
        match command:
            case commands.BranchCreate():
                return await create_branch(session, command)
            case commands.BranchDelete():
                return delete_branch(session, command)
            case commands.BranchEdit() | commands.BranchSkip():
                return await change_branch(session, command)
            case commands.BranchInsert(perform=perform):
                stand = await change_branch(session, command)
                if not perform:
                    return stand
                with self._under_way(command):
                    return await self._going(commands.Step(count=session.put_in - session.line.iteration))
            case commands.BranchRecord(change="begin"):
                return await begin_by_hand(session, command)
            case commands.BranchRecord(change=change):
                count = await end_by_hand(session, is_taken=change == "end")
                if not count:
                    return session.pause("branch", "restored to before the interactive recording")
                with self._under_way(command):
                    return await self._going(commands.Step(count=count))
            case commands.BranchSave():
                return await save(session, command)
            case _:
                assert_never(command)

    async def _go(self, command: commands.GoingCommand) -> Stand:
        self._demand_still(command)
        with self._under_way(command):
            async with self._pages():
                return await self._going(command)

    async def _going(self, command: commands.GoingCommand) -> Stand:
        goal = begin_going(self.journey, command)
        return await go(self.journey, goal, self._marking, lambda: self._is_stopped)

    @asynccontextmanager
    async def _pages(self) -> AsyncIterator[None]:
        """Hold the pages exclusively, after all earlier commands."""
        async with self._alone:
            await self.journey.lines.go_on()
            yield
            self._stand()

    @contextmanager
    def _under_way(self, command: commands.Command) -> Iterator[None]:
        """Reject commands that need a paused session until the block ends."""
        self._doing, self._is_stopped = command.type, self.is_quit
        self._stood.clear()
        try:
            yield
        finally:
            self._doing = None
            self._stood.set()

    def _demand_still(self, command: commands.Command) -> None:
        """Check that the session is paused.

        Raises:
            SessionBusyError: the session is running.
        """
        if self.journey.hand is not None and not isinstance(command, commands.BranchRecord):
            message = f"{command.type}: expected a paused session, but an interactive recording is active"
            raise SessionBusyError(f"{message}; run branch record end or branch record discard")
        if self._doing is not None:
            step = self.journey.line.iteration + 1
            message = f"{command.type}: expected a paused session, but step {step} is running"
            raise SessionBusyError(f"{message}; pause it first")

    def _stand(self) -> None:
        """Start parking contexts at checkpoints while the session is paused."""
        if not self.is_quit and self.journey.hand is None:
            self.journey.lines.stand(berths(self.journey))

    def _change_breakpoints(self, command: commands.BreakpointChange | commands.BreakpointClear) -> Listed:
        table = self.journey.table
        if isinstance(command, commands.BreakpointClear):
            self.journey.table = table.clear()
        else:
            change = {"remove": table.remove, "enable": table.enable, "disable": table.disable}[command.change]
            self.journey.table = change(command.id)
        return self._listed()

    def _reached(self) -> Places:
        """Return what breakpoints may refer to, with the steps of the longest branch."""
        longest = max(branch.step_count for branch in self.journey.timeline.branches)
        return replace(self._places, iterations=max(self._places.iterations, longest))

    def _listed(self) -> Listed:
        return Listed(breakpoints=tuple(each.listed for each in self.journey.table.breakpoints))
