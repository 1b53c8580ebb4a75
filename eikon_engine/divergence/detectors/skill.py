"""Detect a different result or output of a rerun skill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.divergence.response_diff import ABSENT
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.text import pluralize
from eikon_engine.outcome.divergence import Divergence
from eikon_engine.outcome.json_diff import JsonChangeKind, diff_json, render_json_diff
from eikon_engine.trace.execution import Failed, Succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.divergence.comparison import StepPosition
    from eikon_engine.trace.execution import PageIntent, Result, SkillUsage


def detect_skill(place: StepPosition, usage: SkillUsage, result: Result, output: JsonValue) -> Iterator[Divergence]:
    """Compare the result and the output of a skill."""
    if isinstance(result, Failed) and isinstance(usage.result, Succeeded):
        why = "The skill succeeded in the recording but failed now."
        yield _make_divergence(place, "skill-failed", "ok", f"{result.code}: {result.message}", why)
    elif isinstance(result, Succeeded) and isinstance(usage.result, Failed):
        expected = f"{usage.result.code}: {usage.result.message}"
        why = "The skill failed in the recording but succeeded now."
        yield _make_divergence(place, "skill-unexpected-success", expected, "ok", why)
    elif isinstance(result, Succeeded) and usage.output_recorded:
        changes = diff_json(usage.output, output)
        if changes:
            first = changes[0]
            yield Divergence(
                code="skill-output-changed",
                layer="skill",
                subgoal=place.subgoal,
                subgoal_id=place.subgoal_id,
                sequence=place.sequence,
                expected=f"{first.path} {_format_side(first.expected, absent=first.kind is JsonChangeKind.ADDED)}",
                observed=f"{first.path} {_format_side(first.observed, absent=first.kind is JsonChangeKind.REMOVED)}",
                message=f"The output of skill {usage.skill} differs in {pluralize(len(changes), 'place')}, "
                f"first at {first.path}.",
                detail=render_json_diff(changes),
            )


def detect_page_intent(place: StepPosition, intent: PageIntent, observed: str) -> Iterator[Divergence]:
    """Compare the classification of a page."""
    if observed != intent.intent:
        why = "The page is classified differently than in the recording."
        yield _make_divergence(place, "page-intent-changed", intent.intent, observed, why)


def _format_side(value: JsonValue, *, absent: bool) -> str:
    if absent:
        return ABSENT
    return value if isinstance(value, str) else canonical_json(value)


def _make_divergence(place: StepPosition, code: str, expected: str, observed: str, message: str) -> Divergence:
    return Divergence(
        code=code,
        layer="skill",
        subgoal=place.subgoal,
        subgoal_id=place.subgoal_id,
        sequence=place.sequence,
        expected=expected,
        observed=observed,
        message=message,
    )
