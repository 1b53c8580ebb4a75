from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.gates import parse_gates
from eikon_engine.outcome.events import ActionPerformed, RunEnd, RunStart, ToolFailure
from eikon_engine.outcome.outcomes import FailedRequest, NetworkMiss, NetworkOutcome
from eikon_engine.outcome.stored_values import INLINE_LIMIT, InlineValue, ValueStore
from eikon_engine.trace.execution import Blocked
from tests.outcome.event_values import (
    END,
    START,
    action,
    answer,
    call,
    completion,
    divergence,
    lines,
    observation,
    skill,
    started,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import GateResult

ROWS: JsonValue = {"type": "object", "required": ["rows"]}
REPLAY = RunStart(kind="bundle_replay", mission_id="m", mission_text="")
MISSION = RunStart(kind="mission", mission_id="m", mission_text="")
FAILED = FailedRequest(method="GET", url="http://shop.test/logo.png", what="404")


def result_of(
    gates: dict[str, JsonValue], *events: Event, start: RunStart = START, end: RunEnd | None = END
) -> GateResult:
    """Evaluate one gate over these events, one second apart."""
    whole = (start, *events, *(() if end is None else (end,)))
    (result,) = parse_gates(gates).evaluate(lines(*whole))
    return result


def seen(number: int = 1, **fields: object) -> tuple[Event, ...]:
    """Return an action and the observation after it."""
    look = observation(number).model_copy(update={"failed": ()})
    changes = {name: value for name, value in fields.items() if name != "failed"}
    changed = look.model_copy(update={"observation": look.observation.model_copy(update=changes)})
    if "failed" in fields:
        changed = changed.model_copy(update={"failed": fields["failed"]})
    return started(number), changed, action(number)


@pytest.mark.parametrize(
    ("gates", "events", "passed", "observed"),
    [
        ({"max_tool_calls": 2}, (call(number=1), call(number=2)), True, 2),
        ({"max_tool_calls": 1}, (call(number=1), call(number=2)), False, 2),
        ({"max_tool_calls": {"limit": 1, "tool": "b"}}, (call("a"), call("b"), call("a")), True, 1),
        ({"max_tool_calls": {"limit": 0, "tool": "b"}}, (call("a"), call("b")), False, 1),
        ({"max_actions": 2}, (started(1), action(1), started(2), action(2)), True, 2),
        ({"max_actions": 1}, (action(1), action(2)), False, 2),
        ({"max_completions": 1}, (completion(),), True, 1),
        ({"max_completions": 0}, (completion(),), False, 1),
        ({"max_tokens": 12}, (completion((7, 5)),), True, 12),
        ({"max_tokens": 11}, (completion((7, 5)),), False, 12),
        ({"max_tokens": 100}, (completion((7, None)),), None, 7),
        ({"max_tokens": 6}, (completion((7, None)),), False, 7),
        ({"max_divergences": 1}, (divergence(),), None, None),
        ({"max_duration": 2}, (call(),), True, 2.0),
        ({"max_duration": "1999ms"}, (call(),), False, 2.0),
        ({"max_duration": "1m"}, (call(),), True, 2.0),
        ({"latency_ms": 300}, (answer(), completion(), action()), True, 300.0),
        ({"latency_ms": 299}, (answer(), completion(), action()), False, 300.0),
        ({"latency_ms": {"limit": 20, "of": "tool"}}, (answer(), completion()), True, 12.0),
        ({"latency_ms": {"limit": 20, "of": "skill"}}, (answer(),), None, None),
        ({"latency_ms": {"limit": 20, "of": "skill", "name": "extract_table"}}, (skill(1),), True, 3.0),
        ({"latency_ms": 20}, (answer(latency_ms=None), answer()), None, 12.0),
        ({"latency_ms": 20}, (answer(latency_ms=None),), None, None),
        ({"no_console_errors": True}, seen(), True, []),
        ({"no_console_errors": True}, (), True, []),
        ({"no_console_errors": True}, seen(console_errors=("oh",)), False, ["oh"]),
        ({"no_console_errors": True}, seen(page_errors=("TypeError: x",)), False, ["TypeError: x"]),
        ({"no_console_errors": True}, (started(), action()), None, []),
        ({"no_console_errors": True}, seen(settled=False), None, []),
        ({"no_failed_requests": True}, seen(), True, []),
        ({"no_failed_requests": True}, seen(failed=(FAILED,)), False, ["GET http://shop.test/logo.png: 404"]),
        ({"no_failed_requests": True}, seen(failed=None), None, None),
        ({"expect_status": 200}, seen(), True, []),
        ({"expect_status": [301, 404]}, seen(), False, ["http://shop.test/: 200"]),
        ({"expect_status": {"status": 404, "url": "*/missing"}}, seen(), None, []),
        ({"expect_status": {"status": 200, "url": "http://shop.*"}}, seen(), True, []),
        ({"expect_status": 200}, (), None, []),
        ({"expect_status": 200}, (*seen(), started(2), action(2)), None, []),
        ({"allowed_hosts": ["shop.test"]}, seen(), True, []),
        ({"allowed_hosts": ["shop.test:8080"]}, seen(), False, ["shop.test"]),
        ({"allowed_hosts": ["shop.test"]}, seen(requests=("GET https://cdn.test:444/x",)), False, ["cdn.test:444"]),
        ({"allowed_hosts": ["shop.test"]}, seen(requests=("POST http://a.test/ sha256:0",)), False, ["a.test"]),
        ({"allowed_hosts": ["shop.test"]}, (started(), action()), None, []),
        ({"allowed_hosts": ["a.test"]}, (call(url="https://A.test./x"),), True, []),
        ({"allowed_hosts": ["a.test"]}, (call(url="https://b.test/x"),), False, ["b.test"]),
        ({"allowed_hosts": ["a.test"]}, (call(url="https://a.test@b.test/"),), False, ["b.test"]),
        ({"allowed_hosts": ["a.test"]}, (call(url="https://b.test\\@a.test/"),), False, ["https://b.test\\@a.test/"]),
        ({"allowed_hosts": ["a.test"]}, (call(text="see https://b.test for more"),), True, []),
        ({"allowed_hosts": ["*.a.test"]}, (call(url="wss://x.y.a.test/"),), True, []),
        ({"allowed_hosts": ["*.a.test"]}, (call(url="https://a.test/"),), False, ["a.test"]),
        ({"allowed_hosts": ["*.a.test"]}, (call(url="https://evil-a.test/"),), False, ["evil-a.test"]),
        ({"allowed_hosts": ["[::1]:80"]}, (call(url="http://[::1]/"),), True, []),
        ({"output_matches": {"skill": "extract_table", "schema": ROWS}}, (skill({"rows": []}),), True, []),
        ({"output_matches": {"skill": "other", "schema": ROWS}}, (skill({}),), None, []),
        ({"output_matches": {"tool": "web_fetch", "schema": {"type": "string"}}}, (answer(),), True, []),
        (
            {"output_matches": {"tool": "web_fetch", "schema": {"type": "string"}}},
            (answer(error=ToolFailure(kind="E", message="m")),),
            None,
            [],
        ),
    ],
)
def test_a_gate_reports_what_it_observed(
    gates: dict[str, JsonValue],
    events: tuple[Event, ...],
    passed: bool | None,  # noqa: FBT001 - a column of the table
    observed: JsonValue,
) -> None:
    """Each gate passes, fails or is unknown, and its result has the observed value."""
    result = result_of(gates, *events)

    assert (result.passed, result.observed) == (passed, observed), result.message
    assert "\n" not in result.message


def test_an_output_that_does_not_fit_is_named() -> None:
    """The message has the line, and the position in the value."""
    result = result_of({"output_matches": {"skill": "extract_table", "schema": ROWS}}, skill({"columns": []}))

    assert result.passed is False
    assert "line 2: $: 'rows' is a required property" in result.message


def test_a_long_output_that_does_not_fit_leaves_the_reason() -> None:
    """The value is cut, not what is wrong with it."""
    schema: JsonValue = {"properties": {"rows": {"type": "string"}}}
    rows: JsonValue = {"rows": [f"row {number}" for number in range(500)]}
    result = result_of({"output_matches": {"skill": "extract_table", "schema": schema}}, skill(rows))

    assert result.message.endswith("… is not of type 'string'"), result.message


@pytest.mark.parametrize("name", ["max_tool_calls", "max_completions", "max_tokens"])
def test_gates_on_tools_and_models_are_unknown_for_replays(name: str) -> None:
    """That a replay makes no calls does not prove that the mission made none."""
    assert result_of({name: 50}, call(), completion(), start=REPLAY).passed is None
    assert result_of({name: 50}, start=MISSION).passed is None
    assert result_of({name: 50}, call(), completion(), start=MISSION).passed is True


def test_divergences_are_known_where_something_was_compared() -> None:
    """A replay that ended early may have missed divergences, so the gate is unknown."""
    early = RunEnd(how="stopped", ended_early="stopped at the first divergence")

    assert result_of({"max_divergences": 1}, divergence(), start=REPLAY).passed is True
    assert result_of({"max_divergences": 0}, divergence(), start=REPLAY).passed is False
    assert result_of({"max_divergences": 1}, divergence(), start=REPLAY, end=early).passed is None


def test_requests_at_the_end_are_counted() -> None:
    """Requests that belong to no action are counted from the end event of the run."""
    miss = NetworkMiss(key="GET http://late.test/x", reason="")
    end = RunEnd(how="complete", network=NetworkOutcome(misses=(miss,), failed=(FAILED,)))

    assert result_of({"allowed_hosts": ["shop.test"]}, *seen(), end=end).observed == ["late.test"]
    assert result_of({"no_failed_requests": True}, *seen(), end=end).passed is False


@pytest.mark.parametrize("gates", [{"max_tool_calls": 3}, {"no_console_errors": True}, {"max_duration": 9}])
def test_a_run_without_an_end_never_passes(gates: dict[str, JsonValue]) -> None:
    """A log without its final line is incomplete, so no gate passes."""
    result = result_of(gates, call(), end=None)

    assert result.passed is None
    assert "incomplete" in result.message


def test_a_limit_is_exceeded_at_the_very_event() -> None:
    """The first call beyond the limit is reported when it begins, and only once."""
    watch = parse_gates({"max_tool_calls": 1, "max_actions": 9}).monitor()

    results = [watch.process(line) for line in lines(START, call(number=1), call(number=2), call(number=3), END)]

    assert [result is not None for result in results] == [False, False, True, False, False]
    assert [(each.gate, each.passed, each.while_running) for each in watch.finish()] == [
        ("max_tool_calls", False, True),
        ("max_actions", True, False),
    ]


def test_several_of_one_gate_have_names_of_their_own() -> None:
    """Each mapping of a list is a gate."""
    gates = parse_gates({"latency_ms": [{"limit": 1, "of": "tool", "name": "web_fetch"}, {"limit": 2}]})

    names = [result.gate for result in gates.evaluate(lines(START, answer(), END))]

    assert names == ["latency_ms[of=tool,name=web_fetch]", "latency_ms"]


def test_large_outputs_are_evaluated(tmp_path: Path) -> None:
    """A value stored in a file is evaluated like an inline one."""
    values = ValueStore(tmp_path)
    used = skill()
    large = used.model_copy(update={"output": values.store(InlineValue(value=["x" * INLINE_LIMIT]))})
    gates = parse_gates({"output_matches": {"skill": "extract_table", "schema": {"type": "object"}}})

    (result,) = gates.evaluate(lines(START, large, END), values.load)

    assert result.passed is False


@settings(deadline=None)
@given(st.lists(st.sampled_from(["tool", "action", "completion"]), max_size=12), st.integers(0, 12))
def test_counts_are_what_happened(kinds: list[str], limit: int) -> None:
    """A limit holds exactly if the count does not exceed it, both during a run and afterwards."""
    made: dict[str, Event] = {"tool": call(), "completion": completion()}
    events = [made.get(kind, started(number)) for number, kind in enumerate(kinds, start=1)]
    gates = parse_gates({"max_tool_calls": limit, "max_actions": limit, "max_completions": limit})
    read = lines(START, *events, END)
    watch = gates.monitor()
    results = {result.gate for line in read if (result := watch.process(line)) is not None}

    evaluated_after = gates.evaluate(read)

    assert [each.passed for each in evaluated_after] == [
        kinds.count(kind) <= limit for kind in ("tool", "action", "completion")
    ]
    assert results == {each.gate for each in evaluated_after if not each.passed}


def test_an_action_that_was_not_performed_is_none() -> None:
    """A blocked action is not counted, and its observation is not required."""
    taken = action()
    blocked = ActionPerformed(subgoal="s", outcome=taken.outcome.model_copy(update={"result": Blocked()}))

    assert result_of({"max_actions": 0}, blocked).passed is True
    assert result_of({"no_console_errors": True}, blocked).passed is True
