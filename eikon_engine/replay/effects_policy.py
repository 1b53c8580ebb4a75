"""The policy `effects`: DOM changes that do not affect the mission are findings, not divergences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.divergence.dependents import find_dependents
from eikon_engine.divergence.effects import find_overlapping_effect
from eikon_engine.divergence.masks import mask_page
from eikon_engine.dom import render_plain_html
from eikon_engine.dom.html import without_unrecorded_blocks
from eikon_engine.errors import CompletionError, SkillError
from eikon_engine.replay.model_responses import ProbeResponses
from eikon_engine.skills.skill import SkillInput
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.labels import step_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.replay.plan import Plan, PlannedStep
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.execution import SkillUsage
    from eikon_engine.trace.masks import Mask
    from eikon_engine.trace.observation import Observation

SplitFindings: TypeAlias = "tuple[tuple[Divergence, ...], tuple[Divergence, ...]]"
"""Divergences, then findings of lower severity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsPolicy:
    """Classify the DOM differences of one plan."""

    plan: Plan
    skills: SkillRegistry
    masks: tuple[Mask, ...] = ()

    def split(self, planned: PlannedStep, found: tuple[Divergence, ...], comparison: Comparison) -> SplitFindings:
        """Split differences into those that affect the mission and those that do not; masks are already applied."""
        if not found or any(each.layer != "dom" for each in found) or not isinstance(planned.step, ActionTrace):
            return found, ()
        reasons = list(self._affected(planned, planned.step, comparison))
        if reasons:
            why = f"It affects the mission: {'; '.join(reasons)}."
            return tuple(each.model_copy(update={"message": f"{each.message} {why}"}) for each in found), ()
        return (), tuple(each.model_copy(update={"severity": "finding"}) for each in found)

    def _affected(self, planned: PlannedStep, action: ActionTrace, comparison: Comparison) -> Iterator[str]:
        """Yield how the changes affect the mission; an unknown effect counts as one."""
        for page in action.observation.pages if action.observation is not None else ():
            observed, recorded = comparison.observed_dom(page.page), comparison.recorded_dom(page.page)
            if observed is None or recorded is None:
                yield f"page {page.page} has no snapshot to show what changed"
                continue
            before = self._page_before(planned, page.page)
            is_new = action.observation is not None and _is_new_document(action.observation, page.page)
            if before is None and not is_new:
                yield f"page {page.page} has no earlier snapshot to show what the action changed"
                continue
            effect = find_overlapping_effect(None if is_new else before, recorded, observed)
            if effect is not None:
                yield f"the action itself changed {effect[0].path}"
            later = (each.step for each in self._steps_after(planned))
            for step, why in find_dependents(later, page.page, recorded, observed):
                if isinstance(step, ActionTrace):
                    yield f"{step_label(step)} (sequence {step.sequence}) depends on it: {why}"
                elif self._skill_output(step, recorded, recorded) != self._skill_output(step, observed, recorded):
                    yield f"{step_label(step)} (sequence {step.sequence}) returns a different value"

    def _steps(self) -> Iterator[PlannedStep]:
        return (step for subgoal in self.plan.subgoals for step in subgoal.steps)

    def _steps_after(self, planned: PlannedStep) -> Iterator[PlannedStep]:
        return (each for each in self._steps() if each.position > planned.position)

    def _page_before(self, planned: PlannedStep, page: int) -> PageSnapshot | None:
        """Return the recorded page before an action; None if unknown."""
        last: Observation | None = None
        for each in self._steps():
            if each.position >= planned.position:
                break
            last = (each.step.observation if isinstance(each.step, ActionTrace) else None) or last
        shown = next((seen for seen in last.pages if seen.page == page), None) if last is not None else None
        snapshot = None if shown is None else load_page(self.plan.bundle.dom, shown)
        return None if snapshot is None or shown is None else mask_page(snapshot, shown.url, self.masks)[0]

    def _skill_output(self, usage: SkillUsage, page: PageSnapshot, recorded: PageSnapshot) -> JsonValue:
        """Run a skill on a page, normalized like the recorded one."""
        source = usage.source
        document = next((each for each in page.frames if source is not None and each.path == source.frame), None)
        if document is None:
            return None
        known = next((each for each in recorded.frames if each.path == document.path), document)
        given = SkillInput(
            html=render_plain_html(without_unrecorded_blocks(known, document)),
            url=document.url,
            parameters=usage.parameters,
            completion_client=ProbeResponses(self.plan),
        )
        try:
            return self.skills.get(usage.skill).run(given)
        except (CompletionError, SkillError) as error:
            return f"{error.code}: {error.message}"


def _is_new_document(observation: Observation, page: int) -> bool:
    """Return whether the action opened the page or loaded a new document in it."""
    return page in observation.opened or any(load.page == page for load in observation.documents)
