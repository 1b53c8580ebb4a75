"""Run a branch: replay known steps, run new ones, and record what they show.

A live branch requests what is not recorded from the site, and stores the responses in its bundle.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.browser_storage import exclude_from_detection
from eikon_engine.browser.traffic.live_responses import LiveResponder
from eikon_engine.debug.branches.branch import apply_operations, is_known_step
from eikon_engine.debug.branches.deviations import is_blocked_navigation, skills_without_document
from eikon_engine.errors import NavigationError, UsageError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.wall_clock import random_key
from eikon_engine.network.retiming import BranchDeliveries, branch_timeline
from eikon_engine.network.store import NetworkAppender, NumberAllocator, read_network
from eikon_engine.outcome.events import ActionPerformed, DivergenceFound, Note, SkillRun, action_event
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.secrets.search import RedactionRules
from eikon_engine.trace.bundle import store_snapshot
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.patch import AddFoundSecrets, SetObservation, SetTimeline
from eikon_engine.trace.steps import locate_step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.browser.traffic.sealed import OnDemandDeliveries
    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.files.blobs import BlobRef, BlobStore
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import Verdict
    from eikon_engine.secrets.redaction import FoundSecret
    from eikon_engine.trace.observation import Observation
    from eikon_engine.trace.patch import Operation


def record_step(
    branch: BranchBundle,
    step_id: str,
    performed: PerformedAction,
    deliveries: OnDemandDeliveries,
    found: tuple[FoundSecret, ...] = (),
) -> BranchBundle:
    """Return the branch with the result of one more step, and the timeline of all responses so far.

    `found` are the secrets found so far in responses of live sites.

    Steps with a known result, and skills, which use recorded documents, change nothing. Snapshots and responses are
    written before what refers to them.

    Raises:
        UsageError: no such step.
        OutputError: the folder of the branch cannot be written.
    """
    action = locate_step(branch.trace, step_id).step
    if action is None:
        message = f"expected a step of branch {branch.file.name}, got the attempt {step_id}; use the id of a step"
        raise UsageError(message, code="branch")
    if not isinstance(action, ActionTrace) or is_known_step(action) or performed.observation is None:
        return branch
    operations: list[Operation] = [
        SetObservation(
            action=action.id,
            observation=_with_snapshots(performed, performed.observation, branch.bundle.dom),
            result=performed.result,
            identity=performed.identity,
            identity_second=performed.identity_second,
            reason=_operation_reason(branch),
        )
    ]
    known = set(branch.trace.redaction.found)
    new = tuple(each for each in found if each not in known)
    if new:
        operations.append(AddFoundSecrets(found=new, reason=_operation_reason(branch)))
    return apply_operations(branch, [*operations, *_timeline_operations(branch, deliveries)])


def record_timeline(branch: BranchBundle, deliveries: OnDemandDeliveries) -> BranchBundle:
    """Return the branch with the timeline of all responses so far, including those after its last step.

    Raises:
        OutputError: the folder of the branch cannot be written.
    """
    operations = _timeline_operations(branch, deliveries)
    network = branch.trace.network
    if network is None or all(each.timeline == network.timeline for each in operations):
        return branch
    return apply_operations(branch, operations)


def _timeline_operations(branch: BranchBundle, deliveries: OnDemandDeliveries) -> list[SetTimeline]:
    network = branch.trace.network
    if network is None or not (deliveries.moments or deliveries.unanswered):
        return []
    stored = read_network(resolve_inside(branch.bundle.root, network.folder, "network.folder"))
    since = BranchDeliveries(
        before=deliveries.delivered_before,
        since=deliveries.moments,
        separate=deliveries.scheduled_orders,
        unanswered=deliveries.unanswered,
    )
    timeline = branch_timeline(stored, deliveries.recording, since)
    return [SetTimeline(timeline=timeline, reason=_operation_reason(branch))]


def _with_snapshots(performed: PerformedAction, observation: Observation, dom: BlobStore) -> Observation:
    shown = performed.captured.snapshots if performed.captured is not None else {}
    pages = tuple(
        page.model_copy(
            update={"snapshot": store_snapshot(dom, shown[page.page]) if page.page in shown else page.snapshot}
        )
        for page in observation.pages
    )
    return observation.model_copy(update={"pages": pages})


def _operation_reason(branch: BranchBundle) -> str:
    return f"recorded on branch {branch.file.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveAccess:
    """How a session reaches live sites."""

    launched: LaunchedBrowser
    """Browser next to which requests are made."""
    rules: RedactionRules = field(default_factory=RedactionRules)
    new_key: Callable[[], bytes] = random_key
    """Generates the key for stand-ins of secrets."""


class LiveResponseStore:
    """Append live responses to the network part of a branch as they arrive.

    The file has them in order of arrival. Their position in the session, whose recording has a different timeline,
    belongs to the timeline of the branch.
    """

    def __init__(self, folder: Path) -> None:
        """Append to the network part in `folder`.

        Raises:
            TraceError: the network part cannot be read.
            OutputError: it cannot be written.
        """
        self._positions = NumberAllocator(read_network(folder))
        self._appender = NetworkAppender(folder)

    def write_blob(self, data: bytes) -> BlobRef:
        """Store a body before the exchange that refers to it.

        Raises:
            OutputError: the folder cannot be written.
        """
        return self._appender.write_blob(data)

    def append(self, exchange: Exchange) -> None:
        """Write one exchange.

        Raises:
            OutputError: the index cannot be written.
        """
        place = self._positions.next_moment(exchange.completed_ms or 0.0, exchange.phase).order
        self._appender.append(exchange.model_copy(update={"completion": place}))

    def close(self) -> None:
        """Close the file."""
        self._appender.close()


async def allow_live_requests(
    context: ReplayContext, branch: BranchBundle, deliveries: OnDemandDeliveries, access: LiveAccess
) -> LiveResponseStore | None:
    """Let the pages of a context reach live sites; return the response store, which must be closed.

    Returns None if the branch has no network part to store them in.

    Raises:
        TraceError: the network part of the branch cannot be read.
        OutputError: it cannot be written.
    """
    network = branch.trace.network
    if network is None:
        return None
    response_store = LiveResponseStore(resolve_inside(branch.bundle.root, network.folder, "network.folder"))
    session = context.session
    if session.secret_detector is None:
        session.start_secret_detection(access.rules, access.new_key(), branch.trace.redaction.found)
        await exclude_from_detection(session)
    context.browser.traffic.set_live_responder(
        LiveResponder(access.launched.api_request, deliveries.recording, response_store)
    )
    return response_store


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
        """Start at the position of `context`, whose plan is that of `branch`.

        New steps of a live branch reach sites through `live_access`, by default next to the browser of the context.
        """
        self.context = context
        self.branch = branch
        self._live_access = live_access or LiveAccess(launched=context.browser.launched)
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
                adapted = self._adapt_event(event) if is_new else event
                if isinstance(adapted, ActionPerformed | SkillRun):
                    self.context.outcomes = (*self.context.outcomes[:-1], adapted)
                if adapted is not None:
                    yield adapted
                if is_new and isinstance(adapted, ActionPerformed):
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
            self.context.browser.traffic.set_live_responder(None)
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
        deliveries = self._on_request_serving = await self.context.leave_recording()
        if self._response_store is None and self.branch.file.is_live:
            self._response_store = await allow_live_requests(self.context, self.branch, deliveries, self._live_access)

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
                judged = _classify_new_step(action, blocked)
                self._divergences = judged.divergences
                self._blocked_notes = tuple(Note(text=each) for each in blocked)
                return action_event(event.subgoal, judged)
            case _:
                return event


def _classify_new_step(action: ActionOutcome, blocked: tuple[str, ...]) -> ActionOutcome:
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
