"""Rewrite the network part of a bundle."""

from __future__ import annotations

from dataclasses import replace as dataclass_replace
from typing import TYPE_CHECKING

from eikon_engine.network.exchange import Exchange, Piece, RecordedRequest
from eikon_engine.network.keys import request_key
from eikon_engine.network.socket import SocketAccepted, SocketClosed, SocketMessage, SocketOpened, message_key
from eikon_engine.network.store import INDEX_NAME, SOCKETS_NAME, read_network
from eikon_engine.redact.scripts import renamed_scripts
from eikon_engine.trace.redaction import without_encodings
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.exchange import HeaderPairs, RecordedResponse
    from eikon_engine.network.socket import SocketEvent
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.redact.bundle import Renaming
    from eikon_engine.trace.blobs import BlobRef, BlobStore
    from eikon_engine.trace.record import Record
    from eikon_engine.trace.redaction import Redactor


def rewrite_network(folder: Path, redactor: Redactor, renaming: Renaming) -> bool:
    """Rewrite index, sockets and bodies, and collect changed keys; return whether anything changed.

    A truncated last line is dropped, because its content is unknown.
    """
    recording = read_network(folder)
    types = _content_types(recording)
    for ref in recording.refs:
        data = recording.body(ref)
        clean = redactor.data(data)
        if clean != data:
            renaming.add_blob(ref, recording.blobs.put(clean))
            renaming.texts |= renamed_scripts(data, clean, types.get(ref, ""))
    exchanges = [_exchange(each, recording.blobs, redactor, renaming) for each in recording.exchanges]
    messages = _message_keys(recording)
    sockets = [_event(each, redactor, renaming) for each in recording.sockets]
    cleaned = dataclass_replace(recording, sockets=tuple(sockets))
    renaming.texts |= dict(zip(messages, _message_keys(cleaned), strict=True))
    is_changed = tuple(exchanges) != recording.exchanges or tuple(sockets) != recording.sockets
    if is_changed or recording.torn is not None:
        _write(folder, exchanges, sockets, recording)
    return is_changed


def _write(folder: Path, exchanges: list[Exchange], sockets: list[SocketEvent], recording: NetworkRecording) -> None:
    write_whole(folder / INDEX_NAME, _lines(exchanges))
    if recording.sockets or (folder / SOCKETS_NAME).exists():
        write_whole(folder / SOCKETS_NAME, _lines(sockets))


def _lines(records: list[Exchange] | list[SocketEvent]) -> bytes:
    return b"".join(_line(each) for each in records)


def _line(record: Record) -> bytes:
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
        message_key(urls[event.socket], without_encodings(_content(event, recording.blobs)))
        for event in recording.sockets
        if isinstance(event, SocketMessage) and event.sender == "page" and event.socket in urls
    ]


def _content(message: SocketMessage, blobs: BlobStore) -> bytes:
    return (message.text or "").encode() if message.body is None else blobs.get(message.body)


def _exchange(exchange: Exchange, blobs: BlobStore, redactor: Redactor, renaming: Renaming) -> Exchange:
    response = None if exchange.response is None else _response(exchange.response, redactor, renaming)
    request = exchange.request.model_copy(
        update={
            "url": redactor.text(exchange.request.url),
            "headers": _headers(exchange.request.headers, redactor, renaming),
            "body": renaming.blob(exchange.request.body),
        }
    )
    hops = tuple(
        hop.model_copy(update={"url": redactor.text(hop.url), "headers": _headers(hop.headers, redactor, renaming)})
        for hop in exchange.hops
    )
    key = exchange.key
    if (request.url, request.body) != (exchange.request.url, exchange.request.body):
        key = _key(request, blobs)
        renaming.texts[exchange.key] = key
    clean = exchange.model_copy(update={"key": key, "request": request, "hops": hops, "response": response})
    if clean.pieces:
        clean = clean.model_copy(update={"pieces": _pieces(clean)})
    return Exchange.model_validate_json(clean.model_dump_json()) if clean != exchange else exchange


def _pieces(exchange: Exchange) -> tuple[Piece, ...]:
    """Return the pieces of a body; a body of another size becomes one piece, because its boundaries are unknown."""
    body = exchange.response.body if exchange.response is not None else None
    size = body.size if body is not None else 0
    if sum(each.length for each in exchange.pieces) == size:
        return exchange.pieces
    first, last = exchange.pieces[0].moment, exchange.pieces[-1].moment
    return (Piece(length=0 if len(exchange.pieces) > 1 else size, moment=first),) + (
        (Piece(length=size, moment=last),) if len(exchange.pieces) > 1 else ()
    )


def _key(request: RecordedRequest, blobs: BlobStore) -> str:
    body = None if request.body is None else without_encodings(blobs.get(request.body))
    content_type = next((value for name, value in request.headers if name.lower() == "content-type"), None)
    return request_key(request.method, request.url, body, content_type)


def _response(response: RecordedResponse, redactor: Redactor, renaming: Renaming) -> RecordedResponse:
    return response.model_copy(
        update={
            "url": redactor.text(response.url),
            "headers": _headers(response.headers, redactor, renaming),
            "body": renaming.blob(response.body),
        }
    )


def _headers(headers: HeaderPairs, redactor: Redactor, renaming: Renaming) -> HeaderPairs:
    found, redact = renaming.found, redactor.text
    if found is None:
        return tuple((name, redact(value)) for name, value in headers)
    return tuple((name, found.header(name, value, redact)) for name, value in headers)


def _event(event: SocketEvent, redactor: Redactor, renaming: Renaming) -> SocketEvent:
    match event:
        case SocketOpened():
            return event.model_copy(update={"url": redactor.text(event.url)})
        case SocketMessage():
            text = None if event.text is None else redactor.text(event.text)
            return event.model_copy(update={"text": text, "body": renaming.blob(event.body)})
        case SocketClosed():
            return event.model_copy(update={"reason": redactor.text(event.reason)})
        case SocketAccepted():
            return event
