"""Recordings printed as events: a session, a bundle, and the files of a killed process."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.session_events import EventReplayOptions, IterationCounter, parse_speed
from eikon_engine.errors import UsageError
from eikon_engine.outcome.debug_events import (
    BreakpointContext,
    BreakpointHit,
    BreakpointRef,
    Paused,
    Resumed,
    Rewound,
)
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import ActionStart, EventLine, Note, RunEnd, RunStart
from eikon_engine.outcome.read_events import ParsedLine
from tests.debug.conftest import PASSING, run_eikon

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from eikon_engine.outcome.events import Event

START = datetime(2026, 1, 23, 12, tzinfo=UTC)


def step(number: int) -> ActionStart:
    """Return the start of a step of the only attempt."""
    return ActionStart(subgoal="s", sequence=number, action="click", label=f"click #{number}")


def session_of(*events: Event) -> list[ParsedLine]:
    """Return events as they are read, one second apart."""
    lines = (
        EventLine(sequence=number, at=START + timedelta(seconds=number), event=event)
        for number, event in enumerate(events, start=1)
    )
    return [ParsedLine(text=line.model_dump_json(), lines=(line,)) for line in lines]


def printed(replay: EventReplayOptions, lines: Iterable[ParsedLine]) -> tuple[list[int], list[float]]:
    """Return the sequences of the printed events, and the delays in seconds."""
    waited: list[float] = []
    sequences = [line.sequence for read in replay.replay(lines, waited.append) for line in read.lines]
    return sequences, waited


SESSION = session_of(
    RunStart(kind="debug_session", mission_id="m", mission_text="Mission"),
    Paused(reason="start", branch="main", iteration=0, next="click #1"),
    step(1),
    Note(text="during the first step"),
    step(2),
    step(3),
    RunEnd(how="complete"),
)


def test_events_are_printed_in_sequence() -> None:
    """All events are printed once, in order, without delays."""
    assert printed(EventReplayOptions(), SESSION) == ([1, 2, 3, 4, 5, 6, 7], [])


def test_events_are_printed_with_their_timing() -> None:
    """The recorded delays are kept, up to five seconds each."""
    late = session_of(step(1), step(2))
    line = late[1].lines[0]
    much_later = line.model_copy(update={"at": START + timedelta(hours=1)})
    late[1] = ParsedLine(text="", lines=(much_later,))

    assert printed(EventReplayOptions(is_timed=True), SESSION)[1] == [1.0] * 6
    assert printed(EventReplayOptions(is_timed=True), late)[1] == [5.0]


def test_events_are_printed_at_a_speed() -> None:
    """At double speed delays are halved, and limited afterwards."""
    assert printed(EventReplayOptions(is_timed=True, speed=2), SESSION)[1] == [0.5] * 6
    assert printed(EventReplayOptions(is_timed=True, speed=0.1), SESSION)[1] == [5.0] * 6


@pytest.mark.parametrize(("text", "speed"), [("2x", 2.0), ("0.5x", 0.5), ("3", 3.0)])
def test_a_speed_is_parsed(text: str, speed: float) -> None:
    """A factor may end in x."""
    assert parse_speed(text) == speed


@pytest.mark.parametrize("text", ["0x", "-1", "nan", "inf", "fast", ""])
def test_an_invalid_speed_is_rejected(text: str, tmp_path: Path) -> None:
    """It must be finite and positive."""
    output = run_eikon("debug", "replay", str(PASSING), "--speed", text, "--sessions-dir", str(tmp_path))

    assert output.status == 2
    assert "--speed: expected a positive number such as 2x or 0.5x" in output.err


def test_events_are_filtered_by_type() -> None:
    """Delays apply between the printed events."""
    replay = EventReplayOptions(is_timed=True, types=frozenset({"action_start"}))

    assert printed(replay, SESSION) == ([3, 5, 6], [2.0, 1.0])


def test_printing_starts_at_an_iteration() -> None:
    """Events of earlier steps are omitted."""
    assert printed(EventReplayOptions(from_iteration=2), SESSION)[0] == [5, 6, 7]
    assert printed(EventReplayOptions(from_sequence=6), SESSION)[0] == [6, 7]


@pytest.mark.parametrize("late", [EventReplayOptions(from_iteration=4), EventReplayOptions(from_sequence=8)])
def test_a_start_beyond_the_end_is_rejected(late: EventReplayOptions) -> None:
    """The message says how many there are; a filter without matches is no error."""
    with pytest.raises(UsageError, match=r"the recording has only 3 steps and 7 events; begin earlier"):
        printed(late, SESSION)

    assert printed(EventReplayOptions(types=frozenset({"action"})), SESSION) == ([], [])


def test_iterations_follow_rewinds() -> None:
    """After a rewind, counting continues from its target; a breakpoint belongs to the step it precedes."""
    hit = BreakpointHit(
        breakpoint=BreakpointRef(id="bp-1", type="iteration", condition=2),
        context=BreakpointContext(iteration=2),
        hit_count=1,
        branch="main",
    )
    back = Rewound(
        checkpoint_id="cp",
        branch="main",
        iteration=0,
        way="parked",
        reexecuted=0,
        verified=0,
        discarded=1,
        duration_ms=1,
    )
    lines = session_of(step(1), back, step(1), hit, step(2))

    assert printed(EventReplayOptions(from_iteration=2), lines)[0] == [4, 5]


def test_steps_are_numbered_by_iteration(tmp_path: Path) -> None:
    """The printed number is the one that breakpoints accept, wherever printing starts."""
    second = ActionStart(subgoal="t", sequence=1, action="click", label="click elsewhere")
    with EventLog(tmp_path, lambda: START) as log:
        for event in (SESSION[0].lines[0].event, step(1), step(2), second):
            log.append(event)

    output = run_eikon(
        "debug", "replay", str(tmp_path), "--sessions-dir", str(tmp_path / "none"), "--from-iteration", "3"
    )

    counter = IterationCounter()
    counter.advance(Resumed(how="step", branch="main", iteration=8))
    assert "action_start  003 click elsewhere" in output.out
    assert counter.advance(second) == 9


def test_a_bundle_is_printed_as_events(tmp_path: Path) -> None:
    """A recording without events is converted from its trace, and ends complete."""
    output = run_eikon("debug", "replay", str(PASSING), "-f", "run_start,run_end", "--sessions-dir", str(tmp_path))

    lines = output.out.splitlines()
    assert output.status == 0, output.err
    assert "run_start" in lines[0]
    assert "mission of shop_passing" in lines[0]
    assert lines[1].startswith("10:01:03.000")
    assert lines[-2:] == ["", "--- Replay complete ---"]


def test_the_events_of_a_killed_session_are_printed(tmp_path: Path) -> None:
    """An incomplete last line and a missing end are reported."""
    with EventLog(tmp_path, lambda: START) as log:
        log.append(RunStart(kind="debug_session", mission_id="m", mission_text="Mission"))
        log.append(step(1))
    events = tmp_path / "events.jsonl"
    events.write_bytes(events.read_bytes() + b'{"sequence":3,"at":"2026')

    output = run_eikon("debug", "replay", str(tmp_path), "--json", "--sessions-dir", str(tmp_path / "none"))

    assert output.status == 0
    assert [json.loads(line)["sequence"] for line in output.out.splitlines()] == [1, 2]
    assert "line 3 is truncated" in output.err
    assert "no run_end" in output.err


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        (("nowhere",), 78, "no such path"),
        ((str(PASSING), "--filter", "walk"), 2, "unknown event type 'walk'"),
        ((str(PASSING.parent),), 78, "a folder with neither events.jsonl nor trace.json"),
    ],
)
def test_unreadable_recordings_are_reported(tmp_path: Path, words: tuple[str, ...], status: int, wanted: str) -> None:
    """The error is one line with its exit status."""
    output = run_eikon("debug", "replay", *words, "--sessions-dir", str(tmp_path))

    assert (output.status, output.out) == (status, "")
    assert wanted in output.err
