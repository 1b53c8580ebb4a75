"""Failures from replay outcomes that the output of a test run names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.files.text import pluralize
from eikon_engine.fix.analysis.normalize import last_lines, normalize, shorten
from eikon_engine.fix.models import TestFailure
from eikon_engine.outcome.outcomes import ReplayOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.fix.analysis.normalize import RunPaths
    from eikon_engine.outcome.divergence import Divergence, Explanation

OUTCOME_FILE: Final = "outcome.json"
MAX_OUTCOME_BYTES: Final = 64 << 20
DETAIL_LINES: Final = 40
_OUTCOME_PATH: Final = re.compile(r"(?:^|[\s:\"'=(])(?P<folder>[^\s:\"'=()]*?)(?:replay_summary\.txt|outcome\.json)\b")


def read_replay_failures(text: str, places: RunPaths) -> tuple[TestFailure, ...]:
    """Return one failure for each replay that was not faithful, starting with what its explanation is about."""
    names = dict.fromkeys(f"{found['folder']}{OUTCOME_FILE}" for found in _OUTCOME_PATH.finditer(text))
    read = ((name, _outcome(name, places)) for name in names)
    return tuple(_failure(name, outcome, places) for name, outcome in read if outcome and outcome.exit_status != 0)


def _outcome(name: str, places: RunPaths) -> ReplayOutcome | None:
    """Read an outcome inside the tree; None if it is missing or invalid."""
    file = places.relative_file(name)
    if file is None:
        return None
    path = places.tree / file
    try:
        return (
            ReplayOutcome.model_validate_json(path.read_bytes()) if path.stat().st_size <= MAX_OUTCOME_BYTES else None
        )
    except (OSError, ValidationError):
        return None


def _failure(name: str, outcome: ReplayOutcome, places: RunPaths) -> TestFailure:
    cause = outcome.explanation
    found = _explained_divergence(outcome, cause) or next(iter(outcome.divergences), None)
    message = cause.sentence if cause is not None else next(iter(outcome.reasons), f"verdict {outcome.verdict}")
    step = "" if found is None else f" {found.subgoal}:{found.sequence}"
    return TestFailure(
        id=f"{outcome.mission_id}{step}",
        kind="eikon",
        message=normalize(message, places),
        file=places.relative_file(name),
        excerpt=normalize("\n".join(_lines(outcome, cause, found)), places),
    )


def _explained_divergence(outcome: ReplayOutcome, cause: Explanation | None) -> Divergence | None:
    """Return the divergence that the explanation is about."""
    if cause is None:
        return None
    key = (cause.subgoal, cause.sequence, cause.code)
    return next((each for each in outcome.divergences if (each.subgoal, each.sequence, each.code) == key), None)


def _lines(outcome: ReplayOutcome, cause: Explanation | None, found: Divergence | None) -> Iterator[str]:
    """Yield the first cause with its evidence, then other findings."""
    yield f"mission {outcome.mission_id}: {outcome.mission_text}"
    yield f"verdict: {outcome.verdict}"
    yield from (f"because: {reason}" for reason in outcome.reasons)
    if found is not None:
        yield f"first divergence: {found.code} in {found.layer} at {found.subgoal} step {found.sequence}"
        yield f"expected: {found.expected}"
        yield f"observed: {found.observed}"
        yield from (f"did you mean: {each}" for each in found.candidates or ())
        yield from (f"explained by: {each}" for each in found.because)
        if found.detail:
            yield shorten(found.detail, DETAIL_LINES)
    if cause is not None:
        yield f"cause: {cause.cause}, {cause.why}"
        yield from (f"{each.title}: {last_lines(each.text, DETAIL_LINES)}" for each in cause.evidence)
        yield from (f"also goes wrong: {each.subgoal} step {each.sequence}: {each.why}" for each in cause.consequences)
    yield from (f"gate {each.gate}: {each.message}" for each in outcome.gates if each.passed is False)
    more = len(outcome.divergences) - (found is not None)
    if more > 0:
        yield f"and {pluralize(more, 'more divergence')}"
