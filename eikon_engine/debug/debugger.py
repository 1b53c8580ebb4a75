"""Carry out commands on a journey: one at a time where the pages are needed, at once where they are not."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from eikon_engine.debug import branching, commands, looking, marking, saving
from eikon_engine.debug.asked_breakpoint import read_stop
from eikon_engine.debug.going import begin_going, go, stop_here
from eikon_engine.debug.recording import begin_by_hand, end_by_hand
from eikon_engine.debug.results import Listed, Stand
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
    """Drive one journey; mutable, because it is under way."""

    def __init__(self, journey: Journey, places: Places, marking_rules: Marking) -> None:
        """Stand where the journey stands. `places` is what breakpoints may name."""
        self.journey = journey
        self._places = places
        self._marking = marking_rules
        self._alone = asyncio.Lock()
        self._doing: str | None = None
        """What the session is going to, while it goes on."""
        self._is_stopped = False
        self._stood = asyncio.Event()
        self._stood.set()
        self.is_quit = False
        """Whether somebody has ended the session."""

    async def do(self, command: commands.Command) -> JsonValue:
        """Carry out a command, and return what it gives back.

        Raises:
            SessionBusyError: the session goes on, and the command needs it to stand still.
            EikonError: the command cannot be carried out; the session is as it was.
        """
        result = await self._result(command)
        answer: JsonValue = result.model_dump(mode="json")
        return answer

    async def begin(self, *, run: bool) -> None:
        """Let the pages wait before the first step, or go on at once until something stops the session."""
        if run and stop_here(self.journey) is None:
            await self.do(commands.Resume())
            return
        if not run:
            self.journey.pause("start")
        self._stand()

    async def quit(self) -> Stand:
        """Stop before the next step, and let nothing go on any more."""
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
        journey = self.journey
        match command:
            case commands.BreakpointAdd():
                await demand_selector(journey.line.session, str(command.value or ""))
                journey.table = journey.table.add(read_stop(command, self._reached()))[0]
                await journey.look_for_selectors()
                return self._listed()
            case commands.Inspect():
                return await looking.look_at(journey, command)
            case commands.Locate():
                return await looking.find(journey, command)
            case commands.Evaluate():
                return await looking.evaluate(journey, command)
            case commands.CheckpointCreate(label=label):
                return await marking.create(journey, label)
            case commands.CheckpointDelete(checkpoint=name):
                return marking.delete(journey, name)
            case commands.Rewind():
                return await rewind(journey, command)
            case commands.BranchSwitch():
                return await switch(journey, command)
            case _:
                return await self._do_branch(command)

    async def _do_branch(self, command: commands.BranchCommand) -> Record:  # noqa: PLR0911 - as above
        journey = self.journey
        match command:
            case commands.BranchCreate():
                return await branching.create(journey, command)
            case commands.BranchDelete():
                return branching.delete(journey, command)
            case commands.BranchEdit() | commands.BranchSkip():
                return await branching.change(journey, command)
            case commands.BranchInsert(perform=perform):
                stand = await branching.change(journey, command)
                if not perform:
                    return stand
                with self._under_way(command):
                    return await self._going(commands.Step(count=journey.put_in - journey.line.iteration))
            case commands.BranchRecord(change="begin"):
                return await begin_by_hand(journey, command)
            case commands.BranchRecord(change=change):
                count = await end_by_hand(journey, is_taken=change == "end")
                if not count:
                    return journey.pause("branch", "as it was before a person acted in the pages")
                with self._under_way(command):
                    return await self._going(commands.Step(count=count))
            case commands.BranchSave():
                return await saving.save(journey, command)
            case _:
                assert_never(command)

    async def _go(self, command: commands.GoingCommand) -> Stand:
        self._demand_still(command)
        with self._under_way(command):
            async with self._pages():
                return await self._going(command)

    async def _going(self, command: commands.GoingCommand) -> Stand:
        going = begin_going(self.journey, command)
        return await go(self.journey, going, self._marking, lambda: self._is_stopped)

    @asynccontextmanager
    async def _pages(self) -> AsyncIterator[None]:
        """Have the pages for oneself, after everyone who came before."""
        async with self._alone:
            await self.journey.lines.go_on()
            yield
            self._stand()

    @contextmanager
    def _under_way(self, command: commands.Command) -> Iterator[None]:
        """Refuse from here on what needs a session that stands still."""
        self._doing, self._is_stopped = command.type, self.is_quit
        self._stood.clear()
        try:
            yield
        finally:
            self._doing = None
            self._stood.set()

    def _demand_still(self, command: commands.Command) -> None:
        """Make sure that nothing goes on.

        Raises:
            SessionBusyError: the session goes on.
        """
        if self.journey.hand is not None and not isinstance(command, commands.BranchRecord):
            message = f"{command.type}: wanted a session that stands still, found one in which a person acts"
            raise SessionBusyError(f"{message}; give branch record end, or branch record discard")
        if self._doing is not None:
            step = self.journey.line.iteration + 1
            message = f"{command.type}: wanted a session that stands still, found one that does step {step}"
            raise SessionBusyError(f"{message}; pause it first")

    def _stand(self) -> None:
        """Let pages be brought to the checkpoints while nothing else goes on."""
        if not self.is_quit and self.journey.hand is None:
            self.journey.lines.stand(marking.berths(self.journey))

    def _change_breakpoints(self, command: commands.BreakpointChange | commands.BreakpointClear) -> Listed:
        table = self.journey.table
        if isinstance(command, commands.BreakpointClear):
            self.journey.table = table.clear()
        else:
            change = {"remove": table.remove, "enable": table.enable, "disable": table.disable}[command.change]
            self.journey.table = change(command.id)
        return self._listed()

    def _reached(self) -> Places:
        """Return what breakpoints may name: the steps of the longest way there is."""
        longest = max(branch.step_count for branch in self.journey.timeline.branches)
        return replace(self._places, iterations=max(self._places.iterations, longest))

    def _listed(self) -> Listed:
        return Listed(breakpoints=tuple(each.listed for each in self.journey.table.breakpoints))
