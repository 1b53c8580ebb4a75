"""The long proofs of benchmarks/, in short."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from benchmarks.digest import differences, digests_of, what_counts
from benchmarks.often import replay_often
from benchmarks.subjects import Subject
from benchmarks.waits import record_waits, recorded_seconds, replay_once, replayed_seconds
from eikon_engine.replay.engine import replay_many
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.trace_file import read_trace, write_trace

pytestmark = pytest.mark.browser

PASSING = Path(__file__).resolve().parents[1] / "data" / "traces" / "shop_passing"
RECORDED_S = 60.0


def test_equal_replays_have_one_digest_and_a_changed_recording_another(tmp_path: Path) -> None:
    """Replay three times: one digest of each kind. Replay against another recorded title: another digest."""
    tally = asyncio.run(replay_often(Subject(name="shop", bundle=PASSING), runs=3, parallel=3))
    assert tally.holds
    assert tally.observed.total() == 3

    changed = asyncio.run(replay_often(Subject(name="shop", bundle=_retitled(tmp_path / "bundle")), runs=1, parallel=1))

    assert not changed.holds
    assert set(changed.observed).isdisjoint(tally.observed)
    assert [finding for finding in changed.divergences if "title-changed" in finding]


def test_a_digest_looks_past_wall_times_alone(tmp_path: Path) -> None:
    """Another time of day is no difference; a note of the network is one, of the network alone."""
    failing = open_bundle(PASSING.with_name("shop_failing"))
    (run,) = asyncio.run(replay_many(failing, [ReplayOptions(artifacts_dir=tmp_path / "run", reports=())]))
    outcome = run.outcome

    later = outcome.model_copy(update={"started_at": outcome.ended_at, "trace_path": "elsewhere"})
    network = outcome.network.model_copy(update={"notes": ("late",)})
    noted = outcome.model_copy(update={"network": network})

    assert digests_of(later) == digests_of(outcome)
    assert digests_of(noted).observed == digests_of(outcome).observed
    assert digests_of(noted).network != digests_of(outcome).network
    assert differences(what_counts(outcome), what_counts(noted)) == ('$.network.notes[0]: null and "late"',)


def test_a_replay_does_not_wait_for_the_page_time_it_passes(tmp_path: Path) -> None:
    """Timers and conditions that took a minute of page time take it again, in less wall time on any machine.

    The benchmark demands a tenth of it.
    """
    asyncio.run(record_waits(tmp_path / "bundle", RECORDED_S))

    outcome, wall = asyncio.run(replay_once(tmp_path / "bundle", tmp_path / "run"))

    assert outcome.verdict == "faithful"
    assert recorded_seconds(tmp_path / "bundle") >= RECORDED_S
    assert replayed_seconds(outcome) == recorded_seconds(tmp_path / "bundle")
    assert wall < RECORDED_S


def _retitled(folder: Path) -> Path:
    """Copy the bundle, with another title where its first page was observed."""
    shutil.copytree(PASSING, folder)
    trace = read_trace(folder)
    first, *others = trace.subgoal_traces
    action, *later = first.actions_taken
    assert action.observation is not None
    pages = tuple(page.model_copy(update={"title": "older"}) for page in action.observation.pages)
    aged = action.model_copy(update={"observation": action.observation.model_copy(update={"pages": pages})})
    subgoal = first.model_copy(update={"actions_taken": (aged, *later)})
    write_trace(trace.model_copy(update={"subgoal_traces": (subgoal, *others)}), folder)
    return folder
