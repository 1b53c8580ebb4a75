from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.actions import Fill, SecretRef
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Blocked, Failed
from eikon_engine.trace.migrations.v3_1 import SecretNamer, error_code
from eikon_engine.trace.trace_file import parse_trace, read_trace, serialize_trace

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace

TRACES = Path(__file__).parents[1] / "data" / "traces"
SAMPLES = sorted((TRACES / "v3_1_samples").glob("*.json"))
SITE = "http://127.0.0.1:8642"


def _sample(name: str) -> ExecutionTrace:
    return read_trace(TRACES / "v3_1_samples" / f"{name}.json")


def _actions(trace: ExecutionTrace) -> tuple[ActionTrace, ...]:
    return trace.subgoal_traces[0].actions_taken


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_is_read_and_written_in_this_version(path: Path) -> None:
    """A migrated trace names its source and round-trips through the current format."""
    trace = read_trace(path)

    assert trace.migrated_from == "v3.1"
    assert trace.status == json.loads(path.read_text())["status"]
    assert parse_trace(serialize_trace(trace), "again") == trace


def test_the_old_bundle_opens() -> None:
    """The older bundle opens, and every field that could not be migrated is named."""
    trace = open_bundle(TRACES / "old_format").trace

    assert [len(each.steps) for each in trace.subgoal_traces] == [6, 5]
    assert trace.warnings == (
        "the position of skill extract_table in subgoal_02__attempt_1 was not recorded; placed after the actions",
        "26 times without a time zone were interpreted as UTC",
        "not carried over: artifacts[].id (2 entries)",
        "not carried over: capabilities_used (1 entry)",
        "not carried over: learning_events (2 entries)",
        "not carried over: skills_used[].metadata.intent (1 entry)",
        (
            "not carried over: subgoal_traces[].actions_taken[].metadata.details, "
            "which may quote a masked input (1 entry)"
        ),
    )


def test_every_action_type_becomes_an_action() -> None:
    """Each of the eleven types, with optional fields missing, becomes an action of this version."""
    selector: dict[str, Any] = {"kind": "selector", "state": "visible"}
    expected: tuple[dict[str, Any], ...] = (
        {"type": "navigate", "url": f"{SITE}/"},
        {"type": "fill", "target": {"selector": "#q"}, "text": "rye"},
        {"type": "click", "target": {"selector": "text=Search"}},
        {"type": "wait_for", "condition": selector | {"target": {"selector": ".card"}}},
        {"type": "wait_for", "condition": {"kind": "url", "url": f"{SITE}/cart"}},
        {"type": "wait_for", "condition": {"kind": "load_state", "state": "load"}},
        {"type": "wait_for", "condition": {"kind": "load_state", "state": "load"}},
        {"type": "wait_for", "condition": {"kind": "url", "url": f"{SITE}/"}},
        {"type": "wait_for", "condition": selector | {"target": {"selector": "h1"}}},
        {"type": "wait_for", "condition": {"kind": "selector", "state": "attached", "target": {"selector": "h1"}}},
        {"type": "screenshot"},
        {"type": "extract_dom"},
        {"type": "note", "text": "retry"},
        {"type": "note", "text": "reload_if_failed"},
        {"type": "navigate", "url": f"{SITE}/help"},
        {"type": "click", "target": {"selector": "#only-in-target"}},
    )

    found = [each.action.model_dump(mode="json", exclude_unset=True) for each in _actions(_sample("all_actions"))]

    assert found == list(expected)


def test_failures_keep_what_the_old_format_recorded() -> None:
    """The code is derived from the error; a blocked action is not performed; only a failure is followed by a reload."""
    actions = _actions(_sample("failures"))

    codes = [each.result.code for each in actions if isinstance(each.result, Failed)]
    assert codes == [
        "target-ambiguous",
        "target-not-actionable",
        "option-missing",
        "navigation-failed",
        "target-missing",
        "unknown",
        "unknown",
        "navigation-failed",
        "wait-timeout",
    ]
    assert actions[9].action.type == "reload"
    assert [each.result for each in actions[10:]] == [Blocked(reason="needs approval"), Blocked()]
    assert actions[11].action.type == "note"


def test_a_masked_input_becomes_a_reference_and_its_clear_text_nowhere_appears() -> None:
    """Equal fields get equal names, different fields different ones; texts that may quote the input are omitted."""
    trace = _sample("masked")

    fills = [each.action for attempt in trace.subgoal_traces for each in attempt.actions_taken]
    names = [each.text.secret for each in fills if isinstance(each, Fill) and isinstance(each.text, SecretRef)]
    assert names == ["PASSWORD", "PASSWORD_2", "PASSWORD_3", "SECRET_2FA", "PASSWORD"]
    assert b"hunter2" not in serialize_trace(trace)
    assert _actions(trace)[2].result == Failed(code="target-not-actionable")


