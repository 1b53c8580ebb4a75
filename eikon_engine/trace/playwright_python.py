"""The calls of Playwright for Python that perform an action: what an exporter writes.

https://playwright.dev/python/docs/api/class-locator
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

from eikon_engine.trace import actions
from eikon_engine.trace.actions import DEFAULT_NAVIGATION_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, UNBOUNDED_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.trace.actions import Action, Condition, Expectation, ExpectedText, FileInput, ReadValue, Text
    from eikon_engine.trace.target import Target


@dataclass(frozen=True, slots=True)
class Url:
    """A URL argument, or a glob for URLs."""

    text: str


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """A URL argument in which `*` matches any characters."""

    text: str


@dataclass(frozen=True, slots=True)
class Json:
    """An argument that is a JSON value."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Payload:
    """What is dropped, as an argument."""

    files: tuple[FileInput, ...]
    data: Mapping[str, Text]
    """Data by MIME type."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression as an argument."""

    source: str
    """Valid in Python and JavaScript; Playwright passes it to the browser as it is."""
    flags: str
    """Those of `i`, `m` and `s` that are set."""


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts and patterns as an argument."""

    values: tuple[str | Pattern, ...]


Receiver: TypeAlias = Literal["page", "frame", "context", "keyboard", "mouse", "touchscreen", "locator", "expect"]
"""What a call is made on: `page`, the frame to which `frames` lead, `page.context`, `page.keyboard`, `page.mouse`,
`page.touchscreen`, the locator of the target, or `expect` of the target, of the page if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """One call of Playwright for Python."""

    receiver: Receiver
    method: str
    arguments: tuple[object, ...] = ()
    """Texts, references to secrets, tuples of `FileInput`, the classes of this module, `Target`, and plain values."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Keyword arguments that differ from Playwright's defaults, without the timeout."""
    target: Target | None = None
    """Target of `locator` and `expect`."""
    frames: tuple[str, ...] = ()
    """Selectors of the iframes that lead to the frame of `frame`."""
    timeout_ms: float | None = None
    """None for our default; 0 for no timeout."""
    returned: ReadValue | None = None
    """What the call must return; None if that is not known."""
    may_repeat: bool = False
    """Whether the call can be repeated until it returns that, up to the timeout."""


def python_calls(action: Action) -> tuple[PythonCall, ...]:  # noqa: C901, PLR0911, PLR0912 - one case per action
    """Return the calls that perform an action, in order; none if it does nothing to a page.

    A read becomes the assertion of Playwright that expresses what it returned, else the read itself. Assertions that
    Playwright for Python does not have are not written, nor are waits for requests and responses that came, which steps
    before may have caused, and for URLs and load states in an iframe.

    A dialog is answered by a handler instead of a call. `set_value` becomes `fill` or `select_option` by the recorded
    tag, and both, `select_option` first, if the tag is unknown: the page decides.
    """
    match action:
        case actions.Navigate() | actions.GoBack() | actions.GoForward() | actions.Reload():
            return (_navigation(action),)
        case actions.Press(target=None, key=key, delay_ms=delay):
            return (_call("keyboard", "press", key, delay=delay or None),)
        case actions.Key(event=event, key=key):
            return (_call("keyboard", event, key),)
        case actions.InsertText(text=text, key_by_key=True, delay_ms=delay):
            return (_call("keyboard", "type", text, delay=delay or None),)
        case actions.InsertText(text=text):
            return (_call("keyboard", "insert_text", text),)
        case actions.Mouse():
            return _mouse_calls(action)
        case actions.TouchscreenTap(x=x, y=y):
            return (_call("touchscreen", "tap", x, y),)
        case actions.Scroll(target=None, dx=dx, dy=dy):
            return (_call("page", "evaluate", f"scrollBy({_scroll_options(dx, dy)})"),)
        case actions.WaitFor(condition=condition):
            return _wait(condition, timeout_of(action))
        case actions.Assert(expectation=expectation):
            return (_assertion(expectation),)
        case actions.Read():
            return _read(action)
        case actions.Evaluate():
            return (_script(action),)
        case actions.Expect():
            return _expect(action)
        case actions.SwitchPage():
            return (_call("page", "bring_to_front"),)
        case actions.OpenPage():
            return (_call("context", "new_page"),)
        case actions.ClosePage():
            return (_call("page", "close"),)
        case actions.SetViewport(width=width, height=height):
            return (_call("page", "set_viewport_size", {"width": width, "height": height}),)
        case actions.Screenshot(full_page=full_page, clip=clip, target=None):
            shown = None if clip is None else clip.model_dump()
            return (_call("page", "screenshot", clip=shown, full_page=full_page or None),)
        case actions.Note() | actions.AnswerDialog() | actions.ExtractDom():
            return ()
        case _:
            return _target_calls(action)


