"""Which calls of a live agent become actions; imported traces must give the same ones."""

from __future__ import annotations

from typing import Any

import pytest

from eikon_engine.importers.imported_mission import MissionBuilder
from eikon_engine.importers.playwright_calls import CallConverter
from eikon_engine.importers.playwright_trace_file import Call, TraceContents, TraceHeader
from eikon_engine.record.pending_action import action_for_call
from eikon_engine.trace.actions import FunctionCondition, WaitFor
from eikon_engine.trace.playwright_calls import CALLS, CallContext, UnsupportedCallError, is_read
from tests.trace.protocol_calls import ACTION_CALLS, UNSUPPORTED, VARIANTS

BASE_URL = "http://base.example/"
OF_ONE_SOURCE = {
    "BrowserContext.newPage": "a trace lists its pages; the importer numbers them itself",
    "Frame.setInputFiles": "a recorder reads the files of paths, a trace has their names only",
    **dict.fromkeys(
        ("ElementHandle.selectText", "ElementHandle.scrollIntoViewIfNeeded", "ElementHandle.screenshot"),
        "a recorder knows the selector of the handle, a trace lacks it",
    ),
}
"""Calls that the two sources record differently, each with its reason."""
SHARED = [
    *((name, params) for name, (params, _) in ACTION_CALLS.items() if name not in OF_ONE_SOURCE),
    *VARIANTS,
    ("Frame.setInputFiles", {"selector": "#a", "payloads": []}),
]


def imported(name: str, params: dict[str, Any]) -> MissionBuilder:
    """Return the imported action of a call on a page that was used before."""
    builder = MissionBuilder()
    head = TraceHeader(version=10, browser_name="chromium", title="", options={}, wall_ms=0.0, monotonic_ms=0.0)
    converter = CallConverter(builder, TraceContents(head=head), BASE_URL)
    converter.convert(1, Call(name="Page.title", params={}, start_ms=0.0), 0)
    converter.convert(2, Call(name=name, params=params, start_ms=1.0), 0)
    return builder


@pytest.mark.parametrize(("name", "params"), SHARED, ids=[name for name, _ in SHARED])
def test_a_call_is_recorded_and_imported_as_the_same_action(name: str, params: dict[str, Any]) -> None:
    """A mission is the same, whether recorded live or imported from its Playwright trace."""
    context = CallContext(timeout_ms=params.get("timeout"), base_url=BASE_URL)

    assert imported(name, params).actions == [action_for_call(name, params, context)]


@pytest.mark.parametrize(("name", "params", "why"), UNSUPPORTED)
def test_a_call_that_cannot_be_recorded_is_not_imported_either(name: str, params: dict[str, Any], why: str) -> None:
    """Neither source silently drops an unsupported call: one warns, the other refuses."""
    given = {"selector": "#a", **params}

    builder = imported(name, given)

    assert builder.actions == []
    assert len(builder.unsupported) == 1
    if name not in OF_ONE_SOURCE:
        assert why in builder.unsupported[0]
    with pytest.raises(UnsupportedCallError):
        action_for_call(name, given, CallContext())


@pytest.mark.parametrize(
    "name", sorted(name for name, spec in CALLS.items() if spec.effect == "unsupported" and not is_read(name, {}))
)
def test_a_call_without_an_action_is_reported_by_both(name: str) -> None:
    """The importer also notes requests of the test itself, which are not calls on a page."""
    with pytest.raises(UnsupportedCallError) as refused:
        action_for_call(name, {}, CallContext())

    builder = imported(name, {})

    assert str(refused.value) in "".join((*builder.unsupported, *builder.notes))
    assert bool(builder.unsupported) != name.startswith("APIRequestContext.")


@pytest.mark.parametrize(
    "name",
    [
        *("Frame.title", "Frame.expect", "Frame.textContent", "Page.pdf", "Page.__waitInfo__", "Tracing.tracingStart"),
        "Page.setNetworkInterceptionPatterns",
    ],
)
def test_calls_that_only_read_are_ignored(name: str) -> None:
    """A call that changes nothing is not an action and causes no warning."""
    assert action_for_call(name, {"selector": "#a"}, CallContext()) is None


def test_a_function_is_waited_for_in_its_frame() -> None:
    """A recorder knows the frame of the call."""
    wait = action_for_call("Frame.waitForFunction", {"expression": "done"}, CallContext(frames=("#f",)))

    assert wait == WaitFor(condition=FunctionCondition(expression="done", frames=("#f",)))


@pytest.mark.parametrize("name", ["Page.teleport", "Frame.shake", "BrowserContext.rewind", "ElementHandle.melt"])
def test_an_unknown_call_is_reported(name: str) -> None:
    """A call that a newer Playwright adds is reported instead of silently missing from replays."""
    with pytest.raises(UnsupportedCallError, match="does not know the call; its effect, if any, is not replayed"):
        action_for_call(name, {}, CallContext())
