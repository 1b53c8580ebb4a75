"""Send requests to the live network, and record how the responses differ from a recording."""

from __future__ import annotations

import asyncio
import hashlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.redaction import redact_body
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.traffic.response_changes import RedactedRequest, RequestEnd, ResponseChanges
from eikon_engine.browser.traffic.socket_replay import RecordedSocketNames, SocketRules
from eikon_engine.divergence.response_diff import ComparedResponse
from eikon_engine.errors import EikonError
from eikon_engine.network.matching import Hit, Playback

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Request, Response

    from eikon_engine.browser.session import Session
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.matching import Miss
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.trace.rules import VolatileRule

NON_NETWORK_SCHEMES: Final = ("data:", "blob:", "about:")
NO_BODY_STATUSES: Final = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT, HTTPStatus.NOT_MODIFIED})


class ProbeTraffic(LiveTraffic):
    """Match live requests with recorded ones by key; recorded responses are never served.

    Bodies are read as soon as a request ends, since the browser discards them with the next document; the stabilizer
    waits for that. Whatever is stored has its secrets redacted.
    """

    def __init__(self, recording: NetworkRecording, rules: tuple[VolatileRule, ...] = ()) -> None:
        """Compare with `recording`; `rules` name the parts of requests that change from run to run."""
        super().__init__()
        self._recording = recording
        self._playback = Playback(recording.exchanges, read_body=recording.body, rules=rules)
        self._rules = rules
        self._keys: dict[Request, str] = {}
        self._matched: dict[Request, Exchange] = {}
        self._missed: dict[Request, tuple[RedactedRequest, Miss]] = {}
        """Requests without a recorded one, as they were when they were sent."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = ResponseChanges(recording)
        self._warnings: list[str] = []

    async def start(self, session: Session) -> None:
        """Set up routes and listeners."""
        await super().start(session)
        session.context.on("request", lambda request: self._on_request(session, request))
        session.context.on("requestfinished", lambda request: self._on_end(session, request))
        session.context.on("requestfailed", lambda request: self._on_end(session, request))
        session.stabilizer.pending_work.append(lambda: len(self._tasks))

    async def stop(self) -> None:
        """Cancel pending comparisons."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await super().stop()

    def recorded_key(self, request: Request) -> str | None:
        """Return the key of the recorded request that a live one matches; rules may make them differ."""
        return self._keys.get(request)

    def socket_names(self) -> RecordedSocketNames:
        """Use the recording's names for sockets."""
        return RecordedSocketNames(self._recording, SocketRules(self._playback.rule_use))

    def outcome(self) -> NetworkOutcome:
        """Add the differences from the recording."""
        notes = (*self._warnings, *self._changed.notes())
        live = super().outcome()
        return live.model_copy(
            update={
                "unused": tuple(exchange.key for exchange in self._playback.unused() if not exchange.is_pending),
                "unmatched": tuple(miss.key for miss in self._playback.misses),
                "response_changes": self._changed.changes,
                "rules_applied": self._playback.rule_use.to_outcome(),
                "notes": (*live.notes, *notes, *self._playback.rule_use.notes()),
            }
        )

    def _on_request(self, session: Session, request: Request) -> None:
        if request.redirected_from is not None or request.url.startswith(NON_NETWORK_SCHEMES):
            return
        self._match(request, RedactedRequest.of(session, request))

    def _match(self, request: Request, redacted: RedactedRequest) -> None:
        match = redacted.match(self._playback)
        if not isinstance(match, Hit):
            self._missed[request] = redacted, match
            return
        self._keys[request] = match.key
        if not match.exchange.is_pending:
            self._matched[request] = match.exchange

    def _match_again(self, session: Session, request: Request) -> None:
        """Match a request once more if a token in it has been learned since: from a response that was still read."""
        before, miss = self._missed[request]
        redacted = RedactedRequest.of(session, request)
        if redacted != before:
            del self._missed[request]
            self._playback.retract(miss)
            self._match(request, redacted)

    def _on_end(self, session: Session, request: Request) -> None:
        root = _first_request(request)
        if root not in self._matched and root not in self._missed:
            return
        task = asyncio.ensure_future(self._compare(session, root, request, earlier=frozenset(self._tasks)))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._on_compared(session, done))

    def _on_compared(self, session: Session, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        session.tracker.changed.set()
        fault = None if task.cancelled() else task.exception()
        if isinstance(fault, EikonError):
            session.tracker.fail(fault)
        elif fault is not None:
            self._warnings.append(f"could not compare a response with the recorded one: {fault}")

    async def _compare(
        self, session: Session, root: Request, last: Request, earlier: frozenset[asyncio.Task[None]]
    ) -> None:
        if root in self._missed:
            await asyncio.gather(*earlier, return_exceptions=True)
            self._match_again(session, root)
        response = await last.response() if last.failure is None else None
        if last.redirected_to is not None:
            return  # a redirect: the request that it led to ends the exchange
        exchange = self._matched.pop(root, None)
        if exchange is None:
            return
        failure = last.failure or (None if response is not None else "net::ERR_EMPTY_RESPONSE")
        answer = await self._live_response(session, response, exchange) if response is not None else None
        values = self._changed.differences(exchange, RequestEnd(response=answer, failure=failure))
        if session.urls.changes_paths:
            values = tuple(each for each in values if session.urls.to_old_path(each.live, last.url) != each.recorded)
        self._changed.record(exchange.key, exchange.occurrence, values, exchange.request.resource_type)

    async def _live_response(self, session: Session, response: Response, exchange: Exchange) -> ComparedResponse:
        pairs = [(pair["name"].lower(), pair["value"]) for pair in await response.headers_array()]
        body = await self._body(session, response, exchange)
        recorded = exchange.response
        if recorded is not None:
            learn = session.redactor.stand_ins.learn
            learn(_lines([("url", recorded.url), *recorded.headers]), _lines([("url", response.url), *pairs]))
        redact = session.redactor.redact_text
        return ComparedResponse(
            url=redact(response.url),
            status=response.status,
            headers=tuple((name, redact(value)) for name, value in pairs),
            body=body,
        )

    async def _body(self, session: Session, response: Response, exchange: Exchange) -> bytes | None:
        """Return the redacted body if there is a recorded one, and learn the tokens in it."""
        from playwright.async_api import Error

        if exchange.response is None or exchange.response.body is None:
            return None

        redirect = HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST
        if redirect or response.status in NO_BODY_STATUSES or response.request.method == "HEAD":
            return None
        try:
            body = await response.body()
        except Error as error:
            url = session.redactor.redact_text(response.url)
            self._warnings.append(f"could not compare the body of {url}: {error.message.splitlines()[0]}")
            return None
        if hashlib.sha256(body).hexdigest() == exchange.response.body.sha256:
            return body
        recorded = self._recording.body(exchange.response.body)
        session.redactor.stand_ins.learn(recorded.decode(errors="replace"), body.decode(errors="replace"))
        return redact_body(session, body, response.headers.get("content-type", ""))


def _lines(pairs: Iterable[tuple[str, str]]) -> str:
    """Return headers as a text of one line each."""
    return "\n".join(f"{name.lower()}: {value}" for name, value in pairs)


def _first_request(request: Request) -> Request:
    while request.redirected_from is not None:
        request = request.redirected_from
    return request
