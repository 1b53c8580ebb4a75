"""Write recorded exchanges as a HAR 1.2 file: http://www.softwareishard.com/blog/har-12-spec/.

Redirects are separate entries. What HAR has no field for is written to `_eikon`, so that an import loses nothing.
"""

from __future__ import annotations

import base64
import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qsl, urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pydantic import JsonValue

    from eikon_engine.network.exchange import Exchange, HeaderPairs, Hop, RecordedResponse
    from eikon_engine.network.store import NetworkRecording

    JsonObject: TypeAlias = dict[str, JsonValue]

HAR_VERSION: Final = "1.2"
HTTP_VERSION: Final = "HTTP/1.1"
"""HAR requires a version, which recordings do not contain."""
_SEE_OTHER: Final = 303
_GET_AFTER_POST: Final = frozenset({301, 302})
_CHARSET: Final = re.compile(r";\s*charset=\"?([^;\s\"]+)", re.IGNORECASE)
_UTF_8: Final = frozenset({"utf-8", "utf8"})


def render_har(recording: NetworkRecording, *, started_at: datetime, version: str) -> str:
    """Return the text of a HAR; `began` is the start of the recording, `version` the version of Eikon."""
    return json.dumps(export_har(recording, started_at=started_at, version=version), indent=1, ensure_ascii=True) + "\n"


def export_har(recording: NetworkRecording, *, started_at: datetime, version: str) -> JsonObject:
    """Return a HAR as plain data with inline bodies, its entries in the order of the requests.

    Raises:
        TraceError: a body is missing; a body does not match its digest.
    """
    entries = [entry for exchange in recording.exchanges for entry in _entries(exchange, recording, started_at)]
    creator: JsonObject = {"name": "eikon", "version": version}
    return {"log": {"version": HAR_VERSION, "creator": creator, "pages": [], "entries": [*entries]}}


def _entries(exchange: Exchange, recording: NetworkRecording, started_at: datetime) -> Iterator[JsonObject]:
    """Yield an entry for each redirect of an exchange, then one for its end; the first has all `_eikon` fields."""
    started = (started_at + timedelta(milliseconds=exchange.started_ms)).isoformat(timespec="milliseconds")
    urls = [exchange.request.url, *(hop.url for hop in exchange.hops[1:])]
    if exchange.hops:
        urls.append(exchange.response.url if exchange.response is not None else _redirect_target(exchange.hops[-1]))
    method, sent = exchange.request.method, _post_data(exchange, recording)
    for place, url in enumerate(urls):
        hop = exchange.hops[place] if place < len(exchange.hops) else None
        waited = 0.0 if hop is not None else (exchange.completed_ms or exchange.started_ms) - exchange.started_ms
        answer = (
            _final_response(exchange, recording)
            if hop is None
            else _response(hop.status, "", hop.headers, urls[place + 1])
        )
        yield {
            "startedDateTime": started,
            "time": waited,
            "request": _request(method, url, exchange.request.headers, sent),
            "response": answer,
            "cache": {},
            "timings": {"send": 0, "wait": waited, "receive": 0},
            "_resourceType": exchange.request.resource_type,
            "_eikon": _eikon_fields(exchange)
            if place == 0
            else {"ordinal": exchange.ordinal, "end": _end_kind(exchange)},
        }
        if hop is not None and _is_changed_to_get(method, hop.status):
            method, sent = "GET", None


def _eikon_fields(exchange: Exchange) -> JsonObject:
    response = exchange.response
    return {
        "ordinal": exchange.ordinal,
        "key": exchange.key,
        "occurrence": exchange.occurrence,
        "completion": exchange.completion,
        "started_ms": exchange.started_ms,
        "started_phase": exchange.started_phase,
        "completed_ms": exchange.completed_ms,
        "phase": exchange.phase,
        "pieces": [piece.model_dump(mode="json") for piece in exchange.pieces],
        "is_navigation": exchange.request.is_navigation,
        "frame": exchange.request.frame,
        "end": _end_kind(exchange),
        "broke_off": exchange.failure if response is not None else None,
        "body_missing": response.body_missing if response is not None else None,
    }


def _end_kind(exchange: Exchange) -> str:
    if exchange.response is not None:
        return "response"
    return "pending" if exchange.is_pending else "failure"


def _redirect_target(hop: Hop) -> str:
    location = next((value for name, value in hop.headers if name.lower() == "location"), "")
    try:
        return urljoin(hop.url, location)
    except ValueError:
        return hop.url  # the redirect target is not a valid URL


def _is_changed_to_get(method: str, status: int) -> bool:
    """Return whether a redirect changes the method to GET: https://fetch.spec.whatwg.org/#http-redirect-fetch."""
    return (status in _GET_AFTER_POST and method == "POST") or (status == _SEE_OTHER and method not in {"GET", "HEAD"})


def _request(method: str, url: str, headers: HeaderPairs, sent: JsonObject | None) -> JsonObject:
    request: JsonObject = {
        "method": method,
        "url": url,
        "httpVersion": HTTP_VERSION,
        "cookies": [],
        "headers": _pairs(headers),
        "queryString": _pairs(tuple(parse_qsl(url.partition("#")[0].partition("?")[2], keep_blank_values=True))),
        "headersSize": -1,
        "bodySize": -1 if sent is not None else 0,
    }
    return request if sent is None else {**request, "postData": sent}


def _post_data(exchange: Exchange, recording: NetworkRecording) -> JsonObject | None:
    if exchange.request.body is None:
        return None
    media_type = _content_type(exchange.request.headers)
    return {"mimeType": media_type, **_encode_body(recording.body(exchange.request.body), media_type)}


def _final_response(exchange: Exchange, recording: NetworkRecording) -> JsonObject:
    response = exchange.response
    if response is None:
        nothing = _response(0, "", (), "")
        return nothing if exchange.failure is None else {**nothing, "_error": exchange.failure}
    answer = _response(response.status, response.status_text, response.headers, "")
    return {**answer, "content": _content(response, recording)}


def _response(status: int, status_text: str, headers: HeaderPairs, redirect: str) -> JsonObject:
    return {
        "status": status,
        "statusText": status_text,
        "httpVersion": HTTP_VERSION,
        "cookies": [],
        "headers": _pairs(headers),
        "content": {"size": 0, "mimeType": _content_type(headers)},
        "redirectURL": redirect,
        "headersSize": -1,
        "bodySize": -1,
    }


def _content(response: RecordedResponse, recording: NetworkRecording) -> JsonObject:
    media_type = _content_type(response.headers)
    if response.body_missing is not None:
        return {"size": -1, "mimeType": media_type, "comment": response.body_missing}
    if response.body is None:
        return {"size": 0, "mimeType": media_type}
    body = _encode_body(recording.body(response.body), media_type)
    return {"size": response.body.size, "mimeType": media_type, **body}


def _content_type(headers: HeaderPairs) -> str:
    return next((value for name, value in headers if name.lower() == "content-type"), "")


def _pairs(pairs: HeaderPairs) -> list[JsonValue]:
    return [{"name": name, "value": value} for name, value in pairs]


def _encode_body(data: bytes, media_type: str) -> dict[str, str]:
    """Write a body as `text`, in base64 if plain text would not read back as the same bytes."""
    charset = _CHARSET.search(media_type)
    if charset is None or charset[1].lower() in _UTF_8:
        try:
            return {"text": data.decode()}
        except UnicodeDecodeError:
            pass
    return {"text": base64.b64encode(data).decode("ascii"), "encoding": "base64"}
