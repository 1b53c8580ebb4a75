"""Convert the calls in a Playwright trace to actions; `trace.playwright_calls` says which actions."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlparse

from eikon_engine.files.blobs import BlobRef, blob_ref
from eikon_engine.importers.playwright_trace_file import NEW_PAGE, get_number, get_text
from eikon_engine.importers.selectors import RankedSelector, note_weak_selector, rank_of
from eikon_engine.trace.actions import (
    DEFAULT_TIMEOUT_MS,
    UNBOUNDED_TIMEOUT_MS,
    Evaluate,
    Expect,
    FileInput,
    Read,
)
from eikon_engine.trace.playwright_calls import (
    CALLS,
    ENTER_FRAME,
    FILE_CALLS,
    CallContext,
    UnsupportedCallError,
    convert_call,
    convert_read,
    decode_result,
    decode_value,
    effect_of,
    is_read,
)
from eikon_engine.trace.read_values import to_read_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.importers.imported_mission import MissionBuilder
    from eikon_engine.importers.playwright_trace_file import Call, TraceContents
    from eikon_engine.trace.actions import ReadValue

SET_VIEWPORT_SIZE: Final = "Page.setViewportSize"
_REQUEST_CLASS: Final = "APIRequestContext"
_PASSIVE_CALLS: Final = frozenset({"Frame.waitForSelector", "Frame.waitForFunction", "Page.screenshot"})
"""Calls that do not act on a page, besides reads and assertions: events during them have an earlier cause."""
_LOCATOR_CALLS: Final = {
    "Bounding box": "ElementHandle.boundingBox",
    "Screenshot": "ElementHandle.screenshot",
    "Scroll into view": "ElementHandle.scrollIntoViewIfNeeded",
    "Select text": "ElementHandle.selectText",
}
"""Calls of a locator on the handle of its element, by the title of the call that finds the element.

