from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import TraceError, TraceFieldError, TraceSyntaxError
from eikon_engine.trace.trace_file import parse_trace, read_trace, serialize_trace
from tests.error_codes import has_code
from tests.trace.trace_values import action, subgoal, trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WHOLE = serialize_trace(trace(subgoal_traces=(subgoal("s1"), subgoal("s2", actions_taken=(action(1), action(2))))))
ACTION = "subgoal_traces[1].actions_taken[0].action"
KNOWN_ACTIONS = (
    "navigate, go_back, go_forward, reload, click, double_click, hover, tap, touchscreen_tap, fill, type, press, "
    "select_option, set_value, focus, blur, select_text, dispatch_event, mouse, key, insert_text, check, uncheck, "
    "set_input_files, drag, drop, scroll, scroll_into_view_if_needed, wait_for, answer_dialog, switch_page, open_page, "
    "close_page, set_viewport, download, screenshot, extract_dom, assert, read, evaluate, expect, note"
)


def _changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    plain = json.loads(WHOLE)
    change(plain)
    return json.dumps(plain).encode()


def _action(**fields: object) -> bytes:
    return _changed(lambda plain: plain["subgoal_traces"][1]["actions_taken"][0].update(action=fields))


FIELD_FAULTS = {
    "wrong type": (
        _action(type="navigate", url=5),
        f"{ACTION}.url: expected a string, got 5",
    ),
    "unknown action": (
        _action(type="teleport"),
        f'{ACTION}.type: expected one of {KNOWN_ACTIONS}, got the string "teleport"',
    ),
    "no action type": (_action(url="x"), f"{ACTION}.type: this field is missing"),
    "neither text nor secret": (
        _action(type="fill", target={"selector": "#q"}, text=5),
        f'{ACTION}.text: expected a string or a secret reference {{"secret": NAME}}, got 5',
    ),
    "fault in a nested union whose tag is a field's name": (
        _action(type="assert", expectation={"kind": "text", "target": {"selector": 1}, "text": "x"}),
        f"{ACTION}.expectation.target.selector: expected a string, got 1",
    ),
    "missing field": (_action(type="click"), f"{ACTION}.target: this field is missing"),
    "unknown field": (
        _action(type="reload", speed=1),
        f"{ACTION}.speed: this field is unknown; correct or remove it, or use the version of eikon that knows it",
    ),
    "several": (
        _action(type="navigate", url=None, page="1", timeout_ms=True),
        f'{ACTION}.page: expected a whole number, got the string "1" (and 2 more)',
    ),
    "out of range": (
        _action(type="reload", timeout_ms=0),
        f"{ACTION}.timeout_ms: expected greater than 0, got 0",
    ),
    "unknown status": (
        _changed(lambda plain: plain.update(status="done")),
        (
            "status: expected 'running', 'complete', 'failed', 'aborted', 'halted', 'refused_by_learning', "
            "'ask_human', 'skipped' or 'pending', got the string \"done\""
        ),
    ),
    "time without zone": (
        _changed(lambda plain: plain.update(started_at="2025-03-14T09:30:00")),
        'started_at: expected a date and time with its time zone, got the string "2025-03-14T09:30:00"',
    ),
    "time as number": (
        _changed(lambda plain: plain.update(started_at=5)),
        "started_at: expected a date and time as text, got 5",
    ),
    "a sequence twice": (
        _changed(lambda plain: plain["subgoal_traces"][1]["actions_taken"][0].update(sequence=2)),
        "subgoal_traces[1]: sequence 2 of subgoal attempt s2__attempt_1 is used 2 times",
    ),
    "an infinite number": (
        _changed(lambda plain: plain.update(extractions=[{"name": "x", "value": {"deep": float("inf")}}])),
        "extractions[0].value: expected finite numbers, got inf; use null",
    ),
    "a list": (b'["trace_version"]', "trace: expected an object, got a list"),
}


@pytest.mark.parametrize(("text", "message"), FIELD_FAULTS.values(), ids=FIELD_FAULTS)
def test_a_wrong_field_is_named_by_its_path(text: bytes, message: str) -> None:
    """The message has the field, the expected and the actual value."""
    with pytest.raises(TraceFieldError) as raised:
        parse_trace(text, "b/trace.json")

    assert raised.value.message == f"b/trace.json: {message}"


SYNTAX_FAULTS = {
    "empty": (b"", "EOF while parsing a value at line 1 column 0"),
    "cut off": (WHOLE[:40], "EOF while parsing a string at line 4 column 4"),
    "no JSON": (b"<html>", "expected value at line 1 column 1"),
    "no UTF-8": (b'{"trace_version": 4, "id": "\xff"}', "invalid unicode code point at line 1 column 29"),
    "no UTF-8, older version": (b'{"trace_version": "v3.1", "id": "\xff"}', "invalid UTF-8 at offset 33"),
    "too deep": (b'{"trace_version": 4, "id": ' + b"[" * 10**5, "recursion limit exceeded at line 1 column 228"),
    "too deep, older version": (b'{"trace_version": "v3.1", "id": ' + b"[" * 10**5, "values nested too deeply"),
}


@pytest.mark.parametrize(("text", "problem"), SYNTAX_FAULTS.values(), ids=SYNTAX_FAULTS)
def test_invalid_json_is_refused(text: bytes, problem: str) -> None:
    """The message has the position of the JSON error."""
    with pytest.raises(TraceSyntaxError) as raised:
        parse_trace(text, "t")

    assert raised.value.message == f"t: expected valid JSON, got: {problem}; restore the file or record again"


VERSION_FAULTS = {
    "missing": (lambda plain: plain.pop("trace_version"), "missing; supported versions are v3.1, 4"),
    "newer": (
        lambda plain: plain.update(trace_version=5),
        "5; supported versions are v3.1, 4; use a newer Eikon",
    ),
    "older": (lambda plain: plain.update(trace_version=3), "3; supported versions are v3.1, 4"),
    "unknown": (
        lambda plain: plain.update(trace_version="v2"),
        'the string "v2"; supported versions are v3.1, 4',
    ),
    "no version at all": (
        lambda plain: plain.update(trace_version=[True]),
        "a list; supported versions are v3.1, 4",
    ),
}


@pytest.mark.parametrize(("change", "message"), VERSION_FAULTS.values(), ids=VERSION_FAULTS)
def test_an_unknown_version_is_refused(change: Callable[[dict[str, Any]], object], message: str) -> None:
    """The message names the versions that can be read."""
    with pytest.raises(TraceError, check=has_code("trace-version")) as raised:
        parse_trace(_changed(change), "t")

    assert raised.value.message == f"t: trace_version is {message}"


@given(st.integers(0, len(WHOLE) - 3))
def test_a_truncated_trace_is_refused(length: int) -> None:
    """A prefix of a trace is not a valid trace."""
    with pytest.raises(TraceSyntaxError):
        parse_trace(WHOLE[:length], "t")


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_any_text_is_parsed_or_refused(text: bytes | str) -> None:
    """Any text is parsed, or raises an error that the command line handles."""
    with pytest.raises(TraceError):
        parse_trace(text, "t")


def test_a_script_is_no_trace(tmp_path: Path) -> None:
    """Restoring the file would not help."""
    script = tmp_path / "agent.py"
    script.write_text("import os\n")

    with pytest.raises(TraceSyntaxError, match=r"agent\.py: expected a bundle, .* eikon record --script records"):
        read_trace(script)
