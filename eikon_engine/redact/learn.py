"""Collect the secrets of an existing bundle."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json

from eikon_engine.completions.folder import RESPONSES_FOLDER, read_folder
from eikon_engine.errors import TraceSyntaxError
from eikon_engine.network.socket import SocketMessage, SocketOpened
from eikon_engine.network.store import read_network
from eikon_engine.redact.discover import Finding
from eikon_engine.redact.memory import stored_digest
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.serializer import read_trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.network.exchange import Exchange, HeaderPairs
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.redact.found import FoundSecrets
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.observation import StoredItem
    from eikon_engine.trace.redaction import Redactor


_CANDIDATE: Final = re.compile(r"[A-Za-z0-9_-]{8,512}")


class BundleSecrets:
    """The secrets of a bundle; mutable while the bundle is read."""

    def __init__(self, found: FoundSecrets) -> None:
        """Collect into `found`."""
        self._found = found
        self._values: set[str] = set()
        self._hidden: set[tuple[str, str]] = set()
        """Names and values of httpOnly cookies."""

    def read(self, root: Path) -> None:
        """Read the whole bundle, requests before their responses.

        Raises:
            TraceError: a part of it cannot be read.
            ResponsesError: recorded responses cannot be read.
        """
        trace = read_trace(root)
        self._read_start(root, trace)
        if trace.network is not None:
            recording = read_network(inside(root, trace.network.folder, "network.folder"))
            self._read_network(recording)
            self._find_stored(trace, recording)
        plain = replace(self._found.discover, is_strict=False)
        self._learn(plain.in_text(trace.model_dump_json(exclude={"redaction"})), made=True)
        for response in read_folder(inside(root, RESPONSES_FOLDER, RESPONSES_FOLDER)).responses:
            self._learn(plain.in_text(response.model_dump_json()), made=True)

    def renamed(self, redactor: Redactor) -> dict[str, str]:
        """Return new digests of stored values by their recorded digests, for the values that were seen."""
        clean = {value: redactor.text(value) for value in self._values}
        for name, value in self._hidden:
            clean[value] = self._found.cookie_value(name, value, redactor.text, is_hidden=True)
        return {stored_digest(old): stored_digest(new) for old, new in clean.items() if old != new}

    def unexplained(self, trace: ExecutionTrace) -> tuple[str, ...]:
        """Return the names of stored items of which only a digest is known: they may contain a secret."""
        known = {stored_digest(value) for value in self._values}
        return tuple(sorted({item.name for item in _stored(trace) if item.digest not in known}))

    def _find_stored(self, trace: ExecutionTrace, recording: NetworkRecording) -> None:
        """Find the values of stored items with secret names by their digests in the recorded traffic."""
        wanted = {item.digest: item for item in _stored(trace) if self._found.discover.rules.is_secret(item.name)}
        if not wanted:
            return
        for ref in recording.refs:
            text = recording.body(ref).decode("utf-8", "replace")
            for candidate in dict.fromkeys(_CANDIDATE.findall(text)):
                item = wanted.get(stored_digest(candidate))
                if item is not None:
                    finding = Finding(kind="storage", name=item.name, value=candidate)
                    self._learn((finding,), made=True)

    def _read_start(self, root: Path, trace: ExecutionTrace) -> None:
        relative = trace.start.storage_state
        state = {} if relative is None else _json(inside(root, relative, "start.storage_state"))
        for cookie in _objects(state, "cookies"):
            name, value = str(cookie.get("name")), str(cookie.get("value"))
            is_hidden = bool(cookie.get("httpOnly"))
            self._learn(self._found.discover.in_cookie(name, value, is_hidden=is_hidden), made=False)
        for origin in _objects(state, "origins"):
            for item in _objects(origin, "localStorage"):
                name, value = str(item.get("name")), str(item.get("value"))
                self._learn(self._found.discover.in_storage(name, value), made=False)
        relative = trace.start.session_storage
        if relative is not None:
            kept = _json(inside(root, relative, "start.session_storage"))
            self._learn(self._found.discover.in_values("storage", kept), made=False)

    def _read_network(self, recording: NetworkRecording) -> None:
        discover = self._found.discover
        for exchange in recording.exchanges:
            self._read_request(exchange, recording)
            self._read_answer(exchange, recording)
        for event in recording.sockets:
            if isinstance(event, SocketOpened):
                self._learn(discover.in_address(event.url), made=True)
            elif isinstance(event, SocketMessage):
                data = (event.text or "").encode() if event.body is None else recording.body(event.body)
                self._learn(discover.in_body(data, "application/json"), made=event.sender == "page")

    def _read_request(self, exchange: Exchange, recording: NetworkRecording) -> None:
        request, discover = exchange.request, self._found.discover
        self._learn(discover.in_address(request.url), made=True)
        self._learn(discover.in_headers(request.headers), made=True)
        if request.body is not None:
            self._learn(discover.in_body(recording.body(request.body), _type(request.headers)), made=True)

    def _read_answer(self, exchange: Exchange, recording: NetworkRecording) -> None:
        discover, response = self._found.discover, exchange.response
        for hop in exchange.hops:
            self._learn(discover.in_address(hop.url), made=False)
            self._learn(discover.in_headers(hop.headers), made=False)
        if response is None:
            return
        self._learn(discover.in_address(response.url), made=False)
        self._learn(discover.in_headers(response.headers), made=False)
        if response.body is not None:
            self._learn(discover.in_body(recording.body(response.body), _type(response.headers)), made=False)

    def _learn(self, findings: Iterable[Finding], *, made: bool) -> None:
        for each in findings:
            self._values.add(each.value)
            if each.is_hidden and each.kind == "cookie":
                self._hidden.add((each.name, each.value))
            self._found.learn((each,), made=made)


def _stored(trace: ExecutionTrace) -> Iterator[StoredItem]:
    for subgoal in trace.subgoal_traces:
        for action in subgoal.actions_taken:
            if action.observation is not None:
                yield from action.observation.storage or ()


def _type(headers: HeaderPairs) -> str:
    return next((value for name, value in headers if name.lower() == "content-type"), "")


def _objects(value: JsonValue, name: str) -> Iterator[dict[str, JsonValue]]:
    listed = value.get(name) if isinstance(value, dict) else None
    yield from (each for each in listed if isinstance(each, dict)) if isinstance(listed, list) else ()


def _json(path: Path) -> JsonValue:
    try:
        value: JsonValue = from_json(path.read_bytes())
    except (OSError, ValueError) as error:
        message = f"{path}: malformed JSON: {error}; restore the bundle"
        raise TraceSyntaxError(message) from error
    return value
