"""The policy `effects`: changes of a page that do not affect the mission are findings, not divergences.

Such a change is of the content or visibility of a page and not where the recorded action changed it, touches no target
of a later step and no page that a skill reads; or it is a title that changed by itself; or a picture, font or medium
that was requested, missing or unavailable; or pixels alone. Whatever else was recorded is compared strictly.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.divergence.dependents import find_dependents
from eikon_engine.divergence.detectors.accessibility import with_hidden_states
from eikon_engine.divergence.detectors.network import detect_network
from eikon_engine.divergence.effects import find_overlapping_effect
from eikon_engine.divergence.masks import mask_page
from eikon_engine.dom import render_plain_html
from eikon_engine.dom.html import without_unrecorded_blocks
from eikon_engine.errors import CompletionError, SkillError
from eikon_engine.network.exchange import PASSIVE_TYPES, SAFE_METHODS
from eikon_engine.replay.model_responses import ProbeResponses
from eikon_engine.skills.skill import SkillInput
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.labels import step_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import JsonValue

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import ResponseChange
    from eikon_engine.replay.plan import Plan, PlannedStep
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.execution import SkillUsage
    from eikon_engine.trace.masks import Mask
    from eikon_engine.trace.observation import Observation

SplitFindings: TypeAlias = "tuple[tuple[Divergence, ...], tuple[Divergence, ...]]"
"""Divergences, then findings of lower severity."""


_PAGE_LAYERS: Final = frozenset({"dom", "accessibility"})
"""Layers whose differences affect the mission at some places of a page only."""
_REQUEST_CODES: Final = frozenset({"request-changed", "request-missing", "request-unexpected"})
RESOURCE_ERROR: Final = "Failed to load resource"
"""Start of Chromium's console error for a resource that failed."""


