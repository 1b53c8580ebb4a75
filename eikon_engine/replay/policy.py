"""Apply the policy `effects`: changes of the DOM that touch nothing of the mission are findings, not divergences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.divergence.dependents import dependents
from eikon_engine.divergence.effects import touched_effect
from eikon_engine.divergence.masks import mask_page
from eikon_engine.errors import CompletionError, SkillError
from eikon_engine.replay.label import step_label
from eikon_engine.replay.model_answers import KnownAnswers
from eikon_engine.skills.protocol import SkillInput
from eikon_engine.trace.dom import render_plain_html
from eikon_engine.trace.dom.data_blocks import as_kept_by
from eikon_engine.trace.dom.stored import load_page
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.replay.plan import Plan, PlannedStep
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.dom import PageSnapshot
    from eikon_engine.trace.execution import SkillUsage
    from eikon_engine.trace.mask import Mask
    from eikon_engine.trace.observation import Observation

Split: TypeAlias = "tuple[tuple[Divergence, ...], tuple[Divergence, ...]]"
"""Divergences, and findings of lower severity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsPolicy:
    """Judge what differs in the pages of one plan."""

    plan: Plan
    skills: SkillRegistry
    masks: tuple[Mask, ...] = ()

    def split(self, planned: PlannedStep, found: tuple[Divergence, ...], comparison: Comparison) -> Split:
        """Part what touches the mission from what does not; what masks hide is hidden in the comparison."""
        if not found or any(each.layer != "dom" for each in found) or not isinstance(planned.step, ActionTrace):
            return found, ()
        reasons = list(self._touched(planned, planned.step, comparison))
        if reasons:
            why = f"It touches the mission: {'; '.join(reasons)}."
            return tuple(each.model_copy(update={"message": f"{each.message} {why}"}) for each in found), ()
        return (), tuple(each.model_copy(update={"severity": "finding"}) for each in found)

    def _touched(self, planned: PlannedStep, action: ActionTrace, comparison: Comparison) -> Iterator[str]:
        """Yield what of the mission a change touches; where that cannot be known, it does."""
        for page in action.observation.pages if action.observation is not None else ():
            now, then = comparison.observed_dom(page.page), comparison.recorded_dom(page.page)
            if now is None or then is None:
                yield f"no snapshot tells what changed on page {page.page}"
                continue
            before = self._before(planned, page.page)
            is_new = action.observation is not None and _is_loaded(action.observation, page.page)
            if before is None and not is_new:
                yield f"no snapshot tells what the action changed on page {page.page}"
                continue
            effect = touched_effect(None if is_new else before, then, now)
            if effect is not None:
                yield f"{effect[0].path} is where the action changed the page"
            later = (each.step for each in self._after(planned))
            for step, why in dependents(later, page.page, then, now):
                if isinstance(step, ActionTrace):
                    yield f"{step_label(step)} (sequence {step.sequence}) depends on it: {why}"
                elif self._returned(step, then, then) != self._returned(step, now, then):
                    yield f"{step_label(step)} (sequence {step.sequence}) returns something else"

    def _steps(self) -> Iterator[PlannedStep]:
        return (step for subgoal in self.plan.subgoals for step in subgoal.steps)

    def _after(self, planned: PlannedStep) -> Iterator[PlannedStep]:
        return (each for each in self._steps() if each.position > planned.position)

    def _before(self, planned: PlannedStep, page: int) -> PageSnapshot | None:
        """Return a page as it was before an action; None if it is not known."""
        last: Observation | None = None
        for each in self._steps():
            if each.position >= planned.position:
                break
            last = (each.step.observation if isinstance(each.step, ActionTrace) else None) or last
        shown = next((seen for seen in last.pages if seen.page == page), None) if last is not None else None
        snapshot = None if shown is None else load_page(self.plan.bundle.dom, shown)
        return None if snapshot is None or shown is None else mask_page(snapshot, shown.url, self.masks)[0]

    def _returned(self, usage: SkillUsage, page: PageSnapshot, recorded: PageSnapshot) -> JsonValue:
        """Run a skill on a page, as far as what was recorded knows pages."""
        source = usage.source
        document = next((each for each in page.frames if source is not None and each.path == source.frame), None)
        if document is None:
            return None
        known = next((each for each in recorded.frames if each.path == document.path), document)
        given = SkillInput(
            html=render_plain_html(as_kept_by(known, document)),
            url=document.url,
            parameters=usage.parameters,
            ask=KnownAnswers(self.plan),
        )
        try:
            return self.skills.named(usage.skill).run(given)
        except (CompletionError, SkillError) as error:
            return f"{error.code}: {error.message}"


def _is_loaded(observation: Observation, page: int) -> bool:
    """Say whether a page got a new document, or was opened, by an action."""
    return page in observation.opened or any(load.page == page for load in observation.documents)
