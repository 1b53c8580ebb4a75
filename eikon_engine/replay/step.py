"""Replay one step: perform and compare an action, or re-run and compare a skill.

What a sealed replay that does not diverge does without is imported when it is used.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.browser.actions.targets import POLL_MS
from eikon_engine.divergence.comparison import Comparison, Screenshots, StepPosition
from eikon_engine.divergence.detect import detect_divergences
from eikon_engine.divergence.detectors.environment import detect_environment, is_comparable
from eikon_engine.divergence.detectors.lifecycle import detect_lateness
from eikon_engine.divergence.detectors.read import recorded_value
from eikon_engine.divergence.detectors.result import UNKNOWN_FAILURE
from eikon_engine.divergence.detectors.skill import detect_page_intent, detect_skill
from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.divergence.masks import apply_masks, read_masks, unmasked_changes
from eikon_engine.divergence.related_responses import find_related_changes
from eikon_engine.divergence.response_diff import is_missing_message
from eikon_engine.dom import render_plain_html
from eikon_engine.dom.html import without_unrecorded_blocks
from eikon_engine.dom.inline_scripts import with_script_texts
from eikon_engine.errors import CompletionError, SkillError
from eikon_engine.files.limits import MAX_PICTURE_BYTES, read_file
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.text import pluralize
from eikon_engine.outcome.divergence import Consequence
from eikon_engine.outcome.outcomes import SERVED_MODES, ActionOutcome, SkillOutcome
from eikon_engine.outcome.verdict import step_verdict
from eikon_engine.replay.attributed_changes import AttributedChanges, received_at
from eikon_engine.replay.collect import unanswered_notes
from eikon_engine.replay.documents import DocumentComparer
from eikon_engine.replay.model_responses import completion_client_for
from eikon_engine.replay.unsent import add_unsent
from eikon_engine.skills.skill import SkillInput
from eikon_engine.trace.actions import AnswerDialog, Evaluate, Expect, Note, Read, TrafficCondition, WaitFor
from eikon_engine.trace.base_urls import map_action_urls
from eikon_engine.trace.bundle import load_page, load_snapshot
from eikon_engine.trace.execution import ActionTrace, Blocked, Failed, Succeeded
from eikon_engine.trace.labels import action_label, step_label
from eikon_engine.trace.steps import MISSING_DOCUMENT, is_failed_wait, poll_interval_ms, unknown_skill_note
from eikon_engine.trace.stored_pages import read_stored_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pydantic import JsonValue

    from eikon_engine.browser.worker import PerformedAction, Worker
    from eikon_engine.divergence.dom_diff import DomChange
    from eikon_engine.dom import FrameSnapshot, PageSnapshot
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import FailedRequest, NetworkMode, NetworkOutcome, ResponseChange
    from eikon_engine.replay.effects_policy import EffectsPolicy
    from eikon_engine.replay.live_comparison import LiveComparer
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.pictures import OutlinedPage
    from eikon_engine.replay.plan import Plan, PlannedStep
    from eikon_engine.replay.unsettled import UnsettledComparer
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.environment import Environment
    from eikon_engine.trace.execution import PageIntent, RecordedTiming, Result, SkillUsage
    from eikon_engine.trace.observation import Observation, PageObservation

_WITHOUT_EFFECT: Final = frozenset(
    {
        "assertion-failed",
        "option-missing",
        "page-missing",
        "target-ambiguous",
        "target-changed",
        "target-missing",
        "target-not-actionable",
        "wait-timeout",
    }
)
"""Failures of actions that had no effect on the page, or that already used up their timeout."""


def has_recorded_effects(recorded: ActionTrace, performed: PerformedAction) -> bool:
    """Return whether the pages have issued every recorded request and opened every recorded page.

    An action that succeeded in the recording and has no effect now cannot cause its recorded requests.
    """
    before, now = recorded.baseline, performed.observation
    if before is None or now is None:
        return True
    failed = performed.result
    if isinstance(failed, Failed) and failed.code in _WITHOUT_EFFECT and isinstance(recorded.result, Succeeded):
        return True
    missing = Counter(before.requests) - Counter(now.requests)
    return not missing and set(before.opened) <= set(now.opened)


IsExpected: TypeAlias = "Callable[[PerformedAction], bool]"
"""Returns whether an action led to the expected observation."""

LATE_TIMEOUT_S: Final = 1.0
"""Wall time within which a sealed page must reach its expected state while its clock is stopped: a busy browser may
report a request, or run a loaded script, after the page has reported that it is idle."""
LATE_POLL_S: Final = 0.02
DEFAULT_LATE_MS: Final = 30_000.0
"""Page time within which a live page must reach its expected state after the last action: Playwright's default."""
MAX_LATE_MS: Final = 60_000.0
"""Page time within which it must after any other action, however long the next one may wait."""
MIN_LATE_MS: Final = 5_000.0
"""Page time that it gets after any action; also that of a live page with nothing but findings to lose them."""
LATE_LIVE_STEP_MS: Final = 100.0
"""Page time between the first looks at a late page."""
LATE_LIVE_GROWTH: Final = 0.2
"""Part of the page time waited so far that passes until the next look."""
_MAY_CHANGE_LATER: Final = frozenset(
    {
        "checked-changed",
        "dialog-missing",
        "document-missing",
        "dom-changed",
        "download-missing",
        "frame-url-changed",
        "pages-changed",
        "pages-closed-changed",
        "pages-opened-changed",
        "request-missing",
        "title-changed",
        "url-changed",
        "value-changed",
        "visibility-changed",
    }
)
"""Codes of differences that a slower page may still remove."""


