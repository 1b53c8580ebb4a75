"""Replay what was done to pages, sealed, one step for each step that the scenario makes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ActionError, CompletionError, EikonError, ScenarioDivergedError, SkillError
from eikon_engine.outcome.events import ActionStart, ActionTaken, DivergenceFound, ObservationMade, SkillUsed
from eikon_engine.replay.control import Halt, Proceed
from eikon_engine.replay.label import label, step_label
from eikon_engine.scenario.same_step import action_difference, skill_difference
from eikon_engine.trace.execution import ActionTrace, Failed, SkillUsage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from typing import Any

    from pydantic import JsonValue

    from eikon_engine.outcome.events import JournalLine
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.replay.control import Decision
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.scenario.model import SkillStep
    from eikon_engine.scenario.run_events import RunEvents
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.observation import Observation
    from eikon_engine.trace.redaction import Redactor

_FORWARDED: Final = (ActionStart, ObservationMade, ActionTaken, SkillUsed, DivergenceFound)
"""What a replay tells that the scenario does not tell itself."""


class Turns:
    """Let a replay do a step whenever the scenario comes to it: a controller that waits."""

    def __init__(self) -> None:
        """Begin with no step offered."""
        self._offered: asyncio.Queue[PlannedStep] = asyncio.Queue()
        self._decided: asyncio.Queue[Decision] = asyncio.Queue()

    async def decide(self, step: PlannedStep) -> Decision:
        """Offer the next step, and wait until the scenario has come to it."""
        self._offered.put_nowait(step)
        return await self._decided.get()

    async def next_step(self, replay: asyncio.Task[ReplayOutcome]) -> PlannedStep | None:
        """Wait until the replay has done what it was let do; return its next step, None where it is over."""
        if self._offered.empty():
            offered = asyncio.ensure_future(self._offered.get())
            await asyncio.wait({offered, replay}, return_when=asyncio.FIRST_COMPLETED)
            if offered.done():
                return offered.result()
            offered.cancel()
            return None
        return self._offered.get_nowait()

    def answer(self, decision: Decision) -> None:
        """Decide about the step that was offered."""
        self._decided.put_nowait(decision)


class ReplayedPages:
    """Stand for the pages of a recorded mission."""

    def __init__(
        self,
        run: Callable[[Turns], Coroutine[Any, Any, ReplayOutcome]],
        events: RunEvents,
        redactor: Redactor,
    ) -> None:
        """Replay by `run`, which is begun at the first step; `redactor` is that of the recording."""
        self._run = run
        self._events = events
        self._redactor = redactor
        self._turns = Turns()
        self._replay: asyncio.Task[ReplayOutcome] | None = None
        self._next: PlannedStep | None = None
        self.outcome: ReplayOutcome | None = None
        """What the replay came to; None before its end."""

    def forward(self, line: JournalLine) -> None:
        """Tell the events of the replay among those of the run."""
        if isinstance(line.event, _FORWARDED):
            self._events.take(line.event)

    @asynccontextmanager
    async def subgoal(self, description: str, subgoal_id: str) -> AsyncIterator[None]:  # noqa: ARG002 - as Pages
        """Group nothing: the recording has its subgoals."""
        yield

    async def perform(self, action: Action) -> Observation:
        """Have the next recorded step done, if it is this action.

        Raises:
            ActionError: it failed when it was recorded, and again.
            ScenarioDivergedError: something else was recorded.
            ReplayDivergenceError: the page did something else.
        """
        recorded = await self._due(label(action))
        if not isinstance(recorded, ActionTrace):
            raise await self._other(recorded, label(action), "")
        different = action_difference(recorded.action, action, self._redactor)
        if different is not None:
            raise await self._other(recorded, label(action), different)
        await self._let_do()
        if isinstance(recorded.result, Failed):
            raise recorded_error(ActionError, recorded.result)
        if recorded.observation is None:
            message = f"{recorded.id} was recorded without an observation; record the scenario again"
            raise ScenarioDivergedError(message)
        return recorded.observation

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:
        """Have the next recorded step done, if it is this use of a skill.

        Raises:
            SkillError: it failed when it was recorded, and again.
            CompletionError: it asked a model, which failed when it was recorded.
            ScenarioDivergedError: something else was recorded.
            ReplayDivergenceError: the skill gave something else.
        """
        said = f"skill {step.skill}"
        recorded = await self._due(said)
        if not isinstance(recorded, SkillUsage):
            raise await self._other(recorded, said, "")
        different = skill_difference(recorded, step, parameters, self._redactor)
        if different is not None:
            raise await self._other(recorded, said, different)
        await self._let_do()
        if isinstance(recorded.result, Failed):
            kind = CompletionError if recorded.result.code.startswith("completion-") else SkillError
            raise recorded_error(kind, recorded.result)
        return recorded.output

    async def repeat(self, action: Action) -> None:
        """Have the next recorded step done, if it is this action; how it ended, the fixture of its tool tells.

        Raises:
            ScenarioDivergedError: something else was recorded.
            ReplayDivergenceError: the page did something else.
        """
        with suppress(ActionError):
            await self.perform(action)

    async def finish(self) -> None:
        """End the replay, and make sure that nothing is left of the recording.

        Raises:
            ScenarioDivergedError: more was recorded.
            ReplayDivergenceError: something differed after the last step.
            EikonError: the replay could not be brought to its end.
        """
        replay = self._started()
        left = self._next or await self._turns.next_step(replay)
        if left is not None:
            await self._stop("the scenario ends here")
            message = (
                f"the scenario ends, and {step_label(left.step)} was recorded after it ({left.step.id}); "
                "run the scenario that was recorded, or record again"
            )
            raise ScenarioDivergedError(message)
        self.outcome = await replay

    async def give_up(self) -> None:
        """End the replay where the scenario cannot go on."""
        if self._replay is not None and not self._replay.done():
            await self._stop("the scenario did not go on")

    def _started(self) -> asyncio.Task[ReplayOutcome]:
        if self._replay is None:
            self._replay = asyncio.ensure_future(self._run(self._turns))
        return self._replay

    async def _due(self, said: str) -> ActionTrace | SkillUsage:
        """Return the recorded step whose turn it is."""
        replay = self._started()
        if self._next is None:
            self._next = await self._turns.next_step(replay)
        if self._next is None:
            await replay
            message = f"the scenario does {said}, and nothing more was recorded; run what was recorded, or record again"
            raise ScenarioDivergedError(message)
        return self._next.step

    async def _let_do(self) -> None:
        """Have the step done, and wait until all of it is told."""
        replay = self._started()
        self._turns.answer(Proceed())
        self._next = await self._turns.next_step(replay)
        if self._next is None:
            self.outcome = await replay

    async def _other(self, recorded: ActionTrace | SkillUsage, said: str, different: str) -> ScenarioDivergedError:
        await self._stop("the scenario does something else")
        told = different or f"recorded was {step_label(recorded)}"
        return ScenarioDivergedError(
            f"{recorded.id}: the scenario does {said}, {told}; run the scenario that was recorded, or record again"
        )

    async def _stop(self, reason: str) -> None:
        """Let the replay end, so that its artifacts are written; what it found is told by its own files."""
        replay = self._started()
        self._turns.answer(Halt(reason))
        self._next = None
        with suppress(EikonError):
            await replay


def recorded_error(kind: type[EikonError], failed: Failed) -> EikonError:
    """Return a recorded failure as the error it was."""
    for known in (kind, *kind.__subclasses__()):
        if known.code == failed.code:
            return known(failed.message or failed.code)
    return kind(f"{failed.code}: {failed.message}")
