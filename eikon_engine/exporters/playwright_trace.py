"""Write a bundle as a trace of Playwright, which its trace viewer opens: actions, snapshots, network and console.

With the outcome of a replay, what that found is attached to the actions. The format is that of version 8 of the traces
(`packages/trace/src/trace.ts` of Playwright); later viewers read it, too.
"""

from __future__ import annotations

import base64
import hashlib
import json
import mimetypes
import struct
import zipfile
from io import BytesIO
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from eikon_engine.dom.html import find_child_documents
from eikon_engine.errors import BundlePathError
from eikon_engine.exporters.har import export_har
from eikon_engine.files.limits import read_file
from eikon_engine.files.paths import resolve_inside
from eikon_engine.network.store import read_network
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace, Failed
from eikon_engine.trace.labels import step_label
from eikon_engine.trace.steps import iter_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.dom import DomNode, FrameSnapshot
    from eikon_engine.outcome.outcomes import ReplayOutcome, StepOutcome
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import SubgoalTrace
    from eikon_engine.trace.observation import Observation, PageObservation
    from eikon_engine.trace.steps import Step

    JsonObject: TypeAlias = dict[str, JsonValue]

TRACE_VERSION: Final = 8
_ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""Time of all files, so that the same bundle is the same trace."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PNG_HEADER_BYTES: Final = 24
"""Up to width and height, in pixels: https://www.w3.org/TR/png-3/#11IHDR."""
_STATE_ATTRIBUTES: Final = {
    "value": "__playwright_value_",
    "checked": "__playwright_checked_",
    "selected": "__playwright_selected_",
}
_SHADOW_ROOT: Final[JsonObject] = {"__playwright_shadow_root_": "true"}
_CHILD_FRAME: Final = "__playwright_src__"
MAX_ATTACHMENT_BYTES: Final = 20_000_000
"""Size of an artifact that is attached."""


def export_trace(bundle: Bundle, replayed: tuple[ReplayOutcome, Path] | None = None) -> bytes:
    """Return the trace as a zip file; `replayed` is an outcome of the bundle with the folder of its artifacts.

    Raises:
        TraceError: a part of the bundle cannot be read.
    """
    return _TraceWriter(bundle, replayed).write()


