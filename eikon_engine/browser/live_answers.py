"""Serve responses of the live site in a sealed session: fetched by us, stored like a recording, served like one.

The browser stays behind its sink. A permitted request is sent from outside it (`live_request`), becomes an `Exchange`
with a moment, and is served like a recorded one: the page sees what a replay of it would show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.browser.changed_answers import ChangedAnswers, Ending
from eikon_engine.browser.clean_traffic import clean_body, clean_headers
from eikon_engine.browser.frames import frame_of, frame_path
from eikon_engine.browser.live_request import SCHEMES, Sent, cookies_for, make, origin_of
from eikon_engine.browser.observe import key_of
from eikon_engine.browser.streams import EVENTS
from eikon_engine.divergence.answers import Answer
from eikon_engine.network.additions import Additions
from eikon_engine.network.exchange import Exchange, Hop, RecordedRequest, RecordedResponse
from eikon_engine.network.kinds import FETCHES
from eikon_engine.network.matching import Hit
from eikon_engine.redact.revealed import Revealed
from eikon_engine.trace.blobs import BlobRef, ref_of

if TYPE_CHECKING:
    from playwright.async_api import APIRequest, Request

    from eikon_engine.browser.live_request import Came, Ended
    from eikon_engine.browser.session import Session
    from eikon_engine.network.matching import Match
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkOutcome

PATIENCE_S: Final = 30.0
"""Wall time within which a response must be complete."""
WITHOUT_BODY: Final = frozenset({204, 205, 304})


class AnswerKeeper(Protocol):
    """Where live responses are stored: the network part of a bundle, see `NetworkWriter`."""

    def write_blob(self, data: bytes) -> BlobRef:
        """Store a body, before the exchange that refers to it."""

    def append(self, exchange: Exchange) -> None:
        """Append one exchange."""


class Unkept:
    """Store nothing: for runs that record nothing."""

    def write_blob(self, data: bytes) -> BlobRef:
        """Return the reference of a body."""
        return ref_of(data)

    def append(self, exchange: Exchange) -> None:
        """Discard an exchange."""


class LiveAnswers:
    """Send requests that a sealed session is permitted to send; one per session."""

    def __init__(
        self,
        requests: APIRequest,
        recording: NetworkRecording,
        keeper: AnswerKeeper | None = None,
        *,
        stored: NetworkRecording | None = None,
        every: bool = False,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Send with `requests`, and number responses after those of `recording`, which the session serves.

        Requests with a recorded response are sent only if `every` is set. `stored` is what the store holds, where its
        moments differ. Secrets are stored, and shown to pages, as stand-ins if the session detects them, see
        `Session.find_secrets`.
        """
        self.every: Final = every
        self._made_count = 0
        self.notes: list[str] = []
        self._requests = requests
        self._keeper = keeper or Unkept()
        self._places = Additions(recording, stored or recording)
        self._bodies: dict[int, bytes] = {}
        """Bodies still to be served, by ordinal."""
        self._patience_s = patience_s
        self._matched = 0
        """How many of the requests that were sent have a recorded response."""
        self._unmatched: list[str] = []
        self._changed = ChangedAnswers(recording)

    def refusal(self, request: Request) -> str | None:
        """Return why a request is not sent even in live mode; None if it is."""
        if request.resource_type == "eventsource" or request.headers.get("accept") == EVENTS:
            return "event streams are not fetched live: they never end"
        if request.url.partition(":")[0] not in SCHEMES:
            return "only HTTP requests are sent live"
        return None

    def added_to(self, met: NetworkOutcome) -> NetworkOutcome:
        """Add the live requests to the network outcome of a session."""
        return met.model_copy(
            update={
                "served": met.served - self._matched,
                "live": met.live + self._made_count,
                "unmatched": (*met.unmatched, *self._unmatched),
                "response_changes": (*met.response_changes, *self._changed.kept),
                "notes": (*met.notes, *self.notes, *self._changed.notes()),
            }
        )

    async def answer(self, session: Session, request: Request, match: Match) -> Exchange:
        """Send a request, store what it returns, and compare it with the recorded exchange it matches.

        Raises:
            OutputError: it cannot be stored.
        """
        session.learn_request(request)
        key = key_of(session, request)
        ordinal, occurrence = self._places.ordinal(), self._places.occurrence(key)
        started_ms, frame = session.rest.now_ms, frame_path(frame_of(request))
        self._made_count += 1
        ended = await self._made(session, request)
        response = None if ended.answer is None else self._response(session, ended.answer, ordinal, request.method)
        hops = tuple(self._hop(session, each) for each in ended.hops)
        if ended.failure is not None:
            self._note_failure(session, request, ended)
        moment = self._places.moment(session.rest.now_ms, session.rest.phase)
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
        self._keeper.append(exchange)
        self._compare(match, exchange)
        return exchange

    def _compare(self, match: Match, exchange: Exchange) -> None:
        if not isinstance(match, Hit):
            self._unmatched.append(match.key)
            return
        self._matched += 1
        response, body = exchange.response, self._bodies.get(exchange.ordinal)
        answer = (
            None
            if response is None
            else Answer(url=response.url, status=response.status, headers=response.headers, body=body)
        )
        if not match.exchange.pending:
            now = Ending(answer=answer, failure=exchange.failure)
            values = self._changed.differences(match.exchange, now)
            self._changed.keep(match.exchange.key, match.exchange.occurrence, values)

    def take_body(self, exchange: Exchange) -> bytes | None:
        """Return the body of a live response, once, as stored; None for a recorded exchange."""
        return self._bodies.pop(exchange.ordinal, None)

    async def _made(self, session: Session, request: Request) -> Ended:
        """Send a request with the real values behind the stand-ins that pages were given."""
        real = Revealed(session.found)
        is_document = request.is_navigation_request()
        sent = Sent(
            method=request.method,
            url=real.text(request.url),
            headers={name.lower(): real.text(value) for name, value in request.headers.items()},
            body=None if request.post_data_buffer is None else real.data(request.post_data_buffer),
            asker=_asker(request),
        )
        cookies = await cookies_for(session.context, sent, is_document=is_document)
        revealed = [{**each, "value": real.text(str(each["value"]))} for each in cookies]
        return await make(self._requests, sent, revealed, timeout_ms=self._patience_s * 1000, is_document=is_document)

    def _response(self, session: Session, came: Came, ordinal: int, method: str) -> RecordedResponse:
        headers = self._headers(session, came)
        body: BlobRef | None = None
        if came.status not in WITHOUT_BODY and method != "HEAD":
            data = clean_body(session, came.body, came.header("content-type"))
            body = self._keeper.write_blob(data)
            self._bodies[ordinal] = data
        url = session.redactor.text(came.url)
        return RecordedResponse(url=url, status=came.status, status_text=came.status_text, headers=headers, body=body)

    def _hop(self, session: Session, came: Came) -> Hop:
        headers = self._headers(session, came)
        return Hop(url=session.redactor.text(came.url), status=came.status, headers=headers)

    def _headers(self, session: Session, came: Came) -> tuple[tuple[str, str], ...]:
        if session.found is not None:
            session.found.learn(session.found.discover.in_address(came.url))
            session.found.learn(session.found.discover.in_headers(came.headers))
        return clean_headers(session, came.headers)

    def _request(self, session: Session, request: Request, frame: str) -> RecordedRequest:
        body = request.post_data_buffer
        return RecordedRequest(
            method=request.method,
            url=session.redactor.text(request.url),
            headers=clean_headers(session, sorted(request.headers.items())),
            body=None if not body else self._keeper.write_blob(session.redactor.data(body)),
            resource_type=request.resource_type,
            is_navigation=request.is_navigation_request(),
            frame=frame,
        )

    def _note_failure(self, session: Session, request: Request, ended: Ended) -> None:
        what = f"{request.method} {session.redactor.text(request.url)}: {ended.failure} ({ended.why})"
        if ended.failure == "net::ERR_TIMED_OUT":
            what += f"; live responses must complete within {self._patience_s:g} s"
        self.notes.append(f"live: {what}")


def _asker(request: Request) -> str:
    """Return the origin of the script that sends a request; empty without one."""
    if request.resource_type not in FETCHES:
        return ""
    return request.headers.get("origin") or origin_of(request.url)