@dataclass(frozen=True, slots=True)
class Differences:
    """How an observation differs from the expected one."""

    divergences: frozenset[str]
    """Their codes."""
    findings: frozenset[str]
    """Codes of the findings that no earlier step had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateWait:
    """How a live page is waited for."""

    differences: Callable[[PerformedAction], Differences]
    timeout_ms: float = DEFAULT_LATE_MS
    """Page time within which the page must reach its expected state."""
    due_in_ms: Callable[[PerformedAction], float] = field(default=lambda _performed: 0.0)
    """Returns the page time until the pages must have sent what the action caused in the recording."""


def find_late_timeout_ms(plan: Plan, planned: PlannedStep, timeout_ms: float | None = None) -> float:
    """Return the page time within which the pages must reach their recorded state after a step of a live replay.

    That is the timeout of the next action, or `timeout_ms` if it is given, within limits. Actions that wait for nothing
    do not count, nor do waits that timed out in the recording.
    """
    for each in (step for subgoal in plan.subgoals for step in subgoal.steps):
        step = each.step
        if each.position <= planned.position or not isinstance(step, ActionTrace) or is_failed_wait(step):
            continue
        if not isinstance(step.result, Blocked) and not isinstance(step.action, AnswerDialog | Note):
            return max(MIN_LATE_MS, min(timeout_ms or step.action.timeout_ms, MAX_LATE_MS))
    return DEFAULT_LATE_MS


async def perform_until_expected(
    worker: Worker,
    action: Action,
    is_expected: IsExpected,
    recorded: Observation | None = None,
    timing: RecordedTiming | None = None,
    late: LateWait | None = None,
) -> tuple[PerformedAction, float]:
    """Perform an action once, and look at the pages until they are as expected, or for a short while.

    Pages that follow a recorded schedule can only be late: their clock is stopped while they are looked at again. The
    clock of live pages, for which `late` is given, advances while their differences are ones that may still disappear.
    Also returns how long it took until none were left, in milliseconds of page time; 0 if some are left.
    """
    performed, late_ms = await worker.perform(action, recorded, timing), 0.0
    if late is not None:
        if due_in_ms := late.due_in_ms(performed):
            await worker.session.stabilizer.pass_time_waiting(due_in_ms)
            performed = await worker.observe_again()
        performed, late_ms = await _wait_for_late_page(worker, performed, late)
    if worker.session.follows_schedule and not is_expected(performed):
        deadline = time.monotonic() + LATE_TIMEOUT_S
        while True:
            await asyncio.sleep(LATE_POLL_S)
            performed = await worker.observe_again()
            if is_expected(performed) or time.monotonic() > deadline:
                break
    worker.end_action()
    return performed, late_ms


async def _wait_for_late_page(
    worker: Worker, performed: PerformedAction, late: LateWait
) -> tuple[PerformedAction, float]:
    """Let page time pass until a live page reaches the expected state or can no longer; return how much passed.

    If it does not, the first observation without divergences is returned, else what the page showed first: what else
    changed meanwhile is no difference.
    """
    first, clock = performed, worker.session.stabilizer.begin_late_wait()
    accepted: tuple[PerformedAction, float] | None = None
    while True:
        found = late.differences(performed)
        if not found.divergences and not found.findings:
            return performed, clock.passed_ms
        if not found.divergences and accepted is None:
            accepted = performed, clock.passed_ms
        if not found.divergences | found.findings <= _MAY_CHANGE_LATER:
            return accepted or (performed, 0.0)
        timeout_ms = late.timeout_ms if found.divergences else min(late.timeout_ms, MIN_LATE_MS)
        left_ms = timeout_ms - clock.passed_ms
        if left_ms <= 0 or not await worker.session.stabilizer.may_change():
            return accepted or (first, 0.0)
        await clock.pass_time(min(left_ms, max(LATE_LIVE_STEP_MS, clock.passed_ms * LATE_LIVE_GROWTH)))
        performed = await worker.observe_again()


PAGE_INTENT_SKILL: Final = "detect_page_intent"


class PageIntentComparer:
    """Compare page intents where the recorded page is stored."""

    def __init__(self, intents: Iterable[PageIntent], skills: SkillRegistry) -> None:
        """Use the page intents of a trace."""
        self._intents = tuple(intents)
        self._skills = skills

    def has_intent(self, action: str) -> bool:
        """Return whether a page intent was recorded for an action."""
        return any(intent.step_id == action for intent in self._intents)

    def compare(
        self, place: StepPosition, action: str, recorded: PageSnapshot | None, observed: PageSnapshot | None
    ) -> Iterator[Divergence]:
        """Yield a divergence for each page intent of an action that changed.

        A page is compared only if the detector reproduces the recorded intent on the recorded page; otherwise the
        detectors differ, which `eikon skills rerun` reports.
        """
        named = [intent for intent in self._intents if intent.step_id == action]
        if not named or recorded is None or observed is None:
            return
        known, now = (
            self._detect_intent(recorded.main),
            self._detect_intent(without_unrecorded_blocks(recorded.main, observed.main)),
        )
        for intent in named:
            if known == intent.intent:
                yield from detect_page_intent(place, intent, now)

    def _detect_intent(self, document: FrameSnapshot) -> str:
        given = SkillInput(html=render_plain_html(document), url=document.url)
        try:
            output = self._skills.get(PAGE_INTENT_SKILL).run(given)
        except SkillError:
            return "unknown"
        found = output.get("intent") if isinstance(output, dict) else None
        return str(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """The comparison of one action with its recording."""

    divergences: tuple[Divergence, ...]
    findings: tuple[Divergence, ...]
    masked: tuple[str, ...]
    """Names of the masks that hid something."""
    compared: Comparison
    """What was compared, without what the masks hid."""
    unmasked: Comparison
    """The same, with what the masks hid."""


class StepRunner:
    """Replay the steps of one plan with one worker."""

    def __init__(self, plan: Plan, worker: Worker, options: ReplayOptions, environment: Environment) -> None:
        """Compare with the recordings of the plan's bundle; `environment` is the one of the worker."""
        self._environment_now = environment
        self._unchecked_environment: Environment | None = environment
        self._worker = worker
        self._options = options
        self._completion_client = completion_client_for(plan, options)
        self._clock = environment.clock
        self._live = _live_comparer(plan, options) if plan.visits_site else None
        """Adapts comparisons with the live site; None if no step visits it."""
        self._documents = DocumentComparer(plan)
        self._unsettled = _unsettled_comparer(plan) if plan.network == "live" else None
        self._network_mode: NetworkMode = plan.network
        """Current network mode."""
        self.switch_plan(plan)
        self._attributed_misses = 0
        self._reported_unmapped = 0
        self._reported_failures = 0
        self._has_diverged = False
        """Whether an action has diverged; from then on, pages only need to issue the recorded requests."""
        self._known_findings: set[tuple[str, ...]] = set()
        """What the policy `effects` found at earlier steps, which later ones repeat."""
        self._changes = AttributedChanges(self._adapted_change)
        self.last_performed: PerformedAction | None = None
        """Result of the last action, for the artifacts."""
        self._performed_before: PerformedAction | None = None
        """Result of the action before the current one."""
        self._last_comparison: _Comparison | None = None
        self._loaded_page: tuple[PageObservation, PageSnapshot | None] | None = None
        """The recorded page that was loaded last: an action reads its own several times."""

    def switch_plan(self, plan: Plan) -> None:
        """Switch to another plan that starts with the steps performed so far.

        Network events already attributed and model responses already used stay so.
        """
        self.plan = plan
        self._masks = (*plan.trace.masks, *self._options.masks)
        self._policy = self._effects_policy() if self._options.policy == "effects" else None
        self._page_intents = PageIntentComparer(plan.trace.page_intents, self._options.skills)
        self._compares_pixels = self._network_mode in SERVED_MODES and is_comparable(
            "pixels", plan.trace.environment, self._environment_now
        )

    def _effects_policy(self) -> EffectsPolicy:
        from eikon_engine.replay.effects_policy import EffectsPolicy  # noqa: PLC0415 - see above

        return EffectsPolicy(plan=self.plan, skills=self._options.skills, masks=self._masks)

    def switch_to_live(self) -> None:
        """Compare like a live replay from now on: the site responds instead of the recording."""
        self._network_mode = "live"
        self._compares_pixels = False

    async def replay_action(
        self, planned: PlannedStep, recorded: ActionTrace, is_expected: IsExpected | None = None
    ) -> ActionOutcome:
        """Perform an action once, and compare everything that was recorded for it.

        Pages that do not satisfy `is_expected` may be late: they are observed again until a deadline. By default, the
        recorded observation is expected.
        """
        self._last_comparison = None
        if isinstance(recorded.result, Blocked):
            note = "the action was blocked in the recording, so the replay does not perform it"
            return _unperformed_outcome(recorded, (), (note,))
        changed = self._environment_changes(planned)
        if changed and self._options.on_divergence == "stop":
            return _unperformed_outcome(recorded, changed)
        begin, session = time.perf_counter(), self._worker.session
        self._performed_before = self.last_performed
        if self._live is not None and self._network_mode == "live":
            session.is_same_text = self._live.begin_step(recorded)
        performed, late_ms = await self._perform(planned, recorded, is_expected)
        self.last_performed = performed
        delay_ms = self._response_delay_ms(recorded)
        await self._notify_observers(planned, performed)
        compared = self._compare(planned, recorded, performed)
        self._last_comparison = compared
        if self._live is not None:
            self._live.end_step(recorded, performed.observation)
        self._documents.end_step(recorded, performed.observation)
        if self._unsettled is not None:
            self._unsettled.end_step(recorded, performed, self._worker.session.timeline.lag_ms)
        divergences = (*changed, *compared.divergences, *self._intent_divergences(planned, recorded, performed))
        affected = () if self._has_diverged or not divergences else self._dependent_steps(planned, recorded, performed)
        self._has_diverged = self._has_diverged or bool(compared.divergences)
        self._known_findings.update(each.content for each in compared.findings)
        self._attribute_network_events(planned)
        self._keep_missing_messages(planned, compared)
        unverifiable = self._unverifiable_notes(recorded, performed)
        return ActionOutcome(
            id=recorded.id,
            sequence=recorded.sequence,
            type=recorded.action.type,
            label=action_label(recorded.action),
            verdict=step_verdict(divergences, unverifiable),
            expected_result=recorded.result,
            result=performed.result,
            observation=performed.observation,
            divergences=divergences,
            findings=(*compared.findings, *detect_lateness(compared.compared, late_ms, delay_ms)),
            unverifiable=unverifiable,
            masked=compared.masked,
            dependents=affected,
            request_times=session.tracker.requests.times.take(begin, session.redactor.redact_text),
            duration_ms=(time.perf_counter() - begin) * 1000,
        )

    def _response_delay_ms(self, recorded: ActionTrace) -> float:
        """Return the wall time by which a live response was later than any in the recording; 0 if it was not."""
        longest_s = self._worker.session.tracker.requests.take_longest_s()
        if self._live is None or self.plan.network != "live":
            return 0.0
        return self._live.response_delay_ms(recorded, longest_s * 1000)

    async def _notify_observers(self, planned: PlannedStep, performed: PerformedAction) -> None:
        """Call the watchers and inspectors of the options."""
        for watch in self._options.action_observers:
            watch(planned, performed)
        for look in self._options.session_inspectors:
            await look(planned, self._worker.session)

    def take_failed_requests(self) -> tuple[FailedRequest, ...] | None:
        """Return the requests that failed since the last call; None if failures are not tracked."""
        failed = self._worker.network_outcome().failed
        if failed is None:
            return None
        begin, self._reported_failures = self._reported_failures, len(failed)
        return failed[begin:]

    def rerun_skill(self, planned: PlannedStep, usage: SkillUsage) -> SkillOutcome:
        """Re-run a skill on its stored document, and compare its output."""
        begin = time.perf_counter()
        result, output, unverifiable = self._run_skill(usage)
        divergences: tuple[Divergence, ...] = ()
        if result is not None and usage.unverifiable is not None:
            failed = (f"now it failed: {result.message}",) if isinstance(result, Failed) else ()
            unverifiable = (*unverifiable, usage.unverifiable, *failed)
        elif result is not None:
            divergences = tuple(detect_skill(_place(planned), usage, result, output))
            if not usage.output_recorded and isinstance(usage.result, Succeeded):
                unverifiable = (*unverifiable, "the recording holds no output of the skill to compare with")
        return SkillOutcome(
            id=usage.id,
            sequence=usage.sequence,
            skill=usage.skill,
            verdict=step_verdict(divergences, unverifiable),
            expected_output=usage.output,
            output=output,
            result=result,
            divergences=divergences,
            unverifiable=unverifiable,
            duration_ms=(time.perf_counter() - begin) * 1000,
        )

    def recorded_dom(self, recorded: ActionTrace, page: int) -> PageSnapshot | None:
        """Return the stored DOM of a page after an action."""
        if recorded.baseline is None:
            return None
        for each in recorded.baseline.pages:
            if each.page == page and each.snapshot is not None:
                if self._loaded_page is None or self._loaded_page[0] is not each:
                    self._loaded_page = each, load_page(self.plan.bundle.dom, each)
                return self._loaded_page[1]
        return None

    def _with_script_texts(self, snapshot: PageSnapshot | None) -> PageSnapshot | None:
        """Add the texts of inline scripts that differ, where a live or another response has them."""
        return None if snapshot is None else with_script_texts(snapshot, self._worker.session.inline_scripts)

    def comparable_screenshots(self, recorded: ActionTrace, performed: PerformedAction | None) -> Screenshots | None:
        """Return the recorded and the observed screenshot; None if either is missing or they are not comparable.

        Older recordings, which hold no browser storage, show the blinking caret and are not comparable.
        """
        picture = None if performed is None else performed.screenshot
        shows_caret = recorded.baseline is None or recorded.baseline.storage is None
        if picture is None or shows_caret or not self._compares_pixels or not recorded.artifacts:
            return None
        path = resolve_inside(self.plan.bundle.root, recorded.artifacts[0].path, "artifacts")
        return (
            Screenshots(recorded=read_file(path, root=self.plan.bundle.root, limit=MAX_PICTURE_BYTES), observed=picture)
            if path.is_file()
            else None
        )

    def _read_texts(self, recorded: ActionTrace, performed: PerformedAction) -> tuple[str, str] | None:
        """Return the texts of a long recorded and a long observed value, if they differ."""
        before = recorded_value(recorded, performed.result)
        now = performed.observation.value if performed.observation is not None else None
        if before is None or before.long is None or before == now or performed.long_text is None:
            return None
        return self.plan.bundle.files.get(before.long).decode(), performed.long_text

    def observed_dom(self, page: int) -> PageSnapshot | None:
        """Return the DOM of a page after the last action."""
        return None if self.last_performed is None else _observed_dom(self.last_performed, page)

    def dom_changes(self, page: int) -> tuple[DomChange, ...] | None:
        """Return the differences of a page after the last action that no mask hides; None if a side is missing."""
        if self._last_comparison is None:
            return None
        last = self._last_comparison.compared
        expected, observed = last.recorded_dom(page), last.observed_dom(page)
        return None if expected is None or observed is None else diff_snapshots(expected, observed)

    def outlined_pages(
        self, planned: PlannedStep, recorded: ActionTrace, first: Divergence
    ) -> tuple[OutlinedPage, OutlinedPage] | None:
        """Return the recorded and the observed page of the last action, with what differs; None if a side is missing.

        If a target was lost, these are the page before the action and that of now, with the target outlined.
        """
        if self._last_comparison is None:
            return None
        from eikon_engine.replay.pictures import (  # noqa: PLC0415 - a faithful replay draws no pages
            outline_changes,
            outline_target,
        )

        page, compared = recorded.action.page, self._last_comparison.compared
        expected, observed = compared.recorded_dom(page), compared.observed_dom(page)
        target = getattr(recorded.action, "target", None)
        if first.layer == "target" and target is not None and target.identity is not None:
            shown = self.plan.page_before(planned, page)
            before = None if shown is None else load_page(self.plan.bundle.dom, shown)
            return (
                None if before is None or observed is None else outline_target(target.identity, first, before, observed)
            )
        return None if expected is None or observed is None else outline_changes(expected, observed)

    def live_comparison(self) -> Comparison | None:
        """Return the last comparison with a live site, with what the masks of the trace hid.

        Present times are the recorded ones. None with masks of the caller: what they hid was not reviewed.
        """
        if self._last_comparison is None or self._network_mode != "live" or self._options.masks:
            return None
        return self._last_comparison.unmasked

    def network_outcome(self, *, is_complete: bool = False) -> NetworkOutcome:
        """Summarize the network, with each changed response attributed to the action during which it arrived.

        `is_complete` is whether every step was replayed: then, what the pages did not send is known.
        """
        outcome = self._worker.network_outcome()
        if is_complete and not self._has_diverged and self._network_mode in SERVED_MODES:
            outcome = add_unsent(outcome, self.plan, self._worker.session, self._masks)
        return outcome.model_copy(update={"response_changes": self._changes.for_outcome(outcome.response_changes)})

    async def _perform(
        self, planned: PlannedStep, recorded: ActionTrace, is_expected: IsExpected | None
    ) -> tuple[PerformedAction, float]:
        action = recorded.action
        if self._options.timeout_ms is not None and not is_failed_wait(recorded):
            action = action.model_copy(update={"timeout_ms": self._options.timeout_ms})
        if isinstance(action, Evaluate) and action.value is not None and read_masks(action, self._masks, action.value):
            action = action.model_copy(update={"is_poll": False})  # any value will do

        def is_recorded(performed: PerformedAction) -> bool:
            if self._has_diverged:
                return has_recorded_effects(recorded, performed)
            found = differences(performed)
            return not found.divergences and not found.findings

        def differences(performed: PerformedAction) -> Differences:
            compared = self._compare(planned, recorded, performed)
            new = (each.code for each in compared.findings if each.content not in self._known_findings)
            return Differences(frozenset(each.code for each in compared.divergences), frozenset(new))

        def due_in_ms(performed: PerformedAction) -> float:
            if self._unsettled is None:
                return 0.0
            changed = self._worker.network_outcome().changed_requests
            return self._unsettled.due_in_ms(recorded, performed, self._worker.session.timeline.lag_ms, changed)

        late_timeout_ms = find_late_timeout_ms(self.plan, planned, self._options.timeout_ms)
        mapped = map_action_urls(action, self.plan.urls)
        performed, late_ms = await perform_until_expected(
            self._worker,
            mapped,
            is_expected or is_recorded,
            _recorded_timing(recorded),
            recorded.timing,
            LateWait(differences=differences, timeout_ms=late_timeout_ms, due_in_ms=due_in_ms)
            if self._network_mode == "live" and not self._has_diverged
            else None,
        )
        return replace(performed, result=_noticed_result(recorded, performed)), late_ms

    def _environment_changes(self, planned: PlannedStep) -> tuple[Divergence, ...]:
        """Compare the environments once, before the first action."""
        here, self._unchecked_environment = self._unchecked_environment, None
        return () if here is None else tuple(detect_environment(_place(planned), self.plan.trace.environment, here))

    def _compare(self, planned: PlannedStep, recorded: ActionTrace, performed: PerformedAction) -> _Comparison:
        """Compare the result of an action with its recording; attributes no network events yet.

        The pages of a live replay may be ahead of the recording: they may show what the agent saw in its next reads.
        """
        compared = self._compare_pages(planned, recorded, performed, recorded)
        if self._live is None or self._network_mode != "live" or not (compared.divergences or compared.findings):
            return compared
        from eikon_engine.replay.live_comparison import PAGE_AHEAD  # noqa: PLC0415 - see above

        for later in self._live.later_states(recorded):
            ahead = self._compare_pages(planned, recorded, performed, later)
            if not ahead.divergences and (compared.divergences or len(ahead.findings) < len(compared.findings)):
                return replace(ahead, masked=(*ahead.masked, PAGE_AHEAD))
        return compared

    def _compare_pages(
        self, planned: PlannedStep, recorded: ActionTrace, performed: PerformedAction, shown: ActionTrace
    ) -> _Comparison:
        """Compare the result of an action with its recording, and its pages with those of the step `shown`."""
        baseline = recorded.baseline
        if baseline is not None and shown.baseline is not None:
            baseline = baseline.model_copy(update={"pages": shown.baseline.pages})
        network = self._worker.network_outcome()
        comparison = Comparison(
            position=_place(planned),
            recorded=recorded.model_copy(update={"observation": baseline}),
            result=_comparable_result(recorded, performed),
            observed=performed.observation,
            misses=network.misses[self._attributed_misses :],
            later_values=self._worker.session.traffic.later_values(),
            changed_requests=network.changed_requests,
            response_changes=unmasked_changes(
                (*self._changes.until(planned, network.response_changes), *self._messages_missing_at(planned)),
                self._masks,
            ),
            recorded_dom=lambda page: self._with_script_texts(self.recorded_dom(shown, page)),
            observed_dom=lambda page: self._with_script_texts(_observed_dom(performed, page)),
            is_sealed=self._network_mode in SERVED_MODES,
            compares_stored_values=self._clock == "stepped"
            and self._options.responses_from is None
            and not self._options.har,
            waited_ms=performed.waited_ms,
            read_texts=self._read_texts(recorded, performed),
            screenshots=self.comparable_screenshots(recorded, performed),
            passive_requests=frozenset() if performed.captured is None else performed.captured.passive_requests,
            paired_documents=self._documents.pair_documents(recorded, performed.observation),
        )
        hidden: tuple[str, ...] = ()
        if self._unsettled is not None:
            lag_ms = self._worker.session.timeline.lag_ms
            comparison = self._unsettled.compare(comparison, recorded, performed, lag_ms)
        if self._live is not None and self._network_mode == "live":
            comparison, hidden = self._live.adapt(comparison)
        masked = apply_masks(comparison, self._masks)
        hidden += masked.names
        found = detect_divergences(masked.comparison)
        divergences: tuple[Divergence, ...] = found
        findings: tuple[Divergence, ...] = ()
        if self._policy is not None:
            before = self._performed_before
            divergences, findings = self._policy.split(
                planned, found, masked.comparison, lambda page: None if before is None else _observed_dom(before, page)
            )
        return _Comparison(
            divergences=divergences,
            findings=findings,
            masked=hidden,
            compared=masked.comparison,
            unmasked=comparison,
        )

    def _dependent_steps(
        self, planned: PlannedStep, recorded: ActionTrace, performed: PerformedAction
    ) -> tuple[Consequence, ...]:
        """Return the later steps that depend on what changed on the page of the first diverged action."""
        from eikon_engine.divergence.dependents import find_dependents  # noqa: PLC0415 - see above

        page = recorded.action.page
        before, after = self.recorded_dom(recorded, page), _observed_dom(performed, page)
        if before is None or after is None:
            return ()
        skills = {usage.id for subgoal in self.plan.trace.subgoal_traces for usage in subgoal.skills_used}
        places = {id(each.step): each for subgoal in self.plan.subgoals for each in subgoal.steps}
        later = (each.step for each in places.values() if each.position > planned.position)
        return tuple(
            Consequence(
                subgoal=places[id(step)].subgoal.id,
                subgoal_id=places[id(step)].subgoal.subgoal_id,
                sequence=step.sequence,
                label=step_label(step),
                why=why,
            )
            for step, why in find_dependents(later, page, before, after)
            if step.id not in skills  # skills run on the recorded document
        )

    def _intent_divergences(
        self, planned: PlannedStep, recorded: ActionTrace, performed: PerformedAction
    ) -> Iterable[Divergence]:
        """Compare the page intents of older recordings."""
        page = recorded.action.page
        before = self.recorded_dom(recorded, page) if self._page_intents.has_intent(recorded.id) else None
        return self._page_intents.compare(_place(planned), recorded.id, before, _observed_dom(performed, page))

    def _attribute_network_events(self, planned: PlannedStep) -> None:
        """Attribute the network events so far to this step; later ones belong to the next action."""
        network = self._worker.network_outcome()
        self._attributed_misses = len(network.misses)
        self._changes.end_step(planned, network.response_changes)

    def _adapted_change(self, change: ResponseChange, planned: PlannedStep) -> ResponseChange:
        """Return a changed response; one of a live replay that differs only in present times has no changed values."""
        if self._live is not None and self._network_mode == "live" and isinstance(planned.step, ActionTrace):
            return self._live.adapt_response(change, planned.step)
        return change

    def _messages_missing_at(self, planned: PlannedStep) -> tuple[ResponseChange, ...]:
        """Return the WebSocket messages that a live server should have sent until the end of a step."""
        if self._network_mode != "live":
            return ()
        return tuple(received_at(planned, each) for each in self._worker.session.traffic.missing_messages())

    def _keep_missing_messages(self, planned: PlannedStep, compared: _Comparison) -> None:
        """Keep the missing messages that explain a divergence; the others may still arrive."""
        here = (planned.subgoal.id, planned.step.sequence)
        for change in compared.compared.response_changes:
            if is_missing_message(change) and any(
                find_related_changes(each, (change,), here) for each in compared.divergences
            ):
                self._changes.keep_missing(change)

    def _unverifiable_notes(self, recorded: ActionTrace, performed: PerformedAction) -> tuple[str, ...]:
        notes = []
        if recorded.observation is not None and recorded.baseline is None:
            notes.append("the recording did not wait for the pages, so there is no baseline to compare them with")
        elif recorded.observation is None:
            notes.append("the recording holds no observation of the pages")
        elif performed.observation is None:
            notes.append("snapshot playback checks targets and skills, not the effects of actions")
        target = getattr(recorded.action, "target", None)
        is_read = isinstance(recorded.action, Read | Evaluate | Expect)
        if target is not None and target.identity is None and isinstance(recorded.result, Succeeded) and not is_read:
            notes.append("the recording does not identify the target element")
        unknown = isinstance(recorded.result, Failed) and recorded.result.code == UNKNOWN_FAILURE
        if unknown and isinstance(performed.result, Failed):
            notes.append("the recording does not say how the action failed, so any failure matches")
        notes.extend(unanswered_notes(recorded, self._masks))
        unmapped = self._worker.network_outcome().unmapped_requests[self._reported_unmapped :]
        self._reported_unmapped += len(unmapped)
        if unmapped:
            notes.append(
                f"{pluralize(len(unmapped), 'request')} went to the deployment that --base-url "
                f"replaces, first {unmapped[0]}"
            )
        return tuple(notes)

    def _run_skill(self, usage: SkillUsage) -> tuple[Result | None, JsonValue, tuple[str, ...]]:
        if self.plan.trace.migrated_from is not None and not self._options.skills.has(usage.skill):
            return None, None, (unknown_skill_note(usage),)
        skill = self._options.skills.get(usage.skill)
        document = self._skill_document(usage)
        if isinstance(document, str):
            return None, None, (document,)
        page = replace(document, parameters=usage.parameters, completion_client=self._completion_client)
        try:
            return Succeeded(), skill.run(page), ()
        except (CompletionError, SkillError) as error:
            return Failed(code=error.code, message=error.message), None, ()

    def _skill_document(self, usage: SkillUsage) -> SkillInput | str:
        """Return the document that a skill ran on, or why there is none."""
        bundle, stored, source = self.plan.bundle, usage.stored_page, usage.source
        if source is None:
            if stored is None:
                return MISSING_DOCUMENT
            return SkillInput(html=read_stored_html(bundle.root, stored.path), url=stored.url)
        snapshot = load_snapshot(bundle.dom, source.snapshot)
        document = next((frame for frame in snapshot.frames if frame.path == source.frame), None)
        if document is None:
            return f"the stored snapshot has no frame {source.frame!r}"
        return SkillInput(html=render_plain_html(document), url=source.url)