class _TraceWriter:
    def __init__(self, bundle: Bundle, replayed: tuple[ReplayOutcome, Path] | None) -> None:
        self._bundle = bundle
        self._artifacts = None if replayed is None else replayed[1]
        self._outcomes: dict[tuple[str, int], StepOutcome] = {}
        if replayed is not None:
            for subgoal in replayed[0].subgoals:
                self._outcomes |= {(subgoal.id, step.sequence): step for step in subgoal.steps}
        self._events: list[JsonObject] = []
        self._resources: dict[str, bytes] = {}
        self._last: tuple[PageObservation, ...] = ()
        """The pages after the last step that has an observation."""
        self._page_ms = 0.0
        """Page time at which the last action ended."""

    def write(self) -> bytes:
        """Return the zip file."""
        self._add(self._context_options())
        for subgoal in self._bundle.trace.subgoal_traces:
            self._add_subgoal(subgoal)
        files = {
            "trace.trace": _lines(self._events),
            "trace.network": _lines(self._network()),
            **{f"resources/{name}": data for name, data in sorted(self._resources.items())},
        }
        buffer = BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), data, zipfile.ZIP_DEFLATED)
        return buffer.getvalue()

    def _add(self, event: JsonObject) -> None:
        self._events.append(event)

    def _context_options(self) -> JsonObject:
        trace = self._bundle.trace
        environment = trace.environment
        options: JsonObject = {}
        if environment is not None:
            size = environment.viewport
            options = {"viewport": {"width": size.width, "height": size.height}, "userAgent": environment.user_agent}
        return {
            "version": TRACE_VERSION,
            "type": "context-options",
            "origin": "library",
            "browserName": "chromium" if environment is None else environment.browser_name,
            "platform": "" if environment is None else environment.platform,
            "options": options,
            "wallTime": self._began_ms,
            "monotonicTime": 0,
            "sdkLanguage": "python",
            "title": trace.mission_text,
            "contextId": "context@1",
        }

    @property
    def _began_ms(self) -> float:
        environment = self._bundle.trace.environment
        if environment is not None:
            return environment.clock_start_ms
        return self._bundle.trace.started_at.timestamp() * 1000

    def _add_subgoal(self, subgoal: SubgoalTrace) -> None:
        """Add a group with the steps of a subgoal."""
        call = f"call@{subgoal.id}"
        steps = [step for attempt, step in iter_steps(self._bundle.trace) if attempt.id == subgoal.id]
        self._add(
            {
                "type": "before",
                "callId": call,
                "startTime": self._page_ms,
                "title": subgoal.description or subgoal.id,
                "class": "Tracing",
                "method": "tracingGroup",
                "params": {},
            }
        )
        for step in steps:
            self._add_step(subgoal, step, call)
        self._add({"type": "after", "callId": call, "endTime": self._page_ms})

    def _add_step(self, subgoal: SubgoalTrace, step: Step, group: str) -> None:
        call, outcome = f"call@{step.id}", self._outcomes.get((subgoal.id, step.sequence))
        seen = step.observation if isinstance(step, ActionTrace) else None
        begin = self._page_ms if seen is None or seen.begun_ms is None else seen.begun_ms
        end = begin + (0.0 if seen is None else seen.virtual_ms)
        page = f"page@{0 if seen is None or not seen.pages else seen.pages[0].page}"
        before: JsonObject = {
            "type": "before",
            "callId": call,
            "parentId": group,
            "startTime": begin,
            "title": step_label(step),
            "class": "Frame",
            "method": step.action.type if isinstance(step, ActionTrace) else "skill",
            "params": _params(step),
            "pageId": page,
        }
        after: JsonObject = {"type": "after", "callId": call, "endTime": end, "attachments": self._attachments(outcome)}
        if problem := _problem(step, outcome):
            after["error"] = problem
        earlier = self._snapshots(f"before@{call}", call, self._last, begin)
        later = self._snapshots(f"after@{call}", call, () if seen is None else seen.pages, end)
        # The viewer learns from the action which snapshots are its own, so the action comes first.
        self._events += [before | ({"beforeSnapshot": f"before@{call}"} if earlier else {}), *earlier]
        self._events += [after | ({"afterSnapshot": f"after@{call}"} if later else {}), *later]
        if seen is not None:
            self._last = seen.pages
            self._add_messages(seen, page, end)
        self._add_picture(outcome, page, end)
        self._page_ms = end

    def _snapshots(self, name: str, call: str, pages: Sequence[PageObservation], at_ms: float) -> list[JsonObject]:
        """Return the documents of the first page, which is the one that a viewer shows."""
        found: list[JsonObject] = []
        for observed in pages[:1]:
            snapshot = load_page(self._bundle.dom, observed)
            for frame in () if snapshot is None else snapshot.frames:
                shown = self._frame(frame, observed.page, name, call, at_ms)
                found.append({"type": "frame-snapshot", "snapshot": shown})
        return found

    def _frame(self, frame: FrameSnapshot, page: int, name: str, call: str, at_ms: float) -> JsonObject:
        environment = self._bundle.trace.environment
        size = None if environment is None else environment.viewport
        return {
            "callId": call,
            "snapshotName": name,
            "pageId": f"page@{page}",
            "frameId": _frame_id(page, frame.path),
            "frameUrl": frame.url,
            "doctype": frame.doctype.partition("|")[0],
            "html": _html(frame, page),
            "viewport": {"width": 1280 if size is None else size.width, "height": 720 if size is None else size.height},
            "timestamp": at_ms,
            "wallTime": self._began_ms + at_ms,
            "collectionTime": 0,
            "resourceOverrides": [],
            "isMainFrame": not frame.path,
        }

    def _add_messages(self, seen: Observation, page: str, at_ms: float) -> None:
        for text in seen.console_errors:
            location: JsonObject = {"url": "", "lineNumber": 0, "columnNumber": 0}
            self._add(
                {
                    "type": "console",
                    "messageType": "error",
                    "text": text,
                    "args": [],
                    "location": location,
                    "time": at_ms,
                    "pageId": page,
                }
            )
        for text in seen.page_errors:
            error: JsonObject = {"error": {"name": "Error", "message": text, "stack": ""}}
            self._add(
                {
                    "type": "event",
                    "class": "BrowserContext",
                    "method": "pageError",
                    "params": {"error": error},
                    "time": at_ms,
                    "pageId": page,
                }
            )

    def _add_picture(self, outcome: StepOutcome | None, page: str, at_ms: float) -> None:
        """Add the screenshot of a replayed step to the film strip."""
        for artifact in () if outcome is None else outcome.artifacts:
            data = self._artifact(artifact.path) if artifact.name == "screenshot" else None
            if data is not None and data.startswith(_PNG) and len(data) >= _PNG_HEADER_BYTES:
                width, height = struct.unpack(">II", data[16:_PNG_HEADER_BYTES])
                self._add(
                    {
                        "type": "screencast-frame",
                        "pageId": page,
                        "sha1": self._store(data, ".png"),
                        "width": width,
                        "height": height,
                        "timestamp": at_ms,
                    }
                )

    def _attachments(self, outcome: StepOutcome | None) -> list[JsonValue]:
        """Attach what a replay found at a step: expected and observed as text, then its artifacts."""
        if outcome is None:
            return []
        found: list[JsonValue] = []
        findings = outcome.findings if isinstance(outcome, ActionOutcome) else ()
        for each in (*outcome.divergences, *findings):
            text = f"{each.message}\n\nexpected\n{each.expected}\n\nobserved\n{each.observed}\n\n{each.detail}"
            name = self._store(text.encode("utf-8", "replace"), ".txt")
            found.append({"name": f"{each.layer}: {each.code}", "contentType": "text/plain", "sha1": name})
        for artifact in outcome.artifacts:
            data = self._artifact(artifact.path)
            if data is not None:
                suffix = f".{artifact.path.rpartition('.')[2]}"
                kind = mimetypes.guess_type(artifact.path)[0] or "application/octet-stream"
                found.append({"name": artifact.name, "contentType": kind, "sha1": self._store(data, suffix)})
        return found

    def _artifact(self, path: str) -> bytes | None:
        """Read an artifact; None if it is missing, too large, or outside the folder."""
        if self._artifacts is None:
            return None
        try:
            file = resolve_inside(self._artifacts, path, "artifact")
            return read_file(file, root=file.parent) if file.stat().st_size <= MAX_ATTACHMENT_BYTES else None
        except (BundlePathError, OSError):
            return None

    def _store(self, data: bytes, suffix: str) -> str:
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest() + suffix
        self._resources[name] = data
        return name

    def _network(self) -> Iterator[JsonObject]:
        trace = self._bundle.trace
        if trace.network is None:
            return
        recording = read_network(resolve_inside(self._bundle.root, trace.network.folder, "network.folder"))
        har = export_har(recording, started_at=trace.started_at, version="")
        by_ordinal = {each.ordinal: each for each in recording.exchanges}
        for entry in cast("list[JsonObject]", cast("JsonObject", har["log"])["entries"]):
            exchange = by_ordinal[cast("int", cast("JsonObject", entry.pop("_eikon"))["ordinal"])]
            content = cast("JsonObject", cast("JsonObject", entry["response"]).get("content") or {})
            text = content.pop("text", None)
            if isinstance(text, str):
                encoded = content.pop("encoding", None) == "base64"
                body = base64.b64decode(text) if encoded else text.encode()
                content["_sha1"] = self._store(body, _suffix(str(content.get("mimeType", ""))))
            entry |= {
                "_frameref": _frame_id(0, exchange.request.frame),
                "pageref": "page@0",
                "_monotonicTime": exchange.started_ms,
            }
            yield {"type": "resource-snapshot", "snapshot": entry}


