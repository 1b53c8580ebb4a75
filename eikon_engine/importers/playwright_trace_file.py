"""Read one `.trace` file of Playwright: calls with their pages, frames and times.

Shape: `TraceEvent` in https://github.com/microsoft/playwright, packages/trace/src/trace.ts; how versions differ:
packages/isomorphic/trace/traceModernizer.ts
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic_core import from_json

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.selectors import attribute

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

_HTML: Final = b'"html":'
_FIELD: Final = re.compile(rb'"(callId|phase|snapshotName|pageId|frameId|frameUrl)":("(?:[^"\\]|\\.)*")')
_TIME: Final = re.compile(rb'"timestamp":([0-9]{1,15}(?:\.[0-9]{1,20})?)')
_MAIN_FRAME: Final = re.compile(rb'"isMainFrame":true')
_TARGET: Final = b'"__playwright_target__"'
_IFRAME: Final = re.compile(rb'\["I?FRAME",(?=\{)')
_MAX_ATTRIBUTE_BYTES: Final = 10_000
"""Maximum length in bytes of the attributes of an iframe."""
_SNAPSHOT_PREFIX: Final = "/snapshot/"
_IFRAME_ATTRIBUTES: Final = ("id", "name", "title", "data-testid")
"""Attributes that identify an iframe, best first."""
_OLD_PHASES: Final = {"before": "before", "input": "action", "action": "action", "after": "after"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHead:
    """A snapshot of one frame without its document."""

    call: str
    phase: str
    """`before`, `action` or `after`."""
    page: str
    frame: str
    url: str
    is_main: bool
    time_ms: float | None
    has_target: bool
    """Whether this frame contains the target of the call."""


def read_snapshot_head(line: bytes) -> SnapshotHead | None:
    """Read the fields around the document of a snapshot; None if the line is not a snapshot.

    Before version 9, phase and call are part of a name such as `before@call@7`.
    """
    begin = line.find(_HTML)
    end = line.rfind(b'"timestamp":')
    if begin < 0 or not line.rstrip().endswith(b"}"):
        return None
    try:
        found = {match[1].decode(): _decode_text(match[2]) for match in _FIELD.finditer(line, 0, begin)}
    except ValueError:
        return None
    phase, _, call = found.get("snapshotName", "").partition("@")
    if "pageId" not in found:
        return None
    time = _TIME.match(line, end) if end >= 0 else None
    return SnapshotHead(
        call=found.get("callId") or call,
        phase=found.get("phase") or _OLD_PHASES.get(phase, ""),
        page=found["pageId"],
        frame=found.get("frameId", ""),
        url=found.get("frameUrl", ""),
        is_main=_MAIN_FRAME.search(line, max(end, 0)) is not None,
        time_ms=float(time[1]) if time else None,
        has_target=_TARGET in line,
    )


def _decode_text(written: bytes) -> str:
    return str(json.loads(written)).encode(errors="replace").decode()


class FrameTree:
    """The iframe element of each frame, learned from snapshots (mutable)."""

    def __init__(self) -> None:
        """Start empty."""
        self._parents: dict[str, tuple[str, str | None]] = {}

    def add_snapshot(self, head: SnapshotHead, line: bytes) -> None:
        """Read the iframes of a snapshot; Playwright omits subtrees that did not change."""
        for found in _IFRAME.finditer(line):
            text = line[found.end() : found.end() + _MAX_ATTRIBUTE_BYTES].decode(errors="replace")
            try:
                attributes, _ = json.JSONDecoder().raw_decode(text)
            except ValueError:
                continue
            source = attributes.get("src")
            if isinstance(source, str) and source.startswith(_SNAPSHOT_PREFIX):
                self._parents[source.removeprefix(_SNAPSHOT_PREFIX)] = (head.frame, _iframe_selector(attributes))

    def path_to(self, frame: str) -> tuple[str, ...] | None:
        """Return the selectors of the iframes around a frame, outermost first; None if unknown."""
        path: list[str] = []
        while frame in self._parents and len(path) < len(self._parents):
            frame, selector = self._parents[frame]
            if selector is None:
                return None
            path.insert(0, selector)
        return tuple(path) or None


def _iframe_selector(attributes: Mapping[str, object]) -> str | None:
    for name in _IFRAME_ATTRIBUTES:
        value = attributes.get(name)
        if isinstance(value, str) and value:
            return attribute(name, value, tag="iframe").text
    return None


JsonObject: TypeAlias = "Mapping[str, JsonValue]"
"""A parsed JSON object."""
VERSIONS: Final = range(4, 11)
_SURROGATE_ESCAPE: Final = b"\\ud"
_MAX_NUMBER: Final = 1e15
_KNOWN_LINES: Final = frozenset(
    (
        *("context-options", "before", "after", "action", "input", "log", "event", "console", "object", "stdout"),
        *("stderr", "error", "frame-snapshot", "resource-snapshot", "screencast-frame", "screenshot"),
        *("aria-snapshot", "video"),
    )
)
_SNAPSHOT_LINE: Final = b'{"type":"frame-snapshot","snapshot":{'
_SCREENCAST_PREFIX: Final = b'{"type":"screencast-frame"'
_ACTING_LOG: Final = re.compile(r"\s*(performing|attempting) \w+ action|\s*navigating to ")


NEW_PAGE: Final = "BrowserContext.newPage"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHeader:
    """The first line: version, browser and context options."""

    version: int
    browser_name: str
    title: str
    options: JsonObject
    wall_ms: float
    """Milliseconds since 1970 at `monotonic_ms`."""
    monotonic_ms: float
    """Base of the times in the other lines; 0 in versions without it."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One call of Playwright's protocol (mutable while its lines are read)."""

    name: str
    """`Class.method`."""
    params: JsonObject
    start_ms: float
    title: str = ""
    parent: str | None = None
    step: str | None = None
    """Step of the test runner, in versions that number them separately."""
    page: str | None = None
    only_page: str | None = None
    """The page that was open when the call began, if there was only one."""
    frame: str | None = None
    """Frame of the target, if it is not the main frame."""
    has_marked_target: bool = False
    """Whether a snapshot marks the target, so that its frame is known."""
    has_iframes: bool | None = None
    """Whether its page had iframes; None if the trace has no snapshot of the call."""
    acted_at_ms: float | None = None
    """When the call acted on its element."""
    end_ms: float | None = None
    error: str | None = None
    result: JsonObject | None = None
    """What the call returned; None if the trace does not contain it."""
    dialog_answers: list[tuple[bool, str | None]] = field(default_factory=list)
    """Dialogs answered during the call: whether accepted, and the text."""
    starts_download: bool = False
    """Whether the call started a download."""
    opened_page: str | None = None
    """Page that the call opened, if it is `BrowserContext.newPage`."""


