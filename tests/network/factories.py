"""Small exchanges for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.network.exchange import Exchange, HeaderPairs, RecordedRequest, RecordedResponse
from eikon_engine.network.keys import request_key

if TYPE_CHECKING:
    from eikon_engine.files.blobs import BlobRef


def make_exchange(  # noqa: PLR0913 - a factory names what it varies
    url: str = "http://shop.test/items",
    *,
    ordinal: int = 0,
    occurrence: int = 0,
    method: str = "GET",
    headers: HeaderPairs = (),
    sent: bytes | None = None,
    request_body: BlobRef | None = None,
    response_body: BlobRef | None = None,
) -> Exchange:
    """Make a completed exchange; requests and responses are in the same order."""
    content_type = dict(headers).get("content-type")
    request = RecordedRequest(
        method=method, url=url, headers=headers, body=request_body, resource_type="fetch", is_navigation=False
    )
    return Exchange(
        ordinal=ordinal,
        key=request_key(method, url, sent, content_type),
        occurrence=occurrence,
        request=request,
        response=RecordedResponse(url=url, status=200, body=response_body),
        started_ms=float(ordinal),
        completed_ms=float(ordinal + 1),
        completion=ordinal,
    )
