from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.record.playwright_calls import (
    _ACTION_CALLS,
    _NO_EFFECT,
    _UNSUPPORTED_CALLS,
    ENTER_FRAME,
    UnsupportedCallError,
    action_for_call,
    parse_target,
)
from eikon_engine.trace.actions import (
    Action,
    Check,
    Click,
    ClosePage,
    DispatchEvent,
    DoubleClick,
    Drag,
    Fill,
    Focus,
    GoBack,
    GoForward,
    Hover,
    InsertText,
    Key,
    Mouse,
    Navigate,
    OpenPage,
    Point,
    Press,
    Reload,
    Screenshot,
    Scroll,
    SelectOption,
    SelectorCondition,
    SetInputFiles,
    SetViewport,
    SwitchPage,
    TypeText,
    Uncheck,
    WaitFor,
)
from eikon_engine.trace.target import Target

HERE = Target(selector="#a")
CALLS: dict[str, tuple[dict[str, Any], Action]] = {
    "Frame.goto": ({"url": "http://a/", "referer": "http://b/"}, Navigate(url="http://a/", referer="http://b/")),
    "Page.reload": ({"waitUntil": "commit"}, Reload(wait_until="commit")),
    "Page.goBack": ({}, GoBack()),
    "Page.goForward": ({"waitUntil": "networkidle"}, GoForward()),
    "Page.close": ({}, ClosePage()),
    "Page.bringToFront": ({}, SwitchPage()),
    "Page.screenshot": ({"fullPage": True}, Screenshot(full_page=True)),
    "Page.setViewportSize": ({"viewportSize": {"width": 3, "height": 4}}, SetViewport(width=3, height=4)),
    "Page.keyboardPress": ({"key": "Enter", "delay": 3}, Press(key="Enter")),
    "Page.keyboardDown": ({"key": "Shift"}, Key(event="down", key="Shift")),
    "Page.keyboardUp": ({"key": "Shift"}, Key(event="up", key="Shift")),
    "Page.keyboardInsertText": ({"text": "a"}, InsertText(text="a")),
    "Page.keyboardType": ({"text": "a"}, InsertText(text="a", key_by_key=True)),
    "Page.mouseMove": ({"x": 1, "y": 2, "steps": 3}, Mouse(event="move", x=1, y=2, steps=3)),
    "Page.mouseDown": ({"x": 1, "y": 2, "button": "right"}, Mouse(event="down", x=1, y=2, button="right")),
    "Page.mouseUp": ({"x": 1, "y": 2}, Mouse(event="up", x=1, y=2)),
    "Page.mouseClick": (
        {"x": 1, "y": 2, "clickCount": 2, "delay": 5},
        Mouse(event="click", x=1, y=2, click_count=2, delay_ms=5),
    ),
    "Page.mouseWheel": ({"deltaX": 1, "deltaY": 2}, Scroll(dx=1, dy=2)),
    "BrowserContext.newPage": ({}, OpenPage()),
    "Frame.click": (
        {
            "selector": "#a",
            "button": "middle",
            "delay": 5,
            "modifiers": ["Alt"],
            "position": {"x": 1, "y": 2},
            "clickCount": 3,
            "force": True,
        },
        Click(
            target=HERE,
            button="middle",
            delay_ms=5,
            modifiers=("Alt",),
            position=Point(x=1, y=2),
            click_count=3,
            force=True,
        ),
    ),
    "Frame.dblclick": ({"selector": "#a"}, DoubleClick(target=HERE)),
    "Frame.hover": ({"selector": "#a"}, Hover(target=HERE)),
    "Frame.check": ({"selector": "#a", "position": {"x": 1, "y": 2}}, Check(target=HERE, position=Point(x=1, y=2))),
    "Frame.uncheck": ({"selector": "#a"}, Uncheck(target=HERE)),
    "Frame.fill": ({"selector": "#a", "value": "b"}, Fill(target=HERE, text="b")),
    "Frame.type": ({"selector": "#a", "text": "b", "delay": 5}, TypeText(target=HERE, text="b")),
    "Frame.press": ({"selector": "#a", "key": "Enter"}, Press(target=HERE, key="Enter")),
    "Frame.selectOption": (
        {"selector": "#a", "options": [{"label": "b"}]},
        SelectOption(target=HERE, by="label", options=("b",)),
    ),
    "Frame.setInputFiles": ({"selector": "#a", "localPaths": ["/b"]}, SetInputFiles(target=HERE, files=())),
    "Frame.focus": ({"selector": "#a"}, Focus(target=HERE)),
    "Frame.dispatchEvent": (
        {"selector": "#a", "type": "b", "eventInit": {"value": {"v": "undefined"}}},
        DispatchEvent(target=HERE, event="b"),
    ),
    "Frame.waitForSelector": (
        {"selector": "#a", "state": "hidden"},
        WaitFor(condition=SelectorCondition(target=HERE, state="hidden")),
    ),
    "Frame.dragAndDrop": (
        {"source": "#a", "target": "#b", "sourcePosition": {"x": 1, "y": 2}},
        Drag(target=HERE, to=Target(selector="#b"), position=Point(x=1, y=2)),
    ),
}
"""A call of each kind, and the action that it is."""

