"""Serve responses of the live site in a sealed session: fetched by us, stored like a recording, served like one.

The browser stays behind its sink. A permitted request is sent from outside it (`live_request`), becomes an `Exchange`
with a moment, and is served like a recorded one: the page sees what a replay of it would show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.browser.changed_answers import RequestEnd, ResponseChanges
from eikon_engine.browser.clean_traffic import redact_body, redact_headers
from eikon_engine.browser.frames import frame_of, frame_path
from eikon_engine.browser.live_request import SCHEMES, LiveRequest, cookies_for, origin_of, send_live_request
from eikon_engine.browser.observe import redacted_key
from eikon_engine.browser.streams import EVENT_STREAM
from eikon_engine.divergence.answers import ComparedResponse
from eikon_engine.network.additions import NumberAllocator
from eikon_engine.network.exchange import Exchange, Hop, RecordedRequest, RecordedResponse
from eikon_engine.network.kinds import FETCH_TYPES
from eikon_engine.network.matching import Hit
from eikon_engine.redact.revealed import SecretRestorer
from eikon_engine.trace.blobs import BlobRef, blob_ref

if TYPE_CHECKING:
    from playwright.async_api import APIRequest, Request

    from eikon_engine.browser.live_request import LiveResponse, LiveResult
    from eikon_engine.browser.session import Session
    from eikon_engine.network.matching import Match
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkOutcome

RESPONSE_TIMEOUT_S: Final = 30.0
"""Wall time within which a response must be complete."""
BODILESS_STATUSES: Final = frozenset({204, 205, 304})


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

    def __init__(
        self,
        requests: APIRequest,
        recording: NetworkRecording,
        store: ResponseStore | None = None,
        *,
        stored: NetworkRecording | None = None,
        sends_every_request: bool = False,
        timeout_s: float = RESPONSE_TIMEOUT_S,
    ) -> None:
        """Send with `requests`, and number responses after those of `recording`, which the session serves.

        Requests with a recorded response are sent only if `every` is set. `stored` is what the store holds, where its
        moments differ. Secrets are stored, and shown to pages, as stand-ins if the session detects them, see
        `Session.start_secret_detection`.
        """
        self.sends_every_request: Final = sends_every_request
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
        self._changes = ResponseChanges(recording)

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
        """Send a request, store what it returns, and compare it with the recorded exchange it matches.

        Raises:
            OutputError: it cannot be stored.
        """
        session.detect_in_request(request)
        key = redacted_key(session, request)
        ordinal, occurrence = self._numbering.next_ordinal(), self._numbering.next_occurrence(key)
        started_ms, frame = session.stabilizer.now_ms, frame_path(frame_of(request))
        self._sent_count += 1
        ended = await self._send(session, request)
        response = None if ended.response is None else self._response(session, ended.response, ordinal, request.method)
        hops = tuple(self._hop(session, each) for each in ended.hops)
        if ended.failure is not None:
            self._note_failure(session, request, ended)
        moment = self._numbering.next_moment(session.stabilizer.now_ms, session.stabilizer.phase)
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
        return exchange

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
            now = RequestEnd(response=answer, failure=exchange.failure)
            values = self._changes.differences(match.exchange, now)
            self._changes.record(match.exchange.key, match.exchange.occurrence, values)

    def pop_body(self, exchange: Exchange) -> bytes | None:
        """Return the body of a live response, once, as stored; None for a recorded exchange."""
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

    def _response(self, session: Session, came: LiveResponse, ordinal: int, method: str) -> RecordedResponse:
        headers = self._headers(session, came)
        body: BlobRef | None = None
        if came.status not in BODILESS_STATUSES and method != "HEAD":
            data = redact_body(session, came.body, came.header("content-type"))
            body = self._store.write_blob(data)
            self._bodies[ordinal] = data
        url = session.redactor.redact_text(came.url)
        return RecordedResponse(url=url, status=came.status, status_text=came.status_text, headers=headers, body=body)

    def _hop(self, session: Session, came: LiveResponse) -> Hop:
        headers = self._headers(session, came)
        return Hop(url=session.redactor.redact_text(came.url), status=came.status, headers=headers)

    def _headers(self, session: Session, came: LiveResponse) -> tuple[tuple[str, str], ...]:
        if session.secret_detector is not None:
            session.secret_detector.add(session.secret_detector.search.in_url(came.url))
            session.secret_detector.add(session.secret_detector.search.in_headers(came.headers))
        return redact_headers(session, came.headers)

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
