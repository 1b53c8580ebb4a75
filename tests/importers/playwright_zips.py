"""Synthetic Playwright traces."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any, TypeAlias

from eikon_engine.importers.foreign_file import open_foreign_file
from eikon_engine.importers.formats import import_recording
from eikon_engine.importers.imported_mission import ImportedMission

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

Line: TypeAlias = "dict[str, Any]"

URL = "http://shop.test/"
WALL_MS = 1_760_000_000_000
BASE_MS = 1_000.0
PAGE = "page@1"


def head(version: int = 10, *, title: str = "", **options: object) -> Line:
    """Return the first line of a trace."""
    return {
        "version": version,
        "type": "context-options",
        "browserName": "chromium",
        "title": title,
        "options": {"viewport": {"width": 1200, "height": 800}, **options},
        "wallTime": WALL_MS,
        "monotonicTime": BASE_MS,
    }


def call(
    number: int,
    name: str,
    /,
    *,
    parent: str | None = None,
    error: str | None = None,
    result: Line | None = None,
    **params: object,
) -> list[Line]:
    """Return a call `Class.method` that began `number` tenths of a second after the base and took 50 ms."""
    kind, _, method = name.partition(".")
    before: Line = {
        "type": "before",
        "callId": f"call@{number}",
        "startTime": BASE_MS + 100 * number,
        "class": kind,
        "method": method,
        "params": params,
    }
    after: Line = {"type": "after", "callId": f"call@{number}", "endTime": BASE_MS + 100 * number + 50}
    if parent is not None:
        before["parentId"] = parent
    if result is not None:
        after["result"] = result
    if error is not None:
        after["error"] = {"name": "Error", "message": error}
    return [before, after]


def group(number: int, title: str, parent: str | None = None) -> list[Line]:
    """Return the beginning of a group."""
    return [{**call(number, "Tracing.tracingGroup", parent=parent)[0], "title": title}]


def snapshot(number: int, phase: str, *, page: str = PAGE, frame: str = "", **fields: object) -> Line:
    """Return a snapshot of the main frame, or of another one."""
    return {
        "type": "frame-snapshot",
        "snapshot": {
            "callId": f"call@{number}",
            "phase": phase,
            "pageId": page,
            "frameId": frame or f"frame-of-{page}",
            "frameUrl": URL,
            "html": fields.pop("html", ["HTML", {}]),
            "timestamp": BASE_MS + 100 * number + 20,
            "isMainFrame": not frame,
            **fields,
        },
    }


def opened(page: str = PAGE, opener: str | None = None) -> Line:
    """Return the event of an opened page."""
    params = {"pageId": page} if opener is None else {"pageId": page, "openerPageId": opener}
    return {"type": "event", "time": BASE_MS, "class": "BrowserContext", "method": "page", "params": params}


def entry(at_ms: float, url: str = URL, *, kind: str = "document", **fields: Any) -> Line:  # noqa: ANN401 - plain data
    """Return an exchange that began `at_ms` after the base and took 10 ms."""
    seconds, milliseconds = divmod(WALL_MS + int(at_ms), 1000)
    moment = f"2025-10-09T08:53:{seconds % 60:02d}.{milliseconds:03d}Z"
    content = {"size": 2, "mimeType": "text/html", "text": "ok"}
    return {
        "type": "resource-snapshot",
        "snapshot": {
            "startedDateTime": moment,
            "time": 10.0,
            "request": {"method": "GET", "url": url, "headers": [], **fields.pop("request", {})},
            "response": {"status": 200, "headers": [], "content": content, **fields.pop("response", {})},
            "_resourceType": kind,
            **fields,
        },
    }


def write_zip(
    path: Path,
    lines: Iterable[Line],
    network: Iterable[Line] = (),
    others: Mapping[str, bytes | list[Line]] | None = None,
) -> Path:
    """Write an archive; `others` are additional files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.trace", in_lines(lines))
        archive.writestr("trace.network", in_lines(network))
        for name, content in (others or {}).items():
            data = content if isinstance(content, bytes) else in_lines(content)
            archive.writestr(name, data)
    return path


def in_lines(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """Return JSON Lines as Playwright writes them, without spaces."""
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def read_zip(path: Path, test: str | None = None) -> ImportedMission:
    """Read an archive as `eikon import` does."""
    with open_foreign_file(path) as file:
        mission = import_recording(file, None, test)
    assert isinstance(mission, ImportedMission)
    return mission
