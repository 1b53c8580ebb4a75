from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from pydantic import JsonValue

from eikon_engine.errors import BundlePathError, OutputError, TraceError
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import EventLine, Note, RunEnd, SkillRun
from eikon_engine.outcome.outcomes import GateResult
from eikon_engine.outcome.read_events import read_events
from eikon_engine.outcome.stored_values import INLINE_LIMIT, InlineValue, ValueFile, ValueStore
from tests.error_codes import has_code
from tests.outcome.event_values import BEGIN, END, EVERY_KIND, START, call, json_values, skill


class Clock:
    """Advance by a second each time it is asked."""

    def __init__(self) -> None:
        self._at = BEGIN

    def __call__(self) -> datetime:
        """Return the time of day."""
        self._at += timedelta(seconds=1)
        return self._at


class OneCall:
    """A gate that is exceeded by the second call of a tool."""

    def __init__(self) -> None:
        self.calls = 0

    def process(self, line: EventLine) -> GateResult | None:
        """Count calls."""
        self.calls += line.event.type == "tool_call"
        return self._result() if line.event.type == "tool_call" and self.calls == 2 else None

    def finish(self) -> tuple[GateResult, ...]:
        """Return one result."""
        return (self._result(),)

    def _result(self) -> GateResult:
        passed = self.calls < 2
        return GateResult(gate="g", passed=passed, limit=1, observed=self.calls, message="m", while_running=not passed)


def test_events_are_numbered_and_read_back(tmp_path: Path) -> None:
    """The log writes every event with its number and time, and passes it to each reader."""
    heard: list[EventLine] = []

    with EventLog(tmp_path, Clock(), readers=(heard.append,)) as log:
        for event in EVERY_KIND:
            log.append(event)

    read = read_events(tmp_path / "events.jsonl")
    assert read.lines == tuple(heard)
    assert [line.event for line in read.lines] == list(EVERY_KIND)
    assert [line.sequence for line in read.lines] == list(range(1, len(EVERY_KIND) + 1))


def test_large_values_are_stored_in_files(tmp_path: Path) -> None:
    """A value over the limit is stored in its own file; readers get the value itself."""
    large: JsonValue = ["ü" * INLINE_LIMIT]
    heard: list[EventLine] = []

    with EventLog(tmp_path, Clock(), readers=(heard.append,)) as log:
        log.append(START)
        log.append(skill(large))
        log.append(skill("x" * (INLINE_LIMIT - 2)))

    _, kept, small = (line.event for line in read_events(tmp_path / "events.jsonl").lines)
    assert isinstance(kept, SkillRun)
    assert isinstance(small, SkillRun)
    assert isinstance(kept.output, ValueFile)
    assert isinstance(small.output, InlineValue)
    assert ValueStore(tmp_path).load(kept.output) == large
    assert heard[1].event == skill(large)


def test_a_value_that_was_changed_is_refused(tmp_path: Path) -> None:
    """A value file that is missing, changed or outside the folder is rejected."""
    values = ValueStore(tmp_path)
    kept = values.store(InlineValue(value="x" * INLINE_LIMIT))
    assert isinstance(kept, ValueFile)
    path = tmp_path / kept.path

    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(TraceError, match="SHA-256", check=has_code("attachment-corrupt")):
        values.load(kept)
    path.unlink()
    with pytest.raises(TraceError, match="No such file", check=has_code("attachment-missing")):
        values.load(kept)
    outside = tmp_path.with_name("outside.json")
    outside.write_text("1")
    path.symlink_to(outside)
    with pytest.raises(BundlePathError):
        values.load(kept)


@settings(deadline=None)
@given(json_values)
def test_every_value_round_trips(tmp_path_factory: pytest.TempPathFactory, value: JsonValue) -> None:
    """Any JSON value is stored exactly, in the line or in a file."""
    values = ValueStore(tmp_path_factory.getbasetemp())
    large: JsonValue = {"value": value, "filling": "x" * INLINE_LIMIT}

    assert json.dumps(values.load(values.store(InlineValue(value=value)))) == json.dumps(value)
    assert values.load(values.store(InlineValue(value=large))) == large


def test_an_exceeded_gate_requests_a_stop(tmp_path: Path) -> None:
    """The gate result follows the event that exceeded it, once, and gives the reason."""
    with EventLog(tmp_path, Clock(), watch=OneCall()) as log:
        for event in (START, call(number=1), call(number=2)):
            log.append(event)
        stopped = log.stop_reason
        log.append(RunEnd(how="stopped", ended_early=stopped))

    kinds = [line.event.type for line in read_events(tmp_path / "events.jsonl").lines]
    assert stopped == "gate g: m"
    assert kinds == ["run_start", "tool_call", "tool_call", "gate_result", "run_end"]
    assert [result.passed for result in log.gate_results] == [False]


def test_passed_gates_are_logged_before_the_end(tmp_path: Path) -> None:
    """The end of the run is the last line, after the results."""
    with EventLog(tmp_path, Clock(), watch=OneCall()) as log:
        log.append(START)
        log.append(END)

    kinds = [line.event.type for line in read_events(tmp_path / "events.jsonl").lines]
    assert kinds == ["run_start", "gate_result", "run_end"]
    assert log.stop_reason is None


def test_an_interrupted_run_has_one_end(tmp_path: Path) -> None:
    """The end event has the cause; a run that ended or never started gets no further end."""
    with EventLog(tmp_path / "begun", Clock()) as log:
        log.append(START)
        log.write_interrupted("fault", "internal error")
        log.write_interrupted("interrupted", "again")
    with EventLog(tmp_path / "not", Clock()) as empty:
        empty.write_interrupted("failed", "no browser")

    end = read_events(tmp_path / "begun" / "events.jsonl").lines[-1].event
    assert isinstance(end, RunEnd)
    assert (end.how, end.ended_early) == ("fault", "internal error")
    assert (tmp_path / "not" / "events.jsonl").read_bytes() == b""


def test_two_runs_never_share_a_file(tmp_path: Path) -> None:
    """A folder with events is refused, and its events stay unchanged."""
    (tmp_path / "events.jsonl").write_text("mine")

    with pytest.raises(OutputError, match="already exists"):
        EventLog(tmp_path, Clock())
    assert (tmp_path / "events.jsonl").read_text() == "mine"


def append_notes(log: EventLog) -> None:
    """Append fifty notes."""
    for _ in range(50):
        log.append(Note(text="n" * 5000))


def test_threads_may_append_at_the_same_time(tmp_path: Path) -> None:
    """Events of several threads are complete lines with unique numbers."""
    with EventLog(tmp_path, Clock()) as log:
        log.append(START)
        threads = [threading.Thread(target=append_notes, args=(log,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log.append(END)

    assert len(read_events(tmp_path / "events.jsonl").lines) == 202