@dataclass(slots=True, kw_only=True)
class TraceContents:
    """The contents of one file."""

    head: TraceHeader
    calls: dict[str, Call] = field(default_factory=dict)
    """Calls by id, in order of their start."""
    pages: dict[str, str | None] = field(default_factory=dict)
    """Opener of each page by page id, in order of opening."""
    has_iframes: bool = False
    """Whether any page had iframes."""
    frames: FrameTree = field(default_factory=FrameTree)
    first_url: str = ""
    """URL of the document that was open when the recording started; empty if none."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Number of lines by unknown type."""


def read_trace_lines(lines: Iterable[tuple[int, bytes]], where: str) -> TraceContents:
    """Read a file line by line; `where` is its name in messages.

    Raises:
        ForeignFormatError: a line is not a JSON object, the head is missing, or the version is unknown.
    """
    reading: _TraceReader | None = None
    for number, line in lines:
        if reading is not None and line.startswith(_SNAPSHOT_LINE) and (head := read_snapshot_head(line)) is not None:
            reading.add_snapshot(head, line)
        elif not line.startswith(_SCREENCAST_PREFIX):
            plain = parse_line(line, f"{where}, line {number}")
            if reading is None:
                reading = _TraceReader(TraceContents(head=_read_header(plain, where)))
            else:
                reading.add_line(plain)
    if reading is None:
        message = f"{where}: the trace is empty. Record it again."
        raise ForeignFormatError(message)
    return reading.contents


