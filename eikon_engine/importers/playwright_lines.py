"""Read one `.trace` file of Playwright: calls with their pages and times.

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
from eikon_engine.importers.playwright_frames import FrameTree, SnapshotHead, snapshot_head

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

Plain: TypeAlias = "Mapping[str, JsonValue]"
"""A parsed JSON object."""
VERSIONS: Final = range(4, 11)
_HALF: Final = b"\\ud"
_GREATEST: Final = 1e15
_KNOWN: Final = frozenset(
    (
        *("context-options", "before", "after", "action", "input", "log", "event", "console", "object", "stdout"),
        *("stderr", "error", "frame-snapshot", "resource-snapshot", "screencast-frame", "screenshot"),
        *("aria-snapshot", "video"),
    )
)
_SNAPSHOT: Final = b'{"type":"frame-snapshot","snapshot":{'
_PICTURE: Final = b'{"type":"screencast-frame"'
_ACTING: Final = re.compile(r"\s*(performing|attempting) \w+ action|\s*navigating to ")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHead:
    """The first line: version, browser and context options."""

    version: int
    browser_name: str
    title: str
    options: Plain
    wall_ms: float
    """Milliseconds since 1970 at `monotonic_ms`."""
    monotonic_ms: float
    """Base of the times in the other lines; 0 in versions without it."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One call of Playwright's protocol (mutable while its lines are read)."""

    name: str
    """`Class.method`."""
    params: Plain
    start_ms: float
    title: str = ""
    parent: str | None = None
    step: str | None = None
    """Step of the test runner, in versions that number them separately."""
    page: str | None = None
    frame: str | None = None
    """Frame of the target, if it is not the main frame."""
    acted_ms: float | None = None
    """When the call acted on its element."""
    end_ms: float | None = None
    error: str | None = None
    answers: list[tuple[bool, str | None]] = field(default_factory=list)
    """Dialogs answered during the call: whether accepted, and the text."""
    downloads: bool = False
    """Whether the call started a download."""


@dataclass(slots=True, kw_only=True)
class TraceLines:
    """The contents of one file."""

    head: TraceHead
    calls: dict[str, Call] = field(default_factory=dict)
    """Calls by id, in order of their start."""
    pages: dict[str, str | None] = field(default_factory=dict)
    """Opener of each page by page id, in order of opening."""
    frames: FrameTree = field(default_factory=FrameTree)
    first_url: str = ""
    """URL of the document that was open when the recording started; empty if none."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Number of lines by unknown type."""


def read_lines(lines: Iterable[tuple[int, bytes]], where: str) -> TraceLines:
    """Read a file line by line; `where` is its name in messages.

    Raises:
        ForeignFormatError: a line is not a JSON object, the head is missing, or the version is unknown.
    """
    reading: _Reading | None = None
    for number, line in lines:
        if reading is not None and line.startswith(_SNAPSHOT) and (head := snapshot_head(line)) is not None:
            reading.snapshot(head, line)
        elif not line.startswith(_PICTURE):
            plain = parse_line(line, f"{where}, line {number}")
            if reading is None:
                reading = _Reading(TraceLines(head=_head(plain, where)))
            else:
                reading.take(plain)
    if reading is None:
        message = f"{where}: the trace is empty. Record it again."
        raise ForeignFormatError(message)
    return reading.found


def parse_line(line: bytes, where: str) -> Plain:
    """Parse one line.

    Raises:
        ForeignFormatError: the line is not a JSON object.
    """
    try:
        plain = _parsed(line)
    except (ValueError, RecursionError) as error:
        raise ForeignFormatError(f"{where}: expected a JSON object, got {error}. Record it again.") from error
    if not isinstance(plain, dict):
        raise ForeignFormatError(f"{where}: expected a JSON object, got {type(plain).__name__}. Record it again.")
    return plain


