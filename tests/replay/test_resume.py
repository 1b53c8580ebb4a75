"""A replay that resumes at a step: earlier steps are replayed from the recording and must reach it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace as exchanged
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from eikon_engine.cli.replay import replay_command
from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.gates.event_sources import read_outcome
from eikon_engine.outcome.events import ActionPerformed, Note, RunEnd, RunStart, SkillRun
from eikon_engine.outcome.outcomes import ResumePoint
from eikon_engine.outcome.read_events import read_events
from eikon_engine.replay import ReplayOptions
from eikon_engine.replay.plan import plan_replay, require_same_plan
from eikon_engine.trace.bundle import open_bundle
from tests.error_codes import has_code
from tests.replay.conftest import replay
from tests.replay.test_replay_command import TRACES, assert_one_line, change_trace, copy_bundle, run_replay

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import ReplayOutcome, StepOutcome
    from tests.replay.conftest import Recorded

pytestmark = pytest.mark.browser

PASSING = TRACES / "shop_passing"
OTHER = "ab" * 32


def steps_of(outcome: ReplayOutcome) -> list[StepOutcome]:
    """Return the replayed steps, in order."""
    return [step for subgoal in outcome.subgoals for step in subgoal.steps]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replay the bundled mission completely; return its artifacts."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    assert replay(PASSING, folder).verdict == "faithful"
    return folder


@pytest.fixture
def earlier(begun: Path, tmp_path: Path) -> Path:
    """Return a copy of the artifacts of the complete run."""
    return Path(shutil.copytree(begun, tmp_path / "run"))


def test_a_mission_resumes_sealed_after_its_earlier_steps(earlier: Path) -> None:
    """All steps are compared, the earlier run has the same plan, and the events name the resume step."""
    first = read_outcome(earlier / "outcome.json")

    done = run_replay(PASSING, earlier, "--from", "4")

    assert done.returncode == 0, done.stderr
    assert "resumed at step 4" in done.stderr
    outcome = read_outcome(earlier / "outcome.json")
    assert (first.resume_point, first.plan_digest) == (None, outcome.plan_digest)
    place = ResumePoint(step=4, subgoal="find_banana__attempt_1", sequence=1, network="sealed")
    assert outcome.resume_point == place
    assert [each.verdict for each in steps_of(outcome)] == ["faithful"] * 29
    events = [line.event for line in read_events(earlier / "events.jsonl").lines]
    assert isinstance(events[0], RunStart)
    assert (events[0].plan_digest, events[0].resume_point) == (outcome.plan_digest, place)
    noted = next(number for number, event in enumerate(events) if isinstance(event, Note))
    assert sum(isinstance(event, ActionPerformed | SkillRun) for event in events[:noted]) == 3
    summary = (earlier / "replay_summary.txt").read_text(encoding="utf-8")
    assert "Resumed      at step 4 (sequence 1 of find_banana__attempt_1), from the recording\n" in summary
    assert f"Plan         {outcome.plan_digest}\n" in summary


def test_a_mission_resumes_on_its_site(recorded: Recorded, tmp_path: Path) -> None:
    """The site gets no requests of the steps before the resume step, and all requests after it."""
    recorded.shop.restart("download-content")  # affects the step before

    outcome = replay(recorded.bundles["banana"], tmp_path / "run", from_step=4, then_network="live")

    assert [divergence.message for divergence in outcome.divergences] == []
    assert outcome.verdict == "faithful", outcome.reasons
    assert outcome.network.live > outcome.network.served > 0
    assert outcome.network.unmatched == ()
    changed = [str(value) for change in outcome.network.response_changes for value in change.what]
    assert changed == ["cookies set: recorded (absent), live sid"]  # this shop has not seen the earlier steps


def test_what_the_site_lacks_is_reported_before_its_first_request(recorded: Recorded, tmp_path: Path) -> None:
    """Events and outcome list the state-changing requests of the earlier steps and the browser's stored data."""
    outcome = replay(
        recorded.bundles["banana"], tmp_path / "run", from_step=18, then_network="live", on_divergence="continue"
    )

    place = outcome.resume_point
    assert place is not None
    assert [key.split(" sha256")[0] for key in place.unseen] == [
        f"POST {recorded.shop.url}/api/reviews",
        f"POST {recorded.shop.url}/api/cart",
    ]
    assert place.carried == ("cookie sid of 127.0.0.1/, a stand-in for a secret, which the site does not accept",)
    events = [line.event for line in read_events(tmp_path / "run" / "events.jsonl").lines]
    notes = [(number, event.text) for number, event in enumerate(events) if isinstance(event, Note)]
    assert [text for _, text in notes] == [
        "resumed at step 18: all requests are sent to the site",
        *(f"the site did not receive {key}" for key in place.unseen),
        f"carried over from the recording: {place.carried[0]}",
    ]
    assert sum(isinstance(event, ActionPerformed | SkillRun) for event in events[: notes[-1][0]]) == 17
    summary = (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")
    assert f"Not received {place.unseen[0]}, by the site\n" in summary
    assert "Network      sealed until step 17, live from step 18\n" in summary


def test_older_recordings_report_less_of_what_a_site_has_not_received() -> None:
    """State-changing requests are found among all; a step without an observation is named, its requests unknown."""
    bundle = open_bundle(PASSING)
    attempt = bundle.trace.subgoal_traces[2]
    old = [
        each.model_copy(update={"observation": seen.model_copy(update={"writes": None})})
        for each in attempt.actions_taken
        if (seen := each.observation) is not None
    ]
    old[0] = old[0].model_copy(update={"observation": None})
    attempts = list(bundle.trace.subgoal_traces)
    attempts[2] = attempt.model_copy(update={"actions_taken": tuple(old)})
    trace = bundle.trace.model_copy(update={"subgoal_traces": tuple(attempts)})

    place = plan_replay(exchanged(bundle, trace=trace), ReplayOptions(from_step=19, then_network="live")).resume_point

    assert place is not None
    assert [key.split(" ")[0] for key in place.unseen] == ["POST", "POST"]
    assert place.unknown == (10,)
    sealed = plan_replay(bundle, ReplayOptions(from_step=19)).resume_point
    assert sealed is not None
    assert (sealed.unseen, sealed.carried) == ((), ())


def test_a_site_that_changed_diverges_after_the_resume_step(recorded: Recorded, tmp_path: Path) -> None:
    """A changed response of the site diverges and explains the divergence, as in a live replay."""
    recorded.shop.restart("frame-text")

    outcome = replay(recorded.bundles["banana"], tmp_path / "run", from_step=4, then_network="live")

    first = outcome.divergences[0]
    assert (first.subgoal_id, first.sequence, first.code) == ("find_banana", 6, "dom-changed")
    assert first.because != ()


def test_a_divergence_before_the_resumed_step_ends_the_run(tmp_path: Path) -> None:
    """If the earlier steps diverge, the run does not resume, even if it collects divergences."""
    bundle = copy_bundle("shop_passing", tmp_path)
    trace = json.loads((bundle / "trace.json").read_bytes())
    trace["subgoal_traces"][0]["skills_used"][0]["output"] = []
    (bundle / "trace.json").write_text(json.dumps(trace), encoding="utf-8")

    done = run_replay(bundle, tmp_path / "run", "--from", "3", "--then", "live", "--on-divergence", "continue")

    assert done.returncode == 1
    outcome = read_outcome(tmp_path / "run" / "outcome.json")
    assert outcome.ended_early is not None
    assert "cannot resume at step 3: step 2, which leads there, diverged" in outcome.ended_early
    assert len(steps_of(outcome)) == 2
    assert outcome.network.live == 0
    end = read_events(tmp_path / "run" / "events.jsonl").lines[-1].event
    assert isinstance(end, RunEnd)
    assert end.ended_early == outcome.ended_early
    summary = (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")
    assert "every request sent to the site; not reached" in summary


def test_a_changed_mission_is_refused(earlier: Path, tmp_path: Path) -> None:
    """A run does not resume with another plan, and leaves the earlier artifacts unchanged."""
    bundle = copy_bundle("shop_passing", tmp_path)
    before = (earlier / "outcome.json").read_bytes()
    change_trace(bundle, "Sweet & ripe", "Sweet & soft")

    refused = run_replay(bundle, earlier, "--from", "3")

    assert_one_line(refused, 2, "plan-changed", "the plan has changed", "outcome.json", "--plan-digest")
    assert (earlier / "outcome.json").read_bytes() == before
    assert not earlier.with_name("run.1").exists()
    plan = plan_replay(open_bundle(bundle), ReplayOptions(from_step=3))
    stated = refused.stderr.split("--plan-digest ")[1].split()[0]
    assert require_same_plan(plan, ReplayOptions(plan_digest=stated.upper()), earlier / "outcome.json") == ()
    with pytest.raises(UsageError, match=rf"expected {OTHER[:12]} \(--plan-digest\)", check=has_code("plan-changed")):
        require_same_plan(plan, ReplayOptions(plan_digest=OTHER), earlier / "none")


def test_an_outcome_without_a_digest_is_a_warning(earlier: Path) -> None:
    """An older outcome without a plan digest is a warning; a damaged one is refused; another mission's is ignored."""
    plan, options = plan_replay(open_bundle(PASSING), ReplayOptions(from_step=3)), ReplayOptions(from_step=3)
    outcome, file = read_outcome(earlier / "outcome.json"), earlier / "outcome.json"

    file.write_text(outcome.model_copy(update={"plan_digest": None}).model_dump_json(), encoding="utf-8")
    assert "holds no plan digest" in require_same_plan(plan, options, file)[0]
    file.write_text(outcome.model_copy(update={"mission_id": "other", "plan_digest": OTHER}).model_dump_json())
    assert require_same_plan(plan, options, file) == ()
    file.write_text('{"outcome_version": 1', encoding="utf-8")
    assert_one_line(run_replay(PASSING, earlier, "--from", "3"), 65, "outcome.json")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (ReplayOptions(from_step=30), "expected a step number from 1 to 29, got 30"),
        (ReplayOptions(then_network="live"), "--then live requires --from N"),
        (ReplayOptions(from_step=3, network="live"), "got --network live"),
        (ReplayOptions(from_step=3, base_urls={"http://a": "http://b"}), "got --base-url"),
        (ReplayOptions(from_step=3, then_network="live", responses_from=PASSING), "but --responses-from serves them"),
    ],
)
def test_contradicting_options_are_refused(options: ReplayOptions, words: str) -> None:
    """Wrong options are refused before anything is written."""
    with pytest.raises(UsageError, match=words):
        plan_replay(open_bundle(PASSING), options)


def test_malformed_values_are_refused_by_the_command() -> None:
    """Click rejects an invalid step number or digest."""
    for wrong in (("--from", "0"), ("--from", "x"), ("--plan-digest", "abc"), ("--then", "snapshot")):
        assert CliRunner().invoke(replay_command, ["--trace", str(PASSING), *wrong]).exit_code == 2


def test_site_is_not_given_stand_ins_for_named_secrets(recorded: Recorded) -> None:
    """The steps on the live site require the secrets, as a live replay does."""
    bundle = open_bundle(recorded.bundles["order"])

    plan_replay(bundle, ReplayOptions(from_step=2))
    with pytest.raises(RequirementError, check=has_code("secret-missing")):
        plan_replay(bundle, ReplayOptions(from_step=2, then_network="live"))


def test_a_bundle_without_network_cannot_be_resumed() -> None:
    """The earlier steps are replayed from the recording, so a bundle without a network part is refused."""
    bundle = open_bundle(PASSING)
    bare = exchanged(bundle, trace=bundle.trace.model_copy(update={"network": None}))

    with pytest.raises(
        RequirementError,
        match="expects a recorded network, but the trace has none",
        check=has_code("network-part-missing"),
    ):
        plan_replay(bare, ReplayOptions(from_step=2))