A trace contains only the latter.
"""
_LOCATOR_SCRIPT: Final = "Evaluate"
"""Title of the call that finds the element of a script."""
_HANDLE_VALUES: Final = frozenset(
    {
        *("boundingBox", "getAttribute", "getProperty", "getPropertyList", "innerHTML", "innerText", "inputValue"),
        *("isChecked", "isDisabled", "isEditable", "isEnabled", "isHidden", "isVisible", "jsonValue", "textContent"),
    }
)
"""Methods of handles that return something of a page."""
_OTHER_VALUES: Final = {
    **{
        f"ElementHandle.{method}": "the trace does not say which element the call was made on"
        for method in _HANDLE_VALUES
    },
    "ElementHandle.boundingBox": "no action reads the position of an element",
    "Page.expectScreenshot": "replays compare screenshots with those of their own baseline",
    "JSHandle.jsonValue": "the trace does not say which handle the call was made on",
}
"""Why calls that return something of a page are not imported."""
_FIND_ELEMENT: Final = "Frame.waitForSelector"
_TOUCH: Final = "Page.touchscreenTap"
"""A tap at a position, which does not move the pointer."""
_SELECTORS: Final = ("selector", "source", "target")
"""Parameters that are selectors."""


def is_page_call(name: str) -> bool:
    """Whether a call, `Class.method`, is made on a page or on one of its frames."""
    return name.startswith(("Frame.", "Page."))


@dataclass(frozen=True, slots=True, kw_only=True)
class _RepeatableRead:
    """A read that the next call may repeat."""

    read: Read
    """The action without its value."""
    place: int
    """Number of actions up to this one."""
    group: str
    start_ms: float
    times: int = 1


class CallConverter:
    """Converts calls to actions, one at a time."""

    def __init__(self, builder: MissionBuilder, contents: TraceContents, base_url: str = "") -> None:
        """Add actions to `builder` for calls of `contents`; `base_url` resolves relative URLs of `goto`."""
        self._builder = builder
        self._contents = contents
        self._base_url = base_url
        self._has_called_page = False
        """Whether any call besides `Page.setViewportSize` was made on a page."""
        self._pointers: dict[int, tuple[float, float]] = {}
        """Position of the pointer by page, where it is known."""
        self._last_call: Call | None = None
        """The call of the last action."""
        self._last_read: _RepeatableRead | None = None
        self.files: list[bytes] = []
        """Contents of uploaded files, and long values of reads."""
        self.action_times: list[float | None] = []
        """When each action acted on its page; None for actions that do not."""

    def convert(self, step: int, call: Call, page: int, *, group: str = "") -> None:
        """Convert one call on a page; `step` is its number in the trace, from 1.

        A read that repeats the one before, in the same `group`, is added to its action.
        """
        before = len(self._builder.actions)
        for accept, text in call.dialog_answers:
            self._builder.add_action(step, "answer_dialog", page=page, accept=accept, text=text)
        name = _name_of(call)
        is_initial_page = name == NEW_PAGE and page == 0
        if is_read(name, call.params):
            self._add_read(step, call, page, group)
        elif is_initial_page or self._is_initial_size(call, page):
            pass
        elif effect_of(name) == "read":
            if name in _OTHER_VALUES:
                self._builder.add_note(step, f"{name} skipped: {_OTHER_VALUES[name]}")
        elif effect_of(name) == "setup" or name.startswith(f"{_REQUEST_CLASS}."):
            self._builder.add_note(step, f"{name} skipped: {_reason(name)}")
        else:
            try:
                self._convert(step, call, page)
            except UnsupportedCallError as error:
                self._builder.add_unsupported(step, name, str(error))
        self._has_called_page |= is_page_call(name) and name != SET_VIEWPORT_SIZE
        if len(self._builder.actions) > before:
            self._last_call = call
            has_acted = name not in _PASSIVE_CALLS and not isinstance(self._builder.actions[-1], Read | Expect)
            at_ms = (call.acted_at_ms or call.start_ms) if has_acted else None
            self.action_times += [at_ms] * (len(self._builder.actions) - len(self.action_times))

    def skip_read(self, step: int, call: Call, reason: str) -> bool:
        """Note why a call that returns something of a page is not imported; return whether it is such a call.

        A script may also change the page, so that the mission lacks a step without it.
        """
        if not is_read(call.name, call.params):
            return False
        if effect_of(call.name) == "unsupported":
            self._builder.add_unsupported(step, call.name, reason)
        else:
            what = f" {call.params['expression']}" if call.name == "Frame.expect" else ""
            self._builder.add_note(step, f"{call.name}{what} skipped: {reason}")
        return True

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

    def _is_initial_size(self, call: Call, page: int) -> bool:
        """Whether a call sets the size that the environment contains: on the first page, before any other call."""
        return call.name == SET_VIEWPORT_SIZE and page == 0 and not self._has_called_page

    def _convert(self, step: int, call: Call, page: int) -> None:
        if call.title == _LOCATOR_SCRIPT and call.name == _FIND_ELEMENT and call.error is None:
            message = "the trace does not contain the script that the locator evaluated"
            raise UnsupportedCallError(message)
        context = CallContext(
            page=page,
            timeout_ms=get_number(call.params, "timeout"),
            base_url=self._base_url,
            frames=self._frame_path(call),
            files=tuple(self._store_files(call)) if call.name in FILE_CALLS else (),
            pointer=self._pointers.get(page),
            starts_download=call.starts_download,
        )
        converted = convert_call(_name_of(call), call.params, context)
        self._builder.actions.append(converted.action)
        self._note_selectors(step, call)
        if call.name != _TOUCH:
            self._track_pointer(call, page)
        for note in converted.notes:
            self._builder.add_note(step, note)
        if converted.is_unbounded:
            limit = f"{UNBOUNDED_TIMEOUT_MS / 1000:.0f} s"
            self._builder.add_note(step, f"{call.name} had no timeout; a replay times out after {limit}")

    def _add_read(self, step: int, call: Call, page: int, group: str) -> None:
        """Add the action of a read, a script or an assertion."""
        try:
            read = self._read_action(call, page)
        except UnsupportedCallError as error:
            self.skip_read(step, call, str(error))
            return
        if isinstance(read, Read) and self._add_repetition(call, read, group):
            return
        is_unmarked = call.frame is None and not call.has_marked_target
        if is_unmarked and self._has_iframes(call) and _may_be_in_frame(call):
            self._builder.add_note(
                step, f"{call.name}: the trace does not say in which frame; imported as a call on the page itself"
            )
        self._builder.actions.append(_with_value(read, self._value(call)))
        if isinstance(read, Read) and call.error is None:
            place = len(self._builder.actions)
            self._last_read = _RepeatableRead(read=read, place=place, group=group, start_ms=call.start_ms)

    def _read_action(self, call: Call, page: int) -> Read | Evaluate | Expect:
        """Return the action of a call without the value that it returned.

        Raises:
            UnsupportedCallError: no action can express it, or no replay can compare it.
        """
        context = CallContext(page=page, timeout_ms=get_number(call.params, "timeout"), frames=self._frame_path(call))
        read = convert_read(call.name, call.params, context)
        is_script = isinstance(read, Evaluate)
        if call.result is None and call.error is None and not isinstance(read, Expect):
            message = "the trace does not contain what it returned"
            raise UnsupportedCallError(message)
        if not is_script and call.end_ms is None:
            message = "it had not finished when the recording ended"
            raise UnsupportedCallError(message)
        if not is_script and _ends_during(call, self._last_call):
            message = "it was made during another call, so its position among the actions is unknown"
            raise UnsupportedCallError(message)
        return read

    def _add_repetition(self, call: Call, read: Read, group: str) -> bool:
        """Add a read to the last action if it repeats it; return whether it does.

        A replay may wait as long as the test did until it reads the last value.
        """
        first = self._last_read
        if first is None or call.error is not None or first.place != len(self._builder.actions):
            return False
        if (first.read, first.group) != (read, group):
            return False
        self._last_read = first = replace(first, times=first.times + 1)
        waited = max(0.0, call.start_ms - first.start_ms)
        deadline = min(read.timeout_ms, DEFAULT_TIMEOUT_MS) + waited
        self._builder.actions[-1] = read.model_copy(
            update={"value": self._value(call), "times": first.times, "timeout_ms": deadline}
        )
        return True

    def _has_iframes(self, call: Call) -> bool:
        return self._contents.has_iframes if call.has_iframes is None else call.has_iframes

    def _value(self, call: Call) -> ReadValue | None:
        """Return what a call returned; None if it failed, or if JSON cannot represent it."""
        if call.result is None or call.error is not None:
            return None
        try:
            return to_read_value(decode_result(call.name, call.result, _parse_value), store=self._store_content)
        except (ValueError, UnsupportedCallError):
            return None

    def _store_content(self, content: bytes) -> BlobRef:
        self.files.append(content)
        return blob_ref(content)

    def _frame_path(self, call: Call) -> tuple[str, ...]:
        """Return the selectors of the iframes around the frame of a call that acts on an element."""
        selectors = "".join(get_text(call.params, name) for name in _SELECTORS)
        if call.frame is None or not selectors or ENTER_FRAME in selectors:
            return ()
        path = self._contents.frames.path_to(call.frame)
        if path is None:
            message = "the trace does not identify the frame; use frame_locator"
            raise UnsupportedCallError(message)
        return tuple(path)

    def _note_selectors(self, step: int, call: Call) -> None:
        """Note selectors that depend on position, and those that need not match one element only."""
        for text in (get_text(call.params, name) for name in _SELECTORS):
            own = text.rpartition(ENTER_FRAME)[2]
            if own:
                note_weak_selector(RankedSelector(text=own, rank=rank_of(own)), self._builder, step)
            if own and not call.params.get("strict"):
                self._builder.add_note(
                    step, f"{own} was not strict and used its first match; a replay requires exactly one match"
                )

    def _track_pointer(self, call: Call, page: int) -> None:
        """Remember where the pointer is; an action on an element moves it to an unknown position."""
        x, y = get_number(call.params, "x"), get_number(call.params, "y")
        if x is not None and y is not None:
            self._pointers[page] = (x, y)
        elif call.name.startswith("Frame.") and call.name not in _PASSIVE_CALLS:
            self._pointers.pop(page, None)

    def _store_files(self, call: Call) -> Iterator[FileInput]:
        """Keep the files of an upload or a drop; the trace contains those that were given by content.

        Raises:
            UnsupportedCallError: the trace contains their names only.
        """
        payloads, paths = call.params.get("payloads"), call.params.get("localPaths")
        if isinstance(paths, list) and paths:
            names = ", ".join(str(each).replace("\\", "/").rpartition("/")[2] for each in paths)
            message = f"the trace does not contain the uploaded files {names}; pass their contents to the call"
            raise UnsupportedCallError(message)
        if call.name == "Frame.drop" and payloads is None and call.params.get("data"):
            return
        if not isinstance(payloads, list):
            message = "the trace does not contain the uploaded files"
            raise UnsupportedCallError(message)
        for payload in payloads:
            if isinstance(payload, dict):
                yield self._store_file(payload)

    def _store_file(self, payload: Mapping[str, JsonValue]) -> FileInput:
        try:
            content = base64.b64decode(get_text(payload, "buffer"), validate=True)
        except (binascii.Error, ValueError) as error:
            message = "the trace does not contain the uploaded files"
            raise UnsupportedCallError(message) from error
        kind = get_text(payload, "mimeType") or "application/octet-stream"
        return FileInput(name=get_text(payload, "name"), mime_type=kind, content=self._store_content(content))


def _name_of(call: Call) -> str:
    """Return the name of a call; a call of a locator on a handle is named by the title of the one that finds it."""
    return _LOCATOR_CALLS.get(call.title, call.name) if call.name == _FIND_ELEMENT else call.name


def _may_be_in_frame(call: Call) -> bool:
    """Whether a call may have been made on an iframe: its selector does not lead there, and no page is asked."""
    is_of_page = call.name == "Frame.expect" and not get_text(call.params, "selector")
    return not is_of_page and ENTER_FRAME not in get_text(call.params, "selector")


def _ends_during(call: Call, other: Call | None) -> bool:
    """Whether a call ended while another one, which began before, was running."""
    return other is not None and call.end_ms is not None and (other.end_ms is None or other.end_ms > call.end_ms)


def _with_value(read: Read | Evaluate | Expect, value: ReadValue | None) -> Read | Evaluate | Expect:
    if isinstance(read, Expect) or (isinstance(read, Evaluate) and read.returns_handle):
        return read
    return read.model_copy(update={"value": value})


def _reason(name: str) -> str:
    spec = CALLS.get(name)
    return spec.reason if spec is not None and spec.reason else "a request of the test, not of a page"


def _parse_value(value: object) -> object:  # noqa: PLR0911 - one case a kind of value
    """Return the value that the client of the trace got for a serialized one (SerializedValue of the protocol).

    Raises:
        UnsupportedCallError: Python has no such value.
    """
    match value:
        case {"d": str() as date}:
            return datetime.fromisoformat(date)
        case {"v": "NaN" | "Infinity" | "-Infinity" | "-0" as number}:
            return float(number)
        case {"bi": str() as digits}:
            return int(digits)
        case {"u": str() as url}:
            return urlparse(url)
        case {"a": list() as values}:
            return [_parse_value(each) for each in values]
        case {"o": list() as fields} if all(isinstance(each, dict) for each in fields):
            return {str(each.get("k")): _parse_value(each.get("v")) for each in fields}
        case _:
            return decode_value(value)
