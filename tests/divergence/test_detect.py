"""Detection as a whole: every change of a recorded value is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.detect import detect_divergences
from eikon_engine.trace.actions import FunctionCondition, WaitFor
from eikon_engine.trace.execution import ActionTrace, Failed, Succeeded
from eikon_engine.trace.labels import condition_label
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.trace_file import read_trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.execution import Result

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"
NOT_COMPARED = {
    *("begun_ms", "loading_pages", "acted_ms", "virtual_ms", "snapshot", "writes", "is_brief", "settled", "unanswered"),
    "repeats_pages",
}
"""Page time depends on waiting for targets; snapshots are checked against their digests; writes are requests, of which
only the order counts; short-lived values are not compared; observations of a replay are always settled; blocked
requests are reported as misses; repeated pages have equal digests."""
STEPS = [
    action
    for name in ("shop_passing", "shop_failing")
    for subgoal in read_trace(TRACES / name).subgoal_traces
    for action in subgoal.actions_taken
]


def compare(recorded: ActionTrace, observed: Observation, result: Result | None = None) -> tuple[Divergence, ...]:
    """Compare a recorded action with a possible observation of it, and with its own result by default."""
    place = StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=recorded.sequence)
    comparison = Comparison(
        position=place,
        recorded=recorded,
        result=recorded.result if result is None else result,
        observed=observed,
        is_sealed=True,
        compares_stored_values=True,
    )
    return detect_divergences(comparison)


def changes(  # noqa: C901 - one case a kind of value
    value: JsonValue, path: str = ""
) -> Iterator[tuple[str, JsonValue]]:
    """Yield variants of a value that differ in a single leaf or lack one element, with the path of the change."""
    match value:
        case dict():
            for key, inner in value.items():
                if key not in NOT_COMPARED:
                    yield from ((where, {**value, key: other}) for where, other in changes(inner, f"{path}.{key}"))
        case list():
            if value:
                yield f"{path} without its last", value[:-1]
            for index, inner in enumerate(value):
                for where, other in changes(inner, f"{path}[{index}]"):
                    yield where, [*value[:index], other, *value[index + 1 :]]
        case bool():
            yield path, not value
        case int() | float():
            yield path, value + 1
        case str():
            yield (
                path,
                {"accepted": "dismissed", "dismissed": "accepted"}.get(value) or OTHER_KIND.get(value, f"{value}x"),
            )
        case None:
            return


OTHER_KIND = {
    "alert": "confirm", "confirm": "alert", "prompt": "alert",
    "cookie": "local", "local": "session", "session": "local",
}  # fmt: skip


@pytest.mark.parametrize("recorded", STEPS, ids=[step.id for step in STEPS])
def test_every_changed_leaf_of_an_observation_is_found(recorded: ActionTrace) -> None:
    """A change of any single leaf of an observation is a finding; an equal observation gives none."""
    assert recorded.observation is not None
    plain = json.loads(recorded.observation.model_dump_json())

    unseen = [
        where
        for where, changed in changes(plain)
        if not compare(recorded, Observation.model_validate_json(json.dumps(changed)))
    ]

    assert unseen == []
    assert compare(recorded, recorded.observation) == ()


def test_the_result_is_compared_in_both_directions() -> None:
    """Unexpected failures, unexpected successes and different failures are findings."""
    succeeded = next(step for step in STEPS if isinstance(step.result, Succeeded))
    failed = next(step for step in STEPS if isinstance(step.result, Failed))
    place = StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=1)

    found = [
        detect_divergences(Comparison(position=place, recorded=recorded, result=result, observed=recorded.observation))[
            0
        ].code
        for recorded, result in (
            (succeeded, Failed(code="target-missing")),
            (failed, Succeeded()),
            (failed, Failed(code="target-ambiguous")),
        )
    ]

    assert found == ["target-missing", "unexpected-success", "failure-changed"]


@pytest.mark.parametrize(
    ("waited_ms", "observed"),
    [
        (None, "it held at once"),
        (0.04, "it held at once"),
        (50.0, "it held after 0.05 s"),
        (1234.0, "it held after 1.2 s"),
        (9970.0, "it held after 10 s"),
        (150_400.0, "it held after 150 s"),
    ],
)
def test_a_failed_wait_whose_condition_holds_now_says_when(waited_ms: float | None, observed: str) -> None:
    """Expected and observed are clauses, with times as people write them."""
    action = WaitFor(condition=FunctionCondition(expression="() => done"), timeout_ms=200_000)
    step = STEPS[0].model_copy(update={"action": action, "result": Failed(code="wait-timeout")})
    place = StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=1)

    found, *_ = detect_divergences(
        Comparison(position=place, recorded=step, result=Succeeded(), observed=step.observation, waited_ms=waited_ms)
    )

    assert found.code == "unexpected-success"
    assert found.expected == f"the condition does not hold within 200 s: {condition_label(action.condition)}"
    assert found.observed == observed


@pytest.mark.parametrize("code", ["page-missing", "unknown"])
def test_an_action_that_closes_its_page_may_be_recorded_as_failed(code: str) -> None:
    """The page of a popup may close before it reports the click: no divergence, provided that it closes again."""
    step = next(each for each in STEPS if isinstance(each.result, Succeeded) and each.observation is not None)
    failed = Failed(code=code, message="Locator.click: Target page, context or browser has been closed")
    assert step.observation is not None
    closing = step.observation.model_copy(update={"closed": (step.action.page,)})
    recorded = step.model_copy(update={"result": failed, "observation": closing})

    assert compare(recorded, closing, Succeeded()) == ()
    staying = compare(recorded, step.observation, Succeeded())
    assert "unexpected-success" in [found.code for found in staying]


def test_what_had_not_settled_is_no_baseline() -> None:
    """Pages that were not idle when an agent was recorded are not compared."""
    step = next(each for each in STEPS if each.observation is not None)
    unsettled = step.observation and step.observation.model_copy(update={"settled": False})

    assert step.baseline == step.observation
    assert step.model_copy(update={"observation": unsettled}).baseline is None
