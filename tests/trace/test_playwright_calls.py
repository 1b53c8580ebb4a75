"""The map of Playwright protocol calls to actions."""

from __future__ import annotations

import re
from typing import Any, Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.trace import actions
from eikon_engine.trace.actions import Action, Click, DispatchEvent, Download, Navigate, Press, SelectOption
from eikon_engine.trace.playwright_calls import (
    CALLS,
    ENTER_FRAME,
    FORMER_CALLS,
    PAGE_CLASSES,
    CallContext,
    UnsupportedCallError,
    build_action,
    convert_call,
    effect_of,
    parse_target,
)
from eikon_engine.trace.target import Target
from tests.trace.protocol_calls import ACTION_CALLS, HERE, UNSUPPORTED, WAITS

NOT_A_CALL: Final = {
    actions.AnswerDialog: "the answer to a dialog is a call on the dialog, made while another call runs",
    actions.Download: "a click is a download only if it is known to start one",
    actions.ExtractDom: "skills read the recorded DOM",
    actions.Assert: "missions that are written or imported from other tools check without waiting",
    actions.Evaluate: "a call that returns something of a page, see `convert_read`",
    actions.Read: "as above",
    actions.Note: "written for steps that do nothing to a page",
    actions.Scroll: "the wheel turns at the pointer; only if its position is unknown the page is scrolled",
    actions.SetValue: "for tools that do not record the kind of a field",
}
"""Actions that have no Playwright call, and why."""


def convert(name: str, params: dict[str, Any], **context: Any) -> Action:  # noqa: ANN401 - fields of the context
    """Return the action of a call."""
    return convert_call(name, params, CallContext(**context)).action


@pytest.mark.parametrize("name", sorted(ACTION_CALLS))
def test_a_call_becomes_its_action(name: str) -> None:
    """Every supported call becomes the right action, with the options that affect it."""
    params, action = ACTION_CALLS[name]

    assert convert(name, params) == action


@pytest.mark.parametrize(("name", "params", "action"), WAITS)
def test_a_wait_becomes_its_action(name: str, params: dict[str, Any], action: Action) -> None:
    """An assertion of `expect` is the same action, whether it was recorded or is in a trace."""
    assert convert(name, params) == action


def test_every_action_call_has_a_case() -> None:
    """A call that is added to the table requires a test case."""
    assert {name for name, spec in CALLS.items() if spec.effect == "action"} == ACTION_CALLS.keys() - {
        "Frame.waitForSelector"
    }


def test_every_action_is_made_by_a_call_or_has_a_reason_not_to_be() -> None:
    """An action that Playwright can perform must have a call."""
    made = {type(action) for _, action in ACTION_CALLS.values()} | {type(action) for _, _, action in WAITS}

    assert made == set(get_args(get_args(Action)[0])) - NOT_A_CALL.keys()


def test_page_and_deadline_are_those_of_the_call() -> None:
    """An action names its page and deadline; a call that could have a deadline and has none gets a large one."""
    params = {"selector": "#a"}

    assert convert("Frame.click", params, page=2, timeout_ms=700.0) == Click(page=2, target=HERE, timeout_ms=700.0)
    assert convert("Frame.click", params, page=2, timeout_ms=0) == Click(page=2, target=HERE, timeout_ms=300_000.0)
    assert convert("Frame.click", params, page=2) == Click(page=2, target=HERE)
    assert convert("Page.keyboardPress", {"key": "a"}, timeout_ms=0) == Press(key="a")


@pytest.mark.parametrize(
    ("given_url", "wanted"),
    [("/b?c", "http://a/b?c"), ("b", "http://a/x/b"), ("https://c/", "https://c/"), ("about:blank", "about:blank")],
)
def test_a_path_is_resolved_against_the_base_url(given_url: str, wanted: str) -> None:
    """A relative URL is resolved against the base URL of the context."""
    assert convert("Frame.goto", {"url": given_url}, base_url="http://a/x/") == Navigate(url=wanted)


@pytest.mark.parametrize(("by", "value"), [("value", "a"), ("label", "Alpha"), ("index", 1)])
def test_options_are_named_as_the_call_names_them(by: Any, value: object) -> None:  # noqa: ANN401 - a literal
    """Options are kept by value, label or index; an index is written as text."""
    action = convert("Frame.selectOption", {"selector": "#a", "options": [{by: value}]})

    assert action == SelectOption(target=HERE, by=by, options=(str(value),))


def test_a_text_that_may_be_value_or_label_is_recorded_as_a_value() -> None:
    """`select_option("b")` is ambiguous, which the note states."""
    converted = convert_call(
        "Frame.selectOption", {"selector": "#a", "options": [{"valueOrLabel": "b"}]}, CallContext()
    )

    assert converted.action == SelectOption(target=HERE, options=("b",))
    assert converted.notes == ("Frame.selectOption: `valueOrLabel` is treated as a value",)