def _parsed(line: bytes) -> JsonValue:
    """Parse JSON; replace lone surrogates, which pages may send but UTF-8 cannot encode, by question marks."""
    try:
        return from_json(line, allow_inf_nan=False)  # type: ignore[no-any-return] # from_json returns JSON
    except ValueError:
        if _HALF not in line.lower():
            raise
        return from_json(json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace"))  # type: ignore[no-any-return] # as above


def _head(plain: Plain, where: str) -> TraceHead:
    version = plain.get("version")
    if plain.get("type") != "context-options" or not isinstance(version, int):
        message = f"{where}, line 1: expected context-options with a version, got {text_of(plain, 'type') or 'no type'}"
        raise ForeignFormatError(message)
    if version not in VERSIONS:
        known = f"{VERSIONS[0]} to {VERSIONS[-1]}"
        advice = "Update Eikon." if version > VERSIONS[-1] else "Record it with a newer Playwright."
        raise ForeignFormatError(f"{where}: expected a trace of version {known}, got version {version}. {advice}")
    options = plain.get("options")
    return TraceHead(
        version=version,
        browser_name=text_of(plain, "browserName"),
        title=text_of(plain, "title"),
        options=options if isinstance(options, dict) else {},
        wall_ms=number_of(plain, "wallTime") or 0.0,
        monotonic_ms=number_of(plain, "monotonicTime") or 0.0,
    )


class _Reading:
    """Collects the contents of a file line by line."""

    def __init__(self, found: TraceLines) -> None:
        self.found = found
        self._last_click: Call | None = None
        self._download_awaited = False
        self._has_base = found.head.monotonic_ms > 0

    def take(self, plain: Plain) -> None:
        """Process one line."""
        kind = text_of(plain, "type")
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
                head = snapshot_head(line)
                if head is not None:
                    self.snapshot(head, line)
            case _ if kind not in _KNOWN:
                self.found.unknown[kind] = self.found.unknown.get(kind, 0) + 1
            case _:
                pass

    def snapshot(self, head: SnapshotHead, line: bytes) -> None:
        """Read page, frame and time of a call from its snapshot."""
        self.found.pages.setdefault(head.page, None)
        if head.is_main and not self.found.first_url and self._is_first(head):
            self.found.first_url = head.url
        self.found.frames.learn(head, line)
        call = self.found.calls.get(head.call)
        if call is None:
            return
        call.page = call.page or head.page
        if head.phase == "action":
            call.acted_ms = head.time_ms or call.acted_ms
            if head.has_target and not head.is_main:
                call.frame = head.frame

    def _is_first(self, head: SnapshotHead) -> bool:
        return head.phase == "before" and next(iter(self.found.pages)) == head.page and not self._went_somewhere(head)

    def _went_somewhere(self, head: SnapshotHead) -> bool:
        earlier = (call for key, call in self.found.calls.items() if key != head.call)
        return any(call.name == "Frame.goto" for call in earlier)

    def _before(self, plain: Plain) -> None:
        params = plain.get("params")
        call = Call(
            name=f"{text_of(plain, 'class')}.{text_of(plain, 'method')}",
            params=params if isinstance(params, dict) else {},
            start_ms=number_of(plain, "startTime") or 0.0,
            title=text_of(plain, "title") or text_of(plain, "apiName"),
            parent=text_of(plain, "parentId") or None,
            step=text_of(plain, "stepId") or None,
            page=text_of(plain, "pageId") or None,
        )
        self._learn_base(plain, call)
        if call.name.startswith("Dialog."):
            self._answered(call)
            return
        if call.page is not None:
            self.found.pages.setdefault(call.page, None)
        if text_of(call.params, "event") == "download":
            self._download_awaited = True
        if call.name == "Frame.click":
            self._last_click = call
            call.downloads, self._download_awaited = self._download_awaited, False
        self.found.calls[text_of(plain, "callId")] = call

    def _learn_base(self, plain: Plain, call: Call) -> None:
        """Use the first call as the base of all times, in versions whose head has none."""
        wall = number_of(plain, "wallTime")
        if not self._has_base and wall is not None:
            self.found.head = replace(self.found.head, wall_ms=wall, monotonic_ms=call.start_ms)
            self._has_base = True

    def _answered(self, call: Call) -> None:
        """Assign the answer of a dialog to the call that opened it: the last one still running, else the last."""
        calls = list(self.found.calls.values())
        acting = [each for each in calls if each.name.startswith(("Frame.", "Page.")) and "ait" not in each.name]
        running = [each for each in acting if each.end_ms is None]
        if running or acting:
            opener = (running or acting)[-1]
            opener.answers.append((call.name == "Dialog.accept", text_of(call.params, "promptText") or None))

    def _after(self, plain: Plain) -> None:
        call = self.found.calls.get(text_of(plain, "callId"))
        if call is not None:
            call.end_ms = number_of(plain, "endTime")
            call.error = _error(plain)

    def _log(self, plain: Plain) -> None:
        call, time = self.found.calls.get(text_of(plain, "callId")), number_of(plain, "time") or 0.0
        if call is not None and time > 0 and _ACTING.match(text_of(plain, "message")):
            call.acted_ms = time

    def _event(self, plain: Plain) -> None:
        params = plain.get("params")
        page = text_of(params, "pageId") if isinstance(params, dict) else ""
        if not isinstance(params, dict) or not page:
            return
        if plain.get("method") == "page":
            self.found.pages[page] = text_of(params, "openerPageId") or None
        elif plain.get("method") == "download" and self._last_click is not None:
            self._last_click.downloads = True


def _error(plain: Plain) -> str | None:
    error = plain.get("error")
    while isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if error is None:
        return None
    return text_of(error, "message") or "unknown error" if isinstance(error, dict) else str(error)


def text_of(plain: Plain, name: str) -> str:
    """Return a string field; empty if it has another type."""
    value = plain.get(name)
    return value if isinstance(value, str) else ""


def number_of(plain: Plain, name: str) -> float | None:
    """Return a number field; None if it has another type or an implausible magnitude."""
    value = plain.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _GREATEST:
        return None
    return float(value)
