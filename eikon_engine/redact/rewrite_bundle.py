"""Rewrite the files of a bundle without the known secrets: trace, DOM, network, start state, responses."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from eikon_engine.dom import frame_digest, map_strings
from eikon_engine.dom.inline_scripts import changed_script_digests
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.files.limits import parse_json, read_document
from eikon_engine.files.models import FileModel
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.writing import write_atomically
from eikon_engine.llm.response_folder import RESPONSES_FOLDER
from eikon_engine.llm.rewrite_responses import redact_responses
from eikon_engine.network.exchange import Exchange, Piece, RecordedRequest
from eikon_engine.network.keys import request_key
from eikon_engine.network.store import read_network, write_network
from eikon_engine.network.websocket import SocketAccepted, SocketClosed, SocketMessage, SocketOpened, message_key
from eikon_engine.secrets.redaction import strip_encodings
from eikon_engine.trace.accepted import AcceptedBaselines, AcceptedStep, read_accepted, write_accepted
from eikon_engine.trace.bundle import DOM_FOLDER, FILES_FOLDER, load_snapshot, store_snapshot
from eikon_engine.trace.certificate import read_last_certification, write_last_certification
from eikon_engine.trace.execution import ExecutionTrace
from eikon_engine.trace.trace_file import JOURNAL_FILE, TRACE_FILE, read_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.network.exchange import HeaderPairs, RecordedResponse
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.network.websocket import SocketEvent
    from eikon_engine.redact.secret_detector import SecretDetector
    from eikon_engine.secrets.redaction import Redactor
    from eikon_engine.trace.observation import Observation


def rewrite_network(folder: Path, redactor: Redactor, renaming: Renames) -> bool:
    """Rewrite index, sockets and bodies, and collect changed keys; return whether anything changed.

    A truncated last line is dropped, because its content is unknown.
    """
    recording = read_network(folder)
    types = _content_types(recording)
    for ref in recording.refs:
        data = recording.body(ref)
        clean = redactor.redact_bytes(data)
        if clean != data:
            renaming.add_blob(ref, recording.blobs.put(clean))
            renaming.texts |= changed_script_digests(data, clean, types.get(ref, ""))
    exchanges = [_rewrite_exchange(each, recording.blobs, redactor, renaming) for each in recording.exchanges]
    messages = _message_keys(recording)
    sockets = [_rewrite_event(each, redactor, renaming) for each in recording.sockets]
    cleaned = dataclass_replace(recording, exchanges=tuple(exchanges), sockets=tuple(sockets))
    renaming.texts |= dict(zip(messages, _message_keys(cleaned), strict=True))
    is_changed = tuple(exchanges) != recording.exchanges or tuple(sockets) != recording.sockets
    if is_changed or recording.truncation is not None:
        write_network(folder, cleaned)
    return is_changed


def _content_types(recording: NetworkRecording) -> dict[BlobRef, str]:
    return {
        exchange.response.body: value
        for exchange in recording.exchanges
        if exchange.response is not None and exchange.response.body is not None
        for name, value in exchange.response.headers
        if name.lower() == "content-type"
    }


def _message_keys(recording: NetworkRecording) -> list[str]:
    """Return the keys of messages sent by pages."""
    urls = {event.socket: event.url for event in recording.sockets if isinstance(event, SocketOpened)}
    return [
        message_key(urls[event.socket], strip_encodings(_message_bytes(event, recording.blobs)))
        for event in recording.sockets
        if isinstance(event, SocketMessage) and event.sender == "page" and event.socket in urls
    ]


def _message_bytes(message: SocketMessage, blobs: BlobStore) -> bytes:
    return (message.text or "").encode() if message.body is None else blobs.get(message.body)


def _rewrite_exchange(exchange: Exchange, blobs: BlobStore, redactor: Redactor, renaming: Renames) -> Exchange:
    response = None if exchange.response is None else _rewrite_response(exchange.response, redactor, renaming)
    request = exchange.request.model_copy(
        update={
            "url": redactor.redact_text(exchange.request.url),
            "headers": _rewrite_headers(exchange.request.headers, redactor, renaming),
            "body": renaming.current_ref(exchange.request.body),
        }
    )
    hops = tuple(
        hop.model_copy(
            update={"url": redactor.redact_text(hop.url), "headers": _rewrite_headers(hop.headers, redactor, renaming)}
        )
        for hop in exchange.hops
    )
    key = exchange.key
    if (request.url, request.body) != (exchange.request.url, exchange.request.body):
        key = _rewritten_key(request, blobs)
        renaming.texts[exchange.key] = key
    clean = exchange.model_copy(update={"key": key, "request": request, "hops": hops, "response": response})
    if clean.pieces:
        clean = clean.model_copy(update={"pieces": _rewrite_pieces(clean)})
    return Exchange.model_validate_json(clean.model_dump_json()) if clean != exchange else exchange


def _rewrite_pieces(exchange: Exchange) -> tuple[Piece, ...]:
    """Return the pieces of a body; a body of another size becomes one piece, because its boundaries are unknown."""
    body = exchange.response.body if exchange.response is not None else None
    size = body.size if body is not None else 0
    if sum(each.length for each in exchange.pieces) == size:
        return exchange.pieces
    first, last = exchange.pieces[0].moment, exchange.pieces[-1].moment
    return (Piece(length=0 if len(exchange.pieces) > 1 else size, moment=first),) + (
        (Piece(length=size, moment=last),) if len(exchange.pieces) > 1 else ()
    )


def _rewritten_key(request: RecordedRequest, blobs: BlobStore) -> str:
    body = None if request.body is None else strip_encodings(blobs.get(request.body))
    content_type = next((value for name, value in request.headers if name.lower() == "content-type"), None)
    return request_key(request.method, request.url, body, content_type)


def _rewrite_response(response: RecordedResponse, redactor: Redactor, renaming: Renames) -> RecordedResponse:
    return response.model_copy(
        update={
            "url": redactor.redact_text(response.url),
            "headers": _rewrite_headers(response.headers, redactor, renaming),
            "body": renaming.current_ref(response.body),
        }
    )


def _rewrite_headers(headers: HeaderPairs, redactor: Redactor, renaming: Renames) -> HeaderPairs:
    found, redact = renaming.detector, redactor.redact_text
    if found is None:
        return tuple((name, redact(value)) for name, value in headers)
    return tuple((name, found.redact_header(name, value, redact)) for name, value in headers)


def _rewrite_event(event: SocketEvent, redactor: Redactor, renaming: Renames) -> SocketEvent:
    match event:
        case SocketOpened():
            return event.model_copy(update={"url": redactor.redact_text(event.url)})
        case SocketMessage():
            text = None if event.text is None else redactor.redact_text(event.text)
            return event.model_copy(update={"text": text, "body": renaming.current_ref(event.body)})
        case SocketClosed():
            return event.model_copy(update={"reason": redactor.redact_text(event.reason)})
        case SocketAccepted():
            return event


@dataclass(slots=True)
class Renames:
    """New names of what changed: blobs, digests of documents and storage, request keys."""

    texts: dict[str, str] = field(default_factory=dict)
    blobs: dict[BlobRef, BlobRef] = field(default_factory=dict)
    detector: SecretDetector | None = None
    """Replaces values in headers and cookies in place; None if that is done already."""

    def add_blob(self, old: BlobRef, new: BlobRef) -> None:
        """Store the new content address of a blob."""
        self.blobs[old] = new
        self.texts[old.sha256] = new.sha256

    def current_ref(self, ref: BlobRef | None) -> BlobRef | None:
        """Return the current reference of a blob."""
        return None if ref is None else self.blobs.get(ref, ref)


def redact_bundle(
    root: Path, redactor: Redactor, digests: Mapping[str, str], detector: SecretDetector | None = None
) -> bool:
    """Rewrite everything that contains a known secret; return whether anything changed.

    `detector` also replaces values in headers and cookies in place, which recordings do themselves. `digests` maps
    written digests and keys to their new values. Files are written atomically, and blobs before the files that refer to
    them; unreferenced blobs are removed last.

    Raises:
        TraceError: the bundle cannot be read.
        ResponseFolderError: recorded responses cannot be read.
        OutputError: a file cannot be written.
    """
    trace = read_trace(root)
    renaming = Renames(texts=dict(digests), detector=detector)
    rewrite_blobs(BlobStore(root / FILES_FOLDER), redactor, renaming)
    is_changed = False
    if trace.network is not None:
        is_changed = rewrite_network(resolve_inside(root, trace.network.folder, "network.folder"), redactor, renaming)
    _rewrite_documents(BlobStore(root / DOM_FOLDER), redactor, renaming)
    is_changed = _rewrite_start_state(root, trace, redactor, detector) or is_changed
    clean = redact_trace(trace, redactor, renaming)
    if clean != trace or not (root / TRACE_FILE).exists():
        write_trace(clean, root / TRACE_FILE)
        (root / JOURNAL_FILE).unlink(missing_ok=True)
        is_changed = True
    is_changed = _rewrite_accepted(root, redactor, renaming) or is_changed
    is_changed = _rewrite_last_certification(root, redactor) or is_changed
    _remove_replaced_blobs(root, trace, renaming)
    is_changed = (
        redact_responses(resolve_inside(root, RESPONSES_FOLDER, RESPONSES_FOLDER), redactor.redact_text) or is_changed
    )
    return is_changed or bool(renaming.blobs)


def _rewrite_accepted(root: Path, redactor: Redactor, renaming: Renames) -> bool:
    """Rewrite the accepted baselines; return whether anything changed."""
    accepted = read_accepted(root)
    plain = accepted.model_dump(mode="json")
    clean = _rewrite_value(plain, redactor, renaming)
    if clean == plain:
        return False
    found = validate_redacted(AcceptedBaselines, plain, clean)
    history = tuple(each.model_copy(update={"steps": tuple(map(_sort_accepted, each.steps))}) for each in found.history)
    write_accepted(root, AcceptedBaselines(history=history))
    return True


def _rewrite_last_certification(root: Path, redactor: Redactor) -> bool:
    """Rewrite the texts of the note of a certification without a certificate; return whether anything changed."""
    last = read_last_certification(root)
    if last is None:
        return False
    texts = {"reason": redactor.redact_text(last.reason), "next_step": redactor.redact_text(last.next_step)}
    clean = last.model_copy(update=texts)
    if clean == last:
        return False
    write_last_certification(root, clean)
    return True


def _sort_accepted(step: AcceptedStep) -> AcceptedStep:
    return step.model_copy(update={"observation": _sort_observation(step.observation)})


def rewrite_blobs(store: BlobStore, redactor: Redactor, renaming: Renames) -> None:
    """Store a redacted copy of each blob that contains a secret; the original stays until it is unreferenced."""
    for ref in _blob_refs(store):
        data = store.get(ref)
        clean = redactor.redact_bytes(data)
        if clean != data:
            renaming.add_blob(ref, store.put(clean))


def redact_trace(trace: ExecutionTrace, redactor: Redactor, renaming: Renames) -> ExecutionTrace:
    """Return the trace without known secrets and with current names."""
    plain = trace.model_dump(mode="json", exclude={"redaction"})
    clean = _rewrite_value(plain, redactor, renaming)
    if clean == plain:
        return trace
    found = validate_redacted(ExecutionTrace, plain, clean)
    subgoals = tuple(
        subgoal.model_copy(
            update={
                "actions_taken": tuple(
                    action.model_copy(update={"observation": _sort_observation(action.observation)})
                    for action in subgoal.actions_taken
                )
            }
        )
        for subgoal in found.subgoal_traces
    )
    return found.model_copy(update={"subgoal_traces": subgoals, "redaction": trace.redaction})


_ModelT = TypeVar("_ModelT", bound=FileModel)
_TAGS: Final = frozenset({"kind", "type"})
"""Members that name the kind of a value."""


def validate_redacted(model: type[_ModelT], plain: JsonValue, clean: JsonValue) -> _ModelT:
    """Validate redacted data; where a secret is part of a time, a digest or a kind by chance, that stays as it was.

    `plain` is the valid data before the redaction.
    """
    while True:
        try:
            return model.model_validate_json(json.dumps(clean))
        except ValidationError as error:
            restored = clean
            for each in error.errors():
                restored = _restore_at(plain, restored, each["loc"])
            if restored == clean:
                raise
            clean = restored


def redact_values(value: JsonValue, redact: Callable[[str], str]) -> JsonValue:
    """Return the data of a model with all strings redacted, and its field names as they are."""
    match value:
        case str():
            return redact(value)
        case list():
            return [redact_values(each, redact) for each in value]
        case dict():
            return {_redact_key(redact, key): redact_values(each, redact) for key, each in value.items()}
        case _:
            return value


def _redact_key(redact: Callable[[str], str], key: str) -> str:
    return key if key in _field_names() else redact(key)


@cache
def _field_names() -> frozenset[str]:
    """Return the names of all fields of a trace.

    The JSON schema of a trace has them, too, but takes long to generate, during an agent's first action.
    """
    names: set[str] = set()
    models: set[type[BaseModel]] = set()
    waiting: list[object] = [ExecutionTrace]
    while waiting:
        kind = waiting.pop()
        if not isinstance(kind, type) or not issubclass(kind, BaseModel):
            waiting.extend(get_args(kind))
        elif kind not in models:
            models.add(kind)
            names |= kind.model_fields.keys()
            waiting.extend(each.annotation for each in kind.model_fields.values())
    return frozenset(names)


def _restore_at(plain: JsonValue, clean: JsonValue, location: tuple[int | str, ...]) -> JsonValue:
    """Return redacted data with the value at a location of pydantic as it was.

    What is neither a member nor a position there is the kind of a value, or the value itself.
    """
    for place, name in enumerate(location):
        rest = location[place + 1 :]
        if isinstance(plain, dict) and isinstance(clean, dict) and isinstance(name, str) and name in plain:
            return {**clean, name: _restore_at(plain[name], clean.get(name), rest)}
        if isinstance(plain, list) and isinstance(clean, list) and isinstance(name, int) and name < len(plain):
            return [*clean[:name], _restore_at(plain[name], clean[name], rest), *clean[name + 1 :]]
    if isinstance(plain, dict) and isinstance(clean, dict):
        return {**clean, **{name: plain[name] for name in _TAGS & plain.keys()}}
    return clean if isinstance(plain, list) else plain


def _rewrite_documents(store: BlobStore, redactor: Redactor, renaming: Renames) -> None:
    for ref in _blob_refs(store):
        snapshot = load_snapshot(store, ref)
        clean = map_strings(snapshot, lambda text: renaming.texts.get(text) or redactor.redact_text(text))
        if clean is snapshot:
            continue
        renaming.add_blob(ref, store_snapshot(store, clean))
        for old, new in zip(snapshot.frames, clean.frames, strict=True):
            renaming.texts[frame_digest(old)] = frame_digest(new)


def _rewrite_start_state(root: Path, trace: ExecutionTrace, redactor: Redactor, found: SecretDetector | None) -> bool:
    """Rewrite the stored start state."""
    is_changed = False
    for name, relative in (
        ("start.storage_state", trace.start.storage_state),
        ("start.session_storage", trace.start.session_storage),
    ):
        if relative is None:
            continue
        path = resolve_inside(root, relative, name)
        plain = parse_json(read_document(path, root=path.parent))
        clean = redactor.redact_json(plain if found is None else _redact_cookies(plain, redactor, found))
        if clean != plain:
            write_atomically(path, json.dumps(clean, indent=1, ensure_ascii=False).encode())
            is_changed = True
    return is_changed


def _redact_cookies(state: JsonValue, redactor: Redactor, found: SecretDetector) -> JsonValue:
    """Replace httpOnly cookies of a storage state."""
    cookies = state.get("cookies") if isinstance(state, dict) else None
    if not isinstance(state, dict) or not isinstance(cookies, list):
        return state
    return {**state, "cookies": [_redact_cookie(each, redactor, found) for each in cookies]}


def _redact_cookie(cookie: JsonValue, redactor: Redactor, found: SecretDetector) -> JsonValue:
    if not isinstance(cookie, dict) or not isinstance(cookie.get("value"), str):
        return cookie
    name, value, is_hidden = str(cookie.get("name")), str(cookie["value"]), bool(cookie.get("httpOnly"))
    return {**cookie, "value": found.redact_cookie(name, value, redactor.redact_text, is_http_only=is_hidden)}


def _remove_replaced_blobs(root: Path, trace: ExecutionTrace, renaming: Renames) -> None:
    """Delete replaced blobs, unless another blob was rewritten to the same content."""
    stores = [BlobStore(root / DOM_FOLDER), BlobStore(root / FILES_FOLDER)]
    if trace.network is not None:
        stores.append(BlobStore(resolve_inside(root, trace.network.folder, "network.folder") / "blobs"))
    current = set(renaming.blobs.values())
    for store in stores:
        for ref in renaming.blobs.keys() - current:
            store.path(ref).unlink(missing_ok=True)


def _blob_refs(store: BlobStore) -> tuple[BlobRef, ...]:
    """Return the references of all blobs of a store."""
    return (
        tuple(store.ref_of_file(path) for path in sorted(store.folder.glob("*.zst"))) if store.folder.is_dir() else ()
    )


def _rewrite_value(value: JsonValue, redactor: Redactor, renaming: Renames) -> JsonValue:
    match value:
        case str():
            return renaming.texts.get(value) or redactor.redact_text(value)
        case list():
            return [_rewrite_value(each, redactor, renaming) for each in value]
        case {"sha256": str(sha256), "size": int(size), **rest} if not rest:
            ref = BlobRef(sha256=sha256, size=size)
            return renaming.blobs.get(ref, ref).model_dump(mode="json")
        case dict():
            redact_key = partial(_redact_key, redactor.redact_text)
            return {redact_key(key): _rewrite_value(each, redactor, renaming) for key, each in value.items()}
        case _:
            return value


def _sort_observation(observation: Observation | None) -> Observation | None:
    """Restore the order of lists that are sorted by renamed values."""
    if observation is None:
        return None
    storage = observation.storage
    return observation.model_copy(
        update={
            "requests": tuple(sorted(observation.requests)),
            "storage": None if storage is None else tuple(sorted(storage, key=lambda each: each.sort_key)),
        }
    )
