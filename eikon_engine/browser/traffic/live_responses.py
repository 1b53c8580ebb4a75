"""Serve responses of the live site in a sealed session: fetched by us, stored like a recording, served like one.

The browser stays behind its sink. A permitted request is sent from outside it, becomes an `Exchange` with a moment, and
is served like a recorded one: the page sees what a replay of it would show.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urldefrag, urljoin

from eikon_engine.browser.frames import frame_of, frame_path
from eikon_engine.browser.redaction import redact_body, redact_headers
from eikon_engine.browser.request_keys import redacted_key
from eikon_engine.browser.request_tracker import NULL_BODY_STATUSES
from eikon_engine.browser.traffic.response_changes import (
    RequestEnd,
    ResponseChanges,
    ResponseLearner,
    redirect_urls,
)
from eikon_engine.browser.traffic.streams import EVENT_STREAM
from eikon_engine.divergence.response_diff import ComparedResponse
from eikon_engine.files.blobs import BlobRef, blob_ref
from eikon_engine.files.origins import split_url
from eikon_engine.network.exchange import FETCH_TYPES, Exchange, Hop, RecordedRequest, RecordedResponse
from eikon_engine.network.matching import Hit
from eikon_engine.network.store import NumberAllocator
from eikon_engine.redact.secret_detector import SecretRestorer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from playwright.async_api import APIRequest, APIRequestContext, APIResponse, BrowserContext, Error, Request

    from eikon_engine.browser.session import Session
    from eikon_engine.network.exchange import HeaderPairs
    from eikon_engine.network.matching import Match, RuleUsage
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkOutcome

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
    may_follow: Callable[[str], bool] = lambda _url: True,
) -> LiveResult:
    """Send a request and follow the redirects that it may follow, with a cookie jar of its own.

    `cookies` are those available to redirects, in Playwright's format; the request itself carries its own in its
    headers. Only documents take cookies along to other hosts.
    """
    from playwright.async_api import Error

    hops: list[LiveResponse] = []
    async with _api_client(requests, cookies) as client, _api_client(requests, []) as without_cookies:
        home = split_url(sent.url).hostname
        while True:
            is_same_host = is_document or home == split_url(sent.url).hostname
            try:
                response = await _fetch_once(client if is_same_host else without_cookies, sent, timeout_ms)
            except Error as error:
                return LiveResult(hops=tuple(hops), failure=_net_error(error), reason=_client_message(error))
            following = _redirected_request(sent, response)
            if following is None:
                refusal = _cors_denial_reason(sent, response) if hops else ""
                if refusal:
                    return LiveResult(hops=tuple(hops), failure=_FAILED, reason=refusal)
                return LiveResult(hops=tuple(hops), response=response)
            hops.append(response)
            if len(hops) > MAX_REDIRECTS:
                return LiveResult(hops=tuple(hops), failure=_TOO_MANY, reason=f"more than {MAX_REDIRECTS} redirects")
            if not may_follow(following.url):
                return LiveResult(hops=tuple(hops), failure=_UNSAFE, reason=f"redirected to {following.url}")
            if split_url(following.url).scheme not in SCHEMES:
                return LiveResult(hops=tuple(hops), failure=_UNSAFE, reason=f"redirected to {following.url}")
            sent = following


async def cookies_for(context: BrowserContext, sent: LiveRequest, *, is_document: bool) -> list[Mapping[str, Any]]:
    """Return the cookies that redirects of a page's request may send.

    Cookies that the browser withholds from the request itself, as with credentials omitted, are withheld from them too.
    """
    every: list[Mapping[str, Any]] = [dict(each) for each in await context.cookies()]
    host = split_url(sent.url).hostname or ""
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
    parts = split_url(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _is_cookie_for(host: str, domain: str) -> bool:
    return host == domain.removeprefix(".") or (domain.startswith(".") and host.endswith(domain))


def _cookie_id(cookie: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(cookie["name"]), str(cookie["domain"]), str(cookie["path"])


RESPONSE_TIMEOUT_S: Final = 30.0
"""Wall time within which a response must be complete."""


class ResponseStore(Protocol):
    """Where live responses are stored: the network part of a bundle, see `NetworkWriter`."""

    def write_blob(self, data: bytes) -> BlobRef:
        """Store a body, before the exchange that refers to it."""

    def append(self, exchange: Exchange) -> None:
        """Append one exchange."""


class NullStore:
    """Store nothing: for runs that record nothing."""

    def write_blob(self, data: bytes) -> BlobRef:
        """Return the reference of a body."""
        return blob_ref(data)

    def append(self, exchange: Exchange) -> None:
        """Discard an exchange."""


class LiveResponder:
    """Send requests that a sealed session is permitted to send; one per session."""

    def __init__(  # noqa: PLR0913 - where responses are stored, and what is sent and compared
        self,
        requests: APIRequest,
        recording: NetworkRecording,
        store: ResponseStore | None = None,
        *,
        stored: NetworkRecording | None = None,
        sends_every_request: bool = False,
        rule_use: RuleUsage | None = None,
        timeout_s: float = RESPONSE_TIMEOUT_S,
    ) -> None:
        """Send with `requests`, and number responses after those of `recording`, which the session serves.

        Requests with a recorded response are sent only if `sends_every_request` is set: then the session repeats its
        recording on the site, so pages get what the site sends, and what it draws stands for the recorded values.
        `rule_use` has the rules for that, and counts them. `stored` is what the store holds, where its moments differ.
        Secrets are stored, and shown to pages of other sessions, as stand-ins if the session detects them, see
        `Session.start_secret_detection`.
        """
        self.sends_every_request: Final = sends_every_request
        self._recording = recording
        self._rule_use = rule_use
        self._learner: ResponseLearner | None = None
        """Made for the first response, if the session repeats its recording."""
        self._sent_count = 0
        self.notes: list[str] = []
        self._api_request = requests
        self._store = store or NullStore()
        self._numbering = NumberAllocator(recording, stored or recording)
        self._bodies: dict[int, bytes] = {}
        """Bodies still to be served, by ordinal."""
        self._timeout_s = timeout_s
        self._matched_count = 0
        """How many of the requests that were sent have a recorded response."""
        self._unmatched: list[str] = []
        self._changes = ResponseChanges(recording, () if rule_use is None else rule_use.rules)

    def refusal_reason(self, request: Request) -> str | None:
        """Return why a request is not sent even in live mode; None if it is."""
        if request.resource_type == "eventsource" or request.headers.get("accept") == EVENT_STREAM:
            return "event streams are not fetched live: they never end"
        if request.url.partition(":")[0] not in SCHEMES:
            return "only HTTP requests are sent live"
        return None

    def add_to_outcome(self, outcome: NetworkOutcome) -> NetworkOutcome:
        """Add the live requests to the network outcome of a session."""
        return outcome.model_copy(
            update={
                "served": outcome.served - self._matched_count,
                "live": outcome.live + self._sent_count,
                "unmatched": (*outcome.unmatched, *self._unmatched),
                "response_changes": (*outcome.response_changes, *self._changes.changes),
                "notes": (*outcome.notes, *self.notes, *self._changes.notes()),
            }
        )

    async def respond(self, session: Session, request: Request, match: Match) -> Exchange:
        """Send a request, store what it returns, and compare that with the recorded exchange it matches.

        Raises:
            OutputError: it cannot be stored.
        """
        session.detect_in_request(request)
        key = redacted_key(session, request)
        ordinal, occurrence = self._numbering.next_ordinal(), self._numbering.next_occurrence(key)
        started_ms, frame = session.timeline.now_ms, frame_path(frame_of(request))
        self._sent_count += 1
        ended = await self._send(session, request)
        self._learn(session, match, ended)
        response = None if ended.response is None else self._response(session, ended.response, ordinal, request.method)
        hops = tuple(self._hop(session, each) for each in ended.hops)
        if ended.failure is not None:
            self._note_failure(session, request, ended)
        moment = self._numbering.next_moment(session.timeline.now_ms, session.timeline.phase)
        exchange = Exchange(
            ordinal=ordinal,
            key=key,
            occurrence=occurrence,
            request=self._request(session, request, frame),
            hops=hops,
            response=response,
            failure=ended.failure,
            started_ms=min(started_ms, float(moment.at_ms)),
            completed_ms=float(moment.at_ms),
            completion=moment.order,
            phase=moment.phase,
        )
        self._store.append(exchange)
        self._compare(match, exchange)
        return self._as_sent(exchange, ended) if self.sends_every_request else exchange

    def _learn(self, session: Session, match: Match, ended: LiveResult) -> None:
        """Let what the site drew for a response stand for what it drew for the recorded one."""
        response = ended.response
        if not isinstance(match, Hit) or response is None or self._rule_use is None:
            return
        if self._learner is None:
            self._learner = ResponseLearner(session, self._recording, self._rule_use)
        self._learner.learn_head(match.exchange, response.url, response.headers)
        self._learner.learn_body(match.exchange, response.url, response.body)

    def _as_sent(self, exchange: Exchange, ended: LiveResult) -> Exchange:
        """Return an exchange with the secrets and values that the site sent."""
        hops = (
            each.model_copy(update={"url": live.url, "headers": live.headers})
            for each, live in zip(exchange.hops, ended.hops, strict=True)
        )
        response = exchange.response
        if response is not None and ended.response is not None:
            response = response.model_copy(update={"url": ended.response.url, "headers": ended.response.headers})
            if exchange.ordinal in self._bodies:
                self._bodies[exchange.ordinal] = ended.response.body
        return exchange.model_copy(update={"hops": tuple(hops), "response": response})

    def _compare(self, match: Match, exchange: Exchange) -> None:
        if not isinstance(match, Hit):
            self._unmatched.append(match.key)
            return
        self._matched_count += 1
        response, body = exchange.response, self._bodies.get(exchange.ordinal)
        answer = (
            None
            if response is None
            else ComparedResponse(url=response.url, status=response.status, headers=response.headers, body=body)
        )
        if not match.exchange.is_pending:
            redirects = redirect_urls(exchange)
            is_redirected = bool(exchange.hops)
            now = RequestEnd(
                response=answer, failure=exchange.failure, redirects=redirects, is_redirected=is_redirected
            )
            values = self._changes.differences(match.exchange, now)
            recorded = match.exchange
            self._changes.record(recorded.key, recorded.occurrence, values, recorded.request.resource_type)

    def pop_body(self, exchange: Exchange) -> bytes | None:
        """Return the body of a live response, once: as the site sent it if this sends every request, else as stored.

        None for a recorded exchange.
        """
        return self._bodies.pop(exchange.ordinal, None)

    async def _send(self, session: Session, request: Request) -> LiveResult:
        """Send a request with the real values behind the stand-ins that pages were given."""
        real = SecretRestorer(session.secret_detector)
        is_document = request.is_navigation_request()
        sent = LiveRequest(
            method=request.method,
            url=real.restore_text(request.url),
            headers={name.lower(): real.restore_text(value) for name, value in request.headers.items()},
            body=None if request.post_data_buffer is None else real.restore_bytes(request.post_data_buffer),
            script_origin=_script_origin(request),
        )
        cookies = await cookies_for(session.context, sent, is_document=is_document)
        revealed = [{**each, "value": real.restore_text(str(each["value"]))} for each in cookies]
        return await send_live_request(
            self._api_request, sent, revealed, timeout_ms=self._timeout_s * 1000, is_document=is_document
        )

    def _response(self, session: Session, response: LiveResponse, ordinal: int, method: str) -> RecordedResponse:
        headers = self._headers(session, response)
        body: BlobRef | None = None
        if response.status not in NULL_BODY_STATUSES and method != "HEAD":
            data = redact_body(session, response.body, response.header("content-type"))
            body = self._store.write_blob(data)
            self._bodies[ordinal] = data
        url = session.redactor.redact_text(response.url)
        return RecordedResponse(
            url=url, status=response.status, status_text=response.status_text, headers=headers, body=body
        )

    def _hop(self, session: Session, response: LiveResponse) -> Hop:
        headers = self._headers(session, response)
        return Hop(url=session.redactor.redact_text(response.url), status=response.status, headers=headers)

    def _headers(self, session: Session, response: LiveResponse) -> tuple[tuple[str, str], ...]:
        if session.secret_detector is not None:
            session.secret_detector.add(session.secret_detector.search.in_url(response.url))
            session.secret_detector.add(session.secret_detector.search.in_headers(response.headers))
        return redact_headers(session, response.headers)

    def _request(self, session: Session, request: Request, frame: str) -> RecordedRequest:
        body = request.post_data_buffer
        return RecordedRequest(
            method=request.method,
            url=session.redactor.redact_text(request.url),
            headers=redact_headers(session, sorted(request.headers.items())),
            body=None if not body else self._store.write_blob(session.redactor.redact_bytes(body)),
            resource_type=request.resource_type,
            is_navigation=request.is_navigation_request(),
            frame=frame,
        )

    def _note_failure(self, session: Session, request: Request, ended: LiveResult) -> None:
        what = f"{request.method} {session.redactor.redact_text(request.url)}: {ended.failure} ({ended.reason})"
        if ended.failure == "net::ERR_TIMED_OUT":
            what += f"; live responses must complete within {self._timeout_s:g} s"
        self.notes.append(f"live: {what}")


def _script_origin(request: Request) -> str:
    """Return the origin of the script that sends a request; empty without one."""
    if request.resource_type not in FETCH_TYPES:
        return ""
    return request.headers.get("origin") or origin_of(request.url)
