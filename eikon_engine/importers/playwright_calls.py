"""Convert the calls in a Playwright trace to actions; `trace.playwright_calls` says which actions."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from eikon_engine.files.blobs import blob_ref
from eikon_engine.importers.playwright_trace_file import NEW_PAGE, get_number, get_text
from eikon_engine.importers.selectors import RankedSelector, note_weak_selector, rank_of
from eikon_engine.trace.actions import FileInput
from eikon_engine.trace.playwright_calls import (
    CALLS,
    ENTER_FRAME,
    CallContext,
    UnsupportedCallError,
    convert_call,
    effect_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.importers.imported_mission import MissionBuilder
    from eikon_engine.importers.playwright_trace_file import Call, FrameTree

SET_VIEWPORT_SIZE: Final = "Page.setViewportSize"
_REQUEST_CLASS: Final = "APIRequestContext"
_PASSIVE_CALLS: Final = frozenset({"Frame.waitForSelector", "Frame.waitForFunction", "Frame.expect", "Page.screenshot"})
"""Calls that do not act on a page: events during them have an earlier cause."""
_TOUCH: Final = "Page.touchscreenTap"
"""A tap at a position, which does not move the pointer."""
_SELECTORS: Final = ("selector", "source", "target")
"""Parameters that are selectors."""


def is_page_call(name: str) -> bool:
    """Whether a call, `Class.method`, is made on a page or on one of its frames."""
    return name.startswith(("Frame.", "Page."))


class CallConverter:
    """Converts calls to actions, one at a time."""

    def __init__(self, builder: MissionBuilder, frames: FrameTree, base_url: str = "") -> None:
        """Add actions to `builder`; `frames` resolves frame ids, `base_url` relative URLs of `goto`."""
        self._builder = builder
        self._frames = frames
        self._base_url = base_url
        self._has_called_page = False
        """Whether any call besides `Page.setViewportSize` was made on a page."""
        self._pointers: dict[int, tuple[float, float]] = {}
        """Position of the pointer by page, where it is known."""
        self.files: list[bytes] = []
        """Contents of uploaded files."""
        self.action_times: list[float | None] = []
        """When each action acted on its page; None for actions that do not."""

    def convert(self, step: int, call: Call, page: int) -> None:
        """Convert one call on a page; `step` is its number in the trace, from 1."""
        for accept, text in call.dialog_answers:
            self._builder.add_action(step, "answer_dialog", page=page, accept=accept, text=text)
        effect = effect_of(call.name)
        is_initial_page = call.name == NEW_PAGE and page == 0
        if is_initial_page or self._is_initial_size(call, page) or effect == "read":
            pass
        elif effect == "setup" or call.name.startswith(f"{_REQUEST_CLASS}."):
            self._builder.add_note(step, f"{call.name} skipped: {_reason(call.name)}")
        else:
            try:
                self._convert(step, call, page)
            except UnsupportedCallError as error:
                self._builder.add_unsupported(step, call.name, str(error))
        self._has_called_page |= is_page_call(call.name) and call.name != SET_VIEWPORT_SIZE
        at_ms = None if call.name in _PASSIVE_CALLS else call.acted_at_ms or call.start_ms
        self.action_times += [at_ms] * (len(self._builder.actions) - len(self.action_times))

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
        context = CallContext(
            page=page,
            timeout_ms=get_number(call.params, "timeout"),
            base_url=self._base_url,
            frames=self._frame_path(call),
            files=tuple(self._store_files(call)) if call.name == "Frame.setInputFiles" else (),
            pointer=self._pointers.get(page),
            starts_download=call.starts_download,
        )
        converted = convert_call(call.name, call.params, context)
        if converted.action is not None:
            self._builder.actions.append(converted.action)
            self._note_selectors(step, call)
            if call.name != _TOUCH:
                self._track_pointer(call, page)
        for note in converted.notes:
            self._builder.add_note(step, note)

    def _frame_path(self, call: Call) -> tuple[str, ...]:
        """Return the selectors of the iframes around the frame of a call that acts on an element."""
        selectors = "".join(get_text(call.params, name) for name in _SELECTORS)
        if call.frame is None or not selectors or ENTER_FRAME in selectors:
            return ()
        path = self._frames.path_to(call.frame)
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
            if own and not call.params.get("strict") and call.name != "Frame.expect":
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
        """Keep the uploaded files of a call; the trace contains those that were given by content.

        Raises:
            UnsupportedCallError: the trace contains their names only.
        """
        payloads, paths = call.params.get("payloads"), call.params.get("localPaths")
        if isinstance(paths, list) and paths:
            names = ", ".join(str(each).replace("\\", "/").rpartition("/")[2] for each in paths)
            message = f"the trace does not contain the uploaded files {names}; pass their contents to the call"
            raise UnsupportedCallError(message)
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
        self.files.append(content)
        kind = get_text(payload, "mimeType") or "application/octet-stream"
        return FileInput(name=get_text(payload, "name"), mime_type=kind, content=blob_ref(content))


def _reason(name: str) -> str:
    spec = CALLS.get(name)
    return spec.reason if spec is not None and spec.reason else "a request of the test, not of a page"
