"""Play recorded WebSockets in a sealed session, and pair live sockets with recorded ones."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.page_tracker import BackgroundTasks
from eikon_engine.browser.traffic.sockets import SOCKET_MARK, notify_lost, notify_page
from eikon_engine.errors import EikonError
from eikon_engine.network.heartbeats import (
    EFFECT_MS,
    ENGINE_IO_PING,
    ENGINE_IO_PONG,
    SERVER_PINGS_SINCE,
    MessageKey,
    RecordedMessage,
    RegularMessage,
    SpontaneousMessages,
    find_answer,
    find_answered_heartbeats,
    find_regular_messages,
    find_server_heartbeat,
    read_handshake,
    recorded_messages,
)
from eikon_engine.network.keys import canonical_url
from eikon_engine.network.nearest import body_fields
from eikon_engine.network.rules import TIMESTAMP, blank_message, blank_socket_url
from eikon_engine.network.unsent import AFTER_END, SLACK_MS, Unsent, is_loading_page
from eikon_engine.network.websocket import (
    ABNORMAL_CLOSURE,
    SocketAccepted,
    SocketClosed,
    SocketMessage,
    SocketOpened,
    close_key,
    describe_close,
    message_key,
    socket_key,
)
from eikon_engine.outcome.outcomes import NetworkMiss, RequestDifference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from playwright.async_api import WebSocketRoute

    from eikon_engine.browser.page_timeline import PageTimeline
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.response_changes import RecordingComparison
    from eikon_engine.browser.traffic.schedule import DeliverySchedule
    from eikon_engine.network.heartbeats import ServerHeartbeat
    from eikon_engine.network.matching import RuleUsage
    from eikon_engine.network.rule_learner import RuleLearner
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.network.websocket import SocketEvent
    from eikon_engine.secrets.redaction import Redactor
    from eikon_engine.trace.rules import VolatileRule

EARLY_MS: Final = 250
"""Recorded page time between a message and one that a timer may send before it in a replay: a timer that is due while
its page is busy fires late, in any order with the events of an action, and that of a replay when it is due.
"""
OVERDUE_PHASES: Final = 2
"""Phases after which a message no longer waits for the page's message before it in the recording."""
JSON_TYPE: Final = "application/json"
UNEXPECTED_CONDITION: Final = 1011
"""Close code: the server met an unexpected condition (RFC 6455, section 7.4.1)."""


@dataclass(frozen=True, slots=True)
class SocketRules:
    """The parts of socket URLs and messages that change from run to run."""

    rule_use: RuleUsage
    """The rules, and how often they are used."""
    learner: RuleLearner | None = None
    """Learns rules for what differs, in a replay that is to find them."""

    @property
    def rules(self) -> tuple[VolatileRule, ...]:
        """Return the rules, with those learned so far."""
        return self.rule_use.rules

    def lookup_key(self, url: str) -> str:
        """Return the key that a socket is looked up by."""
        return socket_key(blank_socket_url(url, self.rules)[0])

    def count_used(self, recorded: str, url: str) -> None:
        """Count the rules that a socket's match needed."""
        if canonical_url(recorded) != canonical_url(url):
            self.rule_use.count_use(blank_socket_url(url, self.rules)[1])

    def are_equal(self, url: str, recorded: bytes, sent: bytes, *, may_learn: bool = True) -> bool:
        """Compare two messages of a page; rules apply only if they differ."""
        if message_key(url, recorded) == message_key(url, sent):
            return True
        loose, used = blank_message(url, recorded, self.rules)
        loose_sent, _ = blank_message(url, sent, self.rules)
        if loose == loose_sent:
            self.rule_use.count_use(used)
            return True
        learned = (
            () if self.learner is None or not may_learn else self.learner.learn_message(url, recorded, sent, self.rules)
        )
        self.rule_use.add(learned)
        self.rule_use.count_use((*used, *learned) if learned else ())
        return bool(learned)

    def blank(self, url: str, content: bytes) -> bytes:
        """Return a message without what the rules ignore."""
        return blank_message(url, content, self.rules)[0]

    def learn_url(self, url: str, recorded: Iterable[str]) -> bool:
        """Learn rules with which the URL of a socket equals a recorded one; return whether there are any."""
        learned = () if self.learner is None else self.learner.learn_socket_url(url, recorded, self.rules)
        self.rule_use.add(learned)
        return bool(learned)


