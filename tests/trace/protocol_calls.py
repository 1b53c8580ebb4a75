"""Playwright protocol calls with the actions that they become, and calls that no action expresses."""

from __future__ import annotations

from typing import Any

from eikon_engine.trace.actions import (
    Action,
    Blur,
    Check,
    Click,
    Clip,
    ClosePage,
    DispatchEvent,
    DoubleClick,
    Drag,
    Drop,
    DropData,
    Expect,
    ExpectedText,
    Fill,
    Focus,
    FunctionCondition,
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
    ScrollIntoViewIfNeeded,
    SelectOption,
    SelectorCondition,
    SelectText,
    SetInputFiles,
    SetViewport,
    SwitchPage,
    Tap,
    TouchscreenTap,
    TypeText,
    Uncheck,
    WaitFor,
)
from eikon_engine.trace.target import Target

HERE = Target(selector="#a")
ACTION_CALLS: dict[str, tuple[dict[str, Any], Action]] = {
    "Frame.goto": ({"url": "http://a/", "referer": "http://b/"}, Navigate(url="http://a/", referer="http://b/")),
    "Page.reload": ({"waitUntil": "commit"}, Reload(wait_until="commit")),
    "Page.goBack": ({}, GoBack()),
    "Page.goForward": ({"waitUntil": "networkidle"}, GoForward()),
    "Page.close": ({}, ClosePage()),
    "Page.bringToFront": ({}, SwitchPage()),
    "Page.screenshot": (
        {"fullPage": True, "clip": {"x": 0, "y": 900, "width": 40, "height": 30}},
        Screenshot(full_page=True, clip=Clip(x=0, y=900, width=40, height=30)),
    ),
    "Page.setViewportSize": ({"viewportSize": {"width": 3, "height": 4}}, SetViewport(width=3, height=4)),
    "Page.keyboardPress": ({"key": "Enter", "delay": 3}, Press(key="Enter", delay_ms=3)),
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
    "Page.mouseWheel": (
        {"x": 5, "y": 6, "deltaX": 1, "deltaY": 2},
        Mouse(event="wheel", x=5, y=6, dx=1, dy=2),
    ),
    "Page.touchscreenTap": ({"x": 1, "y": 2}, TouchscreenTap(x=1, y=2)),
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
            "steps": 4,
        },
        Click(
            target=HERE,
            button="middle",
            delay_ms=5,
            modifiers=("Alt",),
            position=Point(x=1, y=2),
            click_count=3,
            force=True,
            steps=4,
        ),
    ),
    "Frame.dblclick": (
        {"selector": "#a", "button": "right", "force": True, "delay": 5, "steps": 4},
        DoubleClick(target=HERE, button="right", force=True, delay_ms=5, steps=4),
    ),
    "Frame.hover": ({"selector": "#a"}, Hover(target=HERE)),
    "Frame.tap": (
        {"selector": "#a", "modifiers": ["Shift"], "position": {"x": 1, "y": 2}},
        Tap(target=HERE, modifiers=("Shift",), position=Point(x=1, y=2)),
    ),
    "Frame.check": ({"selector": "#a", "position": {"x": 1, "y": 2}}, Check(target=HERE, position=Point(x=1, y=2))),
    "Frame.uncheck": ({"selector": "#a"}, Uncheck(target=HERE)),
    "Frame.fill": ({"selector": "#a", "value": "b", "force": True}, Fill(target=HERE, text="b", force=True)),
    "Frame.type": ({"selector": "#a", "text": "b", "delay": 5}, TypeText(target=HERE, text="b", delay_ms=5)),
    "Frame.press": ({"selector": "#a", "key": "Enter"}, Press(target=HERE, key="Enter")),
    "Frame.selectOption": (
        {"selector": "#a", "options": [{"label": "b"}], "force": True},
        SelectOption(target=HERE, by="label", options=("b",), force=True),
    ),
    "Frame.setInputFiles": ({"selector": "#a", "localPaths": ["/b"]}, SetInputFiles(target=HERE, files=())),
    "Frame.focus": ({"selector": "#a"}, Focus(target=HERE)),
    "Frame.blur": ({"selector": "#a"}, Blur(target=HERE)),
    "ElementHandle.selectText": ({"selector": "#a", "force": True}, SelectText(target=HERE, force=True)),
    "ElementHandle.scrollIntoViewIfNeeded": ({"selector": "#a"}, ScrollIntoViewIfNeeded(target=HERE)),
    "ElementHandle.screenshot": ({"selector": "#a"}, Screenshot(target=HERE)),
    "Frame.dispatchEvent": (
        {"selector": "#a", "type": "b", "eventInit": {"value": {"v": "undefined"}}},
        DispatchEvent(target=HERE, event="b"),
    ),
    "Frame.waitForSelector": (
        {"selector": "#a", "state": "hidden"},
        WaitFor(condition=SelectorCondition(target=HERE, state="hidden")),
    ),
    "Frame.dragAndDrop": (
        {"source": "#a", "target": "#b", "sourcePosition": {"x": 1, "y": 2}, "steps": 3, "force": True},
        Drag(target=HERE, to=Target(selector="#b"), position=Point(x=1, y=2), steps=3, force=True),
    ),
    "Frame.drop": (
        {"selector": "#a", "data": [{"mimeType": "text/plain", "value": "b"}], "position": {"x": 1, "y": 2}},
        Drop(target=HERE, data=(DropData(mime_type="text/plain", value="b"),), position=Point(x=1, y=2)),
    ),
}
"""One call of each kind, and its action."""

