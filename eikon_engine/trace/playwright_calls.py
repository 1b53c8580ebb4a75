"""The one map of calls of the Playwright protocol to actions, for recorders and importers.

Methods and parameters of the calls: packages/protocol/src/protocol.yml of https://github.com/microsoft/playwright.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import urljoin

from pydantic import BaseModel, ValidationError

from eikon_engine.files.text import is_utf8
from eikon_engine.trace.actions import (
    ACTION_ADAPTER,
    DEFAULT_NAVIGATION_TIMEOUT_MS,
    UNBOUNDED_TIMEOUT_MS,
    Action,
    Evaluate,
    Expect,
    Read,
)
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.trace.actions import FileInput, ReadKind

ENTER_FRAME: Final = " >> internal:control=enter-frame >> "
"""Part of a selector that enters the document of an iframe."""

FILE_CALLS: Final = frozenset({"Frame.drop", "Frame.setInputFiles"})
"""Calls that take files."""

Effect: TypeAlias = Literal["action", "wait", "read", "setup", "unsupported", "unknown"]
"""What a call does: an action; a wait or an assertion; nothing to a page; setup that a recorded network replaces;
something that no action expresses; not known to this version."""


class UnsupportedCallError(Exception):
    """A call that no action can express; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What the parameters of a call do not contain."""

    page: int = 0
    timeout_ms: float | None = None
    """0 for a call without a deadline, or one that cannot have a deadline."""
    base_url: str = ""
    """`baseURL` of the browser context, for `goto`."""
    frames: tuple[str, ...] = ()
    """Selectors of the iframes around the frame of the call, outermost first."""
    files: tuple[FileInput, ...] = ()
    """Contents of the uploaded files."""
    pointer: tuple[float, float] | None = None
    """Position of the pointer in the viewport, if it is known."""
    starts_download: bool = False
    """Whether the call is known to start a download."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedCall:
    """The action for a call, and in which respects it differs from the call."""

    action: Action
    notes: tuple[str, ...] = ()
    is_unbounded: bool = False
    """Whether the call could have a deadline and has none."""