_TargetAction: TypeAlias = (
    actions.Click
    | actions.DoubleClick
    | actions.Download
    | actions.Hover
    | actions.Tap
    | actions.Check
    | actions.Uncheck
    | actions.Fill
    | actions.TypeText
    | actions.Press
    | actions.SelectOption
    | actions.SetValue
    | actions.SetInputFiles
    | actions.Drag
    | actions.Drop
    | actions.Scroll
    | actions.ScrollIntoViewIfNeeded
    | actions.Focus
    | actions.Blur
    | actions.SelectText
    | actions.DispatchEvent
    | actions.Screenshot
)


def _target_calls(action: _TargetAction) -> tuple[PythonCall, ...]:  # noqa: C901, PLR0911, PLR0912 - as above
    match action:
        case actions.Click() | actions.DoubleClick() | actions.Download() | actions.Hover() | actions.Tap():
            return (_pointer(action),)
        case actions.Check(position=position, force=force) | actions.Uncheck(position=position, force=force):
            return (_on_target(action, action.type, position=_point(position), force=force or None),)
        case actions.Fill(text=text, force=force):
            return (_on_target(action, "fill", text, force=force or None),)
        case actions.TypeText(text=text, delay_ms=delay):
            return (_on_target(action, "press_sequentially", text, delay=delay or None),)
        case actions.Press(key=key, delay_ms=delay):
            return (_on_target(action, "press", key, delay=delay or None),)
        case actions.SelectOption(by=by, options=options, force=force):
            indices = by == "index" and all(each.isdecimal() for each in options)
            chosen: list[object] = [int(each) for each in options] if indices else list(options)
            given: dict[str, object] = {by: chosen[0] if len(chosen) == 1 else chosen}
            return (_on_target(action, "select_option", **given, force=force or None),)
        case actions.SetValue(text=text, target=target):
            select, fill = _on_target(action, "select_option", text), _on_target(action, "fill", text)
            if target.identity is None:
                return select, fill
            return (select,) if target.identity.tag == "select" else (fill,)
        case actions.SetInputFiles(files=files):
            return (_on_target(action, "set_input_files", files),)
        case actions.Drag(to=to, position=position, to_position=to_position, steps=steps, force=force):
            points = {"source_position": _point(position), "target_position": _point(to_position)}
            return (_on_target(action, "drag_to", to, **points, steps=_steps(steps), force=force or None),)
        case actions.Drop(files=files, data=data, position=position):
            payload = Payload(files, {each.mime_type: each.value for each in data})
            return (_on_target(action, "drop", payload, position=_point(position)),)
        case actions.Scroll(dx=dx, dy=dy):
            return (_on_target(action, "evaluate", f"each => each.scrollBy({_scroll_options(dx, dy)})"),)
        case actions.SelectText(force=force):
            return (_on_target(action, "select_text", force=force or None),)
        case actions.Blur() | actions.ScrollIntoViewIfNeeded() | actions.Screenshot():
            return (_on_target(action, action.type),)
        case actions.Focus(target=target):
            return (_call("locator", "focus", target=target),)
        case actions.DispatchEvent(event=event, init=init, target=target):
            return (_call("locator", "dispatch_event", event, target=target, event_init=init),)
        case _:
            assert_never(action)