@pytest.mark.parametrize(
    ("params", "is_download"), [({}, True), ({"button": "right"}, False), ({"clickCount": 2}, False)]
)
def test_a_plain_click_that_is_known_to_download_is_a_download(
    params: dict[str, Any],
    is_download: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """`download` waits for a download to start, but supports neither other buttons nor multiple clicks."""
    action = convert("Frame.click", {"selector": "#a", **params}, starts_download=True)

    assert isinstance(action, Download) == is_download


@pytest.mark.parametrize(("name", "params", "why"), UNSUPPORTED)
def test_a_call_that_no_action_expresses_is_refused_with_the_reason(
    name: str, params: dict[str, Any], why: str
) -> None:
    """A call that an action cannot fully express is refused instead of being recorded in part."""
    with pytest.raises(UnsupportedCallError, match=re.escape(why)):
        convert(name, {"selector": "#a", **params})


@pytest.mark.parametrize("name", sorted(name for name, spec in CALLS.items() if spec.effect == "unsupported"))
def test_unsupported_calls_are_refused_with_a_reason(name: str) -> None:
    """The reason for refusing a state-changing call states what a replay would lack."""
    with pytest.raises(UnsupportedCallError, match=r"\w+ \w+"):
        convert(name, {})


@pytest.mark.parametrize(
    "name", ["Page.teleport", "Frame.shake", "BrowserContext.rewind", "ElementHandle.melt", "CDPSession.x"]
)
def test_a_call_that_a_newer_playwright_adds_is_refused(name: str) -> None:
    """An unknown call is reported instead of silently missing from replays."""
    assert effect_of(name) == "unknown"
    with pytest.raises(UnsupportedCallError, match="does not know the call; its effect, if any, is not replayed"):
        convert(name, {})


@pytest.mark.parametrize("name", ["Frame.title", "Page.__waitInfo__", "Tracing.tracingStart", "Page.waitForEventInfo"])
def test_calls_that_only_read_have_no_effect(name: str) -> None:
    """A call that changes nothing is not an action and causes no warning."""
    assert effect_of(name) == "read"


def test_the_table_has_every_call_of_the_installed_playwright() -> None:
    """The table has exactly the calls on pages and their contents."""
    from playwright._impl._protocol import COMMANDS

    inherited = {f"ElementHandle.{method}" for method in COMMANDS["JSHandle"]}
    sent = {f"{kind}.{method}" for kind in PAGE_CLASSES for method in COMMANDS[kind]} | inherited

    assert CALLS.keys() - FORMER_CALLS == sent
    assert not FORMER_CALLS & sent


@given(st.lists(st.text("abc#.[]=> '\"", min_size=1), min_size=1, max_size=4))
def test_a_selector_leads_through_frames(parts: list[str]) -> None:
    """Each part before a frame step is the selector of an iframe, and the last one that of the element."""
    target = parse_target(ENTER_FRAME.join(parts), frames=("#outer",))

    assert (*target.frames, target.selector) == ("#outer", *parts)


def test_the_frame_of_a_call_is_that_of_all_its_targets() -> None:
    """Waits and drop targets are in the frame of the call, too."""
    wait = convert("Frame.waitForSelector", {"selector": "#a"}, frames=("#f",))
    drag = convert("Frame.dragAndDrop", {"source": "#a", "target": "#b"}, frames=("#f",))

    assert isinstance(wait, actions.WaitFor)
    assert isinstance(wait.condition, actions.SelectorCondition)
    assert wait.condition.target.frames == ("#f",)
    assert isinstance(drag, actions.Drag)
    assert (drag.target.frames, drag.to.frames) == (("#f",), ("#f",))


def test_a_pointer_position_that_the_call_does_not_contain_is_that_of_the_context() -> None:
    """`mouse.down()` uses the current position of the pointer."""
    assert convert("Page.mouseDown", {}, pointer=(1.0, 2.0)) == actions.Mouse(event="down", x=1.0, y=2.0)


def test_a_field_that_no_action_has_is_refused() -> None:
    """The message has the name of the field."""
    with pytest.raises(UnsupportedCallError, match=r"^speed: Extra inputs"):
        build_action("click", target=Target(selector="#a"), speed=3)


def test_the_polling_of_a_function_is_noted() -> None:
    """A replay polls in page time."""
    params = {"expression": "done", "pollingInterval": 700}

    converted = convert_call("Frame.waitForFunction", params, CallContext())

    assert converted.notes == ("Frame.waitForFunction: `pollingInterval` ignored, a replay polls less and less often",)


def test_a_screenshot_shows_an_element_or_the_full_page() -> None:
    """One that is to show both, or a part of one, is refused instead of showing one of them."""
    for options in ({"full_page": True}, {"clip": {"x": 0, "y": 0, "width": 1, "height": 1}}):
        with pytest.raises(UnsupportedCallError, match="shows the target"):
            build_action("screenshot", target=HERE, **options)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_properties_of_an_event_are_kept(detail: Any) -> None:  # noqa: ANN401 - any value of JSON
    """Every event property that JSON can represent is in the action."""
    given_init = {"value": {"o": [{"k": "detail", "v": _as_protocol(detail)}], "id": 1}, "handles": []}

    action = convert("Frame.dispatchEvent", {"selector": "#a", "type": "b", "eventInit": given_init})

    assert action == DispatchEvent(target=HERE, event="b", init={"detail": detail})


def _as_protocol(value: object) -> dict[str, Any]:
    match value:
        case None:
            return {"v": "null"}
        case bool():
            return {"b": value}
        case int():
            return {"n": value}
        case str():
            return {"s": value}
        case list():
            return {"a": [_as_protocol(each) for each in value], "id": 2}
        case _:
            raise TypeError(value)
