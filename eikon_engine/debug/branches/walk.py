"""Run a branch: replay known steps, run new ones and record what they show."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.branches.departure import skills_without_document
from eikon_engine.debug.branches.failed import is_blocked_navigation
from eikon_engine.debug.branches.learn import record_step, record_timeline
from eikon_engine.debug.branches.live import LiveAccess, allow_live_requests
from eikon_engine.errors import NavigationError
from eikon_engine.outcome.events import ActionPerformed, DivergenceFound, Note, SkillRun, action_event
from eikon_engine.outcome.outcomes import ActionOutcome

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from eikon_engine.browser.given import OnDemandDeliveries
    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.debug.branches.live import LiveResponseStore
    from eikon_engine.debug.line import ReplayContext
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import Verdict

NOT_RECORDED_CODE: Final = "request-not-recorded"
NEW_STEP_NOTE: Final = "new step: nothing was recorded to compare with; what it showed is recorded now"
_EXPECTED_NOTES: Final = (
    "the recording holds no observation of the pages",
    "the recording does not identify the target element",
)
"""Notes of `replay.step` that apply to every new step."""


class BranchRunner:
    """Runs a branch in a context."""

    def __init__(self, context: ReplayContext, branch: BranchBundle, live_access: LiveAccess | None = None) -> None:
        """Start at the position of `line`, whose plan is that of `branch`.

        New steps of a live branch reach sites through `outside`, by default next to the browser of the context.
        """
        self.context = context
        self.branch = branch
        self._live_access = live_access or LiveAccess(launched=context.launched)
        self._on_request_serving: OnDemandDeliveries | None = None
        self._response_store: LiveResponseStore | None = None
        self._divergences: tuple[Divergence, ...] = ()
        """Of the last new step."""
        self._blocked_notes: tuple[Note, ...] = ()
        """Notes about blocked requests of that step."""
        self.skills_without_document = skills_without_document(branch.origin, branch.trace)
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
        planned = self.context.next_step
        is_new = planned is not None and planned.position > self.branch.known_count
        if is_new:
            await self._leave_recording()
        async with aclosing(self.context.advance(expected)) as events:
            async for event in events:
                if is_new and isinstance(event, ActionPerformed) and isinstance(event.outcome, ActionOutcome):
                    self._record_step(event.outcome)
                told = self._adapt_event(event) if is_new else event
                if isinstance(told, ActionPerformed | SkillRun):
                    self.context.outcomes = (*self.context.outcomes[:-1], told)
                if told is not None:
                    yield told
                if is_new and isinstance(told, ActionPerformed):
                    for note in self._blocked_notes:
                        yield note
        if is_new:
            self.context.replan(self.branch.bundle)

    def finish(self) -> None:
        """Write the timeline since the last step and stop; call it before the context is left.

        Raises:
            OutputError: the branch cannot be written.
        """
        if self._response_store is not None:
            self._response_store.close()
            self._response_store = None
            self.context.traffic.set_live_responder(None)
        if self._on_request_serving is not None and not self.context.is_modified:
            self.branch = record_timeline(self.branch, self._on_request_serving)

    def replan(self, branch: BranchBundle) -> None:
        """Continue with another plan for the remaining steps.

        Raises:
            UsageError: it changes done steps.
            EikonError: it cannot be replayed; nothing changes.
        """
        self.context.replan(branch.bundle)
        self.branch = branch
        self.skills_without_document = skills_without_document(branch.origin, branch.trace)

    async def _leave_recording(self) -> None:
        """Serve responses on request, and let live branches reach sites."""
        given = self._on_request_serving = await self.context.leave_recording()
        if self._response_store is None and self.branch.file.is_live:
            self._response_store = await allow_live_requests(self.context, self.branch, given, self._live_access)

    def _record_step(self, action: ActionOutcome) -> None:
        performed = self.context.runner.last_performed
        if performed is None or self._on_request_serving is None or self.context.is_modified:
            return
        if performed.observation is not None:
            unanswered = tuple(each.observed for each in action.divergences if each.code == NOT_RECORDED_CODE)
            seen = performed.observation.model_copy(update={"unanswered": unanswered})
            performed = replace(performed, observation=seen)
        found = self.context.session.secret_detector
        secrets = () if found is None else found.table
        self.branch = record_step(self.branch, action.id, performed, self._on_request_serving, secrets)

    def _adapt_event(self, event: Event) -> Event | None:
        """Return the event of a new step as it is reported; None if it is not a finding there.

        A request that is not recorded is not a finding, nor is a document that was blocked for that reason: the result
        of the step is unknown.
        """
        match event:
            case DivergenceFound(divergence=divergence):
                return event if divergence in self._divergences else None
            case ActionPerformed(outcome=ActionOutcome() as action):
                blocked = _describe_blocked(action, is_live=self.branch.file.is_live)
                judged = _judge_new_step(action, blocked)
                self._divergences = judged.divergences
                self._blocked_notes = tuple(Note(text=each) for each in blocked)
                return action_event(event.subgoal, judged)
            case _:
                return event


def _judge_new_step(action: ActionOutcome, blocked: tuple[str, ...]) -> ActionOutcome:
    of_block = (
        {NOT_RECORDED_CODE, NavigationError.code}
        if blocked and is_blocked_navigation(action.result)
        else {NOT_RECORDED_CODE}
    )
    left = tuple(each for each in action.divergences if each.code not in of_block)
    kept = tuple(note for note in action.unverifiable if not note.startswith(_EXPECTED_NOTES))
    verdict: Verdict = "diverged" if left else "unverifiable"
    return action.model_copy(
        update={"divergences": left, "unverifiable": (NEW_STEP_NOTE, *kept, *blocked), "verdict": verdict}
    )


def _describe_blocked(action: ActionOutcome, *, is_live: bool) -> tuple[str, ...]:
    """Describe how each blocked request could be served."""
    return tuple(
        f"{each.observed} is not recorded and was blocked; {_live_hint(each, is_live=is_live)}"
        for each in action.divergences
        if each.code == NOT_RECORDED_CODE
    )


def _live_hint(unanswered: Divergence, *, is_live: bool) -> str:
    if is_live:
        return "live branches only request finite HTTP responses"
    if unanswered.observed.startswith("WEBSOCKET "):
        return "WebSockets stay blocked, even with --live"
    return "a branch created with --live requests it from the site, and records the response"