def timeout_of(action: Action) -> float | None:
    """Return the timeout in milliseconds if it differs from the default; 0 means no timeout."""
    return _deadline(action, DEFAULT_TIMEOUT_MS)


def _deadline(action: Action, usual_ms: float) -> float | None:
    if action.timeout_ms == UNBOUNDED_TIMEOUT_MS:
        return 0
    return None if action.timeout_ms == usual_ms else action.timeout_ms


def _call(
    receiver: Receiver,
    method: str,
    *arguments: object,
    target: Target | None = None,
    timeout_ms: float | None = None,
    **options: object,
) -> PythonCall:
    given = {name: value for name, value in options.items() if value is not None}
    return PythonCall(
        receiver=receiver, method=method, arguments=arguments, options=given, target=target, timeout_ms=timeout_ms
    )


def _on_target(action: _TargetAction, method: str, *arguments: object, **options: object) -> PythonCall:
    return _call("locator", method, *arguments, target=action.target, timeout_ms=timeout_of(action), **options)


def _navigation(action: actions.Navigate | actions.GoBack | actions.GoForward | actions.Reload) -> PythonCall:
    wait = None if action.wait_until == "load" else action.wait_until
    timeout = _deadline(action, DEFAULT_NAVIGATION_TIMEOUT_MS)
    if isinstance(action, actions.Navigate):
        return _call("page", "goto", Url(action.url), referer=action.referer, wait_until=wait, timeout_ms=timeout)
    return _call("page", action.type, wait_until=wait, timeout_ms=timeout)


def _pointer(
    action: actions.Click | actions.DoubleClick | actions.Download | actions.Hover | actions.Tap,
) -> PythonCall:
    around: dict[str, object] = {
        "position": _point(action.position),
        "modifiers": list(action.modifiers) or None,
        "force": actions.is_forced(action) or None,
    }
    match action:
        case actions.Hover() | actions.Tap():
            return _on_target(action, action.type, **around)
        case actions.Download():
            return _on_target(action, "click", **around)
        case actions.Click() | actions.DoubleClick():
            method, count = ("click", action.click_count) if isinstance(action, actions.Click) else ("dblclick", 1)
            pressed = {"click_count": None if count == 1 else count, "delay": action.delay_ms or None}
            steps = _steps(action.steps)
            return _on_target(action, method, button=_button(action), **pressed, **around, steps=steps)
        case _:
            assert_never(action)


def _steps(count: int) -> int | None:
    return None if count == 1 else count


def _button(action: actions.Click | actions.DoubleClick | actions.Mouse) -> str | None:
    return None if action.button == "left" else action.button


def _mouse_calls(action: actions.Mouse) -> tuple[PythonCall, ...]:
    """Return the calls; all but `click` move the pointer first. The element under the pointer is not checked."""
    count = None if action.click_count == 1 else action.click_count
    button, delay = _button(action), action.delay_ms or None
    if action.event == "click":
        return (_call("mouse", "click", action.x, action.y, button=button, click_count=count, delay=delay),)
    moved = _call("mouse", "move", action.x, action.y, steps=_steps(action.steps))
    if action.event == "move":
        return (moved,)
    if action.event == "wheel":
        return moved, _call("mouse", "wheel", action.dx, action.dy)
    return moved, _call("mouse", action.event, button=button, click_count=count)


def _point(position: actions.Point | None) -> dict[str, float] | None:
    return None if position is None else position.model_dump()


def _scroll_options(dx: float, dy: float) -> str:
    return f"{{left: {dx!r}, top: {dy!r}, behavior: 'instant'}}"