class SocketReplay:
    """Play the recorded sockets; the n-th socket of a URL is the n-th recorded one."""

    def __init__(
        self,
        session: Session,
        schedule: DeliverySchedule,
        recording: NetworkRecording,
        rules: SocketRules,
        misses: list[NetworkMiss],
        comparison: RecordingComparison | None = None,
    ) -> None:
        """Group the recorded events by socket; misses are appended to `misses`, which is shared.

        If `recording` replaces that of the bundle, `comparison` compares the two.
        """
        self.rules = rules
        self._comparison = comparison
        self._opened_count = 0
        self._session = session
        self._schedule = schedule
        self.recording = recording
        events: defaultdict[int, list[SocketEvent]] = defaultdict(list)
        self._by_key: defaultdict[str, list[SocketOpened]] = defaultdict(list)
        for event in recording.sockets:
            events[event.socket].append(event)
            if isinstance(event, SocketOpened):
                self._by_key[rules.lookup_key(event.url)].append(event)
        self._events = dict(events)
        self._background = BackgroundTasks(session.tracker)
        self._playing: list[_PlayedSocket] = []
        self._regular: tuple[tuple[VolatileRule, ...], Mapping[MessageKey, RegularMessage]] | None = None
        """Recorded messages that pages sent at regular intervals, by key, and the rules with which they were found."""
        self._spontaneous = SpontaneousMessages()
        self.misses = misses
        self.served = 0
        self.is_stopped = False
        """Whether the session has ended: its pages close, and their sockets with them."""

    def unused(self) -> tuple[str, ...]:
        """List the keys of recorded sockets that no page opened, and of messages that no page sent."""
        sockets = tuple(socket_key(each.url) for opened in self._by_key.values() for each in opened)
        return (*sockets, *(key for each in self._playing for key in each.unused()))

    def unsent(self, end_ms: float) -> Iterator[Unsent]:
        """Yield the recorded sockets that no page opened until `end_ms`, and what no page sent on the others."""
        not_opened = {each.socket for opened in self._by_key.values() for each in opened}
        events: defaultdict[int, list[SocketEvent]] = defaultdict(list)
        for event in self.recording.as_recorded.sockets:
            events[event.socket].append(event)
            if isinstance(event, SocketOpened) and event.socket in not_opened:
                is_repeated = (self.rules.lookup_key(event.url), None) in self._spontaneous
                explanation = AFTER_END if self.is_after_end(event, end_ms, is_repeated=is_repeated) else ""
                yield Unsent(key=socket_key(event.url), phase=event.moment.phase, explanation=explanation)
        for playing in self._playing:
            yield from playing.unsent(events[playing.socket], end_ms)

    @property
    def last_phase(self) -> int:
        """Return the phase of the session: after the last step, once that has ended."""
        return self._session.timeline.phase

    def is_after_end(self, event: SocketEvent, end_ms: float, *, is_repeated: bool) -> bool:
        """Return whether something was recorded after the last step, and not because of it.

        `is_repeated` is whether the page would have sent it without an action.
        """
        at_ms = event.moment.at_ms
        is_apart = at_ms > end_ms + EFFECT_MS and event.moment.phase >= self.last_phase
        return is_apart or (is_repeated and at_ms > end_ms - SLACK_MS)

    def is_leaving_page(self, event: SocketEvent) -> bool:
        """Return whether a page was loading, in the recording, at an event of a socket that was open before."""
        recorded = self.recording.as_recorded
        opened = next(each for each in recorded.sockets if each.socket == event.socket)
        later = (each for each in recorded.exchanges if each.started_ms > opened.moment.at_ms)
        return any(is_loading_page(each, event.moment.at_ms) for each in later)

    async def play(self, route: WebSocketRoute) -> None:
        """Serve a socket that a page opens."""
        url = self.redactor.redact_text(route.url)
        recorded = self._find(url)
        number, self._opened_count = self._opened_count, self._opened_count + 1
        key = socket_key(recorded[0].url if recorded else url)
        self._session.tracker.note_key(
            key if self._comparison is None else self._comparison.key_of_opened(number, route.url)
        )
        self._note_sent((self.rules.lookup_key(url), None))
        if not recorded:
            reason = "no further socket with this URL was recorded"
            self.add_miss(NetworkMiss(key=socket_key(url), reason=reason))
            self._background.start(_reject(route))
            return
        self.served += 1
        opened = recorded.pop(0)
        self.rules.count_used(opened.url, url)
        events = self._events[opened.socket]
        if self._comparison is not None:
            self._comparison.compare_socket(opened, events)
        recorded_events = [each for each in self.recording.as_recorded.sockets if each.socket == opened.socket]
        playing = _PlayedSocket(self, route, events, recorded_events, number)
        self._playing.append(playing)
        self._background.start(playing.run(self._session, self._schedule))

    def _find(self, url: str) -> list[SocketOpened] | None:
        """Return the recorded sockets of a URL that were not played yet, if there are any."""
        found = self._by_key.get(self.rules.lookup_key(url))
        if found or not self.rules.learn_url(url, [each.url for opened in self._by_key.values() for each in opened]):
            return found
        waiting = sorted((each for opened in self._by_key.values() for each in opened), key=lambda each: each.socket)
        self._by_key.clear()
        for each in waiting:
            self._by_key[self.rules.lookup_key(each.url)].append(each)
        return self._by_key.get(self.rules.lookup_key(url))

    @property
    def redactor(self) -> Redactor:
        """The redactor for what is looked up in the recording."""
        return self._session.redactor if self._comparison is None else self._comparison.served_redactor

    def note_message(self, socket: int, url: str, content: bytes, key: str) -> None:
        """Note for the next observation that a page sent a message on its n-th socket; `key` is that of the recording.

        `url` and `content` are those of the page.
        """
        if self._comparison is not None:
            key = self._comparison.key_of_sent(socket, url, content)
        self._session.tracker.note_key(key)

    def note_sent(self, url: str, content: bytes) -> None:
        """Note that a page sends a message now."""
        self._note_sent(self._message_key(url, content))

    def _note_sent(self, key: MessageKey) -> None:
        timeline = self._session.timeline
        if timeline.is_timer_driven:
            self._spontaneous.note_sent_by_timer(
                key,
                actions=timeline.causes,
                since_action_ms=timeline.since_cause_ms,
                recorded_ms=timeline.recorded_ms,
            )

    def is_spontaneous(self, url: str, content: bytes) -> bool:
        """Return whether a page has sent a message in this replay without an action."""
        return self._message_key(url, content) in self._spontaneous

    def find_heartbeat(self, url: str, content: bytes) -> bytes | None:
        """Return the recorded heartbeat that a message equals; None if it is no heartbeat.

        Pages sent a heartbeat at regular intervals in the recording, and without an action in this replay.
        """
        key = self._message_key(url, content)
        found = self._regular_messages().get(key) if key in self._spontaneous else None
        return None if found is None else found.content

    def has_heartbeat_continued(self, url: str, content: bytes, end_ms: float) -> bool:
        """Return whether a message is a heartbeat that a page has sent as long as in the recording."""
        key = self._message_key(url, content)
        found = self._regular_messages().get(key)
        return found is not None and self._spontaneous.has_continued(key, found, end_ms)

    def _message_key(self, url: str, content: bytes) -> MessageKey:
        return self.rules.lookup_key(url), self.rules.blank(url, content)

    def _regular_messages(self) -> Mapping[MessageKey, RegularMessage]:
        rules = self.rules.rules
        if self._regular is None or self._regular[0] != rules:
            self._regular = (rules, dict(find_regular_messages(self._recorded_messages())))
        return self._regular[1]

    def _recorded_messages(self) -> Iterator[tuple[int, MessageKey, bytes, float]]:
        """Yield socket, key, content and recorded page time of each message of a page."""
        urls: dict[int, str] = {}
        for event in self.recording.as_recorded.sockets:
            if isinstance(event, SocketOpened):
                urls[event.socket] = event.url
            elif isinstance(event, SocketMessage) and event.sender == "page" and event.socket in urls:
                content = self.content(event)
                yield event.socket, self._message_key(urls[event.socket], content), content, event.moment.at_ms

    @property
    def heartbeats(self) -> Counter[str]:
        """Return how many heartbeats pages sent beyond the recorded ones, by the URL of their sockets."""
        return sum((Counter({each.url: each.early_heartbeats}) for each in self._playing), Counter())

    @property
    def recorded_end_ms(self) -> float:
        """Return the page time at which the recording ended; infinity if replays pass no more than that."""
        return self.recording.end_ms

    @property
    def sent_beyond(self) -> Counter[str]:
        """Return how many messages intervals sent at page times after the recording, by the URL of their sockets."""
        return sum((Counter({each.url: each.sent_beyond}) for each in self._playing), Counter())

    @property
    def server_heartbeats(self) -> Counter[str]:
        """Return how many heartbeats of servers pages got beyond the recorded ones, by the URL of their sockets."""
        return sum((Counter({each.url: each.heartbeats.served}) for each in self._playing), Counter())

    def add_miss(self, miss: NetworkMiss) -> None:
        """Add a difference from the recording."""
        self.misses.append(miss)
        if self.rules.learner is not None:
            self.rules.learner.note_miss(miss)

    async def stop(self) -> None:
        """Stop playing."""
        self.is_stopped = True
        await self._background.stop()

    def content(self, message: SocketMessage) -> bytes:
        """Return a recorded message, without secrets."""
        return self.recording.message(message)


