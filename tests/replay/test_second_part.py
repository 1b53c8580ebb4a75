"""A replay that goes on from a step: what is before it leads there from the recording, and has to lead there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import NetworkPartMissingError, PlanChangedError, SecretMissingError
from eikon_engine.outcome.events import ActionTaken, Note, RunEnd, RunStart, SkillUsed
from eikon_engine.outcome.outcomes import ReplayOutcome, SecondPart
from eikon_engine.outcome.read_events import read_events
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.plan_digest import plan_digest
from eikon_engine.trace.bundle import open_bundle
from tests.replay.conftest import SECRETS, replay
from tests.replay.test_replay_command import TRACES, assert_one_line, change_trace, copy_bundle, run_replay

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import StepOutcome
    from eikon_engine.replay.plan import PlannedStep
    from tests.replay.conftest import Recorded

PASSING = TRACES / "shop_passing"
OTHER = "ab" * 32


def steps_of(outcome: ReplayOutcome) -> list[StepOutcome]:
    """Return the steps that were replayed, in order."""
    return [step for subgoal in outcome.subgoals for step in subgoal.steps]


def test_mission_goes_on_sealed_after_what_leads_there(tmp_path: Path) -> None:
    """All steps are compared, the earlier run is found to be of the same plan, and the events say where it goes on."""
    whole = run_replay(PASSING, tmp_path / "run")
    again = run_replay(PASSING, tmp_path / "run", "--from", "4")

    assert (whole.returncode, again.returncode) == (0, 0), again.stderr
    first = ReplayOutcome.model_validate_json((tmp_path / "run.1" / "outcome.json").read_bytes())
    second = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    assert (first.second_part, first.plan_digest) == (None, second.plan_digest)
    place = SecondPart(step=4, subgoal="find_banana__attempt_1", sequence=1, network="sealed")
    assert second.second_part == place
    assert [each.verdict for each in steps_of(second)] == ["faithful"] * 29
    events = [line.event for line in read_events(tmp_path / "run" / "events.jsonl").lines]
    assert isinstance(events[0], RunStart)
    assert (events[0].plan_digest, events[0].second_part) == (second.plan_digest, place)
    told = next(number for number, event in enumerate(events) if isinstance(event, Note))
    assert sum(isinstance(event, ActionTaken | SkillUsed) for event in events[:told]) == 3
    summary = (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")
    assert "Second part  from step 4 (sequence 1 of find_banana__attempt_1), from the recording\n" in summary
    assert f"Plan         {second.plan_digest}\n" in summary
    assert "second part, from step 4" in again.stderr


@pytest.mark.parametrize("mission", ["banana", "order"])
def test_mission_goes_on_with_its_site(recorded: Recorded, mission: str, tmp_path: Path) -> None:
    """The site is not asked for what leads to the step, and for everything from there on; both are as recorded."""
    recorded.shop.restart()
    bundle = recorded.bundles[mission]
    step = 4 if mission == "banana" else 1

    outcome = replay(bundle, tmp_path / "run", from_step=step, then="live")

    assert [divergence.message for divergence in outcome.divergences] == []
    assert outcome.verdict == "faithful", outcome.reasons
    assert outcome.network.live > 0
    assert (outcome.network.served > 0) == (step > 1)
    assert outcome.network.response_changes == ()
    assert outcome.network.unmatched == ()


def test_changes_of_the_site_count_only_in_the_second_part(recorded: Recorded, tmp_path: Path) -> None:
    """What the site changed before the step is not seen; after it, it diverges, explained by the answer that changed."""
    bundle = recorded.bundles["order"]
    positions = {(each.subgoal.subgoal_id, each.step.sequence): each.position for each in planned(bundle)}
    recorded.shop.restart("error-on-submit")

    outcome = replay(bundle, tmp_path / "run", from_step=positions["check_out", 6], then="live")
    sealed = replay(bundle, tmp_path / "run", from_step=positions["check_out", 6])

    assert (outcome.divergences[0].subgoal_id, outcome.divergences[0].sequence) == ("check_out", 6)
    assert outcome.divergences[0].code == "status-changed"
    assert outcome.network.response_changes != ()
    assert sealed.verdict == "faithful"


def test_divergence_on_the_way_ends_the_run(tmp_path: Path) -> None:
    """Steps that lead elsewhere by now lead to no second part, even where divergences are collected."""
    bundle = copy_bundle("shop_passing", tmp_path)
    found = next(each.position for each in planned(bundle) if '"#cart-badge"' in each.step.model_dump_json())
    change_trace(bundle, '"text": "3",', '"text": "4",')

    done = run_replay(
        bundle, tmp_path / "run", "--from", str(found + 1), "--then", "live", "--on-divergence", "continue"
    )

    assert done.returncode == 1
    outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    assert outcome.ended_early is not None
    assert f"step {found} diverged, so the run cannot go on from step {found + 1}" in outcome.ended_early
    assert len(steps_of(outcome)) == found
    assert outcome.network.live == 0
    end = read_events(tmp_path / "run" / "events.jsonl").lines[-1].event
    assert isinstance(end, RunEnd)
    assert end.ended_early == outcome.ended_early
    summary = (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")
    assert "every request really made; not reached" in summary


def test_changed_mission_is_refused(tmp_path: Path) -> None:
    """A run does not go on with another plan than the one that was begun, and leaves the artifacts of that one."""
    bundle = copy_bundle("shop_passing", tmp_path)
    run_replay(bundle, tmp_path / "run")
    before = (tmp_path / "run" / "outcome.json").read_bytes()
    change_trace(bundle, "Sweet & ripe", "Sweet & soft")

    refused = run_replay(bundle, tmp_path / "run", "--from", "3")

    assert_one_line(refused, 2, "plan-changed", "the run cannot go on", "outcome.json", "--plan-digest")
    assert (tmp_path / "run" / "outcome.json").read_bytes() == before
    assert not (tmp_path / "run.1").exists()
    stated = refused.stderr.split("--plan-digest ")[1].split()[0]
    engine = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run", plan_digest=OTHER, from_step=3))
    with pytest.raises(PlanChangedError, match=f"--plan-digest has the plan {OTHER[:12]}"):
        engine.replay(bundle)
    assert stated == plan_digest(plan_replay(open_bundle(bundle), ReplayOptions()))


def test_damaged_outcome_of_the_earlier_run_is_refused(tmp_path: Path) -> None:
    """Nothing shows then whether the mission is the same one."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "outcome.json").write_text('{"outcome_version": 1', encoding="utf-8")

    assert_one_line(run_replay(PASSING, tmp_path / "run", "--from", "3"), 65, "outcome.json")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--from", "30"), "the number of a step, 1 to 29, found 30"),
        (("--then", "live"), "--from N, which was not given"),
        (("--from", "3", "--network", "live"), "found --network live"),
        (("--from", "3", "--base-url", "http://a=http://b"), "found --base-url"),
        (("--from", "3", "--then", "live", "--answers", str(PASSING)), "--answers answers instead"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    """Wrong options are refused before anything is written."""
    assert_one_line(run_replay(PASSING, tmp_path / "run", *options), 2, words)
    assert not (tmp_path / "run").exists()


def test_number_that_is_none_is_a_matter_of_usage(tmp_path: Path) -> None:
    """Click refuses what is no number of a step, and what is no digest."""
    assert run_replay(PASSING, tmp_path / "run", "--from", "0").returncode == 2
    assert run_replay(PASSING, tmp_path / "run", "--from", "2", "--plan-digest", "abc").returncode == 2


def test_site_is_not_given_stand_ins_for_named_secrets(recorded: Recorded, tmp_path: Path) -> None:
    """What goes on live wants the secrets, as a live replay does."""
    with pytest.raises(SecretMissingError):
        replay(recorded.bundles["order"], tmp_path / "run", from_step=2, then="live", secrets={})


def test_bundle_without_network_leads_nowhere(tmp_path: Path) -> None:
    """What leads to a step comes from the recording."""
    bundle = copy_bundle("shop_passing", tmp_path)
    trace = json.loads((bundle / "trace.json").read_bytes())
    (bundle / "trace.json").write_text(json.dumps({**trace, "network": None}), encoding="utf-8")

    with pytest.raises(NetworkPartMissingError, match="wants a recorded network"):
        ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run", from_step=2)).replay(bundle)


def planned(bundle: Path) -> list[PlannedStep]:
    """Return the steps of a bundle, in order."""
    plan = plan_replay(open_bundle(bundle), ReplayOptions(secrets=SECRETS))
    return [step for subgoal in plan.subgoals for step in subgoal.steps]
