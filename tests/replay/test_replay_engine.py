"""The Python API of a replay."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.errors import ReplayDivergenceError, RequirementError, UsageError
from eikon_engine.gates import parse_gates
from eikon_engine.outcome.events import EventLine, RunEnd, RunStart
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.outcome.read_events import read_events
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.replay import engine as run
from eikon_engine.replay.context import launch_replay_browser, open_replay_context
from eikon_engine.replay.options import Decision, Halt, Proceed
from eikon_engine.replay.plan import PlannedStep
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.trace_file import read_trace
from tests.error_codes import has_code

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

pytestmark = pytest.mark.browser

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"


def test_a_divergence_is_raised_after_everything_is_written(tmp_path: Path) -> None:
    """The error has the subgoal, the action and the summary."""
    engine = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run"))

    with pytest.raises(ReplayDivergenceError) as caught:
        engine.replay(TRACES / "shop_diverging")

    error = caught.value
    assert (error.subgoal_id, error.action_sequence, error.layer) == ("find_banana", 6, "dom")
    assert error.expected == "button#add-to-cart with class 'add-to-cart'"
    assert error.observed == "button#add-to-cart with class 'buy-now'"
    assert error.summary_path is not None
    assert "REPLAY_DIVERGENCE" in error.summary_path.read_text(encoding="utf-8")


def test_the_synchronous_door_works_inside_a_running_loop(tmp_path: Path) -> None:
    """The synchronous API works inside a coroutine, as in a notebook."""

    async def notebook() -> str:
        return ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(TRACES / "shop_failing").verdict

    assert asyncio.run(notebook()) == "faithful"


def test_a_trace_is_replayed_without_a_bundle(tmp_path: Path) -> None:
    """If it refers to no files; others are only in its folder."""
    recorded = read_trace(TRACES / "shop_failing")
    subgoal = recorded.subgoal_traces[0]
    first = subgoal.actions_taken[0].model_copy(
        update={"action": Navigate(url="data:text/html,<p>made"), "observation": None, "artifacts": ()}
    )
    made = recorded.model_copy(
        update={
            "network": None,
            "start": type(recorded.start)(),
            "artifacts": (),
            "subgoal_traces": (subgoal.model_copy(update={"actions_taken": (first,), "skills_used": ()}),),
        }
    )
    engine = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run", allow_schemes=("data",)))

    outcome = engine.replay(made)

    assert (outcome.verdict, outcome.counts.actions) == ("unverifiable", 1)
    with pytest.raises(UsageError, match=r"expected a trace without files, got one with .+; pass the path"):
        engine.replay(recorded)


def test_a_controller_can_halt_before_any_step(tmp_path: Path) -> None:
    """After a halt before the second step, the first is replayed and the run does not pass."""

    class HaltAtSecond:
        async def decide(self, step: PlannedStep) -> Decision:
            return Halt("looked at enough") if step.position == 2 else Proceed()

    options = ReplayOptions(artifacts_dir=tmp_path / "run", controller=HaltAtSecond())

    outcome = ReplayEngine(options).replay(TRACES / "shop_failing")

    assert outcome.counts.actions == 1
    assert outcome.ended_early == "looked at enough"
    assert outcome.verdict == "unverifiable"


def test_the_events_of_a_run_record_an_internal_error(tmp_path: Path) -> None:
    """If a reader raises, the error is raised, and events and outcome record it."""

    def break_at_the_first_action(line: EventLine) -> None:
        if line.event.type == "action":
            message = "the reader broke"
            raise RuntimeError(message)

    options = ReplayOptions(
        artifacts_dir=tmp_path / "run",
        readers=(break_at_the_first_action,),
        gates=parse_gates({"max_actions": 9, "max_duration": "1h"}),
    )

    with pytest.raises(RuntimeError, match="the reader broke"):
        ReplayEngine(options).replay(TRACES / "shop_failing")

    end = read_events(tmp_path / "run" / "events.jsonl").lines[-1].event
    outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    assert isinstance(end, RunEnd)
    assert (end.how, end.ended_early) == ("fault", "internal error: RuntimeError: the reader broke")
    assert outcome.ended_early == end.ended_early
    assert [gate.gate for gate in outcome.gates] == ["max_actions", "max_duration"]


def test_readers_see_the_stream_that_the_journal_keeps(tmp_path: Path) -> None:
    """Readers get the events during the run, from its start to its end."""
    seen: list[EventLine] = []

    ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run", readers=(seen.append,))).replay(TRACES / "shop_failing")

    kept = (tmp_path / "run" / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert isinstance(seen[0].event, RunStart)
    assert isinstance(seen[-1].event, RunEnd)
    assert [line.model_dump_json() for line in seen] == kept


def test_sealed_wants_a_recorded_network(tmp_path: Path) -> None:
    """A sealed replay of a trace without a network is refused, with the next step to take."""
    engine = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run", network="sealed", secrets={"PASSWORD": "x"}))

    with pytest.raises(RequirementError, match="--network live", check=has_code("network-part-missing")):
        engine.replay(TRACES / "old_format")


def test_the_worker_is_closed_before_its_browser_however_a_run_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a reader raises, the worker is closed before the browser."""
    ends = []

    @asynccontextmanager
    async def noting(opening: AbstractAsyncContextManager[Any], name: str) -> AsyncIterator[Any]:
        try:
            async with opening as opened:
                try:
                    yield opened
                finally:
                    ends.append(f"{name} closes")
        finally:
            ends.append(f"{name} is closed")

    def stumble(line: EventLine) -> None:
        if line.sequence > 3:
            message = "the disk is full"
            raise LookupError(message)

    monkeypatch.setattr(run, "open_replay_context", lambda *asked: noting(open_replay_context(*asked), "worker"))
    monkeypatch.setattr(run, "launch_replay_browser", lambda *asked: noting(launch_replay_browser(*asked), "browser"))
    options = ReplayOptions(artifacts_dir=tmp_path / "run", readers=(stumble,))

    with pytest.raises(LookupError, match="the disk is full"):
        ReplayEngine(options).replay(TRACES / "shop_failing")

    assert ends == ["worker closes", "worker is closed", "browser closes", "browser is closed"]
