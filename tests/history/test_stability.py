"""What the runs of a mission say about it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.history import summarize_mission
from tests.history.runs import START, make_run, make_runs

SIGNS = st.text("+-?", min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("signs", "stability"),
    [("++++", "steady"), ("++--", "broken"), ("--++", "steady"), ("?", "broken"), ("++-+", "flaky"), ("-+-", "flaky")],
)
def test_a_mission_is_flaky_once_it_changed_twice_with_an_unknown_build(signs: str, stability: str) -> None:
    """A single change may be the day on which the site was changed."""
    assert summarize_mission(make_runs(signs)).stability == stability


@pytest.mark.parametrize(
    ("build", "network", "signs"), [("1f2e", "live", "+++-"), ("", "sealed", "++-+"), ("1f2e", "sealed", "++-+")]
)
def test_equal_runs_that_ended_differently_are_flaky(build: str, network: str, signs: str) -> None:
    """With one build, or against the recording, whose build does not matter: but one may be ignored since a day."""
    found = summarize_mission(make_runs(signs, build=build, network=network))  # type: ignore[arg-type] # of the literal

    where = "against the same recording" if network == "sealed" else "with build 1f2e"
    assert found.stability == "flaky"
    assert found.reasons == (
        f"3 of 4 equal runs {where} passed; test-data: GET /api/items/{{id}}: $.price: another value [0123abcd] (1)",
    )


def test_runs_of_unknown_plans_are_not_equal() -> None:
    """Outcomes of older versions have none; nor do runs of one mission that was recorded again."""
    unknown = [run.model_copy(update={"plan_digest": ""}) for run in make_runs("+-+-", build="1")]
    again = [
        run.model_copy(update={"trace_id": f"{number}"}) for number, run in enumerate(make_runs("+-+-", build="1"))
    ]

    assert [summarize_mission(runs).stability for runs in (unknown, again)] == ["broken", "broken"]


def test_another_build_or_plan_is_another_run() -> None:
    """A mission that fails with the new build, or since it was recorded again, is broken and not flaky."""
    old = make_runs("+++", build="1")
    new_build = [make_run(9, "-", build="2"), make_run(10, "-", build="2")]
    new_plan = [make_run(9, "-", build="1", plan="b" * 64)]

    assert summarize_mission(old + new_plan).stability == "broken"
    broken = summarize_mission(old + new_build)
    assert broken.stability == "broken"
    assert broken.failing_since == START + timedelta(minutes=9)
    assert broken.reasons[0].startswith("failed in the last 2 runs, since 2026-01-02 03:13, since build 2; test-data: ")


def test_a_reason_names_the_most_frequent_causes() -> None:
    """Those that are as frequent are in order, and the rest is a number."""
    runs = [make_run(number, "-", signature=f"0000000{cause}") for number, cause in enumerate("aabcdd")]

    (reason,) = summarize_mission(runs).reasons

    assert [reason.index(f"[0000000{cause}]") for cause in "adb"] == sorted(
        reason.index(f"[0000000{cause}]") for cause in "adb"
    )
    assert reason.endswith("(1) and 1 more")


@given(signs=SIGNS, data=st.data())
def test_the_order_of_the_runs_does_not_matter(signs: str, data: st.DataObject) -> None:
    """Numbers, trend and durations are those of the runs in the order of their start."""
    runs = make_runs(signs)

    found = summarize_mission(data.draw(st.permutations(runs)))

    assert found == summarize_mission(runs)
    assert found.trend == signs[-10:]
    assert (found.runs, found.passed) == (len(signs), signs.count("+"))
    assert (found.failing_since is None) == (signs[-1] == "+")
    assert (found.stability == "steady") == (not found.reasons)


def test_durations_are_those_of_the_middle_and_of_the_last_run() -> None:
    """In milliseconds."""
    runs = [make_run(number, duration_ms=ms) for number, ms in enumerate((1000, 9000, 2000))]

    found = summarize_mission(runs)

    assert (found.median_ms, found.last_ms) == (2000, 2000)
