"""Send one request of a sealed page from outside the browser, with its cookies, redirects and error codes."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urldefrag, urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from playwright.async_api import APIRequest, APIRequestContext, APIResponse, BrowserContext, Error

    from eikon_engine.network.exchange import HeaderPairs

MOST_HOPS: Final = 20
"""Redirects that are followed: https://fetch.spec.whatwg.org/#http-redirect-fetch."""
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER: Final = 303
SCHEMES: Final = ("http", "https")
_TOO_MANY: Final = "net::ERR_TOO_MANY_REDIRECTS"
_UNSAFE: Final = "net::ERR_UNSAFE_REDIRECT"
_TIMED_OUT: Final = "net::ERR_TIMED_OUT"
_FAILED: Final = "net::ERR_FAILED"
_FAILURES: Final = (
    (r"ECONNREFUSED", "net::ERR_CONNECTION_REFUSED"),
    (r"ECONNRESET|EPIPE", "net::ERR_CONNECTION_RESET"),
    (r"socket hang up", "net::ERR_EMPTY_RESPONSE"),
    (r"\baborted\b", "net::ERR_CONNECTION_CLOSED"),
    (r"ENOTFOUND|EAI_AGAIN", "net::ERR_NAME_NOT_RESOLVED"),
    (r"EHOSTUNREACH|ENETUNREACH", "net::ERR_ADDRESS_UNREACHABLE"),
    (r"ETIMEDOUT", _TIMED_OUT),
    (r"certificate has expired|not yet valid", "net::ERR_CERT_DATE_INVALID"),
    (r"does not match certificate|altnames", "net::ERR_CERT_COMMON_NAME_INVALID"),
    (r"self[- ]signed certificate|unable to (get|verify)", "net::ERR_CERT_AUTHORITY_INVALID"),
    (r"SSL|TLS|EPROTO", "net::ERR_SSL_PROTOCOL_ERROR"),
)
"""Error patterns of the HTTP client, with the browser's error for each."""
_BODY_HEADERS: Final = frozenset({"content-type", "content-length", "content-encoding", "content-language"})
_OF_COOKIE: Final = frozenset({"name", "value", "domain", "path", "expires", "httpOnly", "secure", "sameSite"})
_OF_CONNECTION: Final = frozenset({"host", "connection", "content-length"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request as it is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    """By lower-case name, as the browser would send them."""
    body: bytes | None = field(repr=False)
    asker: str = ""
    """Origin of the script that sends it; empty without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """A complete response."""

    url: str
    status: int
    status_text: str
    headers: HeaderPairs
    body: bytes = field(repr=False)

    def header(self, name: str) -> str:
        """Return a header; empty if it was not sent."""
        return next((value for each, value in self.headers if each.lower() == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a request ended: a response or a network error, after any redirects."""

    hops: tuple[Came, ...] = ()
    answer: Came | None = None
    failure: str | None = None
    why: str = ""
    """The client's message for the failure."""


async def make(
    requests: APIRequest, sent: Sent, cookies: Sequence[Mapping[str, Any]], *, timeout_ms: float, is_document: bool
) -> Ended:
    """Send a request and follow its redirects, with a cookie jar of its own.

    `cookies` are those available to redirects, in Playwright's format; the request itself carries its own in its
    headers. Only documents take cookies along to other hosts.
    """
    from playwright.async_api import Error

    hops: list[Came] = []
    async with _client(requests, cookies) as client, _client(requests, []) as stranger:
        home = urlsplit(sent.url).hostname
        while True:
            is_at_home = is_document or home == urlsplit(sent.url).hostname
            try:
                came = await _ask(client if is_at_home else stranger, sent, timeout_ms)
            except Error as error:
                return Ended(hops=tuple(hops), failure=_failure(error), why=_told(error))
            following = _following(sent, came)
            if following is None:
                refusal = _refusal(sent, came) if hops else ""
                if refusal:
                    return Ended(hops=tuple(hops), failure=_FAILED, why=refusal)
                return Ended(hops=tuple(hops), answer=came)
            hops.append(came)
            if len(hops) > MOST_HOPS:
                return Ended(hops=tuple(hops), failure=_TOO_MANY, why=f"more than {MOST_HOPS} redirects")
            if urlsplit(following.url).scheme not in SCHEMES:
                return Ended(hops=tuple(hops), failure=_UNSAFE, why=f"redirected to {following.url}")
            sent = following


async def cookies_for(context: BrowserContext, sent: Sent, *, is_document: bool) -> list[Mapping[str, Any]]:
    """Return the cookies that redirects of a page's request may send.

    Cookies that the browser withholds from the request itself, as with credentials omitted, are withheld from them too.
    """
    every: list[Mapping[str, Any]] = [dict(each) for each in await context.cookies()]
    host = urlsplit(sent.url).hostname or ""
    if not is_document:
        every = [each for each in every if _is_of(host, str(each["domain"]))]
    if "cookie" in sent.headers:
        return every
    withheld = {_place(dict(each)) for each in await context.cookies(sent.url)}
    return [each for each in every if _place(each) not in withheld]


@asynccontextmanager
async def _client(requests: APIRequest, cookies: Sequence[Mapping[str, Any]]) -> AsyncIterator[APIRequestContext]:
    fields = [{name: value for name, value in each.items() if name in _OF_COOKIE} for each in cookies]
    state: Any = {"cookies": fields, "origins": []}
    client = await requests.new_context(storage_state=state)
    try:
        yield client
    finally:
        await _dispose(client)


async def _dispose(client: APIRequestContext) -> None:
    from playwright.async_api import Error

    try:
        await client.dispose()
    except Error:
        return  # the driver process is gone, and the client with it


async def _ask(client: APIRequestContext, sent: Sent, timeout_ms: float) -> Came:
    answer = await client.fetch(
        urldefrag(sent.url).url,
        method=sent.method,
        headers={name: value for name, value in sent.headers.items() if name not in _OF_CONNECTION},
        data=sent.body or None,
        max_redirects=0,
        timeout=timeout_ms,
    )
    return await _whole(sent, answer)


async def _whole(sent: Sent, answer: APIResponse) -> Came:
    pairs = tuple((each["name"].lower(), each["value"]) for each in answer.headers_array)
    return Came(
        url=sent.url, status=answer.status, status_text=answer.status_text, headers=pairs, body=await answer.body()
    )


def _following(sent: Sent, came: Came) -> Sent | None:
    """Return the request that a redirect leads to; None if the response is no redirect.

    https://fetch.spec.whatwg.org/#http-redirect-fetch, steps 4 to 16.
    """
    location = came.header("location")
    if came.status not in REDIRECTS or not location:
        return None
    url = urljoin(sent.url, location)
    if "#" not in url and (fragment := urldefrag(sent.url).fragment):
        url = f"{url}#{fragment}"
    headers = {name: value for name, value in sent.headers.items() if name != "cookie"}
    here, there = origin_of(sent.url), origin_of(url)
    if here != there:
        headers.pop("authorization", None)
        if "origin" in headers and headers["origin"] != here:
            headers["origin"] = "null"
        elif sent.asker == here:
            headers["origin"] = here
    changes = (came.status in {301, 302} and sent.method == "POST") or (
        came.status == _SEE_OTHER and sent.method not in {"GET", "HEAD"}
    )
    if not changes:
        return replace(sent, url=url, headers=headers)
    kept = {name: value for name, value in headers.items() if name not in _BODY_HEADERS}
    return replace(sent, method="GET", url=url, headers=kept, body=None)


def _refusal(sent: Sent, came: Came) -> str:
    """Return why CORS denies a script a redirected cross-origin response; empty if it does not.

    The browser checks only the URL it knows, the first one: https://fetch.spec.whatwg.org/#cors-check.
    """
    if not sent.asker or origin_of(sent.url) == sent.asker:
        return ""
    allowed = came.header("access-control-allow-origin")
    origin = sent.headers.get("origin", sent.asker)
    return "" if allowed in {"*", origin} else f"{origin_of(sent.url)} does not allow {origin} to read its response"


def _failure(error: Error) -> str:
    from playwright.async_api import TimeoutError as Timeout

    if isinstance(error, Timeout) or "timed out" in error.message.lower():
        return _TIMED_OUT
    first = _told(error)
    return next((word for pattern, word in _FAILURES if re.search(pattern, first)), _FAILED)


def _told(error: Error) -> str:
    return error.message.splitlines()[0].removeprefix("APIRequestContext.fetch: ")


def origin_of(url: str) -> str:
    """Return the origin of an HTTP URL, unnormalized."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _is_of(host: str, domain: str) -> bool:
    return host == domain.removeprefix(".") or (domain.startswith(".") and host.endswith(domain))


def _place(cookie: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(cookie["name"]), str(cookie["domain"]), str(cookie["path"])