def _live_comparer(plan: Plan, options: ReplayOptions) -> LiveComparer:
    from eikon_engine.replay.live_comparison import LiveComparer  # noqa: PLC0415 - see above

    return LiveComparer(plan, options.now)


def _unsettled_comparer(plan: Plan) -> UnsettledComparer:
    from eikon_engine.replay.unsettled import UnsettledComparer  # noqa: PLC0415 - see above

    return UnsettledComparer(plan)


def _unperformed_outcome(
    recorded: ActionTrace, divergences: tuple[Divergence, ...], unverifiable: tuple[str, ...] = ()
) -> ActionOutcome:
    """Return the outcome of an action that is not performed."""
    return ActionOutcome(
        id=recorded.id,
        sequence=recorded.sequence,
        type=recorded.action.type,
        label=action_label(recorded.action),
        verdict=step_verdict(divergences, unverifiable),
        expected_result=recorded.result,
        result=None,
        divergences=divergences,
        unverifiable=unverifiable,
    )


def _observed_dom(performed: PerformedAction, page: int) -> PageSnapshot | None:
    return None if performed.captured is None else performed.captured.snapshots.get(page)


def _recorded_timing(recorded: ActionTrace) -> Observation | None:
    """Return the recorded timing; a failed action never acted, so its own timeout is the only wait."""
    seen = recorded.observation
    if seen is None or seen.acted_ms is None or not isinstance(recorded.result, Failed):
        return seen
    return seen.model_copy(update={"acted_ms": None})