WAITS: list[tuple[str, dict[str, Any], Action]] = [
    (
        "Frame.waitForFunction",
        {"expression": "() => done", "arg": {"value": {"v": "undefined"}}},
        WaitFor(condition=FunctionCondition(expression="() => done")),
    ),
    (
        "Frame.waitForFunction",
        {"expression": "n => total > n", "arg": {"value": {"n": 3}, "handles": []}},
        WaitFor(condition=FunctionCondition(expression="n => total > n", argument=3)),
    ),
    (
        "Frame.waitForFunction",
        {"selector": "#a", "strict": True, "expression": "each => each.checked"},
        WaitFor(condition=FunctionCondition(expression="each => each.checked", target=HERE)),
    ),
    (
        "Frame.expect",
        {"selector": "#a", "expression": "to.be.visible", "isNot": True},
        Expect(expression="to.be.visible", target=HERE, is_not=True),
    ),
    (
        "Frame.expect",
        {
            "expression": "to.have.url",
            "expectedText": [{"string": "http://a/", "matchSubstring": False, "normalizeWhiteSpace": False}],
        },
        Expect(
            expression="to.have.url",
            texts=(ExpectedText(string="http://a/", match_substring=False, normalize_white_space=False),),
        ),
    ),
    (
        "Frame.expect",
        {"selector": "#a", "expression": "to.have.count", "expectedNumber": 3},
        Expect(expression="to.have.count", target=HERE, number=3),
    ),
]
"""Waits and assertions, and their actions."""

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("Frame.goto", {"url": "/b?c", "waitUntil": "networkidle", "timeout": 0}),
    ("Frame.click", {"selector": "#f >> internal:control=enter-frame >> #a", "timeout": 0}),
    ("Frame.click", {"selector": "#a", "timeout": 700}),
    ("Frame.click", {"selector": "#a", "force": True}),
    *(
        (f"Frame.{method}", {"selector": "#a", "force": force})
        for method in ("dblclick", "hover", "tap", "check", "uncheck")
        for force in (True, False)
    ),
    (
        "Frame.waitForFunction",
        {"expression": "each => each.open", "arg": {"value": {"o": [{"k": "a", "v": {"b": True}}]}}},
    ),
    ("Frame.selectOption", {"selector": "#a", "options": []}),
    ("Frame.selectOption", {"selector": "#a", "options": [{"index": 1}]}),
    (
        "Frame.dispatchEvent",
        {"selector": "#a", "type": "b", "eventInit": {"value": {"o": [{"k": "c", "v": {"n": 1}}]}}},
    ),
    ("Page.keyboardPress", {"key": "a", "timeout": 0}),
    ("Page.keyboardType", {"text": "für\n"}),
    ("Page.reload", {"timeout": 0}),
]
"""More calls that a recorder and an importer convert alike."""

UNSUPPORTED: list[tuple[str, dict[str, Any], str]] = [
    ("Frame.click", {"trial": True}, "trial=True has no effect"),
    ("Frame.check", {"trial": True}, "trial=True has no effect"),
    ("Frame.dragAndDrop", {"source": "#a", "target": "#b", "trial": True}, "trial=True"),
    ("Frame.tap", {"trial": True}, "trial=True has no effect"),
    ("Frame.click", {"clickCount": -1}, "click_count: Input should be greater than or equal to 1"),
    ("Frame.selectOption", {"elements": ["handle"]}, "by element handle; select them by value, label or index"),
    ("Frame.selectOption", {"options": [{"label": "a"}, {"index": 1}]}, "by index and label at once"),
    ("Frame.selectOption", {"options": [{"value": "a"}, {}]}, "an option has no value, label or index"),
    ("Frame.selectOption", {"options": [{"value": None}]}, "an option has no value, label or index"),
    ("Frame.selectOption", {"options": [{"color": "a"}]}, "an option has no value, label or index"),
    ("Frame.setInputFiles", {"localDirectory": "/a"}, "a directory was uploaded"),
    ("Frame.setInputFiles", {"streams": ["stream"]}, "on another machine"),
    ("Frame.dispatchEvent", {"type": "b", "eventInit": {"value": {"d": "2026-01-01"}}}, "that JSON cannot represent"),
    ("Frame.dispatchEvent", {"type": "b", "eventInit": {"value": {"o": [3]}}}, "that JSON cannot represent"),
    ("Frame.click", {"selector": None}, "the parameter selector is missing"),
    ("Frame.waitForFunction", {"expression": "x", "arg": {"value": {"d": "2026-01-01"}}}, "JSON cannot represent"),
    ("Frame.waitForFunction", {"expression": "x", "arg": {"value": {"h": 0}, "handles": [1]}}, "with a handle as its"),
    ("Frame.waitForFunction", {"expression": " (async () => 1)"}, "an async function gives a promise"),
    ("Frame.press", {"key": ""}, "key: String should have at least 1 character"),
    ("Page.mouseDown", {}, "the pointer position is unknown"),
]
"""Calls that are close to an action, and why they are rejected."""
