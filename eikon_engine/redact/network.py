"""Rewrite the network part of a bundle."""

from __future__ import annotations

from dataclasses import replace as dataclass_replace
from typing import TYPE_CHECKING

from eikon_engine.network.exchange import Exchange, Piece, RecordedRequest
from eikon_engine.network.keys import request_key
from eikon_engine.network.socket import SocketAccepted, SocketClosed, SocketMessage, SocketOpened, message_key
from eikon_engine.network.store import INDEX_NAME, SOCKETS_NAME, read_network
from eikon_engine.redact.scripts import changed_script_digests
from eikon_engine.trace.redaction import strip_encodings
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.exchange import HeaderPairs, RecordedResponse
    from eikon_engine.network.socket import SocketEvent
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.redact.bundle import Renames
    from eikon_engine.trace.blobs import BlobRef, BlobStore
    from eikon_engine.trace.record import FileModel
    from eikon_engine.trace.redaction import Redactor


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
    cleaned = dataclass_replace(recording, sockets=tuple(sockets))
    renaming.texts |= dict(zip(messages, _message_keys(cleaned), strict=True))
    is_changed = tuple(exchanges) != recording.exchanges or tuple(sockets) != recording.sockets
    if is_changed or recording.truncation is not None:
        _write_network(folder, exchanges, sockets, recording)
    return is_changed


def _write_network(
    folder: Path, exchanges: list[Exchange], sockets: list[SocketEvent], recording: NetworkRecording
) -> None:
    write_atomically(folder / INDEX_NAME, _jsonl(exchanges))
    if recording.sockets or (folder / SOCKETS_NAME).exists():
        write_atomically(folder / SOCKETS_NAME, _jsonl(sockets))


def _jsonl(records: list[Exchange] | list[SocketEvent]) -> bytes:
    return b"".join(_jsonl_line(each) for each in records)


def _jsonl_line(record: FileModel) -> bytes:
    return record.model_dump_json().encode() + b"\n"


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
