"""`web_fetch`: one GET over HTTP, with limits; redirects are followed and told.

The standard library is enough for one request that keeps no connection, cookies or cache, and asks nothing of who
installs us.
"""

from __future__ import annotations

import time
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Final
from urllib.error import URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import (
    BaseHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

if TYPE_CHECKING:
    from email.message import Message

    from eikon_engine.scenario.stored_result import Result

LARGEST: Final = 10 * 1024 * 1024
"""Bytes of a body, unless another limit is given."""
LONGEST: Final = 30.0
"""Seconds for everything, unless another limit is given."""
MOST_REDIRECTS: Final = 10
_PIECE: Final = 64 * 1024
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SHOWN_HEADERS: Final = (
    "cache-control",
    "content-disposition",
    "content-language",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "retry-after",
)
"""What says something of the document; nothing that gives access, and nothing that differs each time."""
_TEXTS: Final = ("text/", "application/json", "application/xml", "application/javascript", "application/xhtml+xml")


class FetchError(Exception):
    """A request that brought no answer, or one that is beyond a limit."""


def web_fetch(url: str, max_bytes: int = LARGEST, timeout_seconds: float = LONGEST) -> dict[str, Result]:
    """Get a document over HTTP: its status, address, headers, and text, or bytes where it is none."""
    deadline = time.monotonic() + timeout_seconds
    redirects: list[Result] = []
    while True:
        answer = _answer(url, max_bytes, deadline)
        location = answer.headers["location"]
        if answer.status not in _REDIRECTS or location is None:
            return _told(answer, redirects)
        if len(redirects) == MOST_REDIRECTS:
            message = f"wanted an answer after {MOST_REDIRECTS} redirects at most, found one more to {location}"
            raise FetchError(message)
        redirects.append({"status": answer.status, "url": answer.url})
        url = urljoin(answer.url, location)


class _Answer:
    """What came back for one address."""

    def __init__(self, url: str, response: HTTPResponse, body: bytes) -> None:
        self.url = url
        self.status = response.status
        self.headers: Message = response.headers
        self.body = body


def _answer(url: str, max_bytes: int, deadline: float) -> _Answer:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = f"wanted an address that begins with http:// or https://, found {url!r}"
        raise FetchError(message)
    request = Request(url, headers={"User-Agent": "eikon web_fetch", "Accept-Encoding": "identity"})  # noqa: S310 - checked above
    try:
        with _opener().open(request, timeout=_left(url, deadline)) as response:
            return _Answer(url, response, _read(url, response, max_bytes, deadline))
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        message = f"{url}: wanted an answer, found {type(reason).__name__}: {reason}"
        raise FetchError(message) from error


def _opener() -> OpenerDirector:
    """Speak HTTP and nothing else: no file:, no ftp:, no data:; proxies of the environment are used."""
    opener = OpenerDirector()
    handlers: tuple[BaseHandler, ...] = (ProxyHandler(), HTTPHandler(), HTTPSHandler(), _AnyStatus())
    for handler in handlers:
        opener.add_handler(handler)
    return opener


class _AnyStatus(HTTPErrorProcessor):
    """Take every status for an answer."""

    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:  # noqa: ARG002 - its signature
        return response

    https_response = http_response


def _left(url: str, deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        message = f"{url}: wanted an answer before the deadline, found none; give timeout_seconds more"
        raise FetchError(message)
    return left


def _read(url: str, response: HTTPResponse, max_bytes: int, deadline: float) -> bytes:
    body = bytearray()
    while piece := response.read1(_PIECE):
        body += piece
        if len(body) > max_bytes:
            message = f"{url}: wanted at most {max_bytes} bytes, found more; give max_bytes more"
            raise FetchError(message)
        _left(url, deadline)
    if response.length:
        message = f"{url}: wanted {response.length} bytes more, found the end; the connection was cut off"
        raise FetchError(message)
    return bytes(body)


def _told(answer: _Answer, redirects: list[Result]) -> dict[str, Result]:
    headers: dict[str, Result] = {
        name: ", ".join(answer.headers.get_all(name, [])) for name in _SHOWN_HEADERS if name in answer.headers
    }
    told: dict[str, Result] = {"status": answer.status, "url": answer.url, "redirects": redirects, "headers": headers}
    text = _text(answer)
    return {**told, "body": answer.body} if text is None else {**told, "text": text}


def _text(answer: _Answer) -> str | None:
    kind = answer.headers.get_content_type()
    if not (kind.startswith(_TEXTS) or kind.endswith(("+json", "+xml"))):
        return None
    try:
        return answer.body.decode(answer.headers.get_content_charset() or "utf-8")
    except (LookupError, UnicodeDecodeError):
        return None
