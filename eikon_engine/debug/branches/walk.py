"""Go the way of a branch: steps that are known are replayed, new ones are done, and known from then on."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.branches.departure import skills_elsewhere
from eikon_engine.debug.branches.failed import says_blocked
from eikon_engine.debug.branches.learn import learn, learn_times
from eikon_engine.debug.branches.live import Outside, let_out
from eikon_engine.errors import NavigationError
from eikon_engine.outcome.events import ActionTaken, DivergenceFound, Note, SkillUsed, action_taken
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
        self._findings: tuple[Divergence, ...] = ()
        """Of the new step that was done last."""
        self._blocked: tuple[Note, ...] = ()
        """What is to be told of requests of that step."""
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
                if is_new and isinstance(event, ActionTaken) and isinstance(event.outcome, ActionOutcome):
                    self._learn(event.outcome)
                told = self._of_new_step(event) if is_new else event
                if isinstance(told, ActionTaken | SkillUsed):
                    self.line.outcomes = (*self.line.outcomes[:-1], told)
                if told is not None:
                    yield told
                if is_new and isinstance(told, ActionTaken):
                    for note in self._blocked:
                        yield note
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

    def _learn(self, action: ActionOutcome) -> None:
        performed = self.line.runner.last
        if performed is None or self._given is None or self.line.touched:
            return
        if performed.observation is not None:
            unanswered = tuple(each.observed for each in action.divergences if each.code == UNANSWERED)
            seen = performed.observation.model_copy(update={"unanswered": unanswered})
            performed = replace(performed, observation=seen)
        found = self.line.session.found
        secrets = () if found is None else found.table
        self.branch = learn(self.branch, action.id, performed, self._given, secrets)

    def _of_new_step(self, event: Event) -> Event | None:
        """Return what is told of a step that was done for the first time; None for what is no finding then.

        A request that nobody recorded is none, nor is it that a document did not come for which it asked: it was
        blocked, and what the step came to cannot be known.
        """
        match event:
            case DivergenceFound(divergence=divergence):
                return event if divergence in self._findings else None
            case ActionTaken(outcome=ActionOutcome() as action):
                blocked = _blocked(action, is_live=self.branch.file.is_live)
                judged = _judged(action, blocked)
                self._findings = judged.divergences
                self._blocked = tuple(Note(text=each) for each in blocked)
                return action_taken(event.subgoal, judged)
            case _:
                return event


def _judged(action: ActionOutcome, blocked: tuple[str, ...]) -> ActionOutcome:
    of_block = {UNANSWERED, NavigationError.code} if blocked and says_blocked(action.result) else {UNANSWERED}
    left = tuple(each for each in action.divergences if each.code not in of_block)
    kept = tuple(note for note in action.unverifiable if not note.startswith(_NOTHING_KNOWN))
    verdict: Verdict = "diverged" if left else "unverifiable"
    return action.model_copy(
        update={"divergences": left, "unverifiable": (FIRST_TIME, *kept, *blocked), "verdict": verdict}
    )


def _blocked(action: ActionOutcome, *, is_live: bool) -> tuple[str, ...]:
    """Say of each request that was blocked how it could be answered."""
    return tuple(
        f"{each.observed} was asked for, which no recording knows, and was blocked; {_way_out(each, is_live=is_live)}"
        for each in action.divergences
        if each.code == UNANSWERED
    )


def _way_out(unanswered: Divergence, *, is_live: bool) -> str:
    if is_live:
        return "sites are asked for what is HTTP and has an end alone"
    if unanswered.observed.startswith("WEBSOCKET "):
        return "WebSockets stay so, with --live as well"
    return "a branch made with --live asks the site, and records the answer"
