from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from eikon_engine.errors import EikonError, TraceError
from eikon_engine.gates import parse_gates
from eikon_engine.gates.event_sources import read_outcome, read_run_events
from eikon_engine.outcome.events import (
    ActionPerformed,
    CompletionReceived,
    RunEnd,
    RunStart,
    SkillRun,
    ToolCall,
    ToolResult,
    events_schema,
)
from eikon_engine.trace.execution import CompletionUsage, Failed, Succeeded, ToolUsage
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.error_codes import has_code
from tests.trace.trace_values import action, subgoal, trace, traces

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ExecutionTrace

DATA = Path(__file__).parents[1] / "data" / "traces"
VALIDATOR = Draft202012Validator(events_schema())
BUNDLES = sorted(path.parent for path in DATA.glob("*/trace.json"))


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_every_bundle_is_read_as_events(bundle: Path) -> None:
    """Each bundle gives numbered events of the published format, one per step, with a start and an end."""
    subject = read_run_events(bundle)

    events = [line.event for line in subject.lines]
    steps = [step for attempt in read_trace(bundle).subgoal_traces for step in attempt.steps]
    assert [line.sequence for line in subject.lines] == list(range(1, len(events) + 1))
    assert isinstance(events[0], RunStart)
    assert sum(isinstance(event, ActionPerformed | SkillRun) for event in events) == len(steps)
    assert [
        fault for line in subject.lines for fault in VALIDATOR.iter_errors(json.loads(line.model_dump_json()))
    ] == []


def test_tool_calls_and_completions_are_events_in_recorded_order(tmp_path: Path) -> None:
    """Recorded calls are evaluated in order, repeated ones numbered, failures without a result."""
    tools = (
        ToolUsage(
            id="t1", sequence=1, tool="web_fetch", arguments={"url": "http://a.test/"}, result=Succeeded(), output=1
        ),
        ToolUsage(id="t2", sequence=3, tool="web_fetch", arguments={"url": "http://a.test/"}, result=Failed(code="x")),
    )
    asked = CompletionUsage(id="c", sequence=4, prompt="Why?", response="So.", result=Succeeded())
    attempt = subgoal(actions_taken=(action(2),), tools_used=tools, completions=(asked,))
    write_trace(trace(subgoal_traces=(attempt,)), tmp_path / "trace.json")

    subject = read_run_events(tmp_path)

    read_events = [line.event for line in subject.lines]
    calls = [event for event in read_events if isinstance(event, ToolCall)]
    results = [event for event in read_events if isinstance(event, ToolResult)]
    order = [event.type for event in read_events if isinstance(event, ToolCall | ActionPerformed | CompletionReceived)]
    assert order == ["tool_call", "action", "tool_call", "completion"]
    assert [each.occurrence for each in calls] == [1, 2]
    assert [each.result is None for each in results] == [False, True]
    gates = parse_gates({"max_tool_calls": 1, "allowed_hosts": ["b.test"], "max_tokens": 9})
    assert [each.passed for each in gates.evaluate(subject.lines, subject.value_of)] == [False, False, None]


@settings(max_examples=30, deadline=None)
@given(value=traces())
def test_any_trace_can_be_evaluated(tmp_path_factory: pytest.TempPathFactory, value: ExecutionTrace) -> None:
    """For any trace, events follow the format and gates have a result, or files are missing."""
    folder = tmp_path_factory.mktemp("bundle")
    write_trace(value, folder / "trace.json")

    try:
        lines = read_run_events(folder).lines
    except EikonError:
        return  # it names files that do not exist

    results = parse_gates({"max_actions": 1, "latency_ms": 5, "no_console_errors": True}).evaluate(lines)
    assert isinstance(lines[-1].event, RunEnd) == (value.ended_at is not None)
    assert all(result.passed is not True for result in results) or value.ended_at is not None


@pytest.mark.parametrize("content", ["[]", "{}", '"x"', "3"])
def test_another_json_file_is_refused(tmp_path: Path, content: str) -> None:
    """The message lists what can be evaluated."""
    (tmp_path / "other.json").write_text(content)

    with pytest.raises(
        TraceError, match=r"expected events\.jsonl, outcome\.json, trace\.json", check=has_code("trace-missing")
    ):
        read_run_events(tmp_path / "other.json")


def test_a_missing_outcome_gets_advice_about_its_path(tmp_path: Path) -> None:
    """Permissions are mentioned only where they are the reason."""
    with pytest.raises(
        TraceError, match=r"outcome\.json: no such file; check the path", check=has_code("trace-missing")
    ):
        read_outcome(tmp_path / "outcome.json")


@pytest.mark.parametrize("name", ["outcome.json", "trace.json"])
def test_a_bundle_is_no_outcome(tmp_path: Path, name: str) -> None:
    """The message says which folder is expected; the bundle is only the recording."""
    write_trace(trace(), tmp_path / "trace.json")

    with pytest.raises(
        TraceError,
        match="expected the artifacts folder of a replay, got a bundle; use what `eikon replay` wrote",
        check=has_code("trace-missing"),
    ):
        read_outcome(tmp_path / name)