def _matcher_argument(matcher: actions.UrlMatcher) -> Url | Pattern | None:
    """Return a pattern for URLs; None for a regular expression with other flags."""
    if matcher.syntax == "glob":
        return Url(matcher.text)
    return Pattern(matcher.text, matcher.flags) if frozenset(matcher.flags) <= _PYTHON_FLAGS else None


def _wait_for_match(
    condition: actions.UrlMatchCondition | actions.TrafficCondition, timeout: float | None
) -> tuple[PythonCall, ...]:
    """Return the call for a pattern of URLs, whose wait failed."""
    given = _matcher_argument(condition.matcher)
    if given is None:
        return ()
    if isinstance(condition, actions.TrafficCondition):
        return (_call("page", f"expect_{condition.event}", given, timeout_ms=timeout),)
    call = _call("frame" if condition.frames else "page", "wait_for_url", given, timeout_ms=timeout)
    return (replace(call, frames=condition.frames),)


def _wait(condition: Condition, timeout: float | None) -> tuple[PythonCall, ...]:  # noqa: PLR0911 - one case a kind
    match condition:
        case actions.RequestCondition() | actions.ResponseCondition():
            return ()
        case actions.SelectorCondition(target=target, state=state):
            shown = None if state == "visible" else state
            return (_call("locator", "wait_for", target=target, state=shown, timeout_ms=timeout),)
        case actions.FunctionCondition(target=target, frames=frames):
            call = PythonCall(
                receiver="locator" if target is not None else "frame" if frames else "page",
                method="wait_for_function",
                arguments=(condition.expression,),
                options={} if condition.argument is None else {"arg": condition.argument},
                target=target,
                frames=frames,
                timeout_ms=timeout,
            )
            return (call,)
        case actions.UrlMatchCondition() | actions.TrafficCondition():
            return _wait_for_match(condition, timeout)
        case _ if condition.frames:
            return ()
        case actions.UrlCondition(url=url):
            return (_call("expect", "to_have_url", UrlPattern(url), timeout_ms=timeout),)
        case actions.LoadStateCondition(state=state):
            return (_call("page", "wait_for_load_state", state, timeout_ms=timeout),)
        case _:
            assert_never(condition)


_READ_TEXTS: Final = {
    "all_inner_texts": ("to_have_text", True),
    "all_text_contents": ("to_have_text", None),
    "inner_text": ("to_have_text", True),
    "text_content": ("to_have_text", None),
}
"""Assertions about texts by what is read, with `use_inner_text`."""
_READ_STATES: Final = {
    "is_checked": "to_be_checked",
    "is_disabled": "to_be_disabled",
    "is_editable": "to_be_editable",
    "is_enabled": "to_be_enabled",
    "is_hidden": "to_be_hidden",
    "is_visible": "to_be_visible",
}


_OF_MATCHES: Final = frozenset({"all_inner_texts", "all_text_contents", "count", "is_hidden", "is_visible"})
"""Reads that do not wait for an element, so that they have no timeout."""


_READ_OPTIONS: Final = frozenset({"boxes", "depth", "include_shadow", "mode"})
"""Options of reads."""


def _read(action: actions.Read) -> tuple[PythonCall, ...]:
    asserted = _read_assertion(action)
    if asserted is not None:
        return (asserted,)
    if not action.options.keys() <= _READ_OPTIONS:
        return ()
    name = (action.name or "",) if action.what == "attribute" else ()
    method = "get_attribute" if action.what == "attribute" else action.what
    has_timeout = action.value is not None or (action.target is not None and action.what not in _OF_MATCHES)
    call = PythonCall(
        receiver="locator" if action.target is not None else "frame" if action.frames else "page",
        method=method,
        arguments=name,
        options=action.options,
        target=action.target,
        frames=action.frames,
        timeout_ms=timeout_of(action) if has_timeout else None,
        returned=action.value,
        may_repeat=True,
    )
    return (call,)


