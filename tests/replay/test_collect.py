"""The verdict of a complete run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.outcome.divergence import Divergence, Layer
from eikon_engine.outcome.events import ActionPerformed, RunEnd, RunStart, SubgoalStart, skill_event
from eikon_engine.outcome.outcomes import ActionOutcome, NetworkMiss, NetworkOutcome, SkillOutcome
from eikon_engine.replay.collect import Collector
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import SkillUsage, Succeeded

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import ReplayOutcome

BUNDLE = Path(__file__).resolve().parents[1] / "data" / "traces" / "shop_passing"
NOW = datetime(2025, 3, 14, 9, 30, tzinfo=UTC)
MISS = NetworkMiss(key="GET http://shop.test/late", reason="it was not recorded")


def outcome_of(
    network: NetworkOutcome,
    *found: Divergence,
    options: ReplayOptions | None = None,
    browser: str = "",
    stand_ins: tuple[str, ...] = (),
) -> ReplayOutcome:
    """Collect a complete run whose steps are faithful except for the findings of the first action."""
    options = options or ReplayOptions()
    plan = replace(plan_replay(open_bundle(BUNDLE), options), stand_in_names=stand_ins)
    collector = Collector(plan, options, NOW)
    recorded = plan.trace.environment
    assert recorded is not None
    here = recorded.model_copy(update={"browser_version": browser or recorded.browser_version})
    collector.add(RunStart(kind="bundle_replay", mission_id="m", mission_text="", environment=here))
    for each in plan.subgoals:
        begun = SubgoalStart(
            number=each.number, id=each.subgoal.id, subgoal_id="s", description="", steps=len(each.steps)
        )
        collector.add(begun)
        for step in (planned.step for planned in each.steps):
            if isinstance(step, SkillUsage):
                skill = SkillOutcome(
                    id=step.id, sequence=step.sequence, skill=step.skill, verdict="faithful", result=Succeeded()
                )
                collector.add(skill_event(each.subgoal.id, skill))
                continue
            action = ActionOutcome(
                id=step.id,
                sequence=step.sequence,
                type=step.action.type,
                label="",
                verdict="diverged" if found else "faithful",
                expected_result=step.result,
                result=step.result,
                divergences=found,
            )
            found = ()
            collector.add(ActionPerformed(subgoal=each.subgoal.id, outcome=action))
    collector.add(RunEnd(how="complete", network=network))
    return collector.outcome(NOW, None, ())


def found_at_first(code: str, layer: Layer, expected: str, observed: str) -> Divergence:
    """Return a finding of the first action."""
    return Divergence(
        code=code,
        layer=layer,
        subgoal="s__attempt_1",
        subgoal_id="s",
        sequence=1,
        expected=expected,
        observed=observed,
        message="It differs.",
    )


def test_whole_run_of_faithful_steps_is_faithful() -> None:
    """A run is faithful if every request was answered."""
    outcome = outcome_of(NetworkOutcome(served=3))

    assert (outcome.verdict, outcome.reasons) == ("faithful", ())


def test_miss_after_the_last_action_is_not_a_pass() -> None:
    """A miss that no step reports makes the run unverifiable, with a reason."""
    outcome = outcome_of(NetworkOutcome(misses=(MISS,)))

    assert outcome.verdict == "unverifiable"
    assert outcome.reasons == (
        "GET http://shop.test/late: it was not recorded. It was blocked after the last action was compared",
    )


def test_a_miss_of_a_step_is_reported_once() -> None:
    """A step's finding is not reported again as a late miss; a later one with the same key is."""
    reported = found_at_first("request-not-recorded", "network", "no such request", MISS.key)

    once, again = (outcome_of(NetworkOutcome(misses=(MISS,) * times), reported) for times in (1, 2))

    assert (once.verdict, again.verdict) == ("diverged", "diverged")
    assert [len(each.reasons) for each in (once, again)] == [1, 2]


@pytest.mark.parametrize(
    ("patch", "stand_ins", "cause"),
    [("9999", (), "site-changed"), ("9999.1", (), "unknown"), ("9999", ("PASSWORD",), "unknown")],
)
def test_a_later_release_of_the_browser_does_not_hide_that_the_site_changed(
    *, patch: str, stand_ins: tuple[str, ...], cause: str
) -> None:
    """If only the last number of its version differs, and no secret was typed as a stand-in."""
    environment = open_bundle(BUNDLE).trace.environment
    assert environment is not None
    branch = environment.browser_version.rpartition(".")[0]
    differs = found_at_first("dom-changed", "dom", "<p>", "<b>")

    outcome = outcome_of(
        NetworkOutcome(),
        differs,
        options=ReplayOptions(network="live"),
        browser=f"{branch}.{patch}",
        stand_ins=stand_ins,
    )

    assert outcome.explanation is not None
    assert outcome.explanation.cause == cause
