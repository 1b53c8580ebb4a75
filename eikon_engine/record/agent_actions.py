"""Map calls of the Playwright protocol to actions.

Methods and parameters of the calls: packages/protocol/src/protocol.yml of https://github.com/microsoft/playwright.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urljoin

from pydantic import TypeAdapter, ValidationError

from eikon_engine.trace.actions import Action
from eikon_engine.trace.deadlines import NO_DEADLINE_MS
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from eikon_engine.trace.actions import FileInput

_ACTION: Final[TypeAdapter[Action]] = TypeAdapter(Action)
ENTER_FRAME: Final = " >> internal:control=enter-frame >> "
Fields = dict[str, Any]
"""Fields of an action; omitted ones are None."""


class UnspokenError(Exception):
    """A call with an effect that no action can express; the message says which."""


def action_of(
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
        UnspokenError: no action can express the call.
    """
    if name in _ACTIONS:
        kind, read = _ACTIONS[name]
        fields = read(params)
        if "url" in fields and base_url:
            fields["url"] = urljoin(base_url, fields["url"])
        if kind == "set_input_files":
            fields["files"] = files
        deadline = NO_DEADLINE_MS if is_unbounded(name, timeout_ms) else timeout_ms or None
        return _validated({"type": kind, "page": page, "timeout_ms": deadline, **fields}, name)
    if name in _UNSPOKEN:
        raise UnspokenError(_UNSPOKEN[name])
    return None


def is_unbounded(name: str, timeout_ms: float | None) -> bool:
    """Return whether a call could have a deadline and has none."""
    return timeout_ms == 0 and (name.startswith("Frame.") or name in _BOUNDED)


def is_action(name: str) -> bool:
    """Return whether a call becomes an action."""
    return name in _ACTIONS


def _validated(fields: Fields, name: str) -> Action:
    given = {field: _plain(value) for field, value in fields.items() if value is not None}
    try:
        return _ACTION.validate_json(json.dumps(given))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][1:]))
        message = f"{name} with this {place} cannot be recorded: {first['msg']}"
        raise UnspokenError(message) from error


def _plain(value: Any) -> Any:  # noqa: ANN401 - any field of an action
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return json.loads(value.model_dump_json()) if hasattr(value, "model_dump_json") else value


def target_of(selector: str) -> Target:
    """Return the target for a Playwright selector, which may lead through frames."""
    *frames, own = selector.split(ENTER_FRAME)
    return Target(selector=own, frames=tuple(frames))


def _on_target(params: Mapping[str, Any], *names: str, **fields: Any) -> Fields:  # noqa: ANN401 - fields of an action
    """Return the target and the parameters that have the same name in the action."""
    return {"target": target_of(params["selector"]), **{name: params.get(name) for name in names}, **fields}


def _pointer(params: Mapping[str, Any], *names: str, **fields: Any) -> Fields:  # noqa: ANN401 - as above
    _demand_plain(params)
    modifiers = params.get("modifiers") or []
    return _on_target(params, "position", *names, modifiers=modifiers, **fields)


def _click(params: Mapping[str, Any]) -> Fields:
    count, force = params.get("clickCount"), params.get("force")
    plain = {name: value for name, value in params.items() if name not in {"clickCount", "force"}}
    return _pointer(plain, "button", delay_ms=params.get("delay"), click_count=count, force=force)


def _touch(params: Mapping[str, Any]) -> Fields:
    _demand_plain(params)
    return _on_target(params, "position")


def _fill(params: Mapping[str, Any]) -> Fields:
    _demand_plain(params)
    return _on_target(params, text=params["value"])


def _drag(params: Mapping[str, Any]) -> Fields:
    _demand_plain(params)
    return {
        "target": target_of(params["source"]),
        "to": target_of(params["target"]),
        "position": params.get("sourcePosition"),
        "to_position": params.get("targetPosition"),
    }


def _upload(params: Mapping[str, Any]) -> Fields:
    if params.get("localDirectory") or params.get("directoryStream"):
        message = "a directory was uploaded; upload its files"
        raise UnspokenError(message)
    if params.get("streams"):
        message = "files were uploaded to a browser on another machine"
        raise UnspokenError(message)
    return _on_target(params)


def _demand_plain(params: Mapping[str, Any]) -> None:
    if params.get("trial"):
        message = "trial=True has no effect and is not replayed"
        raise UnspokenError(message)
    if params.get("force"):
        message = "force=True skips the actionability checks; a replay waits for an actionable element"
        raise UnspokenError(message)


