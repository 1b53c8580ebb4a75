"""Collect differences between responses and their recordings: they explain divergences, and never are one."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.answers import Answer, compare_answers
from eikon_engine.divergence.body_diff import ABSENT, changed, message_changes
from eikon_engine.network.exchange import ABORTED
from eikon_engine.network.matching import Hit, Playback
from eikon_engine.network.rules import apply_rules_to_socket_url
from eikon_engine.network.socket import SocketClosed, SocketMessage, SocketOpened, close_words, socket_key
from eikon_engine.outcome.outcomes import ResponseChange, ValueChange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.matching import Match
    from eikon_engine.network.socket import SocketEvent
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.volatile import VolatileRule

VALUES_SHOWN: Final = 20
"""Changed values stored per response; the rest is counted."""
ANSWERS_SHOWN: Final = 500
"""Changed responses stored per run; a note reports the total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a request ended: with a response, or with a network error."""

    answer: Answer | None
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as recordings store it: without secrets."""

    method: str
    url: str
    body: bytes | None
    content_type: str | None
    headers: tuple[tuple[str, str], ...]

    def match(self, playback: Playback) -> Match:
        """Find the recorded response, and count the match."""
        return playback.match(self.method, self.url, self.body, self.content_type, self.headers)


class ChangedAnswers:
    """The responses of one replay that differ from the recorded ones, in order of arrival."""

    def __init__(self, recording: NetworkRecording) -> None:
        """Compare with `recording`."""
        self._recording = recording
        self._count = 0
        self._kept: list[ResponseChange] = []

    @property
    def kept(self) -> tuple[ResponseChange, ...]:
        """The differences, limited to a readable number."""
        return tuple(self._kept)

    def notes(self) -> tuple[str, ...]:
        """Report the total, if not all differences are stored."""
        if self._count == len(self._kept):
            return ()
        return (f"{self._count} responses differ from the recorded ones; the first {ANSWERS_SHOWN} are listed",)

    def differences(self, exchange: Exchange, now: Ending) -> tuple[ValueChange, ...]:
        """List the values in which a response differs from that of a recorded exchange."""
        recorded = exchange.response
        if recorded is None or now.answer is None:
            ended = f"status {recorded.status}" if recorded else exchange.failure or ABSENT
            ends = f"status {now.answer.status}" if now.answer else now.failure or ABSENT
            same = ended == ends or ABORTED in {ended, ends}
            return () if same else (ValueChange(part="ending", recorded=ended, live=ends),)
        body = None
        if recorded.body is not None and now.answer.body is not None:
            same = hashlib.sha256(now.answer.body).hexdigest() == recorded.body.sha256
            body = now.answer.body if same else self._recording.body(recorded.body)
        before = Answer(url=recorded.url, status=recorded.status, headers=recorded.headers, body=body)
        return tuple(compare_answers(before, now.answer))

    def keep(self, key: str, occurrence: int, values: tuple[ValueChange, ...]) -> None:
        """Store what differs in the response to one recorded request, or on one recorded socket."""
        if not values:
            return
        self._count += 1
        if len(self._kept) < ANSWERS_SHOWN:
            shown = values[:VALUES_SHOWN]
            change = ResponseChange(
                key=key,
                occurrence=occurrence,
                subgoal="",
                sequence=0,
                what=shown,
                more=len(values) - len(shown),
            )
            self._kept.append(change)


class OtherAnswers:
    """Compare responses of another recording with those of the bundle."""

    def __init__(self, own: NetworkRecording, other: NetworkRecording, rules: tuple[VolatileRule, ...]) -> None:
        """Compare `other`, which is served, with `own`; `rules` name the parts of requests that change."""
        self._own, self._other, self._rules = own, other, rules
        self._playback = Playback(own.exchanges, read_body=own.body, rules=rules)
        self._sockets: defaultdict[str, list[SocketOpened]] = defaultdict(list)
        """Recorded sockets by name, in order of opening."""
        for event in own.sockets:
            if isinstance(event, SocketOpened):
                self._sockets[self._socket_name(event.url)].append(event)
        self._opened: defaultdict[str, int] = defaultdict(int)
        self.changed = ChangedAnswers(own)

    def compare(self, asked: Asked, given: Exchange) -> None:
        """Compare the response that a request is served; one that is not in the recording has no counterpart."""
        match = asked.match(self._playback)
        if not isinstance(match, Hit) or match.exchange.pending or given.pending:
            return
        values = self.changed.differences(match.exchange, self._ending(given))
        self.changed.keep(match.exchange.key, match.exchange.occurrence, values)

    def compare_socket(self, opened: SocketOpened, events: Sequence[SocketEvent]) -> None:
        """Compare what the server sends on a socket with what it sent on the recorded one."""
        name = self._socket_name(opened.url)
        place, recorded = self._opened[name], self._sockets[name]
        self._opened[name] += 1
        if place >= len(recorded):
            return
        own = [event for event in self._own.sockets if event.socket == recorded[place].socket]
        ours, theirs = _said(self._own, own), _said(self._other, events)
        values = (*message_changes("message", ours, theirs), *changed("end", _end(own), _end(events)))
        self.changed.keep(socket_key(recorded[place].url), place, values)

    def _socket_name(self, url: str) -> str:
        return socket_key(apply_rules_to_socket_url(url, self._rules)[0])

    def _ending(self, given: Exchange) -> Ending:
        response = given.response
        if response is None:
            return Ending(answer=None, failure=given.failure)
        body = self._other.body(response.body) if response.body is not None else None
        return Ending(answer=Answer(url=response.url, status=response.status, headers=response.headers, body=body))


def _said(recording: NetworkRecording, events: Sequence[SocketEvent]) -> list[bytes]:
    """Return the messages of the server."""
    messages = (event for event in events if isinstance(event, SocketMessage) and event.sender == "server")
    return [recording.body(each.body) if each.body is not None else (each.text or "").encode() for each in messages]


def _end(events: Sequence[SocketEvent]) -> str:
    """Return how the server closed a socket; empty if it did not."""
    ends = (event for event in events if isinstance(event, SocketClosed) and event.closer == "server")
    return next((close_words(each.code, each.reason) for each in ends), "")
