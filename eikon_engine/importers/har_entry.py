"""Read one entry of a HAR with its bodies."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode, urljoin, urlsplit

from eikon_engine.errors import TraceFieldError
from eikon_engine.files.models import field_error
from eikon_engine.network.exchange import VALID_STATUSES, validate_request_headers, validate_response_headers

if TYPE_CHECKING:
    from pydantic import ValidationError

    from eikon_engine.importers.har_file import AttachmentReader, HarNode
    from eikon_engine.network.exchange import HeaderPairs

_CHARSET: Final = re.compile(r";\s*charset=\"?([^;\s\"]+)", re.IGNORECASE)
_URLENCODED: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarBody:
    """One body of a HAR."""

    data: bytes | None = None
    missing: str | None = None
    """Why the HAR does not contain the body; None if it does, or there was none."""


def response_body(content: HarNode, media_type: str, read_attachment: AttachmentReader) -> HarBody:
    """Read the `content` of a response.

    Raises:
        TraceFieldError: the declared base64 is invalid.
    """
    found = _body(content, media_type, read_attachment)
    if found is not None:
        return found
    size = content.optional_number("size")
    if size == 0:
        return HarBody()
    reason = content.optional_text("comment") or "the HAR does not contain the body; it may have been exported without"
    return HarBody(missing=reason)


def request_body(post_data: HarNode, media_type: str, read_attachment: AttachmentReader) -> HarBody:
    """Read the `postData` of a request.

    Raises:
        TraceFieldError: the declared base64 is invalid.
    """
    found = _body(post_data, media_type, read_attachment)
    if found is not None:
        return found
    parameters = [(each.text("name"), each.optional_text("value") or "") for each in post_data.nodes("params")]
    if parameters and media_type.partition(";")[0].strip().lower() == _URLENCODED:
        return HarBody(data=urlencode(parameters).encode())
    reason = "the HAR does not contain the body of the request" if parameters else post_data.optional_text("comment")
    return HarBody(missing=reason)


def _body(node: HarNode, media_type: str, read_attachment: AttachmentReader) -> HarBody | None:
    """Read the body; None if there is none."""
    name = node.optional_text("_file")
    if name is not None:
        data = read_attachment(name, f"{node.source}: {node.path}._file")
        missing = f"the attached file {name} is missing"
        return HarBody(data=data) if data is not None else HarBody(missing=missing)
    text = node.raw_text("text") if node.value.get("text") is not None else None
    if text is None or (text == "" and (node.optional_number("size") or 0) > 0):
        return None
    if (node.optional_text("encoding") or "").lower() == "base64":
        try:
            return HarBody(data=base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as error:
            raise field_error(node.source, f"{node.path}.text", "base64", text) from error
    return HarBody(data=_encode(text, _charset(media_type)))


def _charset(media_type: str) -> str:
    found = _CHARSET.search(media_type)
    return found[1].lower() if found else "utf-8"


def _encode(text: str, charset: str) -> bytes:
    """Encode with the declared charset, or as UTF-8 if that is impossible.

    mitmproxy writes invalid bytes as lone surrogates, like Python's `surrogateescape`.
    """
    for encoding, errors in ((charset, "strict"), ("utf-8", "surrogateescape")):
        try:
            return text.encode(encoding, errors)
        except (LookupError, UnicodeError):
            continue
    return text.encode("utf-8", "replace")


NO_RESPONSE_STATUSES: Final = frozenset({0, -1})
"""Statuses of entries without a response: Chrome and mitmproxy write 0, Playwright -1."""
ATTACHMENT_DISPOSITION: Final = "attachment"
EIKON_FIELD: Final = "_eikon"
"""Eikon's own field in an entry."""
BODYLESS_STATUSES: Final = frozenset({204, 205, 304})
REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
DOCUMENT_DESTINATIONS: Final = frozenset({"document", "iframe", "frame", "embed", "object"})
"""Values of Sec-Fetch-Dest for document requests: https://w3c.github.io/webappsec-fetch-metadata/."""
_BY_DESTINATION: Final = {
    "style": "stylesheet",
    "audio": "media",
    "video": "media",
    "track": "texttrack",
    "empty": "fetch",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HarEntry:
    """One entry; `status` is None if there was no response."""

    node: HarNode
    method: str
    url: str
    headers: HeaderPairs
    read_request_body: Callable[[], HarBody]
    """Read the body of the request. Bodies are read on demand, since together they may not fit into memory."""
    status: int | None
    status_text: str
    response_headers: HeaderPairs
    read_response_body: Callable[[], HarBody]
    error: str | None
    became_download: bool
    """Whether the response was saved as a download, whose content HAR files do not contain."""
    redirect: str | None
    """Target of the redirect as an absolute URL."""
    resource_type: str
    is_navigation: bool
    started_ms: float
    """Milliseconds since 1970."""
    time_ms: float

    @property
    def content_type(self) -> str:
        """Return the content type of the request."""
        return first_header(self.headers, "content-type")


def first_header(headers: HeaderPairs, name: str) -> str:
    """Return the first value of a header, empty if absent; `name` is in lower case."""
    return next((value for each, value in headers if each.lower() == name), "")


def read_entry(node: HarNode, read_attachment: AttachmentReader) -> HarEntry:
    """Parse an entry.

    Raises:
        TraceFieldError: a required field is missing or invalid.
    """
    request, response = node.node("request"), node.optional_node("response")
    url, method = _url(request), request.text("method")
    headers, read_sent = _request_body_reader(request, read_attachment)
    status = _status(response) if response is not None else 0
    answer_headers = _headers(response, validate_response_headers, _split_joined_values) if response is not None else ()
    error = _failure(node, response)
    became_file = bool(error) and status > 0 and _is_attachment(answer_headers)
    error = None if became_file else error
    answered = response is not None and error is None and (status > 0 or _is_schemeless_response(node))
    redirect = _redirect_target(url, status, answer_headers, response) if answered else None
    resource_type = _resource_type(node, headers)
    return HarEntry(
        node=node,
        method=method,
        url=url,
        headers=headers,
        read_request_body=read_sent,
        status=status if answered else None,
        status_text=(response.optional_text("statusText") or "") if response is not None else "",
        response_headers=answer_headers,
        read_response_body=partial(HarBody, data=b"")
        if became_file
        else partial(_read_content, response, method, answer_headers, read_attachment)
        if response and answered
        else HarBody,
        error=error,
        became_download=became_file,
        redirect=redirect,
        resource_type=resource_type,
        is_navigation=first_header(headers, "sec-fetch-mode") == "navigate" or resource_type == "document",
        started_ms=_started_ms(node),
        time_ms=max(node.optional_number("time") or 0.0, 0.0),
    )


def entry_error(node: HarNode, error: ValidationError) -> TraceFieldError:
    """Convert a validation error to one that names the entry."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, fault["loc"]))
    what = fault["msg"].removeprefix("Value error, ")
    return TraceFieldError(f"{node.source}: {node.path}: {place + ': ' if place else ''}{what}")


def _url(request: HarNode) -> str:
    url = request.text("url")
    try:
        parts = urlsplit(url)
        readable = bool(parts.scheme) and (parts.port is None or parts.port >= 0)
    except ValueError:
        readable = False
    if not readable:
        raise field_error(request.source, f"{request.path}.url", "an absolute URL", url)
    return url


def _status(response: HarNode) -> int:
    status = response.number("status")
    if status not in VALID_STATUSES and status not in NO_RESPONSE_STATUSES:
        expected = "a three-digit status, or 0 if there was no response"
        raise field_error(response.source, f"{response.path}.status", expected, response.value["status"])
    return int(status)


def _headers(
    node: HarNode,
    validate: Callable[[HeaderPairs], HeaderPairs],
    read: Callable[[HeaderPairs], HeaderPairs] = tuple,
) -> HeaderPairs:
    try:
        return validate(read(node.pairs("headers")))
    except ValueError as error:
        raise TraceFieldError(f"{node.source}: {node.path}.headers: {error}") from error


def _split_joined_values(headers: HeaderPairs) -> HeaderPairs:
    """Split values at line breaks, with which Chrome joins headers of the same name."""
    return tuple((name, line) for name, value in headers for line in value.split("\n"))


def _is_attachment(headers: HeaderPairs) -> bool:
    return first_header(headers, "content-disposition").strip().lower().startswith(ATTACHMENT_DISPOSITION)


def _is_schemeless_response(node: HarNode) -> bool:
    """Return whether status 0 is a response: Eikon writes it for schemes without statuses, others for no response."""
    ours = node.value.get(EIKON_FIELD)
    return isinstance(ours, Mapping) and ours.get("end", "response") == "response"


def _request_body_reader(
    request: HarNode, read_attachment: AttachmentReader
) -> tuple[HeaderPairs, Callable[[], HarBody]]:
    headers, post_data = _headers(request, validate_request_headers), request.optional_node("postData")
    if post_data is None:
        return headers, HarBody
    declared = first_header(headers, "content-type")
    media_type = declared or post_data.optional_text("mimeType") or ""
    if media_type and not declared:
        headers = (*headers, ("content-type", media_type))
    return headers, partial(request_body, post_data, media_type, read_attachment)


def _read_content(response: HarNode, method: str, headers: HeaderPairs, read_attachment: AttachmentReader) -> HarBody:
    content = response.optional_node("content")
    if content is None:
        return HarBody()
    media_type = first_header(headers, "content-type") or content.optional_text("mimeType") or ""
    body = response_body(content, media_type, read_attachment)
    status = _status(response)
    without = status in BODYLESS_STATUSES or status in REDIRECT_STATUSES or method.upper() == "HEAD"
    return HarBody() if body.data is None and without else body


def _failure(node: HarNode, response: HarNode | None) -> str | None:
    """Return the browser's error: Chrome and mitmproxy write `_error`, Playwright `_failureText`."""
    for holder, name in ((response, "_error"), (response, "_failureText"), (node, "_error")):
        error = holder.optional_text(name) if holder is not None else None
        if error:
            return error
    return None


def _redirect_target(url: str, status: int, headers: HeaderPairs, response: HarNode | None) -> str | None:
    if status not in REDIRECT_STATUSES or response is None:
        return None
    location = response.optional_text("redirectURL") or first_header(headers, "location")
    try:
        return urljoin(url, location) if location else None
    except ValueError:
        return location  # browsers do not follow it either


def _resource_type(node: HarNode, headers: HeaderPairs) -> str:
    """Return the type given by Chrome or Playwright, or else the one derived from the request headers."""
    given = node.optional_text("_resourceType")
    if given:
        return given.lower()
    destination = first_header(headers, "sec-fetch-dest")
    if destination in DOCUMENT_DESTINATIONS or (
        not destination and first_header(headers, "accept").startswith("text/html")
    ):
        return "document"
    return _BY_DESTINATION.get(destination, destination or "other")


def _started_ms(node: HarNode) -> float:
    text = node.text("startedDateTime")
    try:
        moment = datetime.fromisoformat(text)
        zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return zoned.timestamp() * 1000
    except (ValueError, OverflowError) as error:
        path = f"{node.path}.startedDateTime"
        raise field_error(node.source, path, "an ISO 8601 date and time", text) from error