def _navigation(params: Mapping[str, Any], *names: str) -> Fields:
    wait = params.get("waitUntil") or "load"
    return {"wait_until": "load" if wait == "networkidle" else wait, **{name: params.get(name) for name in names}}


def _options(params: Mapping[str, Any]) -> Fields:
    """Return how the options are named; a text that may be value or label is recorded as a value."""
    _demand_plain(params)
    if params.get("elements"):
        message = "options were selected by element handle; select them by value, label or index"
        raise UnspokenError(message)
    options = params.get("options") or []
    names = {name for option in options for name in option}
    if len(names) > 1:
        message = f"options were selected by {' and '.join(sorted(names))} at once"
        raise UnspokenError(message)
    name = next(iter(names), "value")
    by: Literal["value", "label", "index"] = "value" if name == "valueOrLabel" else name  # type: ignore[assignment] # checked where the action is made
    return _on_target(params, by=by, options=[str(option[name]) for option in options])


def _mouse(event: str) -> Callable[[Mapping[str, Any]], Fields]:
    def read(params: Mapping[str, Any]) -> Fields:
        if "x" not in params:
            message = "the pointer position is unknown; call mouse.move first"
            raise UnspokenError(message)
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


def _wait(params: Mapping[str, Any]) -> Fields:
    state = params.get("state") or "visible"
    condition: JsonValue = {"kind": "selector", "target": _plain(target_of(params["selector"])), "state": state}
    return {"condition": condition}


def _dispatch(params: Mapping[str, Any]) -> Fields:
    return _on_target(params, event=params["type"], init=_written(params.get("eventInit", {}).get("value", {})) or None)


def _written(value: Mapping[str, Any]) -> JsonValue:
    """Decode a protocol value (SerializedValue) that JSON can represent."""
    if "o" in value:
        return {each["k"]: _written(each["v"]) for each in value["o"]}
    if "a" in value:
        return [_written(each) for each in value["a"]]
    for kind in ("s", "n", "b"):
        if kind in value:
            plain: JsonValue = value[kind]
            return plain
    if not value or value.get("v") in {"null", "undefined"}:
        return None
    message = "the dispatched event has properties that JSON cannot represent"
    raise UnspokenError(message)


_ACTIONS: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Fields]]]] = {
    "Frame.goto": ("navigate", lambda params: _navigation(params, "url", "referer")),
    "Page.reload": ("reload", _navigation),
    "Page.goBack": ("go_back", _navigation),
    "Page.goForward": ("go_forward", _navigation),
    "Page.close": ("close_page", lambda _: {}),
    "Page.bringToFront": ("switch_page", lambda _: {}),
    "Page.screenshot": ("screenshot", lambda params: {"full_page": params.get("fullPage")}),
    "Page.setViewportSize": ("set_viewport", lambda params: dict(params["viewportSize"])),
    "Page.keyboardPress": ("press", lambda params: {"key": params["key"]}),
    "Page.keyboardDown": ("key", lambda params: {"event": "down", "key": params["key"]}),
    "Page.keyboardUp": ("key", lambda params: {"event": "up", "key": params["key"]}),
    "Page.keyboardInsertText": ("insert_text", lambda params: {"text": params["text"]}),
    "Page.keyboardType": ("insert_text", lambda params: {"text": params["text"], "key_by_key": True}),
    "Page.mouseMove": ("mouse", _mouse("move")),
    "Page.mouseDown": ("mouse", _mouse("down")),
    "Page.mouseUp": ("mouse", _mouse("up")),
    "Page.mouseClick": ("mouse", _mouse("click")),
    "Page.mouseWheel": ("scroll", lambda params: {"dx": params.get("deltaX"), "dy": params.get("deltaY")}),
    "BrowserContext.newPage": ("open_page", lambda _: {}),
    "Frame.click": ("click", _click),
    "Frame.dblclick": ("double_click", lambda params: _pointer(params, "button")),
    "Frame.hover": ("hover", _pointer),
    "Frame.check": ("check", _touch),
    "Frame.uncheck": ("uncheck", _touch),
    "Frame.fill": ("fill", _fill),
    "Frame.type": ("type", lambda params: _on_target(params, "text")),
    "Frame.press": ("press", lambda params: _on_target(params, "key")),
    "Frame.selectOption": ("select_option", _options),
    "Frame.setInputFiles": ("set_input_files", _upload),
    "Frame.focus": ("focus", _on_target),
    "Frame.dispatchEvent": ("dispatch_event", _dispatch),
    "Frame.waitForSelector": ("wait_for", _wait),
    "Frame.dragAndDrop": ("drag", _drag),
}
"""Calls that are actions, with the action type and the function that reads its fields."""

