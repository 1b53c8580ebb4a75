"""Convert calls of Playwright's protocol, as recorded in its traces, to actions.

Names of methods and parameters: https://github.com/microsoft/playwright, packages/protocol/src/protocol.yml
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from eikon_engine.files.blobs import blob_ref
from eikon_engine.importers.keyboard import Keyboard
from eikon_engine.importers.playwright_trace_file import get_number, get_text
from eikon_engine.importers.selectors import RankedSelector, build_target, rank_of
from eikon_engine.trace.actions import (
    UNBOUNDED_TIMEOUT_MS,
    AssertCount,
    AssertText,
    FileInput,
    FunctionCondition,
    SelectorCondition,
    UrlCondition,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from eikon_engine.files.models import FileModel
    from eikon_engine.importers.imported_mission import MissionBuilder
    from eikon_engine.importers.playwright_trace_file import Call, FrameTree
    from eikon_engine.trace.target import Target

_NEGATED: Final = {"to.be.visible": "to.be.hidden", "to.be.hidden": "to.be.visible"}

ConvertedAssertion = tuple[str, dict[str, "JsonValue | FileModel | None"]]


def convert_assertion(params: Mapping[str, JsonValue], target: Target | None) -> ConvertedAssertion | None:
    """Return type and fields of the equivalent action, or None if there is none.

    Playwright retries assertions. `wait_for` actions also wait; texts and counts are asserted immediately.
    """
    expression = get_text(params, "expression")
    if params.get("isNot"):
        expression = _NEGATED.get(expression, "")
    text = _single_text(params)
    match expression:
        case "to.be.visible" | "to.be.hidden" if target is not None:
            condition = SelectorCondition(target=target, state="visible" if expression == "to.be.visible" else "hidden")
            return "wait_for", {"condition": condition}
        case "to.have.url" if text is not None and "*" not in text[0]:
            return "wait_for", {"condition": UrlCondition(url=text[0])}
        case "to.have.text" if target is not None and text is not None:
            return "assert", {"expectation": AssertText(target=target, text=text[0], contains=text[1])}
        case "to.have.count" if target is not None:
            count = max(0, int(get_number(params, "expectedNumber") or 0))
            return "assert", {"expectation": AssertCount(target=target, count=count)}
        case _:
            return None


def _single_text(params: Mapping[str, JsonValue]) -> tuple[str, bool] | None:
    """Return the expected text and whether a substring matches; None for several texts and for patterns."""
    texts = params.get("expectedText")
    only = texts[0] if isinstance(texts, list) and len(texts) == 1 else None
    if not isinstance(only, dict) or not isinstance(only.get("string"), str) or only.get("ignoreCase"):
        return None
    return get_text(only, "string"), bool(only.get("matchSubstring"))


ENTER_FRAME: Final = " >> internal:control=enter-frame >> "
"""Selector part that enters the document of an iframe."""
_PAGE_CLASSES: Final = frozenset(
    ("Frame", "Page", "BrowserContext", "JSHandle", "ElementHandle", "Worker", "CDPSession")
)
"""Classes whose calls may act on a page."""
_REQUEST_CLASS: Final = "APIRequestContext"
READ_ONLY_METHODS: Final = frozenset(
    (
        *("content", "title", "textContent", "innerText", "innerHTML", "inputValue", "getAttribute"),
        *("isVisible", "isHidden", "isEnabled", "isDisabled", "isEditable", "isChecked", "queryCount"),
        *("querySelector", "querySelectorAll", "ariaSnapshot", "snapshotForAI"),
        *("accessibilitySnapshot", "resolveSelector", "highlight", "hideHighlight"),
        *("scrollIntoViewIfNeeded", "frameElement", "ownerFrame", "contentFrame", "boundingBox"),
        *("__waitInfo__", "waitForEventInfo", "waitForTimeout", "waitForLoadState"),
        *("waitForNavigation", "pdf", "pause", "expectScreenshot", "requests", "consoleMessages"),
        *("pageErrors", "storageState", "cookies", "newPage", "newCDPSession", "dispose", "detach", "jsonValue"),
        *("getPropertyList", "setDefaultTimeoutNoReply", "setDefaultNavigationTimeoutNoReply"),
        *("updateSubscription", "close", "startJSCoverage", "stopJSCoverage", "startCSSCoverage"),
        *("stopCSSCoverage", "harStart", "harExport", "tracingStart"),
    )
)
"""Methods that do not act on a page, or that a replay performs by itself."""
SET_VIEWPORT_SIZE: Final = "Page.setViewportSize"
_ROUTE_METHODS: Final = frozenset({"setNetworkInterceptionPatterns", "setWebSocketInterceptionPatterns"})
_STATES: Final = frozenset({"attached", "detached", "visible", "hidden"})
_PASSIVE_CALLS: Final = frozenset({"Frame.waitForSelector", "Frame.waitForFunction", "Frame.expect", "Page.screenshot"})
"""Calls that do not act on a page: events during them have an earlier cause."""


def is_page_call(name: str) -> bool:
    """Whether a call, `Class.method`, is made on a page or on one of its frames."""
    return name.startswith(("Frame.", "Page."))


class CallConverter:
    """Converts calls to actions, one at a time."""

    def __init__(self, gathered: MissionBuilder, frames: FrameTree, base_url: str = "") -> None:
        """Add actions to `gathered`; `frames` resolves frame ids, `base_url` relative URLs of `goto`."""
        self._builder = gathered
        self._frames = frames
        self._base_url = base_url
        self._has_called_page = False
        """Whether any call besides `Page.setViewportSize` was made on a page."""
        self._keyboard = Keyboard()
        self._step = 0
        self._page = 0
        self._call: Call
        self._params: Mapping[str, JsonValue] = {}
        self.files: list[bytes] = []
        """Contents of uploaded files."""
        self.action_times: list[float | None] = []
        """When each action acted on its page; None for actions that do not."""
        self._converters = {**self._page_converters(), **self._element_converters()}

    def _page_converters(self) -> Mapping[str, Callable[[], None]]:
        return {
            "Frame.goto": lambda: self._navigate(
                "navigate", url=self._absolute_url(), referer=self._params.get("referer")
            ),
            "Page.reload": lambda: self._navigate("reload"),
            "Page.goBack": lambda: self._navigate("go_back"),
            "Page.goForward": lambda: self._navigate("go_forward"),
            "Page.close": lambda: self._add("close_page"),
            "Page.bringToFront": lambda: self._add("switch_page"),
            "Page.screenshot": lambda: self._add("screenshot", full_page=self._params.get("fullPage", False)),
            "Page.keyboardPress": lambda: self._add("press", key=self._params.get("key")),
            "Page.keyboardDown": lambda: self._key(down=True),
            "Page.keyboardUp": lambda: self._key(down=False),
            "Page.keyboardType": self._keyboard_type,
            "Page.mouseWheel": self._scroll,
            SET_VIEWPORT_SIZE: self._set_viewport,
        }

    def _element_converters(self) -> Mapping[str, Callable[[], None]]:
        return {
            "Frame.click": self._click,
            "Frame.dblclick": lambda: self._add_pointer("double_click", button=self._params.get("button")),
            "Frame.hover": lambda: self._add_pointer("hover"),
            "Frame.check": lambda: self._add_on_target("check", position=self._params.get("position")),
            "Frame.uncheck": lambda: self._add_on_target("uncheck", position=self._params.get("position")),
            "Frame.fill": lambda: self._add_on_target("fill", text=self._params.get("value")),
            "Frame.type": lambda: self._add_on_target("type", text=self._params.get("text")),
            "Frame.press": lambda: self._add_on_target("press", key=self._params.get("key")),
            "Frame.selectOption": self._select,
            "Frame.setInputFiles": self._upload,
            "Frame.dragAndDrop": self._drag,
            "Frame.waitForSelector": self._wait,
            "Frame.waitForFunction": self._wait_for_function,
            "Frame.expect": self._expect,
        }

    def convert(self, step: int, call: Call, page: int) -> None:
        """Convert one call on a page; `step` is its number in the trace, from 1."""
        self._step, self._call, self._params, self._page = step, call, call.params, page
        kind, _, method = call.name.partition(".")
        for accept, text in call.dialog_answers:
            self._add("answer_dialog", accept=accept, text=text)
        carrier = self._converters.get(call.name)
        if carrier is not None:
            carrier()
        elif kind == _REQUEST_CLASS:
            self._add_note(f"{_REQUEST_CLASS}.{method} skipped: a request of the test, not of a page")
        elif method in _ROUTE_METHODS:
            self._add_note(
                f"{method}: responses mocked by the test are part of the recorded network if it contains them"
            )
        elif kind == "ElementHandle" and method not in READ_ONLY_METHODS:
            self._add_unsupported("an element handle has no selector; use locators")
        elif method not in READ_ONLY_METHODS and kind in _PAGE_CLASSES:
            self._add_unsupported("unsupported call")
        self._has_called_page |= is_page_call(call.name) and call.name != SET_VIEWPORT_SIZE
        self.action_times += [self._action_time()] * (len(self._builder.actions) - len(self.action_times))

    def add_page_switch(self, step: int, page: int) -> None:
        """Add a `switch_page` before the first action on a page."""
        self._builder.add_action(step, "switch_page", page=page)
        self.action_times.append(None)

    def add_initial_navigation(self, step: int, url: str, at_ms: float) -> None:
        """Add a navigation to the document that was open when the recording started."""
        self._builder.add_action(step, "navigate", url=url)
        self._builder.add_note(
            step, f"the recording started on {url}; a navigation was added, which the network may lack"
        )
        self.action_times.append(at_ms)

    def _action_time(self) -> float | None:
        if self._call.name in _PASSIVE_CALLS:
            return None
        return self._call.acted_at_ms or self._call.start_ms

    def _set_viewport(self) -> None:
        """Resize the page; the environment contains a size that is set on the first page before any other call."""
        if self._page == 0 and not self._has_called_page:
            return
        size = self._params.get("viewportSize")
        width, height = (size.get("width"), size.get("height")) if isinstance(size, dict) else (None, None)
        self._add("set_viewport", width=width, height=height)

    def _absolute_url(self) -> JsonValue:
        """Return the URL of the call, resolved against the `baseURL` of the context as Playwright does."""
        url = self._params.get("url")
        if not isinstance(url, str) or not self._base_url:
            return url
        try:
            return urljoin(self._base_url, url)
        except ValueError:  # one of them is no URL
            return url

    def _navigate(self, kind: str, **fields: JsonValue) -> None:
        wait = self._params.get("waitUntil", "load")
        if wait == "networkidle":
            self._add_note(f"{kind}: `networkidle` became `load`, as a replay always waits until the page is idle")
        self._add(kind, wait_until="load" if wait == "networkidle" else wait, timeout_ms=self._timeout(), **fields)

    def _key(self, *, down: bool) -> None:
        key = get_text(self._params, "key")
        try:
            chord = self._keyboard.down(key) if down else self._keyboard.up(key)
        except KeyError:
            self._add_unsupported(f"the key {key!r} was not down")
        else:
            if chord is not None:
                self._add("press", key=chord)

    def _keyboard_type(self) -> None:
        text = get_text(self._params, "text")
        if not (text.isascii() and text.isprintable()):
            self._add_unsupported(f"not all characters of {text!r} have a key")
            return
        for key in text:
            self._add("press", key="Space" if key == " " else key)

    def _scroll(self) -> None:
        self._add_note("mouseWheel: scrolls the page, regardless of the pointer position")
        dx, dy = get_number(self._params, "deltaX"), get_number(self._params, "deltaY")
        self._add("scroll", dx=dx or 0.0, dy=dy or 0.0)

    def _click(self) -> None:
        button, count = self._params.get("button"), get_number(self._params, "clickCount") or 1
        force = self._params.get("force") is True
        if self._call.starts_download and button in {None, "left"} and count == 1 and not force:
            self._add_pointer("download")
        else:
            delay = self._params.get("delay")
            self._add_pointer("click", button=button, delay_ms=delay, click_count=int(count), force=force)

    def _add_pointer(self, kind: str, **fields: JsonValue) -> None:
        if self._params.get("trial"):
            self._add_unsupported("a trial run has no effect")
            return
        if self._params.get("force") and kind != "click":
            self._add_note(f"{kind}: `force` ignored, a replay waits for actionability")
        held: list[JsonValue] = list(self._keyboard.modifiers)
        modifiers = self._params.get("modifiers") or held
        self._add_on_target(kind, position=self._params.get("position"), modifiers=modifiers, **fields)

    def _select(self) -> None:
        """Select options by the key of the call; `valueOrLabel` is treated as a value."""
        given = self._params.get("options")
        options = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
        names = {name for each in options for name in each}
        if len(names) != 1 or not names <= {"value", "label", "index", "valueOrLabel"} or self._params.get("elements"):
            self._add_unsupported("options are selected by element handles, or by several keys at once")
            return
        name = names.pop()
        if name == "valueOrLabel":
            self._add_note("selectOption: `valueOrLabel` is treated as a value")
        by = "value" if name == "valueOrLabel" else name
        self._add_on_target("select_option", by=by, options=[str(each[name]) for each in options])

    def _upload(self) -> None:
        given = self._params.get("payloads")
        payloads = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
        paths = self._params.get("localPaths")
        if not payloads and isinstance(paths, list) and paths:
            names = ", ".join(str(each).replace("\\", "/").rpartition("/")[2] for each in paths)
            self._add_unsupported(
                f"the trace does not contain the uploaded files {names}; pass their contents to the call"
            )
            return
        try:
            files = [self._store_file(each) for each in payloads]
        except (binascii.Error, ValueError):
            self._add_unsupported("the trace does not contain the uploaded files")
            return
        if not files and "payloads" not in self._params:
            self._add_unsupported("the trace does not contain the uploaded files")
            return
        plain: list[JsonValue] = [each.model_dump(mode="json") for each in files]
        self._add_on_target("set_input_files", files=plain)

    def _store_file(self, payload: Mapping[str, JsonValue]) -> FileInput:
        content = base64.b64decode(get_text(payload, "buffer"), validate=True)
        self.files.append(content)
        kind = get_text(payload, "mimeType") or "application/octet-stream"
        return FileInput(name=get_text(payload, "name"), mime_type=kind, content=blob_ref(content))

    def _drag(self) -> None:
        source, to = self._target("source"), self._target("target")
        if source is not None and to is not None:
            places = {"position": self._params.get("sourcePosition"), "to_position": self._params.get("targetPosition")}
            self._add("drag", target=source, to=to, timeout_ms=self._timeout(), **places)

    def _wait(self) -> None:
        state, target = self._params.get("state", "visible"), self._target()
        if state not in _STATES:
            self._add_unsupported(f"unknown state {state!r}")
        elif target is not None:
            condition = SelectorCondition(target=target).model_dump(mode="json") | {"state": state}
            self._add("wait_for", condition=condition, timeout_ms=self._timeout())

    def _wait_for_function(self) -> None:
        argument = self._params.get("arg")
        value = argument.get("value") if isinstance(argument, dict) else None
        if value not in (None, {"v": "undefined"}, {"v": "null"}):
            self._add_unsupported("a function with an argument is not supported")
            return
        condition = FunctionCondition(expression=get_text(self._params, "expression"))
        self._add("wait_for", condition=condition, timeout_ms=self._timeout())

    def _expect(self) -> None:
        """Convert an assertion if an action can express it; replays compare the rest with the baseline."""
        has_target = bool(self._params.get("selector")) and self._params.get("expression") != "to.have.url"
        target = self._target() if has_target else None
        if has_target and target is None:
            return
        found = convert_assertion(self._params, target)
        if found is None:
            shown = self._params.get("expression")
            self._add_note(f"assertion {shown} skipped: replays compare pages with the baseline")
        else:
            kind, fields = found
            self._add(kind, timeout_ms=self._timeout(), **fields)

    def _add_on_target(self, kind: str, **fields: JsonValue) -> None:
        target = self._target()
        if target is not None:
            self._add(kind, target=target, timeout_ms=self._timeout(), **fields)

    def _target(self, name: str = "selector") -> Target | None:
        """Return the target of a parameter; None if its frame is unknown, which is noted as not imported."""
        *frames, own = get_text(self._params, name).split(ENTER_FRAME)
        if not frames and self._call.frame is not None:
            path = self._frames.path_to(self._call.frame)
            if path is None:
                self._add_unsupported("the trace does not identify the frame; use frame_locator")
                return None
            frames = list(path)
        if not own:
            self._add_unsupported(f"the parameter {name} is missing")
            return None
        if name == "selector" and not self._params.get("strict") and self._call.name != "Frame.expect":
            self._add_note(f"{own} was not strict and used its first match; a replay requires exactly one match")
        chosen = RankedSelector(text=own, rank=rank_of(own))
        return build_target(chosen, (), self._builder, self._step, tuple(frames))

    def _timeout(self) -> float | None:
        timeout = get_number(self._params, "timeout")
        if timeout != 0:
            return timeout
        self._add_note(
            f"{self._call.name} had no timeout; a replay times out after {UNBOUNDED_TIMEOUT_MS / 1000:.0f} s"
        )
        return UNBOUNDED_TIMEOUT_MS

    def _add(self, kind: str, **fields: JsonValue | FileModel | None) -> None:
        self._builder.add_action(self._step, kind, page=self._page, **fields)

    def _add_unsupported(self, why: str) -> None:
        self._builder.add_unsupported(self._step, self._call.name, why)

    def _add_note(self, text: str) -> None:
        self._builder.add_note(self._step, text)

    @property
    def held_keys(self) -> tuple[str, ...]:
        """The keys that are still held."""
        return self._keyboard.held