UNSUPPORTED: list[tuple[str, dict[str, Any], str]] = [
    ("Frame.click", {"trial": True}, "trial=True has no effect"),
    ("Frame.hover", {"force": True}, "force=True skips the actionability checks"),
    ("Frame.fill", {"value": "a", "force": True}, "force=True"),
    ("Frame.selectOption", {"options": [], "force": True}, "force=True"),
    ("Frame.dragAndDrop", {"source": "#a", "target": "#b", "trial": True}, "trial=True"),
    ("Frame.click", {"clickCount": -1}, "Frame.click with this click_count cannot be recorded"),
    ("Frame.selectOption", {"elements": ["handle"]}, "by element handle; select them by value, label or index"),
    ("Frame.selectOption", {"options": [{"label": "a"}, {"index": 1}]}, "by index and label at once"),
    ("Frame.setInputFiles", {"localDirectory": "/a"}, "a directory was uploaded"),
    ("Frame.setInputFiles", {"streams": ["stream"]}, "on another machine"),
    ("Frame.dispatchEvent", {"type": "b", "eventInit": {"value": {"d": "2026-01-01"}}}, "that JSON cannot represent"),
    ("Frame.press", {"key": ""}, "Frame.press with this key cannot be recorded"),
    ("Page.mouseDown", {}, "the pointer position is unknown"),
]
"""Calls that are almost an action, and why they are rejected."""


@pytest.mark.parametrize("name", sorted(_ACTION_CALLS))
def test_a_call_becomes_its_action(name: str) -> None:
    """Every call that is an action becomes the right one, with the options that change what it does."""
    params, action = CALLS[name]

    assert action_for_call(name, params, page=0, timeout_ms=None) == action


def test_page_and_deadline_are_those_of_the_call() -> None:
    """An action names the page it was done on, and the deadline of its call; one without gets a large one."""
    params = {"selector": "#a"}

    assert action_for_call("Frame.click", params, page=2, timeout_ms=700.0) == Click(
        page=2, target=HERE, timeout_ms=700.0
    )
    assert action_for_call("Frame.click", params, page=2, timeout_ms=0) == Click(
        page=2, target=HERE, timeout_ms=300_000.0
    )
    assert action_for_call("Frame.click", params, page=2, timeout_ms=None) == Click(page=2, target=HERE)
    assert action_for_call("Page.keyboardPress", {"key": "a"}, page=0, timeout_ms=0) == Press(key="a")


@pytest.mark.parametrize(
    ("given_url", "wanted"),
    [("/b?c", "http://a/b?c"), ("b", "http://a/x/b"), ("https://c/", "https://c/"), ("about:blank", "about:blank")],
)
def test_a_path_is_of_the_base_url(given_url: str, wanted: str) -> None:
    """An address that leaves out its beginning gets that of the context's base URL."""
    action = action_for_call("Frame.goto", {"url": given_url}, page=0, timeout_ms=None, base_url="http://a/x/")

    assert action == Navigate(url=wanted)


@pytest.mark.parametrize(("by", "value"), [("value", "a"), ("label", "Alpha"), ("index", 1)])
def test_options_are_named_as_the_call_names_them(by: Any, value: object) -> None:  # noqa: ANN401 - a literal
    """Options are kept by value, label or index; a place in the list is written as a text."""
    params = {"selector": "#a", "options": [{by: value}]}

    assert action_for_call("Frame.selectOption", params, page=0, timeout_ms=None) == SelectOption(
        target=HERE, by=by, options=(str(value),)
    )


