"""Go the way of a branch: steps that are known are replayed, new ones are done, and known from then on."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.branches.departure import skills_elsewhere
from eikon_engine.debug.branches.learn import learn, learn_times
from eikon_engine.debug.branches.live import Outside, let_out
from eikon_engine.outcome.events import ActionTaken, DivergenceFound, SkillUsed, action_taken
from eikon_engine.outcome.outcomes import ActionOutcome

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from eikon_engine.browser.given import GivenAsAsked
    from eikon_engine.debug.branches.branch import Branch
    from eikon_engine.debug.branches.live import BranchAnswers
    from eikon_engine.debug.line import Line
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import Verdict

UNANSWERED: Final = "request-not-recorded"
FIRST_TIME: Final = "the step is new: nothing was known of it before, and what it showed is recorded now"
_NOTHING_KNOWN: Final = ("nothing was recorded to compare", "the recording does not know the element")
"""How notes begin that say of a new step what is true of every one."""


class Walk:
    """A line on a branch; mutable, as both are."""

    def __init__(self, line: Line, branch: Branch, outside: Outside | None = None) -> None:
        """Go on where `line` stands, on a plan that is the one of `branch`.

        New steps of a live branch reach sites by `outside`, or beside the browser of the line.
        """
        self.line = line
        self.branch = branch
        self._outside = outside or Outside(launched=line.launched)
        self._given: GivenAsAsked | None = None
        self._keeper: BranchAnswers | None = None
        self.elsewhere = skills_elsewhere(branch.origin, branch.trace)
        """Ids of the skills that work on a document to which this way does not lead."""

    async def advance(self, expected: StateDigest | None = None) -> AsyncGenerator[Event]:
        """Do the next step, and yield what a replay tells of it; see `Line.advance`.

        What a new step shows is written to the branch before its events end, unless JavaScript was run by hand before:
        no replay of the bundle comes to that state.

        Raises:
            UsageError: all steps are done.
            BrowserDiedError: the browser went away, or does not answer.
            OutputError: the branch cannot be written.
        """
        planned = self.line.next
        is_new = planned is not None and planned.position > self.branch.known
        if is_new:
            await self._leave_recording()
        async with aclosing(self.line.advance(expected)) as events:
            async for event in events:
                if isinstance(event, ActionTaken) and is_new:
                    self._learn(event)
                told = of_new_step(event) if is_new else event
                if isinstance(told, ActionTaken | SkillUsed):
                    self.line.outcomes = (*self.line.outcomes[:-1], told)
                if told is not None:
                    yield told
        if is_new:
            self.line.replan(self.branch.bundle)

    def settle(self) -> None:
        """Write when everything came that came since the last step, and end; to be called before the line is left.

        Raises:
            OutputError: the branch cannot be written.
        """
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
            self.line.traffic.let_through(None)
        if self._given is not None and not self.line.touched:
            self.branch = learn_times(self.branch, self._given)

    def change(self, branch: Branch) -> None:
        """Go on with another plan for the steps to come.

        Raises:
            UsageError: it changes steps that are done.
            EikonError: it cannot be replayed; everything stays as it was.
        """
        self.line.replan(branch.bundle)
        self.branch = branch
        self.elsewhere = skills_elsewhere(branch.origin, branch.trace)

    async def _leave_recording(self) -> None:
        """Have answers given as they are asked for, and live sites asked where the branch may."""
        given = self._given = await self.line.leave_recording()
        if self._keeper is None and self.branch.file.is_live:
            self._keeper = await let_out(self.line, self.branch, given, self._outside)

    def _learn(self, event: ActionTaken) -> None:
        performed = self.line.runner.last
        if performed is not None and self._given is not None and not self.line.touched:
            found = self.line.session.found
            secrets = () if found is None else found.table
            self.branch = learn(self.branch, event.outcome.id, performed, self._given, secrets)


def of_new_step(event: Event) -> Event | None:
    """Return what is told of a step that was done for the first time; None for what is no finding then.

    A request that nobody recorded is none: it was blocked, and what the step came to cannot be known.
    """
    match event:
        case DivergenceFound(divergence=divergence) if divergence.code == UNANSWERED:
            return None
        case ActionTaken(outcome=ActionOutcome() as action):
            return action_taken(event.subgoal, _judged(action))
        case _:
            return event


def _judged(action: ActionOutcome) -> ActionOutcome:
    unanswered = tuple(each for each in action.divergences if each.code == UNANSWERED)
    left = tuple(each for each in action.divergences if each.code != UNANSWERED)
    notes = (
        FIRST_TIME,
        *(note for note in action.unverifiable if not note.startswith(_NOTHING_KNOWN)),
        *(
            f"{each.observed} was asked for, which no recording knows, and was blocked; {_way_out(each)}"
            for each in unanswered
        ),
    )
    verdict: Verdict = "diverged" if left else "unverifiable"
    return action.model_copy(update={"divergences": left, "unverifiable": notes, "verdict": verdict})


def _way_out(unanswered: Divergence) -> str:
    if unanswered.observed.startswith("WEBSOCKET "):
        return "WebSockets stay so, with --live as well"
    return "a branch made with --live asks the site, and records the answer"