def _read_assertion(action: actions.Read) -> PythonCall | None:  # noqa: PLR0911 - one case a kind
    """Return the assertion of `expect` that a read returns its value; None if there is none."""
    if action.value is None or action.value.long is not None:
        return None
    value = action.value.value
    match action.what, value:
        case (("all_inner_texts" | "all_text_contents" | "inner_text" | "text_content"), str() | list()):
            method, inner = _READ_TEXTS[action.what]
            given = value if isinstance(value, str) else Texts(tuple(map(str, value)))
            return _expectation(action, method, given, use_inner_text=inner)
        case "title", str() if not action.frames:
            return _expectation(action, "to_have_title", value)
        case "count", int():
            return _expectation(action, "to_have_count", value)
        case "input_value", str():
            return _expectation(action, "to_have_value", value)
        case "attribute", str():
            return _expectation(action, "to_have_attribute", action.name or "", value)
        case what, bool() if what in _READ_STATES:
            return _expectation(action, _READ_STATES[what] if value else f"not_{_READ_STATES[what]}")
        case _:
            return None


def _script(action: actions.Evaluate) -> PythonCall:
    arguments = (action.expression, *(() if action.argument is None else (Json(action.argument),)))
    receiver: Receiver = "locator" if action.target is not None else "frame" if action.frames else "page"
    method = "evaluate_all" if action.all_matches else "evaluate_handle" if action.returns_handle else "evaluate"
    return PythonCall(
        receiver=receiver,
        method=method,
        arguments=arguments,
        target=action.target,
        frames=action.frames,
        returned=None if action.returns_handle else action.value,
    )


def _expectation(
    action: actions.Read | actions.Expect, method: str, *arguments: object, **options: object
) -> PythonCall:
    """Return an assertion about the target of an action, or about its page."""
    prefix = "not_" if isinstance(action, actions.Expect) and action.is_not else ""
    timeout = timeout_of(action)
    return _call("expect", prefix + method, *arguments, target=action.target, timeout_ms=timeout, **options)


_STATE_EXPECTATIONS: Final[Mapping[str, tuple[str, Mapping[str, bool]]]] = {
    **{
        f"to.be.{state}": (f"to_be_{state}", {})
        for state in ("attached", "disabled", "editable", "empty", "enabled", "focused", "hidden", "visible")
    },
    "to.be.detached": ("to_be_attached", {"attached": False}),
    "to.be.readonly": ("to_be_editable", {"editable": False}),
}
"""Assertions without expected values, and their names and options in Python."""
_TEXT_EXPECTATIONS: Final = {
    "to.have.accessible.description": "to_have_accessible_description",
    "to.have.accessible.error.message": "to_have_accessible_error_message",
    "to.have.accessible.name": "to_have_accessible_name",
    "to.have.attribute.value": "to_have_attribute",
    "to.have.class": "to_have_class",
    "to.contain.class": "to_contain_class",
    "to.have.css": "to_have_css",
    "to.have.id": "to_have_id",
    "to.have.role": "to_have_role",
    "to.have.text": "to_have_text",
    "to.have.title": "to_have_title",
    "to.have.url": "to_have_url",
    "to.have.value": "to_have_value",
}
"""Assertions about one text, and their names in Python."""
_LIST_EXPECTATIONS: Final = {
    "to.contain.class.array": "to_contain_class",
    "to.contain.text.array": "to_contain_text",
    "to.have.class.array": "to_have_class",
    "to.have.text.array": "to_have_text",
    "to.have.values": "to_have_values",
}
"""Assertions about a list of texts, and their names in Python."""
_WITH_IGNORE_CASE: Final = frozenset(
    {
        *("to_contain_text", "to_have_accessible_description", "to_have_accessible_error_message"),
        *("to_have_accessible_name", "to_have_attribute", "to_have_text", "to_have_url"),
    }
)
"""Assertions in Python that have the option `ignore_case`."""