Params: TypeAlias = "Mapping[str, Any]"
Fields: TypeAlias = dict[str, Any]
"""Fields of an action with its type; those that are None are omitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSpec:
    """What is known of one call."""

    effect: Effect
    read: Callable[[Params, CallContext], Fields] | None = None
    """Returns the fields of the action; only for `action` and `wait`."""
    reason: str = ""
    """What a replay does not repeat; only for `setup` and `unsupported`."""


def build_action(kind: str, **fields: object) -> Action:
    """Return the action of a type, validated; fields that are None get their default.

    Raises:
        UnsupportedCallError: a field is missing or has a value that no action has.
    """
    given = {name: _to_json(value) for name, value in fields.items() if value is not None}
    try:
        return ACTION_ADAPTER.validate_json(json.dumps({"type": kind, **given}))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][1:]))
        message = f"{place}: {first['msg']}"
        raise UnsupportedCallError(message) from error


def _to_json(value: object) -> JsonValue:
    if isinstance(value, tuple | list):
        return [_to_json(each) for each in value]
    plain: JsonValue = json.loads(value.model_dump_json()) if isinstance(value, BaseModel) else value  # type: ignore[assignment] # JSON of a parameter
    return plain


def effect_of(name: str) -> Effect:
    """Return what a call, `Class.method`, does; only calls of pages and what they contain can be unknown."""
    spec = CALLS.get(name)
    if spec is not None:
        return spec.effect
    class_name, _, method = name.partition(".")
    is_client_note = method.startswith("__") or method == "waitForEventInfo"  # describes a wait, for the log
    return "read" if class_name not in PAGE_CLASSES or is_client_note else "unknown"


def has_no_deadline(name: str, timeout_ms: float | None) -> bool:
    """Return whether a call could have a deadline and has none."""
    return timeout_ms == 0 and (name.startswith("Frame.") or name in _CALLS_WITH_TIMEOUT)


def convert_call(name: str, params: Params, context: CallContext) -> ConvertedCall:
    """Return the action for a call whose effect is `action` or `wait`.

    Raises:
        UnsupportedCallError: no action can express the call, or the call is unknown.
    """
    spec = CALLS.get(name, _UNKNOWN)
    if spec.read is None:
        raise UnsupportedCallError(spec.reason or "the call has no effect on a page")
    fields = spec.read(params, context)
    is_unbounded = has_no_deadline(name, context.timeout_ms)
    deadline = UNBOUNDED_TIMEOUT_MS if is_unbounded else context.timeout_ms or None
    kind = fields.pop("type")
    action = build_action(kind, page=context.page, timeout_ms=deadline, **fields)
    return ConvertedCall(action=action, notes=tuple(_differences(name, params, context)), is_unbounded=is_unbounded)


def is_read(name: str, params: Params) -> bool:
    """Return whether a call returns something of a page to its caller: a read, a script or an assertion."""
    return name in _READ_READERS and not (name == _EXPECT and not params.get("expression"))


def is_unrecorded_read(name: str) -> bool:
    """Return whether a call on a handle returns something of a page that no action expresses."""
    class_name, _, method = name.partition(".")
    return class_name in {"ElementHandle", "JSHandle"} and method in _UNRECORDED_READS


def convert_read(name: str, params: Params, context: CallContext) -> Read | Evaluate | Expect:
    """Return the action for a call that reads from a page, without the value that it returned.

    Raises:
        UnsupportedCallError: no action can express the call.
    """
    fields = _READ_READERS[name](params, context)
    kind = fields.pop("type")
    has_deadline = name in _READS_WITH_TIMEOUT
    deadline = context.timeout_ms if has_deadline else None
    if has_deadline and deadline == 0:
        deadline = UNBOUNDED_TIMEOUT_MS
    if kind == "evaluate":
        deadline = DEFAULT_NAVIGATION_TIMEOUT_MS
    action = build_action(kind, page=context.page, timeout_ms=deadline, **fields)
    assert isinstance(action, Read | Evaluate | Expect)  # noqa: S101 - the kinds of the table
    return action


def decode_result(name: str, result: Params, parse_value: Callable[[Any], object]) -> object:
    """Return the value in the result of a call that reads; `parse_value` parses one of a script (SerializedValue).

    Raises:
        UnsupportedCallError: it is a handle.
    """
    if name in _SCRIPT_CALLS:
        if "value" not in result:
            message = "the result is a handle"
            raise UnsupportedCallError(message)
        return parse_value(result["value"])
    return result.get("snapshot" if name == "Frame.ariaSnapshot" else "value")


def parse_target(selector: str, frames: tuple[str, ...] = ()) -> Target:
    """Return the target for a Playwright selector, which may lead through iframes of the frame at `frames`."""
    *inner, own = selector.split(ENTER_FRAME)
    return Target(selector=own, frames=(*frames, *inner))


def _differences(name: str, params: Params, context: CallContext) -> Iterator[str]:
    """Yield in which respects an action differs from its call."""
    if params.get("waitUntil") == "networkidle":
        yield f"{name}: `networkidle` became `load`, as a replay always waits until the page is idle"
    if name == "Page.mouseWheel" and _pointer_position(params, context) is None:
        yield f"{name}: scrolls the page, regardless of the pointer position"
    for option in _IGNORED_OPTIONS.get(name, ()):
        if params.get(option) not in {None, 0, 1, "auto"}:
            yield f"{name}: `{option}` ignored, a replay {_IGNORED_EFFECTS[option]}"
    if name == "Frame.selectOption" and any("valueOrLabel" in each for each in _mappings(params, "options")):
        yield f"{name}: {VALUE_OR_LABEL}"


VALUE_OR_LABEL: Final = "`valueOrLabel` is treated as a value"
"""Note on a selected option that may be a value or a label."""


_IGNORED_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("Frame.click", "Frame.dblclick", "Frame.dragAndDrop", "Frame.hover"), ("scroll",)),
    **dict.fromkeys(("Frame.tap", "Frame.check", "Frame.uncheck"), ("scroll",)),
    "Frame.waitForFunction": ("pollingInterval",),
}
"""Options that no action has, by call; they change how a person would see the action, hardly what it does."""
_IGNORED_EFFECTS: Final = {
    "pollingInterval": "polls less and less often",
    "scroll": "scrolls to the elements it acts on",
}


def _navigation(kind: str) -> Callable[[Params, CallContext], Fields]:
    def read(params: Params, context: CallContext) -> Fields:
        wait = params.get("waitUntil") or "load"
        fields = {"type": kind, "wait_until": "load" if wait == "networkidle" else wait}
        if kind == "navigate":
            url = _absolute_url(params.get("url"), context.base_url)
            fields |= {"url": url, "referer": params.get("referer")}
        return fields

    return read


def _absolute_url(url: object, base_url: str) -> object:
    """Resolve a URL against the `baseURL` of the context, as Playwright does."""
    if not isinstance(url, str) or not base_url:
        return url
    try:
        return urljoin(base_url, url)
    except ValueError:  # one of them is no URL
        return url


def _plain(kind: str, /, *names: str, **fields: object) -> Callable[[Params, CallContext], Fields]:
    """Read an action without target; `names` are parameters that are called the same in the action."""

    def read(params: Params, _: CallContext) -> Fields:
        return {"type": kind, **{name: params.get(name) for name in names}, **fields}

    return read


def _on_target(kind: str, /, *names: str, **renamed: str) -> Callable[[Params, CallContext], Fields]:
    """Read an action on a target; `renamed` are parameters by the field of the action."""

    def read(params: Params, context: CallContext) -> Fields:
        _refuse_trial(params)
        given = {name: params.get(name) for name in names}
        other = {field: params.get(name) for field, name in renamed.items()}
        return {"type": kind, "target": _target(params, "selector", context), **given, **other}

    return read


def _with_delay(read: Callable[[Params, CallContext], Fields]) -> Callable[[Params, CallContext], Fields]:
    """Read the delay of keys or clicks, too."""
    return lambda params, context: {**read(params, context), "delay_ms": params.get("delay")}


def _on_handle(kind: str, *names: str) -> Callable[[Params, CallContext], Fields]:
    """Read an action that a locator makes on the handle of its element; recorders know the selector of the handle."""

    def read(params: Params, context: CallContext) -> Fields:
        if "selector" not in params:
            message = "the trace does not say which element the call was made on"
            raise UnsupportedCallError(message)
        return _on_target(kind, *names)(params, context)

    return read


def _read_click(params: Params, context: CallContext) -> Fields:
    is_single = params.get("clickCount") in {None, 1} and params.get("steps") in {None, 1}
    is_plain = is_single and params.get("button") in {None, "left"} and not params.get("delay")
    if context.starts_download and is_plain and not params.get("force"):
        return _on_target("download", "position", "modifiers")(params, context)
    fields = _with_delay(_on_target("click", *_CLICK_OPTIONS))(params, context)
    return {**fields, "click_count": params.get("clickCount")}


_CLICK_OPTIONS: Final = ("position", "modifiers", "button", "force", "steps")
"""Options that a click and a double click have under the same name as their actions."""


def _read_drag(params: Params, context: CallContext) -> Fields:
    _refuse_trial(params)
    return {
        "type": "drag",
        "target": _target(params, "source", context),
        "to": _target(params, "target", context),
        "position": params.get("sourcePosition"),
        "to_position": params.get("targetPosition"),
        "steps": params.get("steps"),
        "force": params.get("force"),
    }


_OPTION_KEYS: Final = frozenset({"value", "valueOrLabel", "label", "index"})


def _read_options(params: Params, context: CallContext) -> Fields:
    """Read how the options are selected; a text that may be value or label is recorded as a value."""
    if params.get("elements"):
        message = "options were selected by element handle; select them by value, label or index"
        raise UnsupportedCallError(message)
    options = _mappings(params, "options")
    names = {name for option in options for name in option}
    if len(names) > 1:
        message = f"options were selected by {' and '.join(sorted(names))} at once"
        raise UnsupportedCallError(message)
    name = next(iter(names), "value")
    chosen = [option.get(name) for option in options]
    if name not in _OPTION_KEYS or not all(isinstance(each, str | int) for each in chosen):
        message = "an option has no value, label or index"
        raise UnsupportedCallError(message)
    fields = _on_target("select_option", "force")(params, context)
    return {
        **fields,
        "by": "value" if name == "valueOrLabel" else name,
        "options": [str(each) for each in chosen],
    }


def _read_upload(params: Params, context: CallContext) -> Fields:
    if params.get("localDirectory") or params.get("directoryStream"):
        message = "a directory was uploaded; upload its files"
        raise UnsupportedCallError(message)
    if params.get("streams"):
        message = "files were uploaded to a browser on another machine"
        raise UnsupportedCallError(message)
    return {**_on_target("set_input_files")(params, context), "files": context.files}


def _read_drop(params: Params, context: CallContext) -> Fields:
    if params.get("streams"):
        message = "files were dropped in a browser on another machine"
        raise UnsupportedCallError(message)
    data = [{"mime_type": each.get("mimeType"), "value": each.get("value")} for each in _mappings(params, "data")]
    return {**_on_target("drop", "position")(params, context), "files": context.files, "data": data}


def _mouse(event: str) -> Callable[[Params, CallContext], Fields]:
    def read(params: Params, context: CallContext) -> Fields:
        place = _pointer_position(params, context)
        if place is None:
            message = "the pointer position is unknown; call mouse.move first"
            raise UnsupportedCallError(message)
        x, y = place
        count, delay = params.get("clickCount"), params.get("delay")
        pressed = {"button": params.get("button"), "click_count": count, "delay_ms": delay}
        return {"type": "mouse", "event": event, "x": x, "y": y, "steps": params.get("steps"), **pressed}

    return read


def _read_wheel(params: Params, context: CallContext) -> Fields:
    """Turn the wheel at the pointer; scroll the page if the position of the pointer is unknown."""
    place = _pointer_position(params, context)
    turned = {"dx": params.get("deltaX"), "dy": params.get("deltaY")}
    if place is None:
        return {"type": "scroll", **turned}
    return {"type": "mouse", "event": "wheel", "x": place[0], "y": place[1], **turned}


def _pointer_position(params: Params, context: CallContext) -> tuple[float, float] | None:
    """Return where the pointer is: the position given, else the one it had before; None if that is unknown."""
    if "x" in params and params.get("y") is not None:
        return params["x"], params["y"]
    return context.pointer


def _read_viewport(params: Params, _: CallContext) -> Fields:
    size = params.get("viewportSize")
    width, height = (size.get("width"), size.get("height")) if isinstance(size, dict) else (None, None)
    return {"type": "set_viewport", "width": width, "height": height}


def _read_event(params: Params, context: CallContext) -> Fields:
    given = params.get("eventInit")
    try:
        init = decode_value(given.get("value", {}) if isinstance(given, dict) else {})
    except UnsupportedCallError as error:
        message = "the dispatched event has properties that JSON cannot represent"
        raise UnsupportedCallError(message) from error
    return {**_on_target("dispatch_event", event="type")(params, context), "init": init or None}


def _read_wait(params: Params, context: CallContext) -> Fields:
    target = _to_json(_target(params, "selector", context))
    state = params.get("state") or "visible"
    return {"type": "wait_for", "condition": {"kind": "selector", "target": target, "state": state}}


def _read_function_wait(params: Params, context: CallContext) -> Fields:
    script = _script(params)
    if _ASYNC_FUNCTION.match(script["expression"]):
        message = "an async function gives a promise, which always holds; wait for a function that returns a value"
        raise UnsupportedCallError(message)
    place: Fields = {"frames": context.frames}
    if params.get("selector"):
        place = {"target": _to_json(_target(params, "selector", context))}
    return {"type": "wait_for", "condition": {"kind": "function", **script, **place}}


_ASYNC_FUNCTION: Final = re.compile(r"\s*\(*\s*async\b")


_EXPECT: Final = "Frame.expect"
_READ_KINDS: Final[Mapping[str, ReadKind]] = {
    "Frame.getAttribute": "attribute",
    "Frame.innerHTML": "inner_html",
    "Frame.innerText": "inner_text",
    "Frame.inputValue": "input_value",
    "Frame.isChecked": "is_checked",
    "Frame.isDisabled": "is_disabled",
    "Frame.isEditable": "is_editable",
    "Frame.isEnabled": "is_enabled",
    "Frame.isHidden": "is_hidden",
    "Frame.isVisible": "is_visible",
    "Frame.textContent": "text_content",
}
"""Calls that read from one element."""
_ALL_TEXTS: Final[Mapping[str, ReadKind]] = {
    "ee => ee.map(e => e.innerText)": "all_inner_texts",
    "(ee) => ee.map((e) => e.innerText)": "all_inner_texts",
    "ee => ee.map(e => e.textContent || '')": "all_text_contents",
    '(ee) => ee.map((e) => e.textContent || "")': "all_text_contents",
}
"""Scripts with which the clients for Python and JavaScript read the texts of all matches: their `locator` modules."""
_SCRIPT_CALLS: Final = frozenset(
    {
        *("Frame.evalOnSelector", "Frame.evalOnSelectorAll", "Frame.evaluateExpression"),
        "Frame.evaluateExpressionHandle",
    }
)
_READS_WITH_TIMEOUT: Final = frozenset(
    {*_READ_KINDS, "Frame.ariaSnapshot", _EXPECT} - {"Frame.isHidden", "Frame.isVisible"}
)


def _read_element(kind: ReadKind) -> Callable[[Params, CallContext], Fields]:
    def read(params: Params, context: CallContext) -> Fields:
        return {"type": "read", "what": kind, "target": _first_match(params, context), "name": params.get("name")}

    return read


def _first_match(params: Params, context: CallContext) -> Target:
    """Return the target of a call; a call that is not strict uses the first match."""
    target = _target(params, "selector", context)
    if params.get("strict"):
        return target
    return target.model_copy(update={"selector": f"{target.selector} >> nth=0"})


def _read_document(kind: ReadKind, *options: str) -> Callable[[Params, CallContext], Fields]:
    """Read the document, or the element of a selector if there is one."""

    def read(params: Params, context: CallContext) -> Fields:
        given = {_SNAKE_CASE.get(name, name): params[name] for name in options if params.get(name) is not None}
        place: Fields = {"frames": context.frames}
        if params.get("selector"):
            place = {"target": _target(params, "selector", context)}
        return {"type": "read", "what": kind, "options": given, **place}

    return read


_SNAKE_CASE: Final = {"includeShadow": "include_shadow"}


def _read_script(params: Params, context: CallContext) -> Fields:
    return {"type": "evaluate", "frames": context.frames, **_script(params)}


def _read_script_on_element(params: Params, context: CallContext) -> Fields:
    return {"type": "evaluate", "target": _first_match(params, context), **_script(params)}


def _read_script_on_all(params: Params, context: CallContext) -> Fields:
    target = _target(params, "selector", context)
    script = _script(params)
    kind = _ALL_TEXTS.get(script["expression"]) if script["argument"] is None else None
    if kind is not None:
        return {"type": "read", "what": kind, "target": target}
    return {"type": "evaluate", "target": target, "all_matches": True, **script}


def _script(params: Params) -> Fields:
    argument = params.get("arg")
    if isinstance(argument, dict) and argument.get("handles"):
        message = "a script or function with a handle as its argument is not replayed"
        raise UnsupportedCallError(message)
    value = argument.get("value", {}) if isinstance(argument, dict) else {}
    return {"expression": str(params.get("expression", "")), "argument": decode_value(value)}


def _read_expectation(params: Params, context: CallContext) -> Fields:
    texts = params.get("expectedText")
    value = params.get("expectedValue")
    try:
        expected = decode_value(value.get("value", {})) if isinstance(value, dict) else None
    except UnsupportedCallError as error:
        message = "JSON cannot represent the value that it expects; replays skip it"
        raise UnsupportedCallError(message) from error
    return {
        "type": "expect",
        "expression": params.get("expression"),
        "target": _target(params, "selector", context) if params.get("selector") else None,
        "is_not": bool(params.get("isNot")),
        "argument": params.get("expressionArg"),
        "texts": None if texts is None else [_expected_text(each) for each in _mappings(params, "expectedText")],
        "number": params.get("expectedNumber"),
        "expected": expected,
        "pseudo": params.get("pseudo"),
        "use_inner_text": params.get("useInnerText"),
    }


EXPECTED_TEXT_NAMES: Final = {
    "string": "string",
    "regex_source": "regexSource",
    "regex_flags": "regexFlags",
    "match_substring": "matchSubstring",
    "ignore_case": "ignoreCase",
    "normalize_white_space": "normalizeWhiteSpace",
}
"""Fields of `ExpectedText`, and their names in the protocol."""


def _expected_text(given: Params) -> Fields:
    return {field: given[name] for field, name in EXPECTED_TEXT_NAMES.items() if given.get(name) is not None}


_READ_READERS: Final[Mapping[str, Callable[[Params, CallContext], Fields]]] = {
    **{name: _read_element(kind) for name, kind in _READ_KINDS.items()},
    "Frame.queryCount": lambda params, context: {
        "type": "read",
        "what": "count",
        "target": _target(params, "selector", context),
    },
    "Frame.title": _read_document("title"),
    "Frame.content": _read_document("content", "includeShadow"),
    "Frame.ariaSnapshot": _read_document("aria_snapshot", "mode", "depth", "boxes"),
    "Frame.evaluateExpression": _read_script,
    "Frame.evaluateExpressionHandle": lambda params, context: {**_read_script(params, context), "returns_handle": True},
    "Frame.evalOnSelector": _read_script_on_element,
    "Frame.evalOnSelectorAll": _read_script_on_all,
    _EXPECT: _read_expectation,
}
"""Calls that return something of a page, for sources that know what they returned."""


def _target(params: Params, name: str, context: CallContext) -> Target:
    selector = params.get(name)
    if not isinstance(selector, str) or not all(selector.split(ENTER_FRAME)):
        message = f"the parameter {name} is missing or empty"
        raise UnsupportedCallError(message)
    if not is_utf8(selector):
        message = f"the parameter {name} is no text in UTF-8"
        raise UnsupportedCallError(message)
    return parse_target(selector, context.frames)


def _mappings(params: Params, name: str) -> list[Mapping[str, Any]]:
    given = params.get(name)
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list | tuple) else []


def _refuse_trial(params: Params) -> None:
    if params.get("trial"):
        message = "trial=True has no effect and is not replayed"
        raise UnsupportedCallError(message)


def decode_value(value: object) -> JsonValue:
    """Decode a protocol value (SerializedValue).

    Raises:
        UnsupportedCallError: JSON cannot represent it.
    """
    match value:
        case {"o": list() as fields}:
            return dict(map(_decode_field, fields))
        case {"a": list() as values}:
            return [decode_value(each) for each in values]
        case {"s": str() as plain} | {"n": int() | float() as plain} | {"b": bool() as plain}:
            return plain
        case {"v": "null" | "undefined"}:
            return None
        case dict() if not value:
            return None
        case _:
            message = "JSON cannot represent the value"
            raise UnsupportedCallError(message)


def _decode_field(field: object) -> tuple[str, JsonValue]:
    match field:
        case {"k": str() as name, "v": value}:
            return name, decode_value(value)
        case _:
            message = "JSON cannot represent the value"
            raise UnsupportedCallError(message)


_ACTION_READERS: Final[Mapping[str, Callable[[Params, CallContext], Fields]]] = {
    "Frame.goto": _navigation("navigate"),
    "Page.reload": _navigation("reload"),
    "Page.goBack": _navigation("go_back"),
    "Page.goForward": _navigation("go_forward"),
    "Page.close": _plain("close_page"),
    "Page.bringToFront": _plain("switch_page"),
    "Page.screenshot": lambda params, _: {
        "type": "screenshot",
        "full_page": params.get("fullPage"),
        "clip": params.get("clip"),
    },
    "Page.setViewportSize": _read_viewport,
    "Page.keyboardPress": _with_delay(_plain("press", "key")),
    "Page.keyboardDown": _plain("key", "key", event="down"),
    "Page.keyboardUp": _plain("key", "key", event="up"),
    "Page.keyboardInsertText": _plain("insert_text", "text"),
    "Page.keyboardType": _with_delay(_plain("insert_text", "text", key_by_key=True)),
    "Page.mouseMove": _mouse("move"),
    "Page.mouseDown": _mouse("down"),
    "Page.mouseUp": _mouse("up"),
    "Page.mouseClick": _mouse("click"),
    "Page.mouseWheel": _read_wheel,
    "Page.touchscreenTap": _plain("touchscreen_tap", "x", "y"),
    "BrowserContext.newPage": _plain("open_page"),
    "Frame.click": _read_click,
    "Frame.dblclick": _with_delay(_on_target("double_click", *_CLICK_OPTIONS)),
    "Frame.hover": _on_target("hover", "position", "modifiers", "force"),
    "Frame.tap": _on_target("tap", "position", "modifiers", "force"),
    "Frame.check": _on_target("check", "position", "force"),
    "Frame.uncheck": _on_target("uncheck", "position", "force"),
    "Frame.fill": _on_target("fill", "force", text="value"),
    "Frame.type": _with_delay(_on_target("type", "text")),
    "Frame.press": _with_delay(_on_target("press", "key")),
    "Frame.selectOption": _read_options,
    "Frame.setInputFiles": _read_upload,
    "Frame.focus": _on_target("focus"),
    "Frame.blur": _on_target("blur"),
    "Frame.dispatchEvent": _read_event,
    "Frame.dragAndDrop": _read_drag,
    "Frame.drop": _read_drop,
    "ElementHandle.selectText": _on_handle("select_text", "force"),
    "ElementHandle.scrollIntoViewIfNeeded": _on_handle("scroll_into_view_if_needed"),
    "ElementHandle.screenshot": _on_handle("screenshot"),
}
_WAIT_READERS: Final[Mapping[str, Callable[[Params, CallContext], Fields]]] = {
    "Frame.waitForSelector": _read_wait,
    "Frame.waitForFunction": _read_function_wait,
    _EXPECT: _read_expectation,
}
_CALLS_WITH_TIMEOUT: Final = frozenset(
    {
        *("Page.reload", "Page.goBack", "Page.goForward", "Page.screenshot"),
        *("ElementHandle.selectText", "ElementHandle.scrollIntoViewIfNeeded", "ElementHandle.screenshot"),
    }
)
"""Calls outside `Frame` that can have a deadline."""

_SCRIPT: Final = "changes that scripts of the client make to a page are not replayed"
_STATE: Final = "the changed state is not replayed"
_CLOCK: Final = "the page clock is not set in a replay"
_HANDLE: Final = "an element handle has no selector; use locators"
_INIT_SCRIPT: Final = "the added init script is missing in a replay"
_BINDING: Final = "the exposed function is missing in a replay"
_SOCKETS: Final = "messages of intercepted WebSockets are not recorded"
_UNSUPPORTED: Final[Mapping[str, tuple[str, ...]]] = {
    _SCRIPT: (
        *("Frame.evaluateExpression", "Frame.evaluateExpressionHandle", "Frame.evalOnSelector"),
        *("Frame.evalOnSelectorAll", "Frame.addScriptTag", "Frame.webmcpCallTool", "JSHandle.evaluateExpression"),
        *("JSHandle.evaluateExpressionHandle", "ElementHandle.evalOnSelector", "ElementHandle.evalOnSelectorAll"),
        *("Worker.evaluateExpression", "Worker.evaluateExpressionHandle"),
    ),
    _STATE: (
        *("Page.emulateMedia", "Page.setExtraHTTPHeaders", "Page.webStorageSetItem", "Page.webStorageRemoveItem"),
        *("Page.webStorageClear", "BrowserContext.addCookies", "BrowserContext.clearCookies"),
        *("BrowserContext.grantPermissions", "BrowserContext.clearPermissions", "BrowserContext.setGeolocation"),
        *("BrowserContext.setOffline", "BrowserContext.setExtraHTTPHeaders", "BrowserContext.setHTTPCredentials"),
        *("BrowserContext.setStorageState", "BrowserContext.credentialsInstall"),
        *("BrowserContext.credentialsCreate", "BrowserContext.credentialsDelete", "APIRequestContext.addCookies"),
        "APIRequestContext.clearCookies",
    ),
    _CLOCK: tuple(
        f"BrowserContext.clock{name}"
        for name in ("FastForward", "Install", "PauseAt", "Resume", "RunFor", "SetFixedTime", "SetSystemTime")
    ),
    _HANDLE: tuple(
        f"ElementHandle.{name}"
        for name in (
            *("check", "click", "dblclick", "dispatchEvent", "fill", "focus", "hover", "press", "selectOption"),
            *("setInputFiles", "tap", "type", "uncheck"),
        )
    ),
    _INIT_SCRIPT: ("Page.addInitScript", "BrowserContext.addInitScript"),
    _BINDING: ("Page.exposeBinding", "BrowserContext.exposeBinding"),
    _SOCKETS: ("Page.setWebSocketInterceptionPatterns", "BrowserContext.setWebSocketInterceptionPatterns"),
    "the added style is missing in a replay": ("Frame.addStyleTag",),
    "the document it sets is missing in a replay; serve it and navigate to it": ("Frame.setContent",),
    "DevTools protocol commands are not replayed": ("CDPSession.send",),
    "requests that the client sends itself are not replayed": ("APIRequestContext.fetch",),
    "the page stays open in a replay; close it without run_before_unload": ("Page.runBeforeUnload",),
}
"""Calls with an effect that no action expresses, by the consequence in a replay."""

_MOCKS: Final = "responses mocked by the test are part of the recorded network if it contains them"
_SETUP: Final[Mapping[str, str]] = {
    "Page.setNetworkInterceptionPatterns": _MOCKS,
    "BrowserContext.setNetworkInterceptionPatterns": _MOCKS,
}

_HANDLE_READS: Final = ("dispose", "getProperty", "getPropertyList", "jsonValue")
_UNRECORDED_READS: Final = frozenset(
    {
        *("boundingBox", "getPropertyList", "jsonValue", "waitForElementState", "waitForSelector"),
        *(name.partition(".")[2] for name in _READ_KINDS),
    }
)
"""Methods of handles that leave no step: of handles that no selector found, or whose result depends on the layout."""
_READS: Final[Mapping[str, tuple[str, ...]]] = {
    "BrowserContext": (
        *("close", "cookies", "createTempFiles", "credentialsGet", "exposeConsoleApi", "newCDPSession", "pause"),
        *("registerSelectorEngine", "setTestIdAttributeName", "showRecorder", "startRecording", "stopRecording"),
        *("storageState", "updateSubscription"),
    ),
    "Page": (
        *("cancelPickLocator", "clearConsoleMessages", "clearPageErrors", "consoleMessages", "expectScreenshot"),
        *("hideHighlight", "pageErrors", "pdf", "pickLocator", "registerLocatorHandler", "requestGC", "requests"),
        *("resolveLocatorHandlerNoReply", "screencastChapter", "screencastFrameAck", "screencastHideActions"),
        *("screencastRemoveOverlay", "screencastSetOverlayVisible", "screencastShowActions"),
        *("screencastShowOverlay", "screencastStart", "screencastStop", "setDockTile", "startCSSCoverage"),
        *("startJSCoverage", "stopCSSCoverage", "stopJSCoverage", "unregisterLocatorHandler", "updateSubscription"),
        *("webStorageGetItem", "webStorageItems"),
    ),
    "Frame": (
        *("ariaSnapshot", "ariaSnapshotJSON", "content", "frameElement", "getAttribute", "hideHighlight"),
        *("highlight", "innerHTML", "innerText", "inputValue", "isChecked", "isDisabled", "isEditable", "isEnabled"),
        *("isHidden", "isVisible", "queryCount", "querySelector", "querySelectorAll", "resolveSelector"),
        *("textContent", "title", "waitForTimeout", "webmcpTools"),
    ),
    "ElementHandle": (
        *("boundingBox", "contentFrame", "getAttribute", "innerHTML", "innerText", "inputValue", "isChecked"),
        *("isDisabled", "isEditable", "isEnabled", "isHidden", "isVisible", "ownerFrame", "querySelector"),
        *("querySelectorAll", "textContent", "waitForElementState", "waitForSelector", *_HANDLE_READS),
    ),
    "JSHandle": _HANDLE_READS,
    "Worker": ("disconnect", "updateSubscription"),
    "CDPSession": ("detach",),
    "APIRequestContext": (
        *("cookies", "dispose", "disposeAPIResponse", "fetchLog", "fetchResponseBody", "storageState"),
    ),
}
"""Calls by class that change no page, or nothing that a replay misses."""
FORMER_CALLS: Final = frozenset(
    {
        *("BrowserContext.harExport", "BrowserContext.harStart", "BrowserContext.setDefaultNavigationTimeoutNoReply"),
        *("BrowserContext.setDefaultTimeoutNoReply", "Page.accessibilitySnapshot", "Page.snapshotForAI", "Page.title"),
        *("Page.setDefaultNavigationTimeoutNoReply", "Page.setDefaultTimeoutNoReply", "Page.waitForLoadState"),
        *("Frame.snapshotForAI", "Frame.waitForLoadState", "Frame.waitForNavigation"),
    }
)
"""Calls that only traces of older versions contain, and that do nothing to a page."""
PAGE_CLASSES: Final = frozenset(_READS)
"""Classes whose calls may act on a page; an unknown call of another class does not."""


def _build_table() -> dict[str, CallSpec]:
    table = {name: CallSpec(effect="action", read=read) for name, read in _ACTION_READERS.items()}
    table |= {name: CallSpec(effect="wait", read=read) for name, read in _WAIT_READERS.items()}
    table |= {name: CallSpec(effect="setup", reason=reason) for name, reason in _SETUP.items()}
    for reason, names in _UNSUPPORTED.items():
        table |= {name: CallSpec(effect="unsupported", reason=reason) for name in names}
    for script in ("evaluateExpression", "evaluateExpressionHandle"):  # a handle of an element is also a `JSHandle`
        table[f"ElementHandle.{script}"] = table[f"JSHandle.{script}"]
    reads = {f"{class_name}.{method}" for class_name, methods in _READS.items() for method in methods} | FORMER_CALLS
    return table | {name: CallSpec(effect="read") for name in reads}


_UNKNOWN: Final = CallSpec(
    effect="unknown",
    reason="this version of Eikon Engine does not know the call; its effect, if any, is not replayed",
)
CALLS: Final[Mapping[str, CallSpec]] = _build_table()
"""Every known call by class and method."""
