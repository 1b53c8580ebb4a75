"""Let what a live server sends reach its page when the page got it in the recording."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from eikon_engine.browser.frames import is_main_document
from eikon_engine.browser.traffic.paced_sockets import PacedSocket, find_pushes, is_answer_to
from eikon_engine.browser.traffic.schedule import DeliverySchedule
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.network.long_polls import MIN_POLL_MS
from eikon_engine.network.pacing import plan_pacing, response_moment
from eikon_engine.network.websocket import SocketOpened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from playwright.async_api import Request

    from eikon_engine.browser.request_tracker import RequestTracker
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.delivery_queue import Delivery
    from eikon_engine.browser.traffic.paced_sockets import Push, PushKind
    from eikon_engine.browser.traffic.socket_replay import RecordedSocketNames
    from eikon_engine.network.exchange import Exchange, Moment
    from eikon_engine.network.heartbeats import ServerHeartbeat
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.network.websocket import SocketSide

RESPONSE_S: Final = 5.0
"""Wall time after which a response that does not end no longer holds back later ones."""
EARLY_MS: Final = 500.0
"""Page time by which a page sends a request earlier than it did, at least; recorded page time is wall time, in which
scripts take time that they do not take in a replay."""
ROUNDING_MS: Final = 0.5
"""Page time by which that of a message may be rounded; what began in the same millisecond preceded it."""
TRANSIT_MS: Final = 10.0
"""Page time that a response takes from its server, at most: what the server got then did not precede it."""
JUST_BEFORE_MS: Final = 50.0
"""Page time before a request within which a page sent others that its browser may report only after it."""
REPORTED_S: Final = 0.5
"""Wall time within which a browser reports them."""
LEAD_S: Final = 0.1
"""Wall time within which a request reaches a server; one that is answered sooner has reached it."""
CONNECT_S: Final = 1.0
"""Wall time within which a server accepts a socket before it gets a request; also for the answers that it gave before
that."""
FULFILLED_S: Final = 1.0
"""Wall time in which a page takes a response that is already here; a fetch whose body no script reads never ends."""
MESSAGE_S: Final = 3.0
"""Wall time for which page time waits for a message that the server had sent by then in the recording."""
_NEVER_FETCHED: Final = frozenset({"eventsource", "media", "ping"})
"""Types of requests whose responses are streamed, or read by no script."""


@dataclass(slots=True, eq=False)
class HeldRequest:
    """A request whose response comes when the recorded one came, and which waits until then, or is sent earlier."""

    request: Request
    recorded: Exchange
    started_ms: float
    """Recorded page time at which it was sent."""
    answered_ms: float
    """Recorded page time at which its response began."""
    moment: Moment
    """When the response reaches the page."""
    is_background: bool
    """Whether a timer sent it."""
    is_let_through: asyncio.Event = field(default_factory=asyncio.Event)
    is_early: bool = False
    """Whether it is sent before that, because the server got it before something else, or sent messages meanwhile."""
    is_cancelled: bool = False
    """Whether its page cancelled it."""
    is_answered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the server has answered one whose response is kept until its turn."""

    @property
    def is_safe(self) -> bool:
        """Whether its response is all that comes of it."""
        return self.recorded.request.method in SAFE_METHODS

    @property
    def is_poll(self) -> bool:
        """Whether it was a long poll, which may be answered because of what the server gets meanwhile."""
        return self.answered_ms - self.started_ms >= MIN_POLL_MS

    def was_sent_before(self, at_ms: float, ordinal: int) -> bool:
        """Return whether it was sent before another request, which is given by its page time and its ordinal."""
        return (self.started_ms, self.recorded.ordinal) < (at_ms, ordinal)

    def may_be_answered_after(self, at_ms: float) -> bool:
        """Return whether the server may have answered it because of what it got at a page time of the recording."""
        return at_ms < self.answered_ms - (0.0 if self.is_poll else TRANSIT_MS)


