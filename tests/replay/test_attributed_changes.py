"""A changed response belongs to the step during which it arrived, whatever is found out about it later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.outcome.outcomes import ResponseChange, ValueChange
from eikon_engine.replay import ReplayOptions
from eikon_engine.replay.attributed_changes import AttributedChanges
from eikon_engine.replay.plan import plan_replay
from eikon_engine.trace.actions import Note
from eikon_engine.trace.bundle import open_bundle
from tests.exporters.traces import step, trace_of

if TYPE_CHECKING:
    from eikon_engine.replay.plan import PlannedStep

BUNDLE = Path(__file__).resolve().parents[1] / "data" / "traces" / "shop_passing"


def steps(count: int) -> tuple[PlannedStep, ...]:
    """Plan some steps."""
    trace = trace_of(*(step(number, Note(text="x")) for number in range(1, count + 1)))
    plan = plan_replay(replace(open_bundle(BUNDLE), trace=trace), ReplayOptions(network="live"))
    return plan.subgoals[0].steps


def change(live: str, key: str = "GET http://a/", part: str = "status") -> ResponseChange:
    """Return a changed response that no step has yet; without a live value, without a difference."""
    what = (ValueChange(part=part, recorded="200", live=live),) if live else ()
    return ResponseChange(key=key, occurrence=0, subgoal="", sequence=0, what=what)


def shown(found: tuple[ResponseChange, ...]) -> list[tuple[int, list[str]]]:
    """Return the step and the live values of each."""
    return [(each.sequence, [value.live for value in each.what]) for each in found]


def test_a_response_keeps_its_step_and_gets_its_present_values() -> None:
    """The first one is amended during the second step, and retracted after it."""
    first, second = steps(2)
    changes = AttributedChanges(lambda each, _: each)
    changes.end_step(first, [change("500")])

    assert shown(changes.until(second, [change("501"), change("404")])) == [(1, ["501"]), (2, ["404"])]
    changes.end_step(second, [change("501"), change("404")])
    assert shown(changes.for_outcome([change(""), change("404"), change("403")])) == [(2, ["404"]), (0, ["403"])]


def test_a_present_value_is_adapted_to_its_step() -> None:
    """What is no difference there is removed again."""
    first, second = steps(2)
    adapted: list[tuple[int, int]] = []

    def adapt(found: ResponseChange, planned: PlannedStep) -> ResponseChange:
        adapted.append((planned.step.sequence, len(found.what)))
        return found.model_copy(update={"what": ()})

    changes = AttributedChanges(adapt)
    same = change("500")
    changes.end_step(first, [same])
    changes.end_step(second, [same])

    assert shown(changes.until(second, [change("501")])) == [(1, [])]
    assert adapted == [(1, 1), (1, 1)]


def test_a_missing_message_is_kept_once() -> None:
    """It may explain several steps; how long it was waited for differs."""
    changes = AttributedChanges(lambda each, _: each)
    for message, live in (("1", "none so far"), ("1", "none within 5 s"), ("2", "none so far")):
        changes.keep_missing(change(live, "WEBSOCKET ws://a/", f"message {message}"))

    assert [value.part for each in changes.for_outcome([]) for value in each.what] == ["message 1", "message 2"]
