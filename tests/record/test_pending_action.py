"""Building a pending action from the agent's call and the browser's response."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from eikon_engine.browser.attach.call_interceptor import PlaywrightCall
from eikon_engine.browser.attach.element_probe import ElementSnapshot
from eikon_engine.record.bundle_writer import Attempt
from eikon_engine.record.pending_action import PendingAction
from eikon_engine.trace.actions import Click, Drag, Mouse, Note, SelectOption, SelectorCondition, WaitFor
from eikon_engine.trace.execution import Failed, Succeeded
from eikon_engine.trace.target import Identity, Target

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
BUTTON = Identity(tag="button", name="Go")


def doing(name: str, params: dict[str, Any], **known: Any) -> PendingAction:  # noqa: ANN401 - fields of what is tested
    """Return a pending action."""
    return PendingAction(
        call=PlaywrightCall(name=name, target=None, params=params, timeout_ms=None),
        method=name,
        params=params,
        attempt=Attempt(subgoal_id="look", number=1),
        sequence=3,
        started_at=NOON,
        **{"page": 0, "frames": (), "base_url": None, "result": Succeeded(), **known},
    )


def test_a_target_is_the_element_that_was_found() -> None:
    """The target has the identity of the element and the path of its frames."""
    done = doing(
        "Frame.click", {"selector": "#a"}, frames=("iframe",), element=ElementSnapshot(count=1, identity=BUTTON)
    )

    assert done.build_action() == Click(target=Target(selector="#a", frames=("iframe",), identity=BUTTON))
    assert done.warnings == []


def test_the_first_of_several_matches_gets_an_index_and_a_warning() -> None:
    """A selector with several matches is narrowed to the first one, which the agent got."""
    done = doing("Frame.click", {"selector": ".a"}, element=ElementSnapshot(count=2))

    assert done.build_action() == Click(target=Target(selector=".a >> nth=0"))
    assert done.warnings == [
        "look__attempt_1_action_003: .a matched 2 elements; recorded the first. Use a selector that matches one"
    ]


@pytest.mark.parametrize(("strict", "selector"), [(False, ".a >> nth=0"), (True, ".a")])
def test_a_wait_is_for_the_first_match_unless_it_is_strict(strict: bool, selector: str) -> None:  # noqa: FBT001 - of the call
    """Once the page is idle, the selector of a wait may match more elements than at the time of the call."""
    done = doing("Frame.waitForSelector", {"selector": ".a", "strict": strict}, frames=("iframe",))

    target = Target(selector=selector, frames=("iframe",))
    assert done.build_action() == WaitFor(condition=SelectorCondition(target=target))


def test_a_strict_selector_stays_ambiguous() -> None:
    """A strict call with several matches fails, and so does its replay."""
    done = doing("Frame.click", {"selector": ".a", "strict": True}, element=ElementSnapshot(count=2))

    assert done.build_action() == Click(target=Target(selector=".a"))


def test_a_drag_has_two_elements() -> None:
    """Both ends of a drag have their own element."""
    other = Identity(tag="div")
    params = {"source": "#a", "target": "#b"}
    done = doing(
        "Frame.dragAndDrop",
        params,
        element=ElementSnapshot(count=1, identity=BUTTON),
        second=ElementSnapshot(count=1, identity=other),
    )

    assert done.build_action() == Drag(
        target=Target(selector="#a", identity=BUTTON), to=Target(selector="#b", identity=other)
    )


def test_a_click_at_coordinates_records_the_element_there() -> None:
    """The element under the pointer is recorded."""
    done = doing("Page.mouseClick", {"x": 1, "y": 2}, element=ElementSnapshot(count=1, identity=BUTTON))

    assert done.build_action() == Mouse(event="click", x=1, y=2, under=BUTTON)


def test_options_are_those_that_the_browser_chose() -> None:
    """If a text may be a value or a label, the trace has the values of the response."""
    params = {"selector": "#a", "options": [{"valueOrLabel": "Beta"}]}
    done = doing("Frame.selectOption", params, response={"values": ["b"]})

    assert done.build_action() == SelectOption(target=Target(selector="#a"), options=("b",))


@pytest.mark.parametrize("by", ["value", "label", "index"])
def test_options_that_are_named_stay_as_they_are(by: Any) -> None:  # noqa: ANN401 - a literal
    """If the call names the kind, the response does not change it."""
    done = doing("Frame.selectOption", {"selector": "#a", "options": [{by: 1}]}, response={"values": ["b"]})

    assert done.build_action() == SelectOption(target=Target(selector="#a"), by=by, options=("1",))


def test_a_call_that_turns_out_to_be_unsupported_becomes_a_note() -> None:
    """The call is recorded as a note, and a warning gives the reason."""
    done = doing("Page.mouseDown", {})

    trace = done.build_trace()

    assert isinstance(trace.action, Note)
    assert "Page.mouseDown was called" in trace.action.text
    (warning,) = done.warnings
    assert warning.startswith("look__attempt_1_action_003: replays skip Page.mouseDown: the pointer position")


def test_a_call_still_running_at_the_end_is_a_failure() -> None:
    """An action without a response is a failure whose reason is the end of the recording."""
    trace = doing("Frame.click", {"selector": "#a"}, result=None).build_trace()

    assert isinstance(trace.result, Failed)
    assert trace.result.message == "the call was still running when the recording ended"
