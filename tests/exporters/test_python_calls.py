"""The recorder records every Playwright call that an exporter writes."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.browser.executable import find_browser
from eikon_engine.browser.playwright_internals import connection_of, replace_sender, sender_of, type_of
from eikon_engine.trace.actions import (
    Action,
    AnswerDialog,
    ExtractDom,
    Note,
    Scroll,
    SetInputFiles,
)
from eikon_engine.trace.playwright_calls import CallContext, convert_call
from eikon_engine.trace.playwright_python import (
    Json,
    Pattern,
    Payload,
    PythonCall,
    Texts,
    Url,
    UrlPattern,
    python_calls,
)
from eikon_engine.trace.target import Target
from tests.exporters.test_action_kinds import CASES
from tests.trace.protocol_calls import ACTION_CALLS, WAITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from eikon_engine.browser.playwright_internals import SendCall

SentCall = tuple[str, dict[str, Any], float | None]
OTHER_CALLS = (Scroll, SetInputFiles)
"""Actions that are exported with other calls than the recorded ones: a script that scrolls, and paths of files."""
ACTIONS = [
    action
    for name, action in (
        *((name, action) for name, (_, action) in ACTION_CALLS.items()),
        *((name, action) for name, _, action in WAITS),
    )
    if not isinstance(action, OTHER_CALLS) and not name.startswith("ElementHandle.")
]
"""Actions whose call is the first one that is sent: handles are found first."""


class _Sent(Exception):  # noqa: N818 - not an error
    """Raised instead of sending a call."""


class Spy:
    """Captures the calls of a client instead of sending them to the browser."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.sent: list[SentCall] = []

    def send(self, target: Any, method: str, params: Any, options: dict[str, Any]) -> Any:  # noqa: ANN401 - of the client
        """Replace the `send` of the connection."""
        given = {name: value for name, value in (params or {}).items() if value is not None}
        self.sent.append((f"{type_of(target)}.{method}", given, options.get("timeout")))
        raise _Sent

    def run(self, call: PythonCall) -> SentCall:
        """Run a call on the page and return what it sends."""
        from playwright.sync_api import expect

        element = None if call.target is None else self._locator(call.target)
        receivers = {
            "page": self.page,
            "context": self.page.context,
            "keyboard": self.page.keyboard,
            "mouse": self.page.mouse,
            "touchscreen": self.page.touchscreen,
            "locator": element,
            "expect": None if call.receiver != "expect" else expect(element or self.page),
        }
        method = getattr(receivers[call.receiver], call.method)
        timeout = {} if call.timeout_ms is None else {"timeout": call.timeout_ms}
        with pytest.raises(_Sent):
            method(*map(self._argument, call.arguments), **call.options, **timeout)
        return self.sent.pop()

    def _argument(self, argument: object) -> object:  # noqa: PLR0911 - one case a kind
        match argument:
            case Url(text=text) | UrlPattern(text=text):
                return text
            case Json(value=value):
                return value
            case Pattern(source=source, flags=flags):
                return re.compile(source, sum(getattr(re, flag.upper()) for flag in flags))
            case Texts(values=values):
                return [self._argument(each) for each in values]
            case Payload(files=files, data=data):
                return {"files": files, "data": data} if files else {"data": data}
            case Target():
                return self._locator(argument)
            case _:
                return argument

    def _locator(self, target: Target) -> Any:  # noqa: ANN401 - a locator
        place: Any = self.page
        for frame in target.frames:
            place = place.frame_locator(frame)
        return place.locator(target.selector)


@pytest.fixture(scope="module")
def spy() -> Iterator[Spy]:
    """Return a spy on a page."""
    from playwright.sync_api import sync_playwright

    binary = find_browser(None, environ=os.environ).path
    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as driver, driver.chromium.launch(executable_path=binary, args=flags) as browser:
        page = browser.new_context().new_page()
        connection = connection_of(page)
        send: SendCall = sender_of(connection)
        spy = Spy(page)
        replace_sender(connection, spy.send)
        try:
            yield spy
        finally:
            replace_sender(connection, send)


@pytest.mark.parametrize("action", ACTIONS, ids=[action.type for action in ACTIONS])
def test_an_exported_action_is_recorded_as_the_same_action(spy: Spy, action: Action) -> None:
    """Recording an exported test gives the exported mission again."""
    *before, call = [spy.run(each) for each in python_calls(action)]

    name, params, timeout_ms = call
    pointer = (before[0][1]["x"], before[0][1]["y"]) if before else None
    recorded = convert_call(name, params, CallContext(pointer=pointer)).action
    assert recorded == action
    assert timeout_ms is None or timeout_ms >= 0


def test_deadlines_are_those_of_the_action(spy: Spy) -> None:
    """A deadline is written unless it is the default; an unbounded one is written as 0."""
    for case, _ in CASES:
        if case.timeout_ms in {7.0, 9.0, 100.0, 300_000.0}:
            (call,) = python_calls(case)
            assert spy.run(call)[2] == (0 if case.timeout_ms == 300_000.0 else case.timeout_ms)


@pytest.mark.parametrize("action", [AnswerDialog(accept=True), ExtractDom(), Note(text="a")])
def test_what_does_nothing_to_a_page_is_no_call(action: Action) -> None:
    """Dialog answers are handlers; notes and extractions do nothing in the browser."""
    assert python_calls(action) == ()
