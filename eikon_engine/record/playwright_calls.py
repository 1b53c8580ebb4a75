"""Map calls of the Playwright protocol to actions.

Methods and parameters of the calls: packages/protocol/src/protocol.yml of https://github.com/microsoft/playwright.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urljoin

from pydantic import TypeAdapter, ValidationError

from eikon_engine.trace.actions import UNBOUNDED_TIMEOUT_MS, Action
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from eikon_engine.trace.actions import FileInput

_ACTION: Final[TypeAdapter[Action]] = TypeAdapter(Action)
ENTER_FRAME: Final = " >> internal:control=enter-frame >> "
Fields = dict[str, Any]
"""Fields of an action; omitted ones are None."""


class UnsupportedCallError(Exception):
    """A call that cannot be recorded as an action; the message says why."""


def action_for_call(
    name: str,
    params: Mapping[str, Any],
    *,
    page: int,
    timeout_ms: float | None,
    base_url: str | None = None,
    files: tuple[FileInput, ...] = (),
) -> Action | None:
    """Return the action for a call by class and method; None for a call without an effect on a page.

    `timeout_ms` is 0 for a call without a deadline and for a call that cannot have one.

    Raises:
        UnsupportedCallError: no action can express the call, or the call is unknown.
    """
    if name in _ACTION_CALLS:
        kind, read = _ACTION_CALLS[name]
        fields = read(params)
        if "url" in fields and base_url:
            fields["url"] = urljoin(base_url, fields["url"])
        if kind == "set_input_files":
            fields["files"] = files
        deadline = UNBOUNDED_TIMEOUT_MS if has_no_deadline(name, timeout_ms) else timeout_ms or None
        return _validate({"type": kind, "page": page, "timeout_ms": deadline, **fields}, name)
    if name in _UNSUPPORTED_CALLS:
        raise UnsupportedCallError(_UNSUPPORTED_CALLS[name])
    kind, _, method = name.partition(".")
    is_client_note = method.startswith("__")  # such as __waitInfo__, which describes a wait for the log
    if kind in _NO_EFFECT and method not in _NO_EFFECT[kind] and not is_client_note:
        message = "this version of Eikon Engine does not know the call; its effect, if any, is not replayed"
        raise UnsupportedCallError(message)
    return None


def has_no_deadline(name: str, timeout_ms: float | None) -> bool:
    """Return whether a call could have a deadline and has none."""
    return timeout_ms == 0 and (name.startswith("Frame.") or name in _CALLS_WITH_TIMEOUT)


def is_action_call(name: str) -> bool:
    """Return whether a call becomes an action."""
    return name in _ACTION_CALLS


def _validate(fields: Fields, name: str) -> Action:
    given = {field: _to_json(value) for field, value in fields.items() if value is not None}
    try:
        return _ACTION.validate_json(json.dumps(given))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][1:]))
        message = f"{name} with this {place} cannot be recorded: {first['msg']}"
        raise UnsupportedCallError(message) from error


def _to_json(value: Any) -> Any:  # noqa: ANN401 - any field of an action
    if isinstance(value, tuple | list):
        return [_to_json(each) for each in value]
    return json.loads(value.model_dump_json()) if hasattr(value, "model_dump_json") else value


def parse_target(selector: str) -> Target:
    """Return the target for a Playwright selector, which may lead through frames."""
    *frames, own = selector.split(ENTER_FRAME)
    return Target(selector=own, frames=tuple(frames))


def _target_fields(params: Mapping[str, Any], *names: str, **fields: Any) -> Fields:  # noqa: ANN401 - fields of an action
    """Return the target and the parameters that have the same name in the action."""
    return {"target": parse_target(params["selector"]), **{name: params.get(name) for name in names}, **fields}


def _pointer_fields(params: Mapping[str, Any], *names: str, **fields: Any) -> Fields:  # noqa: ANN401 - as above
    _require_repeatable(params)
    modifiers = params.get("modifiers") or []
    return _target_fields(params, "position", *names, modifiers=modifiers, **fields)


def _click_fields(params: Mapping[str, Any]) -> Fields:
    count, force = params.get("clickCount"), params.get("force")
    plain = {name: value for name, value in params.items() if name not in {"clickCount", "force"}}
    return _pointer_fields(plain, "button", delay_ms=params.get("delay"), click_count=count, force=force)


def _touch_fields(params: Mapping[str, Any]) -> Fields:
    _require_repeatable(params)
    return _target_fields(params, "position")


def _fill_fields(params: Mapping[str, Any]) -> Fields:
    _require_repeatable(params)
    return _target_fields(params, text=params["value"])


def _drag_fields(params: Mapping[str, Any]) -> Fields:
    _require_repeatable(params)
    return {
        "target": parse_target(params["source"]),
        "to": parse_target(params["target"]),
        "position": params.get("sourcePosition"),
        "to_position": params.get("targetPosition"),
    }


def _upload_fields(params: Mapping[str, Any]) -> Fields:
    if params.get("localDirectory") or params.get("directoryStream"):
        message = "a directory was uploaded; upload its files"
        raise UnsupportedCallError(message)
    if params.get("streams"):
        message = "files were uploaded to a browser on another machine"
        raise UnsupportedCallError(message)
    return _target_fields(params)


def _require_repeatable(params: Mapping[str, Any]) -> None:
    if params.get("trial"):
        message = "trial=True has no effect and is not replayed"
        raise UnsupportedCallError(message)
    if params.get("force"):
        message = "force=True skips the actionability checks; a replay waits for an actionable element"
        raise UnsupportedCallError(message)


def _navigation_fields(params: Mapping[str, Any], *names: str) -> Fields:
    wait = params.get("waitUntil") or "load"
    return {"wait_until": "load" if wait == "networkidle" else wait, **{name: params.get(name) for name in names}}


def _option_fields(params: Mapping[str, Any]) -> Fields:
    """Return how the options are named; a text that may be value or label is recorded as a value."""
    _require_repeatable(params)
    if params.get("elements"):
        message = "options were selected by element handle; select them by value, label or index"
        raise UnsupportedCallError(message)
    options = params.get("options") or []
    names = {name for option in options for name in option}
    if len(names) > 1:
        message = f"options were selected by {' and '.join(sorted(names))} at once"
        raise UnsupportedCallError(message)
    name = next(iter(names), "value")
    by: Literal["value", "label", "index"] = "value" if name == "valueOrLabel" else name  # type: ignore[assignment] # checked where the action is made
    return _target_fields(params, by=by, options=[str(option[name]) for option in options])


def _mouse_fields(event: str) -> Callable[[Mapping[str, Any]], Fields]:
    def read(params: Mapping[str, Any]) -> Fields:
        if "x" not in params:
            message = "the pointer position is unknown; call mouse.move first"
            raise UnsupportedCallError(message)
        return {
            "event": event,
            "x": params["x"],
            "y": params["y"],
            "button": params.get("button"),
            "click_count": params.get("clickCount"),
            "delay_ms": params.get("delay"),
            "steps": params.get("steps"),
        }

    return read


def _wait_fields(params: Mapping[str, Any]) -> Fields:
    state = params.get("state") or "visible"
    condition: JsonValue = {"kind": "selector", "target": _to_json(parse_target(params["selector"])), "state": state}
    return {"condition": condition}


def _event_fields(params: Mapping[str, Any]) -> Fields:
    return _target_fields(
        params, event=params["type"], init=_decode_value(params.get("eventInit", {}).get("value", {})) or None
    )


def _decode_value(value: Mapping[str, Any]) -> JsonValue:
    """Decode a protocol value (SerializedValue) that JSON can represent."""
    if "o" in value:
        return {each["k"]: _decode_value(each["v"]) for each in value["o"]}
    if "a" in value:
        return [_decode_value(each) for each in value["a"]]
    for kind in ("s", "n", "b"):
        if kind in value:
            plain: JsonValue = value[kind]
            return plain
    if not value or value.get("v") in {"null", "undefined"}:
        return None
    message = "the dispatched event has properties that JSON cannot represent"
    raise UnsupportedCallError(message)


_ACTION_CALLS: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Fields]]]] = {
    "Frame.goto": ("navigate", lambda params: _navigation_fields(params, "url", "referer")),
    "Page.reload": ("reload", _navigation_fields),
    "Page.goBack": ("go_back", _navigation_fields),
    "Page.goForward": ("go_forward", _navigation_fields),
    "Page.close": ("close_page", lambda _: {}),
    "Page.bringToFront": ("switch_page", lambda _: {}),
    "Page.screenshot": ("screenshot", lambda params: {"full_page": params.get("fullPage")}),
    "Page.setViewportSize": ("set_viewport", lambda params: dict(params["viewportSize"])),
    "Page.keyboardPress": ("press", lambda params: {"key": params["key"]}),
    "Page.keyboardDown": ("key", lambda params: {"event": "down", "key": params["key"]}),
    "Page.keyboardUp": ("key", lambda params: {"event": "up", "key": params["key"]}),
    "Page.keyboardInsertText": ("insert_text", lambda params: {"text": params["text"]}),
    "Page.keyboardType": ("insert_text", lambda params: {"text": params["text"], "key_by_key": True}),
    "Page.mouseMove": ("mouse", _mouse_fields("move")),
    "Page.mouseDown": ("mouse", _mouse_fields("down")),
    "Page.mouseUp": ("mouse", _mouse_fields("up")),
    "Page.mouseClick": ("mouse", _mouse_fields("click")),
    "Page.mouseWheel": ("scroll", lambda params: {"dx": params.get("deltaX"), "dy": params.get("deltaY")}),
    "BrowserContext.newPage": ("open_page", lambda _: {}),
    "Frame.click": ("click", _click_fields),
    "Frame.dblclick": ("double_click", lambda params: _pointer_fields(params, "button")),
    "Frame.hover": ("hover", _pointer_fields),
    "Frame.check": ("check", _touch_fields),
    "Frame.uncheck": ("uncheck", _touch_fields),
    "Frame.fill": ("fill", _fill_fields),
    "Frame.type": ("type", lambda params: _target_fields(params, "text")),
    "Frame.press": ("press", lambda params: _target_fields(params, "key")),
    "Frame.selectOption": ("select_option", _option_fields),
    "Frame.setInputFiles": ("set_input_files", _upload_fields),
    "Frame.focus": ("focus", _target_fields),
    "Frame.dispatchEvent": ("dispatch_event", _event_fields),
    "Frame.waitForSelector": ("wait_for", _wait_fields),
    "Frame.dragAndDrop": ("drag", _drag_fields),
}
"""Calls that are actions, with the action type and the function that reads its fields."""

_CALLS_WITH_TIMEOUT: Final = frozenset({"Page.reload", "Page.goBack", "Page.goForward", "Page.screenshot"})
"""Calls outside `Frame` that can have a deadline."""

_SCRIPT_REASON: Final = "changes that the agent's script makes to the page are not replayed"
_STATE_REASON: Final = "the changed state is not replayed"
_SOCKET_REASON: Final = "messages of intercepted WebSockets are not recorded"
_UNSUPPORTED_CALLS: Final[Mapping[str, str]] = {
    "Frame.evaluateExpression": _SCRIPT_REASON,
    "Frame.evaluateExpressionHandle": _SCRIPT_REASON,
    "Frame.evalOnSelector": _SCRIPT_REASON,
    "Frame.evalOnSelectorAll": _SCRIPT_REASON,
    "ElementHandle.evaluateExpression": _SCRIPT_REASON,
    "ElementHandle.evaluateExpressionHandle": _SCRIPT_REASON,
    "JSHandle.evaluateExpression": _SCRIPT_REASON,
    "JSHandle.evaluateExpressionHandle": _SCRIPT_REASON,
    "Frame.addScriptTag": _SCRIPT_REASON,
    "Frame.addStyleTag": "the added style is missing in a replay",
    "Frame.setContent": "the document it sets is missing in a replay; serve it and navigate to it",
    "Frame.blur": "the element keeps the focus in a replay",
    "Frame.drop": "data dropped from outside the page is missing in a replay; use set_input_files",
    "Frame.webmcpCallTool": _SCRIPT_REASON,
    "ElementHandle.tap": "a tap is not replayed; use click",
    "ElementHandle.selectText": "the text selection is not replayed; press ControlOrMeta+a",
    "ElementHandle.scrollIntoViewIfNeeded": "a replay scrolls to the elements it acts on; use mouse.wheel if the page "
    "depends on scrolling",
    "ElementHandle.evalOnSelector": _SCRIPT_REASON,
    "ElementHandle.evalOnSelectorAll": _SCRIPT_REASON,
    "ElementHandle.screenshot": "element screenshots are not replayed; take one of the page",
    "Frame.waitForFunction": "a replay takes as long as the agent took instead of waiting for it; changes that "
    "the function makes are not replayed",
    "Worker.evaluateExpression": _SCRIPT_REASON,
    "Worker.evaluateExpressionHandle": _SCRIPT_REASON,
    "CDPSession.send": "DevTools protocol commands are not replayed",
    "APIRequestContext.fetch": "requests that the agent sends itself are not replayed",
    "Frame.tap": "a tap is not replayed; use click",
    "Page.touchscreenTap": "a tap is not replayed; use click",
    "Page.emulateMedia": _STATE_REASON,
    "Page.runBeforeUnload": "the page stays open in a replay; close it without run_before_unload",
    "Page.addInitScript": "the added init script is missing in a replay",
    "BrowserContext.addInitScript": "the added init script is missing in a replay",
    "Page.exposeBinding": "the exposed function is missing in a replay",
    "BrowserContext.exposeBinding": "the exposed function is missing in a replay",
    "BrowserContext.addCookies": _STATE_REASON,
    "BrowserContext.clearCookies": _STATE_REASON,
    "BrowserContext.grantPermissions": _STATE_REASON,
    "BrowserContext.clearPermissions": _STATE_REASON,
    "BrowserContext.setGeolocation": _STATE_REASON,
    "BrowserContext.setOffline": _STATE_REASON,
    "BrowserContext.setExtraHTTPHeaders": _STATE_REASON,
    "BrowserContext.setHTTPCredentials": _STATE_REASON,
    "BrowserContext.setStorageState": _STATE_REASON,
    "BrowserContext.credentialsInstall": _STATE_REASON,
    "BrowserContext.credentialsCreate": _STATE_REASON,
    "BrowserContext.credentialsDelete": _STATE_REASON,
    "BrowserContext.setWebSocketInterceptionPatterns": _SOCKET_REASON,
    **{
        f"BrowserContext.clock{name}": "the page clock is not set in a replay"
        for name in ("FastForward", "Install", "PauseAt", "Resume", "RunFor", "SetFixedTime", "SetSystemTime")
    },
    "Page.setExtraHTTPHeaders": _STATE_REASON,
    "Page.setWebSocketInterceptionPatterns": _SOCKET_REASON,
    "Page.webStorageSetItem": _STATE_REASON,
    "Page.webStorageRemoveItem": _STATE_REASON,
    "Page.webStorageClear": _STATE_REASON,
}
"""Calls with an effect that no action expresses, and the consequence in a replay."""

_NO_EFFECT: Final[Mapping[str, frozenset[str]]] = {
    "BrowserContext": frozenset(
        {
            "close",
            "cookies",
            "createTempFiles",
            "credentialsGet",
            "exposeConsoleApi",
            "newCDPSession",
            "pause",
            "registerSelectorEngine",
            "setNetworkInterceptionPatterns",
            "setTestIdAttributeName",
            "showRecorder",
            "startRecording",
            "stopRecording",
            "storageState",
            "updateSubscription",
        }
    ),
    "Page": frozenset(
        {
            "cancelPickLocator",
            "clearConsoleMessages",
            "clearPageErrors",
            "consoleMessages",
            "expectScreenshot",
            "hideHighlight",
            "pageErrors",
            "pdf",
            "pickLocator",
            "registerLocatorHandler",
            "requestGC",
            "requests",
            "resolveLocatorHandlerNoReply",
            "screencastChapter",
            "screencastFrameAck",
            "screencastHideActions",
            "screencastRemoveOverlay",
            "screencastSetOverlayVisible",
            "screencastShowActions",
            "screencastShowOverlay",
            "screencastStart",
            "screencastStop",
            "setDockTile",
            "setNetworkInterceptionPatterns",
            "startCSSCoverage",
            "startJSCoverage",
            "stopCSSCoverage",
            "stopJSCoverage",
            "unregisterLocatorHandler",
            "updateSubscription",
            "webStorageGetItem",
            "webStorageItems",
        }
    ),
    "Frame": frozenset(
        {
            "ariaSnapshot",
            "ariaSnapshotJSON",
            "content",
            "expect",
            "frameElement",
            "getAttribute",
            "hideHighlight",
            "highlight",
            "innerHTML",
            "innerText",
            "inputValue",
            "isChecked",
            "isDisabled",
            "isEditable",
            "isEnabled",
            "isHidden",
            "isVisible",
            "queryCount",
            "querySelector",
            "querySelectorAll",
            "resolveSelector",
            "textContent",
            "title",
            "waitForTimeout",
            "webmcpTools",
        }
    ),
    "ElementHandle": frozenset(
        {
            "boundingBox",
            "contentFrame",
            "dispose",
            "getAttribute",
            "getProperty",
            "getPropertyList",
            "innerHTML",
            "innerText",
            "inputValue",
            "isChecked",
            "isDisabled",
            "isEditable",
            "isEnabled",
            "isHidden",
            "isVisible",
            "jsonValue",
            "ownerFrame",
            "querySelector",
            "querySelectorAll",
            "textContent",
            "waitForElementState",
            "waitForSelector",
        }
    ),
    "JSHandle": frozenset({"dispose", "getProperty", "getPropertyList", "jsonValue"}),
    "Worker": frozenset({"disconnect", "updateSubscription"}),
}
"""Calls by class that change no page, or nothing that a replay misses. Calls of other classes never do."""