_BOUNDED: Final = frozenset({"Page.reload", "Page.goBack", "Page.goForward", "Page.screenshot"})
"""Calls outside `Frame` that can have a deadline."""

_SCRIPT: Final = "changes that the agent's script makes to the page are not replayed"
_STATE: Final = "the changed state is not replayed"
_SOCKETS: Final = "messages of intercepted WebSockets are not recorded"
_UNSPOKEN: Final[Mapping[str, str]] = {
    "Frame.evaluateExpression": _SCRIPT,
    "Frame.evaluateExpressionHandle": _SCRIPT,
    "Frame.evalOnSelector": _SCRIPT,
    "Frame.evalOnSelectorAll": _SCRIPT,
    "ElementHandle.evaluateExpression": _SCRIPT,
    "ElementHandle.evaluateExpressionHandle": _SCRIPT,
    "JSHandle.evaluateExpression": _SCRIPT,
    "JSHandle.evaluateExpressionHandle": _SCRIPT,
    "Frame.addScriptTag": _SCRIPT,
    "Frame.addStyleTag": "the added style is missing in a replay",
    "Frame.setContent": "the document it sets is missing in a replay; serve it and navigate to it",
    "Frame.blur": "the element keeps the focus in a replay",
    "Frame.drop": "data dropped from outside the page is missing in a replay; use set_input_files",
    "Frame.webmcpCallTool": _SCRIPT,
    "ElementHandle.tap": "a tap is not replayed; use click",
    "ElementHandle.selectText": "the text selection is not replayed; press ControlOrMeta+a",
    "ElementHandle.scrollIntoViewIfNeeded": "a replay scrolls to the elements it acts on; use mouse.wheel if the page "
    "depends on scrolling",
    "ElementHandle.evalOnSelector": _SCRIPT,
    "ElementHandle.evalOnSelectorAll": _SCRIPT,
    "ElementHandle.screenshot": "element screenshots are not replayed; take one of the page",
    "Frame.waitForFunction": "a replay takes as long as the agent took instead of waiting for it; changes that "
    "the function makes are not replayed",
    "Worker.evaluateExpression": _SCRIPT,
    "Worker.evaluateExpressionHandle": _SCRIPT,
    "CDPSession.send": "DevTools protocol commands are not replayed",
    "APIRequestContext.fetch": "requests that the agent sends itself are not replayed",
    "Frame.tap": "a tap is not replayed; use click",
    "Page.touchscreenTap": "a tap is not replayed; use click",
    "Page.emulateMedia": _STATE,
    "Page.addInitScript": "the added init script is missing in a replay",
    "BrowserContext.addInitScript": "the added init script is missing in a replay",
    "Page.exposeBinding": "the exposed function is missing in a replay",
    "BrowserContext.exposeBinding": "the exposed function is missing in a replay",
    "BrowserContext.addCookies": _STATE,
    "BrowserContext.clearCookies": _STATE,
    "BrowserContext.grantPermissions": _STATE,
    "BrowserContext.clearPermissions": _STATE,
    "BrowserContext.setGeolocation": _STATE,
    "BrowserContext.setOffline": _STATE,
    "BrowserContext.setExtraHTTPHeaders": _STATE,
    "BrowserContext.setHTTPCredentials": _STATE,
    "BrowserContext.setStorageState": _STATE,
    "BrowserContext.credentialsInstall": _STATE,
    "BrowserContext.credentialsCreate": _STATE,
    "BrowserContext.credentialsDelete": _STATE,
    "BrowserContext.setWebSocketInterceptionPatterns": _SOCKETS,
    **{
        f"BrowserContext.clock{name}": "the page clock is not set in a replay"
        for name in ("FastForward", "Install", "PauseAt", "Resume", "RunFor", "SetFixedTime", "SetSystemTime")
    },
    "Page.setExtraHTTPHeaders": _STATE,
    "Page.setWebSocketInterceptionPatterns": _SOCKETS,
    "Page.webStorageSetItem": _STATE,
    "Page.webStorageRemoveItem": _STATE,
    "Page.webStorageClear": _STATE,
}
"""Calls with an effect that no action expresses, and the consequence in a replay."""
