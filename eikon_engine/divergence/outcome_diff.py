"""Compare two outcomes of one mission, or an outcome with its bundle: verdicts, results and differences, by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import AwareDatetime

from eikon_engine.errors import UsageError
from eikon_engine.files.models import FileModel
from eikon_engine.outcome.divergence import Layer
from eikon_engine.outcome.outcomes import ActionOutcome, Verdict
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.labels import step_label
from eikon_engine.trace.steps import iter_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.outcomes import ReplayOutcome, StepOutcome
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import Result

NOT_PERFORMED = "not performed"
"""Result of a step that a run did not come to."""


class SeenDifference(FileModel):
    """A difference that one of two runs has from its recording."""

    layer: Layer
    code: str
    expected: str
    observed: str
    message: str


class StepState(FileModel):
    """What became of a step in one of two runs."""

    verdict: Verdict | None
    """None in a recording, and if the step was not performed."""
    result: str
    """`ok`, `blocked`, an error code, or `not performed`."""


class OutcomeStepDifference(FileModel):
    """A step that ended differently, or that differed from its recording in another way."""

    subgoal: str
    """Id of the subgoal attempt."""
    sequence: int
    label: str
    first: StepState
    second: StepState
    only_first: tuple[SeenDifference, ...]
    """Differences from the recording that only the first run has."""
    only_second: tuple[SeenDifference, ...]


class RunDifference(FileModel):
    """Something about the whole runs that differs."""

    what: str
    first: str
    second: str


class RunSummary(FileModel):
    """One of two runs."""

    name: str
    mission_id: str
    verdict: Verdict | None
    """None for a recording."""
    at: AwareDatetime
    """When it started."""
    steps: int
    """Number of performed steps."""


class OutcomeDiff(FileModel):
    """Two runs of a mission side by side; the second may be another run, or the first one its recording."""

    first: RunSummary
    second: RunSummary
    runs: tuple[RunDifference, ...]
    steps: tuple[OutcomeStepDifference, ...]
    """In the order of the mission, so that the first difference comes first."""
    responses_only_first: tuple[str, ...]
    """Responses that differ from the recorded ones in the first run only, as lines."""
    responses_only_second: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Return whether nothing differs."""
        return not (self.runs or self.steps or self.responses_only_first or self.responses_only_second)


def compare_outcomes(first: tuple[str, ReplayOutcome], second: tuple[str, ReplayOutcome]) -> OutcomeDiff:
    """Compare two outcomes, each with a display name.

    Raises:
        UsageError: they are of different missions.
    """
    one, two = first[1], second[1]
    if one.mission_id != two.mission_id:
        message = f"expected two outcomes of one mission, got {one.mission_id!r} and {two.mission_id!r}"
        raise UsageError(message)
    before, after = (dict(_steps(outcome)) for outcome in (one, two))
    responses = [_response_lines(outcome) for outcome in (one, two)]
    return OutcomeDiff(
        first=_summary(*first),
        second=_summary(*second),
        runs=tuple(_run_differences(one, two)),
        steps=tuple(_step_differences(before, after)),
        responses_only_first=tuple(each for each in responses[0] if each not in responses[1]),
        responses_only_second=tuple(each for each in responses[1] if each not in responses[0]),
    )


def compare_with_recording(first: tuple[str, Bundle], second: tuple[str, ReplayOutcome]) -> OutcomeDiff:
    """Compare a bundle with an outcome of it: what the replay did differently.

    Raises:
        UsageError: it is the outcome of another bundle.
    """
    (name, bundle), outcome = first, second[1]
    trace = bundle.trace
    if trace.id != outcome.trace_id:
        message = f"expected an outcome of the bundle {trace.id!r}, got one of {outcome.trace_id!r}"
        raise UsageError(message)
    after = dict(_steps(outcome))
    recorded = [(subgoal.id, step) for subgoal, step in iter_steps(trace)]
    rows = []
    for subgoal, step in recorded:
        performed = after.get((subgoal, step.sequence))
        state = StepState(verdict=None, result=_result(step.result))
        row = _difference((subgoal, step.sequence), step_label(step), (state, ()), _state(performed))
        rows += [] if row is None else [row]
    summary = RunSummary(name=name, mission_id=trace.mission_id, verdict=None, at=trace.started_at, steps=len(recorded))
    return OutcomeDiff(
        first=summary,
        second=_summary(*second),
        runs=tuple(_failures(outcome)),
        steps=tuple(rows),
        responses_only_first=(),
        responses_only_second=_response_lines(outcome),
    )