async def _reject(route: WebSocketRoute) -> None:
    from playwright.async_api import Error

    try:
        await route.close(code=UNEXPECTED_CONDITION, reason="not recorded")
    except Error:
        return  # the page closed with its socket


class _PlayedSocket:
    """One socket that is being played."""

    def __init__(
        self,
        player: SocketReplay,
        route: WebSocketRoute,
        events: list[SocketEvent],
        recorded: list[SocketEvent],
        number: int,
    ) -> None:
        """Play `events`; `recorded` are the same with their recorded moments. `number` counts the sockets from 0."""
        self._player = player
        self._number = number
        self._route = route
        self._events = events
        self._url = next(each.url for each in events if isinstance(each, SocketOpened))
        self._expected = [each for each in events if isinstance(each, SocketMessage) and each.sender == "page"]
        self._recorded_ms = [
            each.moment.at_ms for each in recorded if isinstance(each, SocketMessage) and each.sender == "page"
        ]
        self._close = next((each for each in events if isinstance(each, SocketClosed) and each.closer == "page"), None)
        self._server_events = self._server_events_left = sum(map(_is_from_server, events))
        self._sent = 0
        """Number of recorded messages that the page has sent, or overtaken."""
        self._early: set[int] = set()
        """Positions of recorded messages that a timer has sent before their turn."""
        self.early_heartbeats = 0
        """Number of heartbeats that the page has sent before their turn, or beyond the recorded ones."""
        self.sent_beyond = 0
        """Number of messages that intervals of the page sent at page times that the recording did not reach."""
        self._interval_begun_ms: float | None = None
        """Page time at which the interval began that sends the next message; None if no interval does."""
        self._is_closed = self._is_accepted = self._closed_by_page = False
        self.heartbeats = _ServerHeartbeats(
            self._url,
            recorded_messages(player.recording, recorded),
            self._send,
            opened_ms=next((each for each in recorded if isinstance(each, SocketAccepted)), recorded[0]).moment.at_ms,
            closed_ms=min((each.moment.at_ms for each in recorded if isinstance(each, SocketClosed)), default=math.inf),
            recorded_end_ms=player.recorded_end_ms,
        )

    def _send(self, content: str | bytes) -> None:
        from playwright.async_api import Error

        with suppress(Error):  # the page closed with its socket
            self._route.send(content)

    async def run(self, session: Session, schedule: DeliverySchedule) -> None:
        from playwright.async_api import Error

        self.heartbeats.start(session.timeline)
        schedule.queue.continuations.append(self.heartbeats)
        self._route.on_message(lambda content: self._on_message(session, schedule, content))
        self._route.on_close(lambda code, reason: self._compare_close(schedule, code, reason or ""))
        expected_message, closed = 0, False
        for event in self._events:
            if isinstance(event, SocketMessage) and event.sender == "page":
                expected_message += 1
            closed = closed or event is self._close
            if not _is_from_server(event):
                continue
            await self._wait_for_cause(session, schedule, (expected_message, closed), event)
            async with schedule.in_turn(event.moment):
                self._server_events_left -= 1
                try:
                    await self._deliver(session, event)
                except Error:
                    continue  # the page closed with its socket

    async def _wait_for_cause(
        self, session: Session, schedule: DeliverySchedule, before: tuple[int, bool], event: SocketEvent
    ) -> None:
        """Wait until the page has sent what precedes an event, or no longer can.

        `before` is how many messages it had sent, and whether it had closed the socket.
        """
        expected_message, closed = before
        while not self._is_closed and (closed or self._sent < expected_message):
            if session.timeline.phase >= event.moment.phase + OVERDUE_PHASES:
                done = "not closed the socket" if closed else f"sent {self._sent} of {expected_message}"
                session.stabilizer.notes.append(
                    f"{self._route.url}: a message was delivered though the page had {done}"
                )
                return
            await schedule.queue.wait_until_woken()

    async def _deliver(self, session: Session, event: SocketEvent) -> None:
        if isinstance(event, SocketMessage):
            if self._is_closed:
                return
            recorded = self._player.content(event)
            content = session.restore_secrets(recorded)
            self._route.send(content if event.binary else content.decode())
            self.heartbeats.note_delivered(recorded)
        elif isinstance(event, SocketAccepted):
            self._is_accepted = True
            notify_page(self._route, accepted={"protocol": event.protocol, "extensions": event.extensions})
            self.heartbeats.note_accepted()
        elif isinstance(event, SocketClosed):
            self._is_closed = True
            self.heartbeats.stop()
            if event.code == ABNORMAL_CLOSURE:
                notify_lost(self._route, event.reason, was_open=self._is_accepted)
            else:
                await self._route.close(code=event.code, reason=event.reason)

    def _on_message(self, session: Session, schedule: DeliverySchedule, content: str | bytes) -> None:
        if isinstance(content, str) and content.startswith(SOCKET_MARK):
            begun = json.loads(content.removeprefix(SOCKET_MARK)).get("interval")
            self._interval_begun_ms = None if begun is None else session.timeline.page_ms(begun)
            return
        try:
            self._compare_message(session, schedule, content)
        except EikonError as error:
            session.tracker.fail(error)
        self._interval_begun_ms = None

    def _compare_message(self, session: Session, schedule: DeliverySchedule, content: str | bytes) -> None:
        sent, redactor = content.encode() if isinstance(content, str) else content, self._player.redactor
        url, data = redactor.redact_text(self._route.url), redactor.redact_key_bytes(sent)
        if self.heartbeats.consume_answer(data):
            schedule.queue.wake()
            return
        key = message_key(url, data)
        is_timer_driven = session.timeline.is_timer_driven
        self._player.note_sent(self._url, data)
        early = self._find_early(data) if is_timer_driven else None
        place = self._find_expected(data) if early is None else early
        if early is not None:
            self._early.add(early)
        elif place is not None:
            self._advance_to(place + 1)
        if place is not None:
            recorded = self._player.content(self._expected[place])
            key, differences = message_key(self._url, recorded), self._type_difference(self._expected[place], content)
            if differences:
                self._add_message_miss(key, place, differences)
        elif is_timer_driven and (heartbeat := self._find_heartbeat(data)) is not None:
            key = message_key(self._url, heartbeat)
            self.early_heartbeats += 1
            self.heartbeats.answer(heartbeat)
        elif _is_beyond_recording(self._interval_begun_ms, session.timeline, self._player.recorded_end_ms):
            self.sent_beyond += 1
            schedule.queue.wake()
            return
        else:
            self._add_difference(key, content, data)
        while self.early_heartbeats and self._is_heartbeat_expected(self._sent):
            self.early_heartbeats -= 1
            self._advance_to(self._sent + 1)
        self._player.note_message(self._number, self._route.url, sent, key)
        schedule.queue.wake()

    def _find_heartbeat(self, data: bytes) -> bytes | None:
        """Return the heartbeat that a message of the page equals; None if it is none."""
        return data if self.heartbeats.is_ping_of_page(data) else self._player.find_heartbeat(self._url, data)

    def _advance_to(self, sent: int) -> None:
        """Expect the message at a position next, or the first one behind it that was not sent early."""
        self._sent = sent
        while self._sent in self._early:
            self._sent += 1

    def _add_difference(self, key: str, content: str | bytes, data: bytes) -> None:
        """Add a miss for a message that is not the next one of the recording, apart from heartbeats."""
        while self._is_heartbeat_expected(self._sent):
            self._advance_to(self._sent + 1)
        if self._sent < len(self._expected):
            expected = self._expected[self._sent]
            differences = _differences(self._player.content(expected), data)
            self._add_message_miss(key, self._sent, (*self._type_difference(expected, content), *differences))
        else:
            reason = f"the page sent {self._sent + 1} messages on this socket; {len(self._expected)} were recorded"
            self._player.add_miss(NetworkMiss(key=key, reason=reason))
        self._advance_to(self._sent + 1)

    def _find_early(self, data: bytes) -> int | None:
        """Return the position of a recorded message that a timer has sent before those that preceded it; else None.

        These are no heartbeats, and are still awaited; the server sent nothing between them and the message.
        """
        for place in self._awaited():
            first, message = self._expected[self._sent], self._expected[place]
            is_late = self._recorded_ms[place] - self._recorded_ms[self._sent] > EARLY_MS
            if is_late or self._is_heartbeat_expected(place) or self._is_answered_between(first, message):
                return None
            if self._player.rules.are_equal(self._url, self._player.content(message), data, may_learn=False):
                return place if place != self._sent else None
        return None

    def _awaited(self) -> Iterator[int]:
        """Yield the positions of the recorded messages that the page has not sent."""
        return (place for place in range(self._sent, len(self._expected)) if place not in self._early)

    def _is_answered_between(self, first: SocketMessage, last: SocketMessage) -> bool:
        """Return whether the server sent anything on this socket between two messages of the page."""
        return any(
            first.moment.order < each.moment.order < last.moment.order and _is_from_server(each)
            for each in self._events
        )

    def _find_expected(self, data: bytes) -> int | None:
        """Return the position of the recorded message that the page has sent now: the next one, behind heartbeats."""
        for place in self._awaited():
            if self._player.rules.are_equal(self._url, self._player.content(self._expected[place]), data):
                return place
            if not self._is_heartbeat_expected(place):
                return None
        return None

    def _is_heartbeat_expected(self, place: int) -> bool:
        """Return whether a recorded message of the page is a heartbeat, which timers send at slightly other times."""
        if place >= len(self._expected):
            return False
        content = self._player.content(self._expected[place])
        return self._player.find_heartbeat(self._url, content) is not None

    def _add_message_miss(self, key: str, place: int, differences: tuple[RequestDifference, ...]) -> None:
        reason = f"message {place + 1} of the page on this socket differs from the recorded one"
        nearest = message_key(self._url, self._player.content(self._expected[place]))
        self._player.add_miss(NetworkMiss(key=key, reason=reason, nearest=nearest, differences=differences))

    def _type_difference(self, expected: SocketMessage, content: str | bytes) -> tuple[RequestDifference, ...]:
        """Describe the difference if a message is text instead of binary, or vice versa; empty if there is none."""
        recorded, sent = expected.binary, isinstance(content, bytes)
        types = {True: "binary", False: "text"}
        return () if recorded == sent else (RequestDifference(part="type", recorded=types[recorded], sent=types[sent]),)

    def _compare_close(self, schedule: DeliverySchedule, code: int | None, reason: str) -> None:
        """Compare how a page closes its socket; a socket that has ended is closed again when its page navigates."""
        if self._is_closed or self._player.is_stopped:
            return
        self._is_closed = self._closed_by_page = True
        self.heartbeats.stop()
        redact = self._player.redactor.redact_text
        miss = self._close_miss(redact(self._route.url), code, redact(reason))
        if miss is not None:
            self._player.add_miss(miss)
        schedule.queue.wake()

    def _close_miss(self, url: str, code: int | None, reason: str) -> NetworkMiss | None:
        """Return how the close differs from the recorded one, as a miss.

        A close without a code may mean that the page closed: no miss, unless the recording has more events of the
        socket.
        """
        key, sent_close = close_key(url, code, reason), describe_close(code, reason)
        close = self._close
        if close is None:
            if code is None and not self._server_events_left and self._sent >= len(self._expected):
                return None
            reason = f"the page closed this socket ({sent_close}); the recording did not"
            return NetworkMiss(key=key, reason=reason)
        if close.code == code and self._player.rules.are_equal(self._url, close.reason.encode(), reason.encode()):
            return None
        expected_message = describe_close(close.code, close.reason)
        reason = f"the page closed this socket ({sent_close}); recorded: {expected_message}"
        nearest = close_key(self._url, close.code, close.reason)
        return NetworkMiss(
            key=key,
            reason=reason,
            nearest=nearest,
            differences=(RequestDifference(part="close", recorded=expected_message, sent=sent_close),),
        )

    @property
    def url(self) -> str:
        """Return the recorded URL."""
        return self._url

    @property
    def socket(self) -> int:
        """Return the number of the recorded socket."""
        return self._events[0].socket

    def unsent(self, recorded: Sequence[SocketEvent], end_ms: float) -> Iterator[Unsent]:
        """Yield what the page did not send; `recorded` are the events of the socket with their recorded moments."""
        awaited, delivered = set(self._awaited()), self._server_events - self._server_events_left
        place = from_server = 0
        for event in recorded:
            has_cause = from_server <= delivered
            if _is_from_server(event):
                from_server += 1
            elif isinstance(event, SocketMessage):
                if place in awaited:
                    yield self._unsent_message(event, end_ms, has_cause=has_cause)
                place += 1
            elif isinstance(event, SocketClosed) and not self._closed_by_page:
                yield self._unsent_close(event, end_ms, has_cause=has_cause)

    def _unsent_message(self, message: SocketMessage, end_ms: float, *, has_cause: bool) -> Unsent:
        """Describe a message that the page did not send; `has_cause` is whether the server sent what came before it."""
        content, explanation = self._player.content(message), ""
        is_repeated = not has_cause or self._player.is_spontaneous(self._url, content)
        if self._player.is_after_end(message, end_ms, is_repeated=is_repeated):
            explanation = AFTER_END
        elif self._player.has_heartbeat_continued(self._url, content, end_ms):
            explanation = "a heartbeat, and the page sent others"
        return Unsent(key=message_key(self._url, content), phase=message.moment.phase, explanation=explanation)

    def _unsent_close(self, close: SocketClosed, end_ms: float, *, has_cause: bool) -> Unsent:
        """Describe a close that the page did not make; a browser closes the sockets of a page that it leaves."""
        is_left = close.code is None and close.moment.phase >= self._player.last_phase
        explanation = ""
        if self._player.is_after_end(close, end_ms, is_repeated=is_left or not has_cause):
            explanation = AFTER_END
        elif self._player.is_leaving_page(close):
            explanation = "closed while its page unloaded"
        key = close_key(self._url, close.code, close.reason)
        return Unsent(key=key, phase=close.moment.phase, explanation=explanation, is_observed=False)

    def unused(self) -> Iterator[str]:
        """Yield the keys of recorded messages that the page did not send, and of a close it did not make."""
        for place in self._awaited():
            yield message_key(self._url, self._player.content(self._expected[place]))
        if self._close is not None and not self._closed_by_page:
            yield close_key(self._url, self._close.code, self._close.reason)