def parse_line(line: bytes, where: str) -> JsonObject:
    """Parse one line.

    Raises:
        ForeignFormatError: the line is not a JSON object.
    """
    try:
        plain = _parse_json(line)
    except (ValueError, RecursionError) as error:
        raise ForeignFormatError(f"{where}: expected a JSON object, got {error}. Record it again.") from error
    if not isinstance(plain, dict):
        raise ForeignFormatError(f"{where}: expected a JSON object, got {type(plain).__name__}. Record it again.")
    return plain


def _parse_json(line: bytes) -> JsonValue:
    """Parse JSON; replace lone surrogates, which pages may send but UTF-8 cannot encode, by question marks."""
    try:
        return from_json(line, allow_inf_nan=False)  # type: ignore[no-any-return] # from_json returns JSON
    except ValueError:
        if _SURROGATE_ESCAPE not in line.lower():
            raise
        return from_json(json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace"))  # type: ignore[no-any-return] # as above


def _read_header(plain: JsonObject, where: str) -> TraceHeader:
    version = plain.get("version")
    if plain.get("type") != "context-options" or not isinstance(version, int):
        message = (
            f"{where}, line 1: expected context-options with a version, got {get_text(plain, 'type') or 'no type'}"
        )
        raise ForeignFormatError(message)
    if version not in VERSIONS:
        known = f"{VERSIONS[0]} to {VERSIONS[-1]}"
        advice = "Update Eikon." if version > VERSIONS[-1] else "Record it with a newer Playwright."
        raise ForeignFormatError(f"{where}: expected a trace of version {known}, got version {version}. {advice}")
    options = plain.get("options")
    return TraceHeader(
        version=version,
        browser_name=get_text(plain, "browserName"),
        title=get_text(plain, "title"),
        options=options if isinstance(options, dict) else {},
        wall_ms=get_number(plain, "wallTime") or 0.0,
        monotonic_ms=get_number(plain, "monotonicTime") or 0.0,
    )


class _TraceReader:
    """Collects the contents of a file line by line."""

    def __init__(self, found: TraceContents) -> None:
        self.contents = found
        self._last_click: Call | None = None
        self._download_awaited = False
        self._has_base = found.head.monotonic_ms > 0

    def add_line(self, plain: JsonObject) -> None:
        """Process one line."""
        kind = get_text(plain, "type")
        match kind:
            case "before" | "action":
                self._before(plain)
                if kind == "action":
                    self._after(plain)
            case "after":
                self._after(plain)
            case "log":
                self._log(plain)
            case "event":
                self._event(plain)
            case "frame-snapshot":
                line = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()
                head = read_snapshot_head(line)
                if head is not None:
                    self.add_snapshot(head, line)
            case _ if kind not in _KNOWN_LINES:
                self.contents.unknown[kind] = self.contents.unknown.get(kind, 0) + 1
            case _:
                pass

    def add_snapshot(self, head: SnapshotHead, line: bytes) -> None:
        """Read page, frame and time of a call from its snapshot."""
        self.contents.pages.setdefault(head.page, None)
        if head.is_main and not self.contents.first_url and self._is_initial_snapshot(head):
            self.contents.first_url = head.url
        self.contents.frames.add_snapshot(head, line)
        self.contents.has_iframes |= not head.is_main
        call = self.contents.calls.get(head.call)
        if call is None:
            return
        call.page = call.page or head.page
        call.has_iframes = bool(call.has_iframes) or not head.is_main
        if head.phase == "action":
            call.acted_at_ms = head.time_ms or call.acted_at_ms
        if head.has_target and head.phase != "before" and not call.has_marked_target:
            call.has_marked_target = True
            call.frame = None if head.is_main else head.frame

    def _is_initial_snapshot(self, head: SnapshotHead) -> bool:
        return head.phase == "before" and next(iter(self.contents.pages)) == head.page and not self._has_navigated(head)

    def _has_navigated(self, head: SnapshotHead) -> bool:
        earlier = (call for key, call in self.contents.calls.items() if key != head.call)
        return any(call.name == "Frame.goto" for call in earlier)

    def _before(self, plain: JsonObject) -> None:
        params = plain.get("params")
        call = Call(
            name=f"{get_text(plain, 'class')}.{get_text(plain, 'method')}",
            params=params if isinstance(params, dict) else {},
            start_ms=get_number(plain, "startTime") or 0.0,
            title=get_text(plain, "title") or get_text(plain, "apiName"),
            parent=get_text(plain, "parentId") or None,
            step=get_text(plain, "stepId") or None,
            page=get_text(plain, "pageId") or None,
            only_page=next(iter(self.contents.pages)) if len(self.contents.pages) == 1 else None,
        )
        self._set_time_base(plain, call)
        if call.name.startswith("Dialog."):
            self._assign_dialog_answer(call)
            return
        if call.page is not None:
            self.contents.pages.setdefault(call.page, None)
        if get_text(call.params, "event") == "download":
            self._download_awaited = True
        if call.name == "Frame.click":
            self._last_click = call
            call.starts_download, self._download_awaited = self._download_awaited, False
        self.contents.calls[get_text(plain, "callId")] = call

    def _set_time_base(self, plain: JsonObject, call: Call) -> None:
        """Use the first call as the base of all times, in versions whose head has none."""
        wall = get_number(plain, "wallTime")
        if not self._has_base and wall is not None:
            self.contents.head = replace(self.contents.head, wall_ms=wall, monotonic_ms=call.start_ms)
            self._has_base = True

    def _assign_dialog_answer(self, call: Call) -> None:
        """Assign the answer of a dialog to the call that opened it: the last one still running, else the last."""
        calls = list(self.contents.calls.values())
        acting = [each for each in calls if each.name.startswith(("Frame.", "Page.")) and "ait" not in each.name]
        running = [each for each in acting if each.end_ms is None]
        if running or acting:
            opener = (running or acting)[-1]
            opener.dialog_answers.append((call.name == "Dialog.accept", get_text(call.params, "promptText") or None))

    def _assign_opened_page(self, page: str) -> None:
        """Assign a page without an opener to the call that opens it: the first one still running."""
        for call in self.contents.calls.values():
            if call.name == NEW_PAGE and call.end_ms is None and call.opened_page is None:
                call.opened_page = page
                return

    def _after(self, plain: JsonObject) -> None:
        call = self.contents.calls.get(get_text(plain, "callId"))
        if call is not None:
            call.end_ms = get_number(plain, "endTime")
            call.error = _error_message(plain)
            result = plain.get("result")
            call.result = result if isinstance(result, dict) else None

    def _log(self, plain: JsonObject) -> None:
        call, time = self.contents.calls.get(get_text(plain, "callId")), get_number(plain, "time") or 0.0
        if call is not None and time > 0 and _ACTING_LOG.match(get_text(plain, "message")):
            call.acted_at_ms = time

    def _event(self, plain: JsonObject) -> None:
        params = plain.get("params")
        page = get_text(params, "pageId") if isinstance(params, dict) else ""
        if not isinstance(params, dict) or not page:
            return
        if plain.get("method") == "page":
            opener = self.contents.pages[page] = get_text(params, "openerPageId") or None
            if opener is None:
                self._assign_opened_page(page)
        elif plain.get("method") == "download" and self._last_click is not None:
            self._last_click.starts_download = True


def _error_message(plain: JsonObject) -> str | None:
    error = plain.get("error")
    while isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if error is None:
        return None
    return get_text(error, "message") or "unknown error" if isinstance(error, dict) else str(error)


def get_text(plain: JsonObject, name: str) -> str:
    """Return a string field; empty if it has another type."""
    value = plain.get(name)
    return value if isinstance(value, str) else ""


def get_number(plain: JsonObject, name: str) -> float | None:
    """Return a number field; None if it has another type or an implausible magnitude."""
    value = plain.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _MAX_NUMBER:
        return None
    return float(value)