@dataclass(frozen=True, kw_only=True)
class EffectsPolicy:
    """Classify the differences of one plan."""

    plan: Plan
    skills: SkillRegistry
    masks: tuple[Mask, ...] = ()

    def split(
        self,
        planned: PlannedStep,
        found: tuple[Divergence, ...],
        comparison: Comparison,
        observed_before: Callable[[int], PageSnapshot | None],
    ) -> SplitFindings:
        """Split differences into those that affect the mission and those that do not; masks are already applied.

        `observed_before` returns the DOM of a page before the action in this replay; None if it is not known.
        """
        action = planned.step
        if not found or not isinstance(action, ActionTrace):
            return found, ()
        reasons: list[str] = []
        if any(each.layer in _PAGE_LAYERS for each in found):
            reasons = list(self._affected(planned, action, comparison, observed_before))
        passive = self._passive_changes(found, comparison)
        divergences: list[Divergence] = []
        findings: list[Divergence] = []
        for each in found:
            if each.layer in _PAGE_LAYERS and reasons:
                why = f"It affects the mission: {'; '.join(reasons)}."
                divergences.append(each.model_copy(update={"message": f"{each.message} {why}"}))
            elif (
                each.layer in _PAGE_LAYERS
                or each.code == "pixels-changed"
                or each in passive
                or (each.code == "title-changed" and not self._affects_titles(planned, action, comparison))
                or (each.code == "console-error-changed" and _is_of_passive_resources(len(passive), comparison))
            ):
                findings.append(each.model_copy(update={"severity": "finding"}))
            else:
                divergences.append(each)
        return tuple(divergences), tuple(findings)

    def _passive_changes(self, found: tuple[Divergence, ...], comparison: Comparison) -> tuple[Divergence, ...]:
        """Return the differences of requests for pictures and the like."""
        recorded, observed = comparison.recorded.observation, comparison.observed
        if recorded is None or observed is None or all(each.layer != "network" for each in found):
            return ()
        known, others = self._recorded_requests
        passive = (comparison.passive_requests | known) - others
        essential = _request_changes(comparison, recorded, observed, lambda key: key not in passive)
        only_passive = _request_changes(comparison, recorded, observed, lambda key: key in passive)
        failed = tuple(f"{change.key} with " for change in comparison.response_changes if _is_passive(change))
        return tuple(
            each
            for each in found
            if (
                each.code in _REQUEST_CODES
                and each.content not in essential
                and (each.code != "request-changed" or each.content in only_passive)
            )
            or (each.code == "resource-failed" and each.expected.startswith(failed))
        )

    @cached_property
    def _recorded_requests(self) -> tuple[frozenset[str], frozenset[str]]:
        """The keys of recorded requests for pictures and the like, and those of all others."""
        recording = self.plan.recorded_network()
        types = [(each.key, each.request.resource_type) for each in (recording.exchanges if recording else ())]
        others = frozenset(key for key, kind in types if kind not in PASSIVE_TYPES)
        return frozenset(key for key, _ in types) - others, others

    def _affects_titles(self, planned: PlannedStep, action: ActionTrace, comparison: Comparison) -> bool:
        """Return whether the action changed a title that is different now, or loaded its document."""
        shown, observed = action.observation, comparison.observed
        titles = {} if observed is None else {page.page: page.title for page in observed.pages}
        for page in shown.pages if shown is not None else ():
            if titles.get(page.page, page.title) == page.title:
                continue
            before = self.plan.page_before(planned, page.page)
            is_new = shown is not None and _is_new_document(shown, page.page)
            if is_new or before is None or before.title != page.title:
                return True
        return False

    def _affected(
        self,
        planned: PlannedStep,
        action: ActionTrace,
        comparison: Comparison,
        observed_before: Callable[[int], PageSnapshot | None],
    ) -> Iterator[str]:
        """Yield how the changes of pages affect the mission; an unknown effect counts as one."""
        shown = action.observation
        for page in shown.pages if shown is not None else ():
            observed, recorded = comparison.observed_dom(page.page), comparison.recorded_dom(page.page)
            if observed is None or recorded is None:
                yield f"page {page.page} has no snapshot to show what changed"
                continue
            before = self._page_before(planned, page.page)
            is_new = shown is not None and _is_new_document(shown, page.page)
            if before is None and not is_new:
                yield f"page {page.page} has no earlier snapshot to show what the action changed"
                continue
            earlier = observed_before(page.page)
            effect = None
            if before is not None and not is_new:
                effect = find_overlapping_effect(
                    with_hidden_states(before),
                    with_hidden_states(recorded),
                    with_hidden_states(observed),
                    None if earlier is None else with_hidden_states(mask_page(earlier, page.url, self.masks)[0]),
                )
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
        shown = self.plan.page_before(planned, page)
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


def _request_changes(
    comparison: Comparison, recorded: Observation, observed: Observation, is_counted: Callable[[str], bool]
) -> frozenset[tuple[str, ...]]:
    """Return the content of the differences between the requests whose keys count."""
    both = [
        each.model_copy(update={"requests": tuple(filter(is_counted, each.requests))}) for each in (recorded, observed)
    ]
    action = comparison.recorded.model_copy(update={"observation": both[0]})
    return frozenset(each.content for each in detect_network(replace(comparison, recorded=action, observed=both[1])))


def _is_passive(change: ResponseChange) -> bool:
    return change.resource_type in PASSIVE_TYPES and change.key.partition(" ")[0] in SAFE_METHODS


def _is_of_passive_resources(passive: int, comparison: Comparison) -> bool:
    """Return whether the console reports no more than the pictures and the like that were loaded differently."""
    recorded, observed = comparison.recorded.observation, comparison.observed
    if recorded is None or observed is None:
        return False
    before, now = Counter(recorded.console_errors), Counter(observed.console_errors)
    changed = [*(now - before).elements(), *(before - now).elements()]
    return len(changed) <= passive and all(each.startswith(RESOURCE_ERROR) for each in changed)