class _ServerHeartbeats:
    """What the server of one socket sends beyond its recorded messages, so that the page knows that it is connected.

    After the page time at which the recording ended, a heartbeat is due once the page got none for as long as it had to
    wait for one in the recording. The page gets an answer to each heartbeat of its own that was not recorded, if those
    that were recorded had one.
    """

    def __init__(
        self,
        url: str,
        messages: Sequence[RecordedMessage],
        send: Callable[[str | bytes], None],
        *,
        opened_ms: float,
        closed_ms: float,
        recorded_end_ms: float,
    ) -> None:
        """Learn from the recorded messages of a socket; call `start` before anything else.

        The server accepted the socket at the recorded page time `opened_ms`, and it was closed at `closed_ms`.
        """
        self._messages = messages
        self._send = send
        first = next((each for each in messages if each.sender == "server"), None)
        self._handshake = None if first is None else read_handshake(url, first.content)
        self._recorded_end_ms = recorded_end_ms
        self._heartbeat = find_server_heartbeat(
            messages, self._handshake, opened_ms=opened_ms, ended_ms=min(closed_ms, recorded_end_ms)
        )
        self._timeline: PageTimeline | None = None
        self._last_ms: float | None = None
        """Page time at which the page got the last one, or since which it waits for the first one."""
        self._answers: deque[RecordedMessage] = deque()
        """Answers to heartbeats of the page that are due now."""
        self._unanswered = 0
        """How many heartbeats beyond the recorded ones the page has not answered."""
        self.served = 0
        """How many heartbeats and answers the page got beyond the recorded ones."""

    def start(self, timeline: PageTimeline) -> None:
        """Follow the page time of a session."""
        self._timeline = timeline

    def stop(self) -> None:
        """Send nothing more: the socket is closed."""
        self._timeline = None

    def note_accepted(self) -> None:
        """Note that the page's socket is open now: from now on, it may wait for a heartbeat."""
        self._note_now()

    def note_delivered(self, content: bytes) -> None:
        """Note that the page gets a recorded message now."""
        if self._heartbeat is not None and self._heartbeat.is_sent_in(content):
            self._note_now()

    def _note_now(self) -> None:
        self._last_ms = None if self._timeline is None else self._timeline.now_ms

    @property
    def due_ms(self) -> float:
        """Page time at which the next heartbeat or answer is due; infinity if none is."""
        if self._timeline is None:
            return math.inf
        if self._answers:
            return self._timeline.now_ms
        if self._heartbeat is None or self._last_ms is None:
            return math.inf
        return max(self._last_ms + self._heartbeat.interval_ms, self._recorded_end_ms)

    def deliver(self) -> None:
        """Send what is due."""
        self.served += 1
        if self._answers:
            answer = self._answers.popleft()
            self._send(answer.content if answer.is_binary else answer.content.decode())
        elif self._heartbeat is not None:
            self._note_now()
            self._unanswered += self._heartbeat.answer is not None
            content = self._heartbeat.content
            self._send(content if self._heartbeat.is_binary else content.decode())

    def consume_answer(self, content: bytes) -> bool:
        """Return whether a message of the page answers a heartbeat beyond the recorded ones, which is answered now."""
        if not self._unanswered or self._heartbeat is None or not self._heartbeat.is_answered_by(content):
            return False
        self._unanswered -= 1
        return True

    def is_ping_of_page(self, content: bytes) -> bool:
        """Return whether a message is a ping that the page must send by its protocol."""
        handshake = self._handshake
        return handshake is not None and handshake.version < SERVER_PINGS_SINCE and content == ENGINE_IO_PING

    def answer(self, heartbeat: bytes) -> None:
        """Answer a heartbeat that the page sent beyond the recorded ones, as the server answered those."""
        if self.is_ping_of_page(heartbeat):
            answer = ENGINE_IO_PONG
        else:
            found = find_answer(self._messages, "page", heartbeat.__eq__)
            if found is None:
                return
            answer = found
        is_binary = any(each.is_binary for each in self._messages if each.content == answer)
        self._answers.append(RecordedMessage("server", is_binary, answer, 0.0))


