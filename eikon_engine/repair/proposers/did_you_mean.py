"""Propose the one element that a lost target clearly became."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.errors import LOST_TARGET_CODES
from eikon_engine.repair.proposers.proposer import ProposedRepair
from eikon_engine.repair.replacement import comparison_patch, replaced_element
from eikon_engine.repair.report import Repair
from eikon_engine.repair.selectors import unique_selectors
from eikon_engine.repair.site_reset import earlier_visit_hint
from eikon_engine.trace.actions import Assert, Drag
from eikon_engine.trace.edits import SetFields
from eikon_engine.trace.patch import TracePatch

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.outcome.divergence import Candidate
    from eikon_engine.repair.diagnosis import Diagnosis, DivergedStep
    from eikon_engine.repair.options import RepairOptions
    from eikon_engine.trace.target import Target

MIN_SCORE: Final = 0.7
"""Minimum score of the candidate, from 0 to 1."""
MIN_LEAD: Final = 0.2
"""Minimum lead over the next candidate."""

_NUMBER: Final = re.compile(r"\d+")


async def did_you_mean(diagnosis: Diagnosis, options: RepairOptions) -> ProposedRepair | None:
    """Propose the best candidate as target, if it is clearly ahead."""
    lost = diagnosis.last
    target = _target(lost)
    found = _clear_candidate(lost)
    if target is None or found is None or lost.step is None:
        return None
    element, document = _element(diagnosis, lost, found)
    if element is None:
        return None
    selector = _selector(lost, target, element, document)
    if selector is None or (
        _differs_in_numbers(target, element) and earlier_visit_hint(diagnosis.bundle.trace, options)
    ):
        return None
    reason = f"{lost.first.code} of {target.selector}; {found}"
    fields: dict[str, JsonValue] = (
        {"action.target.selector": selector} if selector != target.selector else {"action.target.identity": None}
    )
    edit = SetFields(step=lost.step.id, fields=fields, reason=f"did-you-mean: {reason}")
    return ProposedRepair(
        repair=Repair(proposer="did-you-mean", patch=TracePatch(operations=(edit,)), reason=reason),
        comparison_patch=comparison_patch(lost.step, selector, element.identity, edit),
        replacement=replaced_element(diagnosis, lost, element),
    )


def _differs_in_numbers(target: Target, element: LocatedElement) -> bool:
    """Return whether labels differ only in a number: a counter changed by an earlier visit, not a new label."""
    before = "" if target.identity is None else target.identity.name
    return before != element.name and _NUMBER.sub("#", before) == _NUMBER.sub("#", element.name)


def _target(lost: DivergedStep) -> Target | None:
    """Return the lost target; a drag has two, and an assertion asserts its own."""
    if lost.step is None or lost.first.code not in LOST_TARGET_CODES or isinstance(lost.step.action, Drag | Assert):
        return None
    return getattr(lost.step.action, "target", None)


def _clear_candidate(lost: DivergedStep) -> Candidate | None:
    """Return the best candidate, if it is likely and clearly ahead of the second."""
    candidates = lost.first.candidates or ()
    if not candidates or candidates[0].score < MIN_SCORE:
        return None
    second = candidates[1].score if len(candidates) > 1 else 0.0
    return candidates[0] if candidates[0].score - second >= MIN_LEAD else None


def _element(
    diagnosis: Diagnosis, lost: DivergedStep, found: Candidate
) -> tuple[LocatedElement | None, tuple[LocatedElement, ...]]:
    """Return the candidate's element in the observed page; None if its path is ambiguous."""
    page = diagnosis.page_at(lost)
    frame = None if page is None else next((each for each in page.frames if each.path == found.frame), None)
    document = () if frame is None else tuple(locate_elements(frame))
    named = [each for each in document if each.path == found.path]
    return (named[0] if len(named) == 1 else None), document


def _selector(
    lost: DivergedStep, target: Target, element: LocatedElement, document: tuple[LocatedElement, ...]
) -> str | None:
    """Return the best selector; the recorded one only if it still matches one element."""
    names = unique_selectors(element, document, target.selector)
    kept = lost.first.code == "target-changed"
    return next((each for each in names if kept or each != target.selector), None)
