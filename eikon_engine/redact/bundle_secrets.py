"""Collect the secrets of an existing bundle."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.dom import render_plain_html
from eikon_engine.errors import TraceSyntaxError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.limits import parse_json, read_document
from eikon_engine.files.paths import resolve_inside
from eikon_engine.llm.response_folder import RESPONSES_FOLDER, read_folder
from eikon_engine.network.store import read_network
from eikon_engine.network.websocket import SocketMessage, SocketOpened
from eikon_engine.redact.digests import storage_digest
from eikon_engine.secrets.search import SecretMatch
from eikon_engine.trace.accepted import read_accepted
from eikon_engine.trace.bundle import DOM_FOLDER, FILES_FOLDER, load_page
from eikon_engine.trace.trace_file import read_trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.network.exchange import Exchange, HeaderPairs
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.redact.secret_detector import SecretDetector
    from eikon_engine.secrets.redaction import Redactor
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.observation import StoredItem


_VALUE_CANDIDATE: Final = re.compile(r"[A-Za-z0-9_-]{8,512}")


class BundleSecrets:
    """The secrets of a bundle; mutable while the bundle is read."""

    def __init__(self, detector: SecretDetector) -> None:
        """Collect into `detector`."""
        self._detector = detector
        self._values: set[str] = set()
        self._http_only_cookies: set[tuple[str, str]] = set()
        """Names and values of httpOnly cookies."""

    def read_bundle(self, root: Path) -> None:
        """Read the whole bundle, requests before their responses.

        Raises:
            TraceError: a part of it cannot be read.
            ResponseFolderError: recorded responses cannot be read.
        """
        trace = read_trace(root)
        self._read_start_state(root, trace)
        if trace.network is not None:
            recording = read_network(resolve_inside(root, trace.network.folder, "network.folder"))
            self._read_network(recording)
            self._find_stored_values(trace, recording)
        plain = replace(self._detector.search, is_strict=False)
        self._add(plain.in_text(trace.model_dump_json(exclude={"redaction"})), by_page=True)
        self._read_accepted_pages(root)
        for response in read_folder(resolve_inside(root, RESPONSES_FOLDER, RESPONSES_FOLDER)).responses:
            self._add(plain.in_text(response.model_dump_json()), by_page=True)

    def changed_digests(self, redactor: Redactor) -> dict[str, str]:
        """Return new digests of stored values by their recorded digests, for the values that were seen."""
        clean = {value: redactor.redact_text(value) for value in self._values}
        for name, value in self._http_only_cookies:
            clean[value] = self._detector.redact_cookie(name, value, redactor.redact_text, is_http_only=True)
        return {storage_digest(old): storage_digest(new) for old, new in clean.items() if old != new}

    def unverifiable_items(self, trace: ExecutionTrace) -> tuple[str, ...]:
        """Return the names of stored items of which only a digest is known: they may contain a secret."""
        known = {storage_digest(value) for value in self._values}
        return tuple(sorted({item.name for item in _stored_items(trace) if item.digest not in known}))

    def _find_stored_values(self, trace: ExecutionTrace, recording: NetworkRecording) -> None:
        """Find the values of stored items with secret names by their digests in the recorded traffic."""
        expected = {
            item.digest: item for item in _stored_items(trace) if self._detector.search.rules.is_secret(item.name)
        }
        if not expected:
            return
        for ref in recording.refs:
            text = recording.body(ref).decode("utf-8", "replace")
            for candidate in dict.fromkeys(_VALUE_CANDIDATE.findall(text)):
                item = expected.get(storage_digest(candidate))
                if item is not None:
                    finding = SecretMatch(kind="storage", name=item.name, value=candidate)
                    self._add((finding,), by_page=True)

    def _read_accepted_pages(self, root: Path) -> None:
        """Search the accepted baselines, whose pages come from no recorded response."""
        store, discover = BlobStore(root / DOM_FOLDER), self._detector.search
        accepted = read_accepted(root)
        plain = replace(discover, is_strict=False)
        self._add(plain.in_text(accepted.model_dump_json()), by_page=True)
        steps = [step for acceptance in accepted.history for step in acceptance.steps]
        for value in (step.value for step in steps):
            if value is not None and value.long is not None:
                text = BlobStore(root / FILES_FOLDER).get(value.long).decode(errors="replace")
                self._add(plain.in_text(text), by_page=True)
        for page in (page for step in steps for page in step.observation.pages if page.snapshot is not None):
            snapshot = load_page(store, page)
            for frame in () if snapshot is None else snapshot.frames:
                self._add(discover.in_body(render_plain_html(frame).encode(), "text/html"), by_page=False)

    def _read_start_state(self, root: Path, trace: ExecutionTrace) -> None:
        relative = trace.start.storage_state
        state = {} if relative is None else _read_json(resolve_inside(root, relative, "start.storage_state"))
        for cookie in _object_list(state, "cookies"):
            name, value = str(cookie.get("name")), str(cookie.get("value"))
            is_hidden = bool(cookie.get("httpOnly"))
            self._add(self._detector.search.in_cookie(name, value, is_hidden=is_hidden), by_page=False)
        for origin in _object_list(state, "origins"):
            for item in _object_list(origin, "localStorage"):
                name, value = str(item.get("name")), str(item.get("value"))
                self._add(self._detector.search.in_storage(name, value), by_page=False)
        relative = trace.start.session_storage
        if relative is not None:
            kept = _read_json(resolve_inside(root, relative, "start.session_storage"))
            self._add(self._detector.search.in_values("storage", kept), by_page=False)

    def _read_network(self, recording: NetworkRecording) -> None:
        discover = self._detector.search
        for exchange in recording.exchanges:
            self._read_request(exchange, recording)
            self._read_response(exchange, recording)
        for event in recording.sockets:
            if isinstance(event, SocketOpened):
                self._add(discover.in_url(event.url), by_page=True)
            elif isinstance(event, SocketMessage):
                data = (event.text or "").encode() if event.body is None else recording.body(event.body)
                self._add(discover.in_body(data, "application/json"), by_page=event.sender == "page")

    def _read_request(self, exchange: Exchange, recording: NetworkRecording) -> None:
        request, discover = exchange.request, self._detector.search
        self._add(discover.in_url(request.url), by_page=True)
        self._add(discover.in_headers(request.headers), by_page=True)
        if request.body is not None:
            self._add(discover.in_body(recording.body(request.body), _content_type(request.headers)), by_page=True)

    def _read_response(self, exchange: Exchange, recording: NetworkRecording) -> None:
        discover, response = self._detector.search, exchange.response
        for hop in exchange.hops:
            self._add(discover.in_url(hop.url), by_page=False)
            self._add(discover.in_headers(hop.headers), by_page=False)
        if response is None:
            return
        self._add(discover.in_url(response.url), by_page=False)
        self._add(discover.in_headers(response.headers), by_page=False)
        if response.body is not None:
            self._add(discover.in_body(recording.body(response.body), _content_type(response.headers)), by_page=False)

    def _add(self, matches: Iterable[SecretMatch], *, by_page: bool) -> None:
        for each in matches:
            self._values.add(each.value)
            if each.is_unreadable_by_pages and each.kind == "cookie":
                self._http_only_cookies.add((each.name, each.value))
            self._detector.add((each,), by_page=by_page)


def _stored_items(trace: ExecutionTrace) -> Iterator[StoredItem]:
    for subgoal in trace.subgoal_traces:
        for action in subgoal.actions_taken:
            if action.observation is not None:
                yield from action.observation.storage or ()


def _content_type(headers: HeaderPairs) -> str:
    return next((value for name, value in headers if name.lower() == "content-type"), "")


def _object_list(value: JsonValue, name: str) -> Iterator[dict[str, JsonValue]]:
    listed = value.get(name) if isinstance(value, dict) else None
    yield from (each for each in listed if isinstance(each, dict)) if isinstance(listed, list) else ()


def _read_json(path: Path) -> JsonValue:
    try:
        value: JsonValue = parse_json(read_document(path, root=path.parent))
    except (OSError, ValueError) as error:
        message = f"{path}: malformed JSON: {error}; restore the bundle"
        raise TraceSyntaxError(message) from error
    return value