def _lines(events: Iterable[JsonObject]) -> bytes:
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)


def _frame_id(page: int, path: str) -> str:
    return f"frame@{page}.{path}" if path else f"frame@{page}"


def _suffix(media_type: str) -> str:
    return mimetypes.guess_extension(media_type.partition(";")[0].strip()) or ".dat"


def _params(step: Step) -> JsonObject:
    if not isinstance(step, ActionTrace):
        return {"skill": step.skill, **step.parameters}
    content = step.action.model_dump(mode="json", exclude={"type"}, exclude_defaults=True)
    target = content.pop("target", None)
    return {**({"selector": target["selector"]} if isinstance(target, dict) else {}), **content}


def _problem(step: Step, outcome: StepOutcome | None) -> JsonObject | None:
    """Return what went wrong at a step: in the replay, else in the recording."""
    if outcome is not None and outcome.divergences:
        first = outcome.divergences[0]
        return {"name": first.code, "message": f"{first.message} Expected {first.expected}, observed {first.observed}."}
    if outcome is None and isinstance(step.result, Failed):
        return {"name": step.result.code, "message": step.result.message}
    return None


def _html(frame: FrameSnapshot, page: int) -> JsonValue:
    """Return a document as nested lists of tag, attributes and children; texts are strings."""
    children = {path: _frame_id(page, path) for path in _paths_below(frame)}
    embedded = find_child_documents(frame, children)
    has_base = any(node.tag == "base" and node.attribute("href") is not None for node in frame.root.walk())
    root: list[JsonValue] = []
    waiting: list[tuple[DomNode, list[JsonValue]]] = [(frame.root, root)]
    while waiting:
        node, place = waiting.pop()
        if node.text is not None:
            place.append(node.text)
            continue
        made: list[JsonValue] = [node.tag, _attributes(node, embedded.get(id(node), ""))]
        place.append(made)
        if node.tag == "head" and not has_base:
            made.append(["base", {"href": frame.url}])  # the viewer serves the document from an address of its own
        below: list[tuple[DomNode, list[JsonValue]]] = []
        if node.shadow is not None:
            inside: list[JsonValue] = ["template", dict(_SHADOW_ROOT)]
            made.append(inside)
            below += [(child, inside) for child in node.shadow]
        below += [(child, made) for child in node.children]
        waiting += below[::-1]
    return root[0] if root else ["html", {}]


def _paths_below(frame: FrameSnapshot) -> Iterator[str]:
    """Yield the paths that child frames may have."""
    prefix = f"{frame.path}." if frame.path else ""
    return (f"{prefix}{number}" for number in range(sum(1 for _ in frame.root.walk())))


def _attributes(node: DomNode, child_frame: str) -> JsonObject:
    found: JsonObject = dict(node.attributes)
    for name, value in node.state:
        attribute = _STATE_ATTRIBUTES.get(name)
        if attribute is not None and value is not False:
            found[attribute] = "true" if value is True else str(value)
    if child_frame:
        found.pop("src", None)
        found[_CHILD_FRAME] = f"/snapshot/{child_frame}"
    return found