def _is_from_server(event: SocketEvent) -> bool:
    match event:
        case SocketOpened():
            return False
        case SocketAccepted():
            return True
        case SocketMessage():
            return event.sender == "server"
        case SocketClosed():
            return event.closer == "server"


def _differences(recorded: bytes, sent: bytes) -> tuple[RequestDifference, ...]:
    """List the fields in which two messages differ; whole messages unless both are JSON of the same shape."""
    if recorded != sent and TIMESTAMP.sub(b"", recorded) == TIMESTAMP.sub(b"", sent):
        return (RequestDifference(part="times", recorded=_find_time(recorded), sent=_find_time(sent)),)
    ours, theirs = body_fields(recorded, JSON_TYPE), body_fields(sent, JSON_TYPE)
    names = [name for name in ours | theirs if ours.get(name) != theirs.get(name)]
    if not names or ours.keys() != theirs.keys():
        return (RequestDifference.shortened("message", "", _text(recorded), _text(sent)),)
    return tuple(RequestDifference.shortened("body", name, ours[name], theirs[name]) for name in names)


def _find_time(content: bytes) -> str | None:
    found = TIMESTAMP.search(content)
    return found[0].decode() if found else None


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"0x{content.hex()}"


def _is_beyond_recording(interval_begun_ms: float | None, timeline: PageTimeline, recorded_end_ms: float) -> bool:
    """Return whether an interval sends a message now, and the recording ended before this page time.

    A replay that lags behind its recording reaches that page time later. The page must have begun the interval before
    the last action, which is not its cause then.
    """
    if interval_begun_ms is None or not timeline.is_timer_driven or timeline.recorded_ms <= recorded_end_ms:
        return False
    return timeline.since_cause_ms > EFFECT_MS or interval_begun_ms < timeline.now_ms - timeline.since_cause_ms


