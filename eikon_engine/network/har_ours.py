"""Read the entries of a HAR exported by Eikon: `_eikon` contains what HAR has no field for."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import ValidationError

from eikon_engine.errors import TraceFieldError
from eikon_engine.network.exchange import Exchange, Hop, Piece, RecordedRequest, RecordedResponse
from eikon_engine.network.har_entry import EIKON_FIELD, entry_error
from eikon_engine.trace.field_errors import field_error

if TYPE_CHECKING:
    from eikon_engine.network.har_entry import HarEntry
    from eikon_engine.network.har_node import HarNode
    from eikon_engine.network.store import NetworkWriter
    from eikon_engine.trace.blobs import BlobRef


def group_own_entries(entries: tuple[HarNode, ...]) -> tuple[tuple[HarNode, ...], ...] | None:
    """Group the entries by exchange; None if Eikon did not write all of them."""
    if any(EIKON_FIELD not in node.value for node in entries):
        return None
    groups: dict[int, list[HarNode]] = {}
    for node in entries:
        ours = node.node(EIKON_FIELD)
        ordinal = _integer(ours, "ordinal")
        group = groups.setdefault(ordinal, [])
        if group and "key" in ours.value:
            message = (
                f"{ours.source}: {ours.path}.ordinal: {ordinal} is already used by {group[0].path}. "
                f"Make it unique, or remove {EIKON_FIELD} from every entry to read the file as any other HAR."
            )
            raise TraceFieldError(message)
        group.append(node)
    return tuple(tuple(groups[ordinal]) for ordinal in sorted(groups))


def read_own_exchange(entries: tuple[HarEntry, ...], writer: NetworkWriter) -> Exchange:
    """Rebuild the exported exchange, and write its bodies.

    Raises:
        TraceFieldError: the entries were edited and no longer form a valid exchange.
    """
    first, last = entries[0], entries[-1]
    ours = first.node.node(EIKON_FIELD)
    is_navigation = ours.value.get("is_navigation")
    if not isinstance(is_navigation, bool):
        raise field_error(ours.source, f"{ours.path}.is_navigation", "true or false", is_navigation)
    try:
        pieces = tuple(Piece.model_validate_json(json.dumps(each.value)) for each in ours.nodes("pieces"))
        return Exchange(
            ordinal=_integer(ours, "ordinal"),
            key=ours.text("key"),
            occurrence=_integer(ours, "occurrence"),
            request=RecordedRequest(
                method=first.method,
                url=first.url,
                headers=first.headers,
                body=_write_blob(writer, first.read_request_body().data),
                resource_type=first.node.text("_resourceType"),
                is_navigation=is_navigation,
                frame=ours.text("frame"),
            ),
            hops=tuple(_read_hop(entry, then) for entry, then in pairwise(entries)),
            response=_read_response(last, ours, writer) if last.status is not None else None,
            failure=last.error or (ours.optional_text("broke_off") if pieces else None),
            started_ms=ours.number("started_ms"),
            completed_ms=ours.optional_number("completed_ms"),
            completion=_integer(ours, "completion") if ours.value.get("completion") is not None else None,
            phase=_integer(ours, "phase"),
            pieces=pieces,
        )
    except ValidationError as error:
        raise entry_error(first.node, error) from error


def _read_hop(entry: HarEntry, then: HarEntry) -> Hop:
    try:
        return Hop(url=entry.url, status=entry.status or 0, headers=entry.response_headers)
    except ValidationError as error:
        wanted = f"a redirect (300 to 399), since {then.node.path} continues it with the same {EIKON_FIELD}.ordinal"
        raise field_error(entry.node.source, f"{entry.node.path}.response.status", wanted, entry.status) from error


def _read_response(last: HarEntry, ours: HarNode, writer: NetworkWriter) -> RecordedResponse:
    missing = ours.optional_text("body_missing")
    return RecordedResponse(
        url=last.url,
        status=last.status or 0,
        status_text=last.status_text,
        headers=last.response_headers,
        body=_write_blob(writer, last.read_response_body().data) if missing is None else None,
        body_missing=missing,
    )


def _write_blob(writer: NetworkWriter, data: bytes | None) -> BlobRef | None:
    return writer.write_blob(data) if data is not None else None


def _integer(node: HarNode, name: str) -> int:
    number = node.number(name)
    if number != int(number):
        raise field_error(node.source, f"{node.path}.{name}", "a whole number", number)
    return int(number)
