"""Read frames and targets from DOM snapshots of a trace, without parsing the documents."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.importers.selectors import attribute

if TYPE_CHECKING:
    from collections.abc import Mapping

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
