"""Diagnose each diverged step by itself, so that an earlier cause does not hide a later one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.divergence.explain import explain_first_divergence
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.steps import iter_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.dom.tree import PageSnapshot
    from eikon_engine.outcome.divergence import Divergence, Explanation
    from eikon_engine.outcome.outcomes import StepOutcome, SubgoalOutcome
    from eikon_engine.repair.diagnostic_replay import DiagnosticReplay
    from eikon_engine.trace.bundle import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergedStep:
    """One step that diverged, and why."""

    attempt: str
    """Id of the subgoal attempt."""
    sequence: int
    step: ActionTrace | None
    """The recorded action; None for a skill."""
    findings: tuple[Divergence, ...]
    explanation: Explanation

    @property
    def first(self) -> Divergence:
        """Return the finding closest to the cause."""
        return self.findings[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Diagnosis of a mission that diverged."""

    bundle: Bundle
    replay: DiagnosticReplay
    steps: tuple[DivergedStep, ...]
    """In mission order; at least one."""

    @property
    def last(self) -> DivergedStep:
        """Return the step at which the replay halted, or the last one that diverged."""
        return self.steps[-1]

    def page_at(self, diverged: DivergedStep) -> PageSnapshot | None:
        """Return the page that the action of a step targets, as seen by the replay."""
        action = None if diverged.step is None else diverged.step.action
        shown = self.replay.pages.get((diverged.attempt, diverged.sequence), {})
        return shown.get(getattr(action, "page", 0))


def diagnose(bundle: Bundle, replay: DiagnosticReplay, ignored: frozenset[str] = frozenset()) -> Diagnosis | None:
    """Explain every diverged step; None if there is none, apart from `ignored` codes."""
    steps = tuple(_diverged_steps(bundle, replay, ignored))
    return Diagnosis(bundle=bundle, replay=replay, steps=steps) if steps else None


def _diverged_steps(bundle: Bundle, replay: DiagnosticReplay, ignored: frozenset[str]) -> Iterator[DivergedStep]:
    outcome, trace = replay.outcome, bundle.trace
    subgoals = tuple(_drop_ignored(each, ignored) for each in outcome.subgoals)
    known = {(each.id, step.sequence): step for each, step in iter_steps(trace)}
    places = [(each.id, step) for each in subgoals for step in each.steps if step.divergences]
    for attempt, step in places:
        explanation = explain_first_divergence(
            trace,
            subgoals,
            outcome.network,
            outcome.network_mode,
            outcome.environment_differences,
            is_answered_by_other=bool(outcome.network.response_changes) and outcome.network_mode == "sealed",
            has_start_storage=bundle.has_start_storage(),
            masks=trace.masks,
        )
        if explanation is None:
            return
        recorded = known[attempt, step.sequence]
        action = recorded if isinstance(recorded, ActionTrace) else None
        yield DivergedStep(
            attempt=attempt, sequence=step.sequence, step=action, findings=step.divergences, explanation=explanation
        )
        subgoals = tuple(_drop_explained(each, (attempt, step.sequence)) for each in subgoals)


def _drop_ignored(subgoal: SubgoalOutcome, ignored: frozenset[str]) -> SubgoalOutcome:
    return subgoal.model_copy(update={"steps": tuple(_drop_ignored_findings(step, ignored) for step in subgoal.steps)})


def _drop_ignored_findings(step: StepOutcome, ignored: frozenset[str]) -> StepOutcome:
    left = tuple(each for each in step.divergences if each.code not in ignored)
    return step if left == step.divergences else step.model_copy(update={"divergences": left})


def _drop_explained(subgoal: SubgoalOutcome, place: tuple[str, int]) -> SubgoalOutcome:
    """Drop findings that are explained already, so that the next step becomes the first."""
    if subgoal.id != place[0]:
        return subgoal
    steps = tuple(
        step.model_copy(update={"divergences": ()}) if step.sequence == place[1] else step for step in subgoal.steps
    )
    return subgoal.model_copy(update={"steps": steps})