def test_skills_follow_the_actions_with_their_stored_output() -> None:
    """A mission's skill joins its attempt; without a stored result it has no output."""
    first, second = _sample("skills").subgoal_traces

    assert [(s.skill, s.sequence, s.output, s.output_recorded) for s in first.skills_used] == [
        ("extract_listing", 2, {"items": [1, 2]}, True),
        ("detect_login_form", 3, {"found": False}, True),
    ]
    assert first.skills_used[1].result == Failed(code="unknown", message="failed")
    assert [(s.skill, s.sequence, s.output_recorded) for s in second.skills_used] == [("extract_table", 1, False)]


def test_every_dropped_field_is_named() -> None:
    """Each dropped field is a warning, even an unknown one."""
    warnings = _sample("full_mission").warnings

    assert warnings[0] == "slow network"
    unplaced = (
        "approvals_requested",
        "capability_report",
        "evaluation",
        "incomplete",
        "skipped_subgoals",
        "experimental",
    )
    for field in unplaced:
        assert f"not carried over: {field} (1 entry)" in warnings
    assert "not carried over: artifacts[].path, which points outside the bundle (2 entries)" in warnings


def test_a_missing_end_is_the_start_and_the_duration() -> None:
    """The end is the start plus the recorded duration."""
    ended_at = _sample("full_mission").ended_at

    assert ended_at is not None
    assert ended_at.isoformat() == "2025-03-14T09:30:20+00:00"


def _old(**changes: object) -> bytes:
    action: dict[str, object] = {"id": "a", "sequence": 1, "action_type": "click", "status": "ok", "selector": "#x"}
    subgoal = {"subgoal_id": "s1", "actions_taken": [action | changes]}
    trace = {"trace_version": "v3.1", "id": "t", "mission_id": "m", "started_at": "2025-03-14T09:30:00Z"}
    return json.dumps(trace | {"status": "complete", "subgoal_traces": [subgoal]}).encode()


KNOWN = (
    "navigate, fill, type, click, wait_for, wait_for_navigation, wait_for_selector, dom_presence_check, screenshot, "
    "extract_dom, retry, reload_if_failed"
)
FAULTS: dict[str, tuple[dict[str, object], str]] = {
    "unknown action": (
        {"action_type": "teleport"},
        f'action_type: expected one of {KNOWN}, got the string "teleport"',
    ),
    "unknown status": ({"status": "maybe"}, 'status: expected one of ok, failed, blocked, got the string "maybe"'),
    "no selector": ({"selector": None}, "selector: this field is missing; click requires it"),
    "no URL": (
        {"action_type": "navigate", "selector": None},
        "target: this field is missing; navigate requires a URL",
    ),
    "no sequence": ({"sequence": None}, "sequence: expected a whole number of at least 1, got null"),
    "wrong type": ({"input_data": 5}, "input_data: expected a string, got 5"),
    "no time": ({"started_at": "soon"}, 'started_at: expected a date and time (ISO 8601), got the string "soon"'),
    "metadata": ({"metadata": []}, "metadata: expected an object, got a list"),
}


@pytest.mark.parametrize(("changes", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_an_older_trace_is_named_by_its_path_there(changes: dict[str, object], message: str) -> None:
    """The path refers to the given file, not to its migrated form."""
    with pytest.raises(TraceFieldError) as raised:
        parse_trace(_old(**changes), "t")

    assert raised.value.message == f"t: subgoal_traces[0].actions_taken[0].{message}"


def test_a_timeout_means_what_the_action_waited_for() -> None:
    """The same error is a wait timeout, a failed navigation or an unknown error, depending on the action."""
    text = "Timeout 5000ms exceeded"

    assert [error_code(kind, text) for kind in ("wait_for", "navigate", "click")] == [
        "wait-timeout",
        "navigation-failed",
        "unknown",
    ]


@given(st.lists(st.text(min_size=1), unique=True, max_size=8))
def test_different_fields_never_share_a_secret(selectors: list[str]) -> None:
    """Each selector has its own valid secret name."""
    names = SecretNamer()

    found = [SecretRef(secret=names.name_for(selector)).secret for selector in selectors]

    assert len(set(found)) == len(selectors)
    assert found == [names.name_for(selector) for selector in selectors]
