"""Collect the events of a run into an outcome."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.detectors.environment import (
    environment_differences,
    is_environment_cause_unlikely,
    possible_environment_cause,
)
from eikon_engine.divergence.masks import unmasked_changes, unmasked_keys, unmasked_misses
from eikon_engine.files.text import pluralize
from eikon_engine.outcome.divergence import DIVERGENCE_FLAG
from eikon_engine.outcome.events import (
    ActionPerformed,
    ObservationMade,
    RunEnd,
    RunStart,
    SkillRun,
    SubgoalEnd,
    SubgoalStart,
    restore_outputs,
)
from eikon_engine.outcome.outcomes import (
    ActionOutcome,
    NetworkOutcome,
    ReplayCounts,
    ReplayOutcome,
    SkillOutcome,
    SubgoalOutcome,
)
from eikon_engine.outcome.verdict import combine_verdicts, run_verdict
from eikon_engine.replay.extractions import compare_extractions
from eikon_engine.replay.plan import plan_digest, stand_ins_as_cause
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.steps import describe_failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from eikon_engine.outcome.divergence import Explanation
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import GateResult, NetworkMode, StepOutcome, Verdict
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.environment import Environment
    from eikon_engine.trace.masks import Mask
    from eikon_engine.trace.observation import Observation

WITHOUT_EFFECT: Final = " changed; nothing that is compared is affected (listed under Network in the summary)"
"""End of the note of a faithful run in which responses changed."""


def unanswered_notes(recorded: ActionTrace, masks: Sequence[Mask]) -> tuple[str, ...]:
    """Return why a step that matches its recording is still unverifiable."""
    return tuple(
        f"{key} was blocked in the recording because it had no recorded response, so its effect is unknown"
        for key in unmasked_keys(_unanswered_keys(recorded), masks)
    )


def reported_misses(plan: Plan, subgoals: Iterable[SubgoalOutcome]) -> Counter[str]:
    """Count, by key, the requests without a recorded response that the steps of a run report."""
    planned = {(each.subgoal.id, each.step.sequence): each.step for subgoal in plan.subgoals for each in subgoal.steps}
    reported: Counter[str] = Counter()
    for subgoal in subgoals:
        for step in subgoal.steps:
            reported.update(each.observed for each in step.divergences if each.code == "request-not-recorded")
            recorded = planned.get((subgoal.id, step.sequence))
            reported.update(_unanswered_keys(recorded) if isinstance(recorded, ActionTrace) else ())
    return reported


def late_misses(network: NetworkOutcome, reported: Counter[str]) -> tuple[str, ...]:
    """Describe the misses that occurred after the last comparison, so that no step reports them."""
    left, late = Counter(reported), []
    for miss in network.misses:
        if left[miss.key] > 0:
            left[miss.key] -= 1
        else:
            late.append(f"{miss.key}: {miss.reason}. It was blocked after the last action was compared")
    return tuple(late)


def _unanswered_keys(recorded: ActionTrace) -> tuple[str, ...]:
    return () if recorded.baseline is None else recorded.baseline.unanswered


@dataclass(slots=True)
class Collector:
    """Accumulate events; `outcome` works at any time, also for a run that ended early."""

    plan: Plan
    options: ReplayOptions
    started_at: datetime
    unchecked: tuple[str, ...] = ()
    """Warnings about checks that were not possible before the run."""
    start: RunStart | None = None
    end: RunEnd | None = None
    started_subgoals: list[SubgoalStart] = field(default_factory=list)
    steps: dict[str, list[StepOutcome]] = field(default_factory=dict)
    subgoal_verdicts: dict[str, Verdict] = field(default_factory=dict)
    gates: tuple[GateResult, ...] = ()
    """Results of the gates, set when the run has ended."""
    observed: Observation | None = None
    """Observation of the action whose event comes next."""

    def add(self, event: Event) -> None:
        """Add the next event."""
        match event:
            case RunStart():
                self.start = event
            case SubgoalStart():
                self.started_subgoals.append(event)
                self.steps[event.id] = []
            case ObservationMade():
                self.observed = event.observation
            case ActionPerformed(outcome=ActionOutcome() as action):
                whole = action.model_copy(update={"observation": self.observed})
                self.steps[event.subgoal].append(whole)
                self.observed = None
            case SkillRun(outcome=SkillOutcome() as skill):
                self.steps[event.subgoal].append(restore_outputs(skill, event))
            case SubgoalEnd(verdict=verdict) if verdict is not None:
                self.subgoal_verdicts[event.id] = verdict
            case RunEnd():
                self.end = event
            case _:
                pass

    def outcome(self, ended_at: datetime, ended_early: str | None, warnings: tuple[str, ...]) -> ReplayOutcome:
        """Return the outcome; `ended_early` is the error that ended the run, if any."""
        trace = self.plan.trace
        early = ended_early or (self.end.ended_early if self.end else "the run was interrupted")
        network = (self.end.network if self.end else None) or NetworkOutcome()
        judged = self._without_masked(network)
        subgoals = tuple(self._subgoal_outcome(each) for each in self.started_subgoals)
        late = late_misses(judged, reported_misses(self.plan, subgoals))
        beside = (*late, *escape_reasons(judged, self.plan.network), *unsent_reasons(judged))
        is_whole = self._is_whole(subgoals, early, beside)
        verdict = run_verdict((step.verdict for each in subgoals for step in each.steps), is_whole=is_whole)
        recorded, observed = trace.environment, self._environment
        possible_causes = self._possible_causes(subgoals)
        first = next((found for each in subgoals for step in each.steps for found in step.divergences), None)
        notes = (*network.notes, *_changes_without_effect(verdict, subgoals, judged))
        return ReplayOutcome(
            mission_id=trace.mission_id,
            mission_text=trace.mission_text,
            trace_id=trace.id,
            trace_path=self.plan.bundle.name,
            recorded_status=trace.status,
            recorded_failure=describe_failure(trace),
            started_at=self.started_at,
            ended_at=ended_at,
            plan_digest=plan_digest(self.plan),
            resume_point=self.plan.resume_point,
            headless=self.options.headless,
            network_mode=self.plan.network,
            browser=(self.start.browser if self.start else None) or "none",
            environment=observed,
            environment_differences=environment_differences(recorded, observed) if observed else (),
            counts=self._counts(),
            verdict=verdict,
            is_whole=is_whole,
            reasons=(*_verdict_reasons(verdict, subgoals, early), *beside, *possible_causes),
            flag=DIVERGENCE_FLAG if first is not None else None,
            divergence_code=None if first is None else first.code,
            explanation=self._explanation(subgoals, judged, possible_causes),
            ended_early=early,
            subgoals=subgoals,
            extractions=compare_extractions(self.plan, subgoals),
            network=network.model_copy(update={"notes": notes}),
            warnings=(*self._warnings(warnings), *_unused_mask_warnings(self._masks, subgoals, early)),
        )

    def _warnings(self, of_plan: tuple[str, ...]) -> tuple[str, ...]:
        other = self.plan.other_network.warnings if self.plan.other_network is not None else ()
        return (*self.plan.trace.warnings, *other, *self.unchecked, *of_plan)

    def _without_masked(self, network: NetworkOutcome) -> NetworkOutcome:
        """Exclude what masks hide."""
        misses = unmasked_misses(network.misses, self._masks)
        changes = unmasked_changes(network.response_changes, self._masks)
        return network.model_copy(update={"misses": misses, "response_changes": changes})

    def _explanation(
        self, subgoals: tuple[SubgoalOutcome, ...], network: NetworkOutcome, possible_causes: tuple[str, ...]
    ) -> Explanation | None:
        found = [divergence for each in subgoals for step in each.steps for divergence in step.divergences]
        if not found:
            return None
        from eikon_engine.divergence.explain import explain_first_divergence  # noqa: PLC0415 - see step.py

        by_other = self.plan.other_network is not None
        environments = (self.plan.trace.environment, self._environment)
        return explain_first_divergence(
            self.plan.trace,
            subgoals,
            network,
            self._network_mode_of_first_divergence(subgoals),
            possible_causes,
            is_answered_by_other=by_other,
            is_possible_cause_unlikely=not self.plan.stand_in_names
            and is_environment_cause_unlikely(found[0], *environments),
            is_other_playwright=len({each and each.playwright_version for each in environments}) > 1,
            has_start_storage=self.plan.bundle.has_start_storage() or self.options.storage_state is not None,
            masks=self._masks,
        )

    def _network_mode_of_first_divergence(self, subgoals: tuple[SubgoalOutcome, ...]) -> NetworkMode:
        """Return the network mode of the first diverged step."""
        steps = (step for each in subgoals for step in each.steps)
        first = next((number for number, step in enumerate(steps, start=1) if step.divergences), 0)
        resumed = self.plan.resume_point
        return resumed.network if resumed is not None and first >= resumed.step else self.plan.network

    @property
    def _environment(self) -> Environment | None:
        return self.start.environment if self.start else None

    @property
    def _masks(self) -> tuple[Mask, ...]:
        return (*self.plan.trace.masks, *self.options.masks)

    def _subgoal_outcome(self, begun: SubgoalStart) -> SubgoalOutcome:
        steps = tuple(self.steps[begun.id])
        return SubgoalOutcome(
            id=begun.id,
            subgoal_id=begun.subgoal_id,
            description=begun.description,
            number=begun.number,
            verdict=self.subgoal_verdicts.get(begun.id) or combine_verdicts(step.verdict for step in steps),
            steps=steps,
            steps_recorded=begun.steps,
        )

    def _possible_causes(self, subgoals: tuple[SubgoalOutcome, ...]) -> tuple[str, ...]:
        """Return possible causes of the first divergence: environment changes and secrets typed as stand-ins."""
        found = [divergence for each in subgoals for step in each.steps for divergence in step.divergences]
        observed = self._environment
        if not found or observed is None:
            return ()
        environment = possible_environment_cause(found[0], self.plan.trace.environment, observed)
        causes = (environment, stand_ins_as_cause(self.plan.stand_in_names))
        return tuple(cause for cause in causes if cause is not None)

    def _is_whole(self, subgoals: tuple[SubgoalOutcome, ...], ended_early: str | None, beside: tuple[str, ...]) -> bool:
        """Return whether the verdict rests on the steps alone; an incomplete or leaking run is never faithful.

        Neither is one with a miss that no step reports, because it occurred after the last comparison, or one that did
        not send every recorded request.
        """
        steps = sum(len(subgoal.steps) for subgoal in subgoals)
        return ended_early is None and steps == self.plan.step_count and not beside

    def _counts(self) -> ReplayCounts:
        done = [step for steps in self.steps.values() for step in steps]
        planned = [step.step for subgoal in self.plan.subgoals for step in subgoal.steps]
        actions = sum(step.kind == "action" for step in done)
        actions_recorded = sum(hasattr(step, "action") for step in planned)
        return ReplayCounts(
            subgoals=len(self.started_subgoals),
            subgoals_recorded=len(self.plan.subgoals),
            actions=actions,
            actions_recorded=actions_recorded,
            skills=len(done) - actions,
            skills_recorded=len(planned) - actions_recorded,
        )


def escape_reasons(network: NetworkOutcome, mode: NetworkMode) -> tuple[str, ...]:
    """Describe requests that bypassed the routes: blocked now, and with an unknown response in the recording.

    In a live replay, these are the requests to origins that it may not reach.
    """
    if mode == "live":
        why = "was blocked, because the trace navigates to no such public origin. If you trust it, use --network live"
    else:
        why = "bypassed the recorded network. It was blocked; its recorded response is unknown"
    kind = "blocked request" if mode == "live" else "hermeticity violation"
    return tuple(
        f"{kind}: {' '.join(filter(None, (each.method, each.target)))} ({each.times} times) {why}"
        for each in network.page_violations
    )


def unsent_reasons(network: NetworkOutcome) -> tuple[str, ...]:
    """Describe the recorded requests that the replay did not send, each with the step at which it was recorded."""
    return tuple(
        f"{each.key} was recorded at {each.subgoal}, sequence {each.sequence} ({each.step}), and "
        f"{'was not sent by the replay' if count == 1 else f'{count} of them were not sent by the replay'}: "
        "the mission was not repeated"
        for each, count in Counter(network.unsent).items()
    )


def _changes_without_effect(
    verdict: Verdict, subgoals: tuple[SubgoalOutcome, ...], network: NetworkOutcome
) -> Iterator[str]:
    """Yield how many responses changed in a faithful run, unless its pages have findings that may be their effect."""
    has_findings = any(step.findings for each in subgoals for step in each.steps if step.kind == "action")
    changed = sum(bool(each.what) for each in network.response_changes)
    if changed and verdict == "faithful" and not has_findings:
        yield f"{pluralize(changed, 'response')}{WITHOUT_EFFECT}"


def _unused_mask_warnings(
    masks: tuple[Mask, ...], subgoals: tuple[SubgoalOutcome, ...], ended_early: str | None
) -> Iterator[str]:
    """Yield a warning for each mask that hid nothing in a complete run: it reduces coverage without need."""
    used = {name for each in subgoals for step in each.steps if step.kind == "action" for name in step.masked}
    for mask in masks if ended_early is None else ():
        if mask.name not in used:
            yield f"mask {mask.name} hid nothing in this run. Remove it if it hides nothing in every run."


def _verdict_reasons(
    verdict: Verdict, subgoals: tuple[SubgoalOutcome, ...], ended_early: str | None
) -> tuple[str, ...]:
    steps = [step for subgoal in subgoals for step in subgoal.steps]
    found = [divergence for step in steps for divergence in step.divergences]
    if found:
        first = found[0]
        return (f"{first.code} at subgoal {first.subgoal_id}, sequence {first.sequence}: {first.message}",)
    if verdict == "faithful":
        return ()
    if ended_early is not None:
        return (f"not every step was replayed: {ended_early}",)
    if not steps:
        return ("the trace has no steps to compare",)
    notes = [note for step in steps for note in step.unverifiable]
    return tuple(f"{note} ({notes.count(note)} of {len(steps)} steps)" for note in dict.fromkeys(notes))
