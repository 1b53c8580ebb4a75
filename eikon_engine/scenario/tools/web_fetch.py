"""`web_fetch`: one HTTP GET with limits; redirects are followed and reported.

Uses the standard library: a single request needs no connection pool, cookies or cache, and no extra dependency.
"""

from __future__ import annotations

import time
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Final
from urllib.error import URLError
from urllib.parse import urljoin
from urllib.request import (
    BaseHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from eikon_engine.files.origins import split_url

if TYPE_CHECKING:
    from email.message import Message

    from eikon_engine.scenario.fixtures import ToolResultValue

DEFAULT_MAX_BYTES: Final = 10 * 1024 * 1024
"""Default size limit of a body, in bytes."""
DEFAULT_TIMEOUT_S: Final = 30.0
"""Default total timeout, in seconds."""
MAX_REDIRECTS: Final = 10
_CHUNK_SIZE: Final = 64 * 1024
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_REPORTED_HEADERS: Final = (
    "cache-control",
    "content-disposition",
    "content-language",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "retry-after",
)
"""Headers that describe the document; no credentials, and nothing that varies per request."""
_TEXT_TYPES: Final = ("text/", "application/json", "application/xml", "application/javascript", "application/xhtml+xml")


class FetchError(Exception):
    """A request without a response, or beyond a limit."""


def web_fetch(
    url: str, max_bytes: int = DEFAULT_MAX_BYTES, timeout_seconds: float = DEFAULT_TIMEOUT_S
) -> dict[str, ToolResultValue]:
    """Fetch a document over HTTP: status, URL, headers, and the body as text or bytes."""
    deadline = time.monotonic() + timeout_seconds
    redirects: list[ToolResultValue] = []
    while True:
        answer = _fetch(url, max_bytes, deadline)
        location = answer.headers["location"]
        if answer.status not in _REDIRECTS or location is None:
            return _as_result(answer, redirects)
        if len(redirects) == MAX_REDIRECTS:
            message = f"expected at most {MAX_REDIRECTS} redirects, got one more to {location}"
            raise FetchError(message)
        redirects.append({"status": answer.status, "url": answer.url})
        try:
            url = urljoin(answer.url, location)
        except ValueError as error:
            message = f"{answer.url}: expected a redirect to a URL, got {location!r}"
            raise FetchError(message) from error


class _Response:
    """One response."""

    def __init__(self, url: str, response: HTTPResponse, body: bytes) -> None:
        self.url = url
        self.status = response.status
        self.headers: Message = response.headers
        self.body = body


def _fetch(url: str, max_bytes: int, deadline: float) -> _Response:
    parts = split_url(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = f"expected an http:// or https:// URL, got {url!r}"
        raise FetchError(message)
    request = Request(url, headers={"User-Agent": "eikon web_fetch", "Accept-Encoding": "identity"})  # noqa: S310 - checked above
    try:
        with _opener().open(request, timeout=_remaining_seconds(url, deadline)) as response:
            return _Response(url, response, _read(url, response, max_bytes, deadline))
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        message = f"{url}: no response: {type(reason).__name__}: {reason}"
        raise FetchError(message) from error


def _opener() -> OpenerDirector:
    """Return an opener for HTTP and HTTPS only, without file:, ftp: and data:; honours proxy variables."""
    opener = OpenerDirector()
    handlers: tuple[BaseHandler, ...] = (ProxyHandler(), HTTPHandler(), HTTPSHandler(), _AnyStatus())
    for handler in handlers:
        opener.add_handler(handler)
    return opener


class _AnyStatus(HTTPErrorProcessor):
    """Accept every status."""

    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:  # noqa: ARG002 - its signature
        return response

    https_response = http_response


def _remaining_seconds(url: str, deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        message = f"{url}: no response within timeout_seconds. Increase timeout_seconds."
        raise FetchError(message)
    return left


def _read(url: str, response: HTTPResponse, max_bytes: int, deadline: float) -> bytes:
    body = bytearray()
    while piece := response.read1(_CHUNK_SIZE):
        body += piece
        if len(body) > max_bytes:
            message = f"{url}: expected at most {max_bytes} bytes, got more. Increase max_bytes."
            raise FetchError(message)
        _remaining_seconds(url, deadline)
    if response.length:
        message = f"{url}: the connection closed with {response.length} bytes missing"
        raise FetchError(message)
    return bytes(body)


def _as_result(answer: _Response, redirects: list[ToolResultValue]) -> dict[str, ToolResultValue]:
    headers: dict[str, ToolResultValue] = {
        name: ", ".join(answer.headers.get_all(name, [])) for name in _REPORTED_HEADERS if name in answer.headers
    }
    result: dict[str, ToolResultValue] = {
        "status": answer.status,
        "url": answer.url,
        "redirects": redirects,
        "headers": headers,
    }
    text = _text(answer)
    return {**result, "body": answer.body} if text is None else {**result, "text": text}


def _text(answer: _Response) -> str | None:
    kind = answer.headers.get_content_type()
    if not (kind.startswith(_TEXT_TYPES) or kind.endswith(("+json", "+xml"))):
        return None
    try:
        return answer.body.decode(answer.headers.get_content_charset() or "utf-8")
    except (LookupError, UnicodeDecodeError):
        return None