def _expect(action: actions.Expect) -> tuple[PythonCall, ...]:
    """Return the assertion; none if Playwright for Python has none for it."""
    if action.expression in _STATE_EXPECTATIONS:
        method, options = _STATE_EXPECTATIONS[action.expression]
        return (_expectation(action, method, **options),)
    if action.expression in _TEXT_EXPECTATIONS or action.expression in _LIST_EXPECTATIONS:
        return _expect_texts(action)
    return _expect_value(action)


def _expect_value(action: actions.Expect) -> tuple[PythonCall, ...]:  # noqa: PLR0911 - one case a kind
    """Return an assertion that expects no texts."""
    match action.expression, action.expected:
        case "to.have.count", _ if action.number is not None:
            return (_expectation(action, "to_have_count", int(action.number)),)
        case "to.be.in.viewport", _:
            return (_expectation(action, "to_be_in_viewport", ratio=action.number),)
        case "to.be.checked", None:
            return (_expectation(action, "to_be_checked"),)
        case "to.be.checked", dict() as states if states.keys() <= {"checked", "indeterminate"}:
            return (_expectation(action, "to_be_checked", **states),)
        case "to.have.attribute", _:
            return (_expectation(action, "to_have_attribute", action.argument, Json(None)),)
        case "to.have.property", value:
            return (_expectation(action, "to_have_js_property", action.argument, Json(value)),)
        case "to.match.aria", str() as snapshot:
            return (_expectation(action, "to_match_aria_snapshot", snapshot),)
        case _:
            return ()


def _expect_texts(action: actions.Expect) -> tuple[PythonCall, ...]:
    texts = [_text_argument(each) for each in action.texts or ()]
    known = [each for each in texts if each is not None]
    cases = {each.ignore_case for each in action.texts or ()}
    is_list = action.expression in _LIST_EXPECTATIONS
    if len(known) != len(texts) or len(cases) > 1 or (len(texts) != 1 and not is_list):
        return ()
    method = (_LIST_EXPECTATIONS if is_list else _TEXT_EXPECTATIONS)[action.expression]
    if method == "to_have_text" and any(each.match_substring for each in action.texts or ()):
        method = "to_contain_text"
    ignore_case = next(iter(cases), None)
    if ignore_case is not None and method not in _WITH_IGNORE_CASE:
        return ()
    first: object = known[0] if known else ""
    first = Url(first) if method == "to_have_url" and isinstance(first, str) else first
    name = (action.argument,) if method in {"to_have_attribute", "to_have_css"} else ()
    given = Texts(tuple(known)) if is_list else first
    options = {"use_inner_text": action.use_inner_text, "ignore_case": ignore_case, "pseudo": action.pseudo}
    return (_expectation(action, method, *name, given, **options),)


_PYTHON_FLAGS: Final = frozenset("ims")


def _text_argument(text: ExpectedText) -> str | Pattern | None:
    """Return an expected text; None for a pattern that Python cannot write."""
    if text.regex_source is None:
        return text.string
    flags = text.regex_flags or ""
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(text.regex_source)
    except (re.error, OverflowError, RecursionError):
        return None
    return Pattern(text.regex_source, flags) if frozenset(flags) <= _PYTHON_FLAGS else None


def _assertion(expectation: Expectation) -> PythonCall:
    match expectation:
        case actions.AssertVisible(target=target):
            return _call("expect", "to_be_visible", target=target)
        case actions.AssertText(target=target, text=text, contains=contains):
            return _call("expect", "to_contain_text" if contains else "to_have_text", text, target=target)
        case actions.AssertCount(target=target, count=count):
            return _call("expect", "to_have_count", count, target=target)
        case actions.AssertUrl(url=url):
            return _call("expect", "to_have_url", UrlPattern(url))
        case _:
            assert_never(expectation)