def _steps(outcome: ReplayOutcome) -> Iterator[tuple[tuple[str, int], StepOutcome]]:
    for subgoal in outcome.subgoals:
        for step in subgoal.steps:
            yield (subgoal.id, step.sequence), step


def _response_lines(outcome: ReplayOutcome) -> tuple[str, ...]:
    changes = outcome.network.response_changes
    return tuple(f"{change.key}: {value}" for change in changes for value in change.what)


def _summary(name: str, outcome: ReplayOutcome) -> RunSummary:
    return RunSummary(
        name=name,
        mission_id=outcome.mission_id,
        verdict=outcome.verdict,
        at=outcome.started_at,
        steps=sum(1 for _ in _steps(outcome)),
    )


def _run_differences(one: ReplayOutcome, two: ReplayOutcome) -> Iterator[RunDifference]:
    for what, first, second in (
        ("verdict", one.verdict, two.verdict),
        ("cause", _cause(one), _cause(two)),
        ("recording", one.trace_id, two.trace_id),
        ("plan", one.plan_digest or "unknown", two.plan_digest or "unknown"),
        ("network", one.network_mode, two.network_mode),
        ("browser", one.browser, two.browser),
        ("certified", one.certified, two.certified),
        ("ended early", one.ended_early or "no", two.ended_early or "no"),
        ("gates", _gates(one), _gates(two)),
        ("extractions", _extractions(one), _extractions(two)),
    ):
        if first != second:
            yield RunDifference(what=what, first=first, second=second)


def _failures(outcome: ReplayOutcome) -> Iterator[RunDifference]:
    """Yield what keeps a whole run from being faithful."""
    for what, expected, found in (
        ("verdict", "faithful", outcome.verdict),
        ("cause", "none", _cause(outcome)),
        ("ended early", "no", outcome.ended_early or "no"),
        ("gates", "none failed", ", ".join(each.message for each in outcome.gates if each.passed is not True)),
    ):
        if found and found != expected:
            yield RunDifference(what=what, first=expected, second=found)


def _extractions(outcome: ReplayOutcome) -> str:
    return ", ".join(f"{each.name} {each.verdict}" for each in outcome.extractions) or "none"


def _cause(outcome: ReplayOutcome) -> str:
    explanation = outcome.explanation
    return "none" if explanation is None else f"{explanation.cause}: {explanation.why}"


def _gates(outcome: ReplayOutcome) -> str:
    return ", ".join(f"{each.gate} {each.word}" for each in outcome.gates) or "none"


def _step_differences(
    before: dict[tuple[str, int], StepOutcome], after: dict[tuple[str, int], StepOutcome]
) -> Iterator[OutcomeStepDifference]:
    for key in dict.fromkeys((*before, *after)):
        step = after.get(key) or before[key]
        label = step.label if isinstance(step, ActionOutcome) else f"skill {step.skill}"
        row = _difference(key, label, _state(before.get(key)), _state(after.get(key)))
        if row is not None:
            yield row


def _difference(
    key: tuple[str, int],
    label: str,
    first: tuple[StepState, tuple[SeenDifference, ...]],
    second: tuple[StepState, tuple[SeenDifference, ...]],
) -> OutcomeStepDifference | None:
    """Return how a step differs; None if it does not."""
    only_first = tuple(each for each in first[1] if each not in second[1])
    only_second = tuple(each for each in second[1] if each not in first[1])
    is_recording = first[0].verdict is None and first[0].result != NOT_PERFORMED
    is_same = first[0].result == second[0].result and (is_recording or first[0] == second[0])
    if is_same and not only_first and not only_second:
        return None
    return OutcomeStepDifference(
        subgoal=key[0],
        sequence=key[1],
        label=label,
        first=first[0],
        second=second[0],
        only_first=only_first,
        only_second=only_second,
    )


def _state(step: StepOutcome | None) -> tuple[StepState, tuple[SeenDifference, ...]]:
    if step is None or step.result is None:
        return StepState(verdict=None if step is None else step.verdict, result=NOT_PERFORMED), ()
    findings = step.findings if isinstance(step, ActionOutcome) else ()
    seen = tuple(
        SeenDifference(
            layer=each.layer, code=each.code, expected=each.expected, observed=each.observed, message=each.message
        )
        for each in (*step.divergences, *findings)
    )
    return StepState(verdict=step.verdict, result=_result(step.result)), seen


def _result(result: Result) -> str:
    return result.code if isinstance(result, Failed) else result.kind
