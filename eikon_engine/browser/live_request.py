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

MAX_REDIRECTS: Final = 20
"""Redirects that are followed: https://fetch.spec.whatwg.org/#http-redirect-fetch."""
REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER_STATUS: Final = 303
SCHEMES: Final = ("http", "https")
_TOO_MANY: Final = "net::ERR_TOO_MANY_REDIRECTS"
_UNSAFE: Final = "net::ERR_UNSAFE_REDIRECT"
_TIMED_OUT: Final = "net::ERR_TIMED_OUT"
_FAILED: Final = "net::ERR_FAILED"
_NET_ERRORS: Final = (
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
_COOKIE_FIELDS: Final = frozenset({"name", "value", "domain", "path", "expires", "httpOnly", "secure", "sameSite"})
_CONNECTION_HEADERS: Final = frozenset({"host", "connection", "content-length"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRequest:
    """A request as it is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    """By lower-case name, as the browser would send them."""
    body: bytes | None = field(repr=False)
    script_origin: str = ""
    """Origin of the script that sends it; empty without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveResponse:
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
class LiveResult:
    """How a request ended: a response or a network error, after any redirects."""

    hops: tuple[LiveResponse, ...] = ()
    response: LiveResponse | None = None
    failure: str | None = None
    reason: str = ""
    """The client's message for the failure."""


async def send_live_request(
    requests: APIRequest,
    sent: LiveRequest,
    cookies: Sequence[Mapping[str, Any]],
    *,
    timeout_ms: float,
    is_document: bool,
) -> LiveResult:
    """Send a request and follow its redirects, with a cookie jar of its own.

    `cookies` are those available to redirects, in Playwright's format; the request itself carries its own in its
    headers. Only documents take cookies along to other hosts.
    """
    from playwright.async_api import Error

    hops: list[LiveResponse] = []
    async with _api_client(requests, cookies) as client, _api_client(requests, []) as stranger:
        home = urlsplit(sent.url).hostname
        while True:
            is_at_home = is_document or home == urlsplit(sent.url).hostname
            try:
                came = await _fetch_once(client if is_at_home else stranger, sent, timeout_ms)
            except Error as error:
                return LiveResult(hops=tuple(hops), failure=_net_error(error), reason=_client_message(error))
            following = _redirected_request(sent, came)
            if following is None:
                refusal = _cors_denial_reason(sent, came) if hops else ""
                if refusal:
                    return LiveResult(hops=tuple(hops), failure=_FAILED, reason=refusal)
                return LiveResult(hops=tuple(hops), response=came)
            hops.append(came)
            if len(hops) > MAX_REDIRECTS:
                return LiveResult(hops=tuple(hops), failure=_TOO_MANY, reason=f"more than {MAX_REDIRECTS} redirects")
            if urlsplit(following.url).scheme not in SCHEMES:
                return LiveResult(hops=tuple(hops), failure=_UNSAFE, reason=f"redirected to {following.url}")
            sent = following


async def cookies_for(context: BrowserContext, sent: LiveRequest, *, is_document: bool) -> list[Mapping[str, Any]]:
    """Return the cookies that redirects of a page's request may send.

    Cookies that the browser withholds from the request itself, as with credentials omitted, are withheld from them too.
    """
    every: list[Mapping[str, Any]] = [dict(each) for each in await context.cookies()]
    host = urlsplit(sent.url).hostname or ""
    if not is_document:
        every = [each for each in every if _is_cookie_for(host, str(each["domain"]))]
    if "cookie" in sent.headers:
        return every
    withheld = {_cookie_id(dict(each)) for each in await context.cookies(sent.url)}
    return [each for each in every if _cookie_id(each) not in withheld]


@asynccontextmanager
async def _api_client(requests: APIRequest, cookies: Sequence[Mapping[str, Any]]) -> AsyncIterator[APIRequestContext]:
    fields = [{name: value for name, value in each.items() if name in _COOKIE_FIELDS} for each in cookies]
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


async def _fetch_once(client: APIRequestContext, sent: LiveRequest, timeout_ms: float) -> LiveResponse:
    answer = await client.fetch(
        urldefrag(sent.url).url,
        method=sent.method,
        headers={name: value for name, value in sent.headers.items() if name not in _CONNECTION_HEADERS},
        data=sent.body or None,
        max_redirects=0,
        timeout=timeout_ms,
    )
    return await _read_response(sent, answer)


async def _read_response(sent: LiveRequest, answer: APIResponse) -> LiveResponse:
    pairs = tuple((each["name"].lower(), each["value"]) for each in answer.headers_array)
    return LiveResponse(
        url=sent.url, status=answer.status, status_text=answer.status_text, headers=pairs, body=await answer.body()
    )


def _redirected_request(sent: LiveRequest, response: LiveResponse) -> LiveRequest | None:
    """Return the request that a redirect leads to; None if the response is no redirect.

    https://fetch.spec.whatwg.org/#http-redirect-fetch, steps 4 to 16.
    """
    location = response.header("location")
    if response.status not in REDIRECT_STATUSES or not location:
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
        elif sent.script_origin == here:
            headers["origin"] = here
    changes = (response.status in {301, 302} and sent.method == "POST") or (
        response.status == _SEE_OTHER_STATUS and sent.method not in {"GET", "HEAD"}
    )
    if not changes:
        return replace(sent, url=url, headers=headers)
    kept = {name: value for name, value in headers.items() if name not in _BODY_HEADERS}
    return replace(sent, method="GET", url=url, headers=kept, body=None)


def _cors_denial_reason(sent: LiveRequest, response: LiveResponse) -> str:
    """Return why CORS denies a script a redirected cross-origin response; empty if it does not.

    The browser checks only the URL it knows, the first one: https://fetch.spec.whatwg.org/#cors-check.
    """
    if not sent.script_origin or origin_of(sent.url) == sent.script_origin:
        return ""
    allowed = response.header("access-control-allow-origin")
    origin = sent.headers.get("origin", sent.script_origin)
    return "" if allowed in {"*", origin} else f"{origin_of(sent.url)} does not allow {origin} to read its response"


def _net_error(error: Error) -> str:
    from playwright.async_api import TimeoutError as Timeout

    if isinstance(error, Timeout) or "timed out" in error.message.lower():
        return _TIMED_OUT
    first = _client_message(error)
    return next((word for pattern, word in _NET_ERRORS if re.search(pattern, first)), _FAILED)


def _client_message(error: Error) -> str:
    return error.message.splitlines()[0].removeprefix("APIRequestContext.fetch: ")


def origin_of(url: str) -> str:
    """Return the origin of an HTTP URL, unnormalized."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _is_cookie_for(host: str, domain: str) -> bool:
    return host == domain.removeprefix(".") or (domain.startswith(".") and host.endswith(domain))


def _cookie_id(cookie: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(cookie["name"]), str(cookie["domain"]), str(cookie["path"])