class LivePace:
    """Paces the responses of a live server, and what it sends on WebSockets, by the moments of a recording.

    A request is let through when its recorded response came, and its response is waited for before anything else
    happens; so a page has as much time as in the recording, however fast the server is. It is let through earlier if
    the server must not get something else first: an unsafe request, anything if it is unsafe itself, or a message on a
    WebSocket; its response is kept until its moment then. See `plan_pacing` for those that are let through at once.
    """

    def __init__(
        self,
        session: Session,
        recording: NetworkRecording,
        names: RecordedSocketNames,
        is_telemetry: Callable[[Exchange], bool],
        deadlines_ms: Iterable[float] = (),
    ) -> None:
        """Pace a session; `names` pair its sockets with recorded ones.

        `deadlines_ms` are the recorded page times at which waits of the agent timed out.
        """
        self._session = session
        self._deadlines_ms = sorted(deadlines_ms)
        self._names = names
        self._long_tasks = recording.long_tasks
        self._is_telemetry = is_telemetry
        self._pacing = plan_pacing(recording, is_telemetry)
        self._answers = {
            each.ordinal: moment
            for was, now in zip(recording.as_recorded.exchanges, recording.exchanges, strict=True)
            for each in (was if was.request.method in SAFE_METHODS else now,)
            if each.ordinal in self._pacing.answered_ms and (moment := response_moment(each)) is not None
        }
        """When the requests that are let through at once were answered; a timeline may have a long poll too early."""
        self._exchanges: WeakKeyDictionary[Request, Exchange] = WeakKeyDictionary()
        """The recorded exchanges of requests."""
        self._held: dict[Request, HeldRequest] = {}
        """Those that are held."""
        self._reported: set[int] = set()
        """The recorded ordinals of all that were ever held."""
        self._has_reported = asyncio.Event()
        """Set whenever one is added."""
        self._let_through: dict[Request, HeldRequest] = {}
        """Those that were let through in their turn, and whose response is on its way."""
        self._early: dict[Request, HeldRequest] = {}
        """Those that were let through before their turn, and whose responses are kept until then."""
        self._turns: set[asyncio.Task[object]] = set()
        """The tasks that wait for a turn."""
        self._as_recorded = {each.ordinal: each for each in recording.as_recorded.exchanges}
        """The exchanges with the page times at which they were recorded; those of a timeline are other ones."""
        self._in_flight: dict[Request, tuple[float, float]] = {}
        """Unsafe ones that were let through at once and are not answered yet; see `Pacing.answered_ms`."""
        self._sent_s: dict[int, float] = {}
        """Wall time at which requests were let through, by the ordinals of their exchanges."""
        pushes, sent = find_pushes(recording, names)
        opened = (each for each in recording.as_recorded.sockets if isinstance(each, SocketOpened))
        self._sockets = {
            each.socket: PacedSocket(pushes.get(each.socket, {}), sent.get(each.socket, ()), each.moment.at_ms)
            for each in opened
        }
        """The recorded sockets, by number."""
        self._urls: dict[int, str] = {}
        """URL of each live socket."""
        self._open: set[int] = set()
        """The live sockets that are open."""
        pushed = (push.moment for left in pushes.values() for own in left.values() for push in own)
        in_turn = self._pacing.held | self._pacing.pushed_during
        responses = [moment for ordinal, moment in self._pacing.moments.items() if ordinal in in_turn]
        self._schedule = DeliverySchedule(session.stabilizer, session.tracker, (*responses, *pushed))
        session.stabilizer.paced_deliveries = self._schedule.queue
        session.stabilizer.pending_work.append(lambda: sum(map(self._is_awaited, self._open)))
        session.context.on("requestfailed", self._discard)

    async def stop(self) -> None:
        """Stop pacing; what waits for its turn is never sent."""
        for each in tuple(self._turns):
            each.cancel()
        await self._schedule.stop()

    def on_opened(self, socket: int, url: str) -> None:
        """Note a socket."""
        self._urls[socket] = url
        self._open.add(socket)

    def on_accepted(self, socket: int, protocol: str, extensions: str) -> None:
        """Do nothing."""

    def on_message(self, socket: int, sender: SocketSide, content: str | bytes) -> None:
        """Count what the page sends."""
        recorded = self._recorded(socket)
        if sender == "page" and recorded is not None and not is_answer_to(self._heartbeat(socket), _bytes(content)):
            self._schedule.queue.stop_expecting([push.moment.order for push in recorded.count_sent()])

    def on_closed(self, socket: int, closer: SocketSide, code: int | None, reason: str) -> None:  # noqa: ARG002
        """Expect nothing more on a socket."""
        self._open.discard(socket)
        recorded = self._recorded(socket)
        if recorded is not None:
            self._allow_connection(recorded)
            self._schedule.queue.stop_expecting([push.moment.order for own in recorded.left.values() for push in own])

    def expect_response(self, request: Request, recorded: Exchange) -> None:
        """Note which recorded exchange a request corresponds to, before it is let through."""
        self._exchanges[request] = recorded

    @asynccontextmanager
    async def response_turn(self, request: Request, *, is_background: bool) -> AsyncIterator[HeldRequest | None]:
        """Wait until a request may be let through, by the body of the `with` statement; then wait for its response.

        Yields a request whose response must be kept until its `answer_turn`; else None.
        """
        turn = asyncio.current_task()
        if turn is not None:
            self._turns.add(turn)
        try:
            recorded = self._exchanges.pop(request, None)
            moment = None if recorded is None else self._pacing.moments.get(recorded.ordinal)
            if recorded is not None and moment is not None and self._is_answered_in_turn(request, recorded.ordinal):
                async with self._held_turn(request, recorded, moment, is_background=is_background) as early:
                    yield early
                return
            if recorded is not None:
                await self._send_at_once(request, recorded)
                self._sent_s[recorded.ordinal] = time.monotonic()
            yield None
        finally:
            if turn is not None:
                self._turns.discard(turn)

    @asynccontextmanager
    async def answer_turn(self, early: HeldRequest) -> AsyncIterator[None]:
        """Wait until the response to a request that was let through early may reach its page."""
        early.is_answered.set()
        if early.is_cancelled:
            yield
            return
        self._schedule.queue.mark_kept(early.request)
        async with self._schedule.in_turn(early.moment, early.request, is_background=early.is_background):
            yield
            if self._as_recorded[early.recorded.ordinal].moment is None:
                return  # it did not end in the recording either
            with suppress(TimeoutError):
                async with asyncio.timeout(FULFILLED_S):
                    await _wait_until_answered(self._session.tracker.requests, early.request)

    def _is_answered_in_turn(self, request: Request, ordinal: int) -> bool:
        """Return whether a response reaches its page in its turn."""
        return ordinal in self._pacing.held or (ordinal in self._pacing.pushed_during and self._can_be_fetched(request))

    def _can_be_fetched(self, request: Request) -> bool:
        """Return whether we can send a request ourselves: the browser does not tell the files in a body."""
        content_type = request.headers.get("content-type", "")
        return not (
            is_main_document(request)
            or "multipart/" in content_type
            or (content_type and request.method not in SAFE_METHODS and request.post_data_buffer is None)
            or request.resource_type in _NEVER_FETCHED
            or request in self._session.tracker.requests.blocking
        )

    async def _send_at_once(self, request: Request, recorded: Exchange) -> None:
        """Prepare a request that is not held; one that never reached the server waits until its page cancels it."""
        requests, queue, ordinal = self._session.tracker.requests, self._schedule.queue, recorded.ordinal
        if ordinal in self._pacing.withheld | self._pacing.unanswered:
            queue.mark_never_answered(request)
            self._session.tracker.changed.set()
        if ordinal in self._pacing.withheld:
            await requests.wait_until_ended(request)
            return
        if not self._is_telemetry(recorded):
            await self._let_through_before(recorded)
        if ordinal in self._answers:
            if request.method not in SAFE_METHODS:
                self._in_flight[request] = self._pacing.answered_ms[ordinal]
            queue.mark_answered_by_site(request, self._answers[ordinal])
        if ordinal in self._pacing.pushed_during:
            queue.stop_expecting((self._pacing.moments[ordinal].order,))

    @asynccontextmanager
    async def _held_turn(
        self, request: Request, recorded: Exchange, moment: Moment, *, is_background: bool
    ) -> AsyncIterator[HeldRequest | None]:
        """Hold a request until its moment, or let it through earlier; see `response_turn`."""
        was, requests = self._as_recorded[recorded.ordinal], self._session.tracker.requests
        answered = response_moment(was) or moment
        is_early = recorded.ordinal in self._pacing.pushed_during
        held = HeldRequest(request, recorded, was.started_ms, answered.at_ms, moment, is_background, is_early=is_early)
        in_turn = partial(self._schedule.in_turn, is_immediate=is_main_document(request), is_background=is_background)
        self._held[request] = held
        self._reported.add(recorded.ordinal)
        self._has_reported.set()
        self._bring_forward(held, moment)
        try:
            async with nullcontext() if is_early else in_turn(moment, request):
                if not held.is_cancelled and request not in requests.blocking:
                    await self._let_through_before(recorded)
                    await self._give_server_time(recorded)
                requests.note_sent(request)
                self._sent_s[recorded.ordinal] = time.monotonic()
                if not (held.is_early and self._can_be_fetched(request)):
                    yield None
                    await self._end_turn(held)
                    return
            self._end_hold(held)
            self._early[request] = held
            self._schedule.queue.mark_answered_by_site(request, moment)
            yield held
        finally:
            self._end_hold(held)
            self._early.pop(request, None)
            held.is_answered.set()

    def _end_hold(self, held: HeldRequest) -> None:
        held.is_let_through.set()
        self._held.pop(held.request, None)

    async def _end_turn(self, sent: HeldRequest) -> None:
        """Wait for the response to a request that was let through; if that was early, it comes when it comes."""
        self._end_hold(sent)
        if sent.is_early:
            self._schedule.queue.stop_expecting((sent.moment.order,))
            self._schedule.queue.mark_answered_by_site(sent.request, sent.moment)
            return
        self._let_through[sent.request] = sent
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(RESPONSE_S):
                    await self._wait_for_answer(sent)
        finally:
            self._let_through.pop(sent.request)

    async def _wait_for_answer(self, sent: HeldRequest) -> None:
        """Wait for a response; what the server got before it answered is let through, since it may answer to that."""
        requests = self._session.tracker.requests
        later = [
            each
            for each in self._held.values()
            if sent.was_sent_before(each.started_ms, each.recorded.ordinal)
            and sent.may_be_answered_after(each.started_ms)
            and not (sent.is_safe and each.is_safe)
        ]
        if later:
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAD_S):
                    await _wait_until_answered(requests, sent.request)
            await self.let_through(later)
        await _wait_until_answered(requests, sent.request)

    def held_before_message(self, socket: int, content: str | bytes) -> Sequence[HeldRequest]:
        """Return the held requests that the server answered when it got the message that a page sent last."""
        recorded = self._recorded(socket)
        if recorded is None or is_answer_to(self._heartbeat(socket), _bytes(content)):
            return ()
        place = recorded.sent - 1
        if place >= len(recorded.sent_ms):
            return ()
        at_ms = recorded.sent_ms[place] + ROUNDING_MS
        return [each for each in self._held.values() if each.started_ms < at_ms and each.may_be_answered_after(at_ms)]

    async def _let_through_before(self, recorded: Exchange) -> None:
        """Let through what the server answered when it got a request, if one may depend on the other."""
        started_ms, is_safe = self._as_recorded[recorded.ordinal].started_ms, recorded.request.method in SAFE_METHODS
        await self._wait_for_reports_before(recorded)
        held = [each for each in self._held.values() if each.was_sent_before(started_ms, recorded.ordinal)]
        await self.let_through(
            [each for each in held if each.answered_ms > started_ms and not (is_safe and each.is_safe)]
        )
        if not is_safe:
            await self._connect_before(recorded)

    async def _wait_for_reports_before(self, recorded: Exchange) -> None:
        """Wait briefly for what a page sent just before a request: a browser may report them in another order."""
        started_ms, is_safe = self._as_recorded[recorded.ordinal].started_ms, recorded.request.method in SAFE_METHODS
        sent = [
            each.ordinal
            for each in self._as_recorded.values()
            if 0.0 <= started_ms - each.started_ms <= JUST_BEFORE_MS
            and (each.started_ms, each.ordinal) < (started_ms, recorded.ordinal)
            and each.ordinal in self._pacing.held
            and not (is_safe and each.request.method in SAFE_METHODS)
        ]
        with suppress(TimeoutError):
            async with asyncio.timeout(REPORTED_S):
                while not self._reported.issuperset(sent):
                    self._has_reported.clear()
                    await self._has_reported.wait()

    async def _connect_before(self, recorded: Exchange) -> None:
        """Let the server get the sockets that it accepted before it answered a request, and give each a lead.

        It may send messages on them because of the request.
        """
        answered = response_moment(self._as_recorded[recorded.ordinal])
        pushes = ((each, each.next(), each.connecting) for each in self._sockets.values())
        connecting = [
            (socket, push, accepted)
            for socket, push, accepted in pushes
            if accepted is not None and push is not None and (answered is None or answered.at_ms >= push.recorded_ms)
        ]
        if connecting:
            await self._wait_for_answers_before(min(push.recorded_ms for _, push, _ in connecting))
        for socket, _, accepted in connecting:
            self._allow_connection(socket)
            with suppress(TimeoutError):
                async with asyncio.timeout(CONNECT_S):
                    await accepted.wait()

    async def _wait_for_answers_before(self, at_ms: float) -> None:
        """Wait for the responses to what was let through that came before a page time of the recording."""
        requests = self._session.tracker.requests
        with suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_S):
                for sent in [each for each in self._let_through.values() if each.answered_ms <= at_ms]:
                    await _wait_until_answered(requests, sent.request)
                for each in [early for early in self._early.values() if early.answered_ms <= at_ms]:
                    if not each.is_poll:
                        await each.is_answered.wait()

    async def _give_server_time(self, recorded: Exchange) -> None:
        """Ask for what had changed no sooner than in the recording, in wall time."""
        times = self._pacing.server_time_ms.get(recorded.ordinal, {})
        soonest_s = max(
            (self._sent_s.get(was, -math.inf) + after_ms / 1000 for was, after_ms in times.items()), default=0.0
        )
        await asyncio.sleep(max(0.0, soonest_s - time.monotonic()))

    async def let_through(self, requests: Sequence[HeldRequest]) -> None:
        """Let held requests through now, in the order in which they were sent, and give each a lead."""
        for each in sorted(requests, key=lambda held: held.started_ms):
            each.is_early = self._allow(each.request) or each.is_early
            await each.is_let_through.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAD_S):
                    if each.request in self._early:
                        await each.is_answered.wait()
                    else:
                        await _wait_until_answered(self._session.tracker.requests, each.request)

    def _bring_forward(self, held: HeldRequest, moment: Moment) -> None:
        """Let a request through earlier if a wait may have been for it that timed out before its page sent it.

        Its page sends it earlier now, so it is answered as much earlier. Scripts that computed in between do not count:
        they take no page time in a replay.
        """
        sent_ms, started_ms = self._session.timeline.recorded_ms, held.started_ms
        is_missed = any(sent_ms < each < started_ms for each in self._deadlines_ms)
        tasks = ((max(each.begun_ms, sent_ms), min(each.ended_ms, started_ms)) for each in self._long_tasks)
        computed_ms = sum(max(0.0, end - begin) for begin, end in tasks)
        if is_missed and started_ms - sent_ms - computed_ms >= EARLY_MS:
            self._schedule.queue.bring_forward(moment.order, sent_ms + held.answered_ms - started_ms)

    @asynccontextmanager
    async def connection_turn(
        self, socket: int, answered: asyncio.Event, delivered: asyncio.Event
    ) -> AsyncIterator[None]:
        """Wait until a page may connect a socket to its server, by the body of the `with` statement.

        If the server answered a held request while the page was connecting, it may not have known the socket by then:
        `/api/kernels` of JupyterLab counts those of a kernel. So the server gets it when it accepted the recorded one,
        and the answer is waited for: `answered` is set once it is there, `delivered` once the page has it.
        """
        recorded = self._recorded(socket)
        push = None if recorded is None else recorded.next()
        if recorded is None or push is None or not self._is_connected_late(recorded, push):
            yield
            return
        recorded.connecting = answered
        async with self._schedule.in_turn(push.moment):
            recorded.connecting = None
            recorded.is_connected_in_turn = self._schedule.queue.has_reached(push.moment)
            yield
            if recorded.is_connected_in_turn:
                with suppress(TimeoutError):
                    async with asyncio.timeout(MESSAGE_S):
                        await delivered.wait()

    def _is_connected_late(self, recorded: PacedSocket, push: Push) -> bool:
        """Return whether the server answered a held request before it accepted a socket that was opened by then."""
        in_turn = self._pacing.held | self._pacing.pushed_during
        answers = (response_moment(each) for each in self._as_recorded.values() if each.ordinal in in_turn)
        return push.kind == "accepted" and any(
            recorded.opened_ms < moment.at_ms < push.recorded_ms for moment in answers if moment is not None
        )

    @asynccontextmanager
    async def push_turn(self, socket: int, kind: PushKind, content: str | bytes) -> AsyncIterator[None]:
        """Wait until what a server sent on a socket may reach its page, by the body of the `with` statement."""
        recorded = None if kind == "message" and self.is_heartbeat(socket, content) else self._recorded(socket)
        push = None if recorded is None else recorded.take(kind, _bytes(content))
        if recorded is not None:
            recorded.awaited_since_s = None
        is_in_turn = kind == "accepted" and recorded is not None and recorded.is_connected_in_turn
        if push is None or is_in_turn or self._is_part_of_answer(push):
            yield
            return
        async with self._schedule.in_turn(push.moment):
            yield

    def is_heartbeat(self, socket: int, content: str | bytes) -> bool:
        """Return whether a message of a server is a heartbeat, which is not held back."""
        heartbeat = self._heartbeat(socket)
        return heartbeat is not None and heartbeat.is_sent_in(_bytes(content))

    def _is_part_of_answer(self, push: Push) -> bool:
        """Return whether the recording has it while an unsafe request was answered that is answered right now."""
        in_flight = self._session.tracker.requests.in_flight
        self._in_flight = {request: times for request, times in self._in_flight.items() if request in in_flight}
        is_among = any(begin < push.recorded_ms < end for begin, end in self._in_flight.values())
        if is_among:
            self._schedule.queue.stop_expecting((push.moment.order,))
        return is_among

    def _is_awaited(self, socket: int) -> bool:
        """Return whether page time waits for the server: it had sent something by now in the recording.

        What may have been its cause must have reached the server.
        """
        recorded = self._recorded(socket)
        push = None if recorded is None else recorded.next()
        if recorded is None or push is None or not self._schedule.queue.has_reached(push.moment):
            return False
        is_caused = recorded.sent >= push.sent_before and all(
            each.started_ms > push.recorded_ms for each in self._held.values()
        )
        if not is_caused or recorded.given_up is push.moment:
            return False
        if recorded.awaited_since_s is None:
            recorded.awaited_since_s = time.monotonic()
        if time.monotonic() - recorded.awaited_since_s < MESSAGE_S:
            return True
        recorded.given_up = push.moment
        self._schedule.queue.stop_expecting((push.moment.order,))
        return False

    def _discard(self, request: Request) -> None:
        """Discard a request that its page cancelled while it was held."""
        held = self._held.get(request) or self._early.get(request)
        if held is not None:
            held.is_cancelled = True
            self._schedule.queue.stop_expecting((held.moment.order,))
            self._allow(request)

    def _allow_connection(self, socket: PacedSocket) -> None:
        """Let the server get a socket that the page is connecting."""
        push = None if socket.connecting is None else socket.next()
        if push is not None:
            self._schedule.queue.stop_expecting((push.moment.order,))
            self._allow_delivery(lambda each: each.moment.order == push.moment.order)

    def _allow(self, request: Request) -> bool:
        """Let a request through out of its turn; return whether it was not its turn yet."""
        return self._allow_delivery(lambda each: each.request is request)

    def _allow_delivery(self, is_meant: Callable[[Delivery], bool]) -> bool:
        """Let what is pending through out of its turn; return whether it was."""
        queue = self._schedule.queue
        delivery = next(filter(is_meant, queue.pending()), None)
        if delivery is None:
            return False
        queue.discard(delivery)
        delivery.allowed.set()
        return True

    def _recorded(self, socket: int) -> PacedSocket | None:
        """Return the recorded socket that a live one is paired with, in the order in which they were opened."""
        if self._names.recorded_socket(socket) is None:
            for earlier, url in self._urls.items():
                if earlier <= socket:
                    self._names.key_of_opened(earlier, self._session.redactor.redact_text(url))
        opened = self._names.recorded_socket(socket)
        return None if opened is None else self._sockets.get(opened.socket)

    def _heartbeat(self, socket: int) -> ServerHeartbeat | None:
        opened = self._names.recorded_socket(socket)
        return None if opened is None else self._names.heartbeat(opened)


async def _wait_until_answered(requests: RequestTracker, request: Request) -> None:
    """Wait until a request in flight and those that it is redirected to have ended."""
    last: Request | None = request
    while last is not None:
        await requests.wait_until_ended(last)
        last = last.redirected_to


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