def _comparable_result(recorded: ActionTrace, performed: PerformedAction) -> Result:
    """Return the result to compare: snapshot playback runs no effects, so a recorded effect failure cannot recur."""
    played = performed.observation is None and isinstance(performed.result, Succeeded)
    if played and isinstance(recorded.result, Failed) and not recorded.result.code.startswith("target-"):
        return recorded.result
    return _noticed_result(recorded, performed)


def _noticed_result(recorded: ActionTrace, performed: PerformedAction) -> Result:
    """Return the result as an agent would notice it.

    The client of an agent polls less and less often, so it misses a condition that comes to hold just before its
    deadline: such a wait failed in the recording, and fails again. A condition that held when the step began did not in
    the recording, however late in the wait that was.
    """
    if not is_failed_wait(recorded) or performed.waited_ms is None or not isinstance(performed.result, Succeeded):
        return performed.result
    action = recorded.action
    if isinstance(action, WaitFor) and _held_at_first(action, performed.waited_ms):
        return performed.result
    noticed_until_ms = action.timeout_ms - poll_interval_ms(action) - POLL_MS
    return recorded.result if performed.waited_ms > max(0.0, noticed_until_ms) else performed.result


def _held_at_first(action: WaitFor, waited_ms: float) -> bool:
    """Return whether a condition held when its step began; that of requests and responses has a time of its own."""
    return not isinstance(action.condition, TrafficCondition) and waited_ms <= action.elapsed_ms


def _place(planned: PlannedStep) -> StepPosition:
    subgoal = planned.subgoal
    return StepPosition(subgoal=subgoal.id, subgoal_id=subgoal.subgoal_id, sequence=planned.step.sequence)