def test_a_text_that_may_be_value_or_label_is_recorded_as_a_value_first() -> None:
    """`select_option("b")` leaves it open; the response of the call resolves it."""
    params = {"selector": "#a", "options": [{"valueOrLabel": "b"}]}

    assert action_for_call("Frame.selectOption", params, page=0, timeout_ms=None) == SelectOption(
        target=HERE, options=("b",)
    )


@pytest.mark.parametrize(("name", "params", "why"), UNSUPPORTED)
def test_a_call_that_no_action_can_express_is_rejected_with_the_reason(
    name: str, params: dict[str, Any], why: str
) -> None:
    """A call that does more than an action can say is refused, with the reason."""
    with pytest.raises(UnsupportedCallError, match=re.escape(why)):
        action_for_call(name, {"selector": "#a", **params}, page=0, timeout_ms=None)


@pytest.mark.parametrize("name", sorted(_UNSUPPORTED_CALLS))
def test_unsupported_calls_are_rejected_with_a_reason(name: str) -> None:
    """A call that changes something, and is never an action, is refused with a reason, and not passed over."""
    with pytest.raises(UnsupportedCallError) as refused:
        action_for_call(name, {}, page=0, timeout_ms=None)

    assert str(refused.value)


@pytest.mark.parametrize(
    "name",
    ["Frame.title", "Frame.expect", "Frame.textContent", "Page.pdf", "Page.__waitInfo__", "Tracing.tracingStart"],
)
def test_calls_that_only_read_are_ignored(name: str) -> None:
    """A call that changes nothing is no action and causes no warning."""
    assert action_for_call(name, {"selector": "#a"}, page=0, timeout_ms=None) is None


@pytest.mark.parametrize("name", ["Page.teleport", "Frame.shake", "BrowserContext.rewind", "ElementHandle.melt"])
def test_an_unknown_call_is_unsupported(name: str) -> None:
    """A call that a newer Playwright adds is reported instead of silently missing from replays."""
    with pytest.raises(UnsupportedCallError, match="does not know the call; its effect, if any, is not replayed"):
        action_for_call(name, {}, page=0, timeout_ms=None)


def test_every_call_of_the_installed_playwright_is_known() -> None:
    """Each call on a page, frame, element or worker is in exactly one table: action, unsupported, or no effect."""
    from playwright._impl._protocol import COMMANDS

    for kind, ignored in _NO_EFFECT.items():
        for method in _commands(COMMANDS, f"{kind}."):
            name = f"{kind}.{method}"
            frame_call = f"Frame.{method}" if kind == "ElementHandle" and method != "waitForSelector" else name
            tables = (
                name in _ACTION_CALLS or frame_call in _ACTION_CALLS,
                name in _UNSUPPORTED_CALLS,
                method in ignored,
            )
            assert sum(tables) == 1, name


def test_no_call_is_both_an_action_and_none() -> None:
    """The two lists have nothing in common."""
    assert set(_ACTION_CALLS) & set(_UNSUPPORTED_CALLS) == set()


def test_the_calls_are_those_of_the_protocol() -> None:
    """Every call in the two lists is one that the installed Playwright can send."""
    from playwright._impl._protocol import COMMANDS

    unknown = [
        name
        for name in (*_ACTION_CALLS, *_UNSUPPORTED_CALLS)
        if name.partition(".")[2] not in _commands(COMMANDS, name)
    ]

    assert unknown == []


def _commands(commands: dict[str, Any], name: str) -> set[str]:
    kind = name.partition(".")[0]
    return {*commands.get(kind, {}), *(commands["JSHandle"] if kind == "ElementHandle" else ())}


@given(st.lists(st.text("abc#.[]=> '\"", min_size=1), min_size=1, max_size=4))
def test_a_selector_leads_through_frames(parts: list[str]) -> None:
    """Each part before a step into a frame is the selector of an iframe, the last one that of the element."""
    target = parse_target(ENTER_FRAME.join(parts))

    assert (*target.frames, target.selector) == tuple(parts)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_properties_of_an_event_are_kept(detail: Any) -> None:  # noqa: ANN401 - any value of JSON
    """Every property of an event that JSON can represent is in the action."""
    given_init = {"value": {"o": [{"k": "detail", "v": _as_protocol(detail)}], "id": 1}, "handles": []}
    params = {"selector": "#a", "type": "b", "eventInit": given_init}

    assert action_for_call("Frame.dispatchEvent", params, page=0, timeout_ms=None) == DispatchEvent(
        target=HERE, event="b", init={"detail": detail}
    )


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
