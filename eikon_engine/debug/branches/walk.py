"""Run a branch: replay known steps, run new ones and record what they show."""

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
FIRST_TIME: Final = "new step: nothing was recorded to compare with; what it showed is recorded now"
_NOTHING_KNOWN: Final = (
    "the recording holds no observation of the pages",
    "the recording does not identify the target element",
)
"""Notes of `replay.step` that apply to every new step."""


class Walk:
    """Runs a branch in a context."""

    def __init__(self, line: Line, branch: Branch, outside: Outside | None = None) -> None:
        """Start at the position of `line`, whose plan is that of `branch`.

        New steps of a live branch reach sites through `outside`, by default next to the browser of the context.
        """
        self.line = line
        self.branch = branch
        self._outside = outside or Outside(launched=line.launched)
        self._given: GivenAsAsked | None = None
        self._keeper: BranchAnswers | None = None
        self._findings: tuple[Divergence, ...] = ()
        """Of the last new step."""
        self._blocked: tuple[Note, ...] = ()
        """Notes about blocked requests of that step."""
        self.elsewhere = skills_elsewhere(branch.origin, branch.trace)
        """Ids of the skills whose recorded document does not belong to this branch."""

    async def advance(self, expected: StateDigest | None = None) -> AsyncGenerator[Event]:
        """Run the next step, and yield its replay events; see `ReplayContext.advance`.

        What a new step shows is written to the branch before its events end, unless JavaScript was run manually before:
        no replay of the bundle reaches that state.

        Raises:
            UsageError: all steps are done.
            BrowserDiedError: the browser crashed or does not respond.
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
        """Write the timeline since the last step and stop; call it before the context is left.

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
        """Continue with another plan for the remaining steps.

        Raises:
            UsageError: it changes done steps.
            EikonError: it cannot be replayed; nothing changes.
        """
        self.line.replan(branch.bundle)
        self.branch = branch
        self.elsewhere = skills_elsewhere(branch.origin, branch.trace)

    async def _leave_recording(self) -> None:
        """Serve responses on request, and let live branches reach sites."""
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
        """Return the event of a new step as it is reported; None if it is not a finding there.

        A request that is not recorded is not a finding, nor is a document that was blocked for that reason: the result
        of the step is unknown.
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
    """Describe how each blocked request could be served."""
    return tuple(
        f"{each.observed} is not recorded and was blocked; {_way_out(each, is_live=is_live)}"
        for each in action.divergences
        if each.code == UNANSWERED
    )


def _way_out(unanswered: Divergence, *, is_live: bool) -> str:
    if is_live:
        return "live branches only request finite HTTP responses"
    if unanswered.observed.startswith("WEBSOCKET "):
        return "WebSockets stay blocked, even with --live"
    return "a branch created with --live requests it from the site, and records the response"