class RecordedSocketNames:
    """Pair the n-th socket of a URL with the n-th recorded one, and its messages in order."""

    def __init__(self, recording: NetworkRecording, rules: SocketRules) -> None:
        """Group the recorded events by socket."""
        self._rules = rules
        self._recording = recording
        self._unopened: defaultdict[str, deque[SocketOpened]] = defaultdict(deque)
        self._expected: defaultdict[int, deque[SocketMessage]] = defaultdict(deque)
        self._paired: dict[int, SocketOpened] = {}
        self._heartbeats = {opened.socket: each for opened, each in find_answered_heartbeats(recording)}
        """Heartbeats of servers that pages answer, by the number of the recorded socket."""
        for event in recording.sockets:
            if isinstance(event, SocketOpened):
                self._unopened[rules.lookup_key(event.url)].append(event)
            elif isinstance(event, SocketMessage) and event.sender == "page":
                self._expected[event.socket].append(event)

    def recorded_socket(self, socket: int) -> SocketOpened | None:
        """Return the recorded socket that a page's socket is paired with; None if it is not yet, or to none."""
        return self._paired.get(socket)

    def heartbeat(self, opened: SocketOpened) -> ServerHeartbeat | None:
        """Return the heartbeat of the server of a recorded socket, if the page answers it."""
        return self._heartbeats.get(opened.socket)

    def key_of_opened(self, socket: int, url: str) -> str:
        """Return the key of a socket that a page opens; `url` is without secrets."""
        if (paired := self._paired.get(socket)) is not None:
            return socket_key(paired.url)
        waiting = self._unopened[self._rules.lookup_key(url)]
        if not waiting:
            return socket_key(url)
        recorded = self._paired[socket] = waiting.popleft()
        self._rules.count_used(recorded.url, url)
        return socket_key(recorded.url)

    def is_beyond_recording(self, interval_begun_ms: float | None, timeline: PageTimeline) -> bool:
        """Return whether a message is sent now by an interval at a page time that the recording did not reach."""
        return _is_beyond_recording(interval_begun_ms, timeline, self._recording.end_ms)

    def is_next(self, socket: int, data: bytes) -> bool:
        """Return whether a message is the next one that the page sent in the recording; `data` as in `key_of_sent`."""
        opened = self._paired.get(socket)
        recorded = None if opened is None else self._next_content(opened.socket)
        return (
            opened is not None
            and recorded is not None
            and self._rules.are_equal(opened.url, recorded, data, may_learn=False)
        )

    def key_of_sent(self, socket: int, url: str, data: bytes) -> str:
        """Return the key of the next message of a page; `data` is redacted by `Redactor.redact_key_bytes`."""
        opened = self._paired.get(socket)
        if opened is None:
            return message_key(url, data)
        heartbeat = self._heartbeats.get(opened.socket)
        if heartbeat is not None and heartbeat.answer is not None and heartbeat.is_answered_by(data):
            return message_key(opened.url, heartbeat.answer)
        recorded = self._next_content(opened.socket)
        if recorded is None:
            return message_key(url, data)
        self._expected[opened.socket].popleft()
        equal = self._rules.are_equal(opened.url, recorded, data)
        return message_key(opened.url, recorded) if equal else message_key(url, data)

    def _next_content(self, socket: int) -> bytes | None:
        """Return the next message of a page on a recorded socket that answers no heartbeat; None if there is none."""
        heartbeat, expected = self._heartbeats.get(socket), self._expected[socket]
        while expected:
            content = self._recording.message(expected[0])
            if heartbeat is None or not heartbeat.is_answered_by(content):
                return content
            expected.popleft()
        return None
