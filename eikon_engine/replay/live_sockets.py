"""What the recorded WebSockets tell about live steps: what came by itself, and for what the agent did not wait."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.network.exchange import PHASES_PER_ACTION, PHASES_PER_ACTION_WITH_LOOKUP
from eikon_engine.network.heartbeats import EFFECT_MS, find_answered_heartbeats
from eikon_engine.network.retiming import apply_timeline
from eikon_engine.network.websocket import (
    SocketAccepted,
    SocketMessage,
    SocketOpened,
    message_key,
    socket_key,
)
from eikon_engine.trace.actions import READING_ACTIONS
from eikon_engine.trace.execution import Blocked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace


@dataclass(frozen=True, slots=True)
class _StepPhases:
    """Which phases of the recording belong to which step."""

    per_step: int

    def place(self, phase: int) -> int:
        """Return the position of the step, from 0, that a phase belongs to."""
        return (phase - 1) // self.per_step

    def last(self, place: int) -> int:
        """Return the last phase of the step at a position: the time until the next one begins."""
        return self.per_step * (place + 1)

    def lookup(self, place: int) -> int:
        """Return the last phase before the step at a position acts."""
        return self.per_step * (place + 1) - PHASES_PER_ACTION


@dataclass(frozen=True, slots=True)
class RecordedSockets:
    """The recorded WebSockets of a mission, by the steps they belong to."""

    unprompted: Mapping[str, Counter[str]] = field(default_factory=dict)
    """The messages that pages sent in each step before its action acted, by the id of the step.

    Actions that only read pages cause none.
    """
    connecting_steps: frozenset[str] = frozenset()
    """Ids of the steps at whose end a page waited for its server to accept a socket."""
    unanswered_steps: frozenset[str] = frozenset()
    """Ids of those at whose end it waited for an answer on one."""
    heartbeats: frozenset[str] = frozenset()
    """Keys of the answers of pages to heartbeats of servers; how many there are depends on wall time."""

    @classmethod
    def of(cls, trace: ExecutionTrace, steps: Sequence[ActionTrace], recording: NetworkRecording) -> RecordedSockets:
        """Read those of a recording with the steps of its mission."""
        performed = [each for each in steps if not isinstance(each.result, Blocked)]
        is_natural = trace.environment is not None and trace.environment.clock == "natural"
        phases = _StepPhases(PHASES_PER_ACTION_WITH_LOOKUP if is_natural else PHASES_PER_ACTION)
        timeline = () if trace.network is None else trace.network.timeline
        retimed = apply_timeline(recording, timeline)
        heartbeats = frozenset(_heartbeat_keys(recording))
        return cls(
            unprompted=_unprompted_messages(performed, recording.as_recorded, phases),
            connecting_steps=frozenset(_connecting_steps(performed, retimed, phases)),
            unanswered_steps=frozenset(_unanswered_steps(performed, retimed, phases, heartbeats)),
            heartbeats=heartbeats,
        )

    @property
    def waiting_steps(self) -> frozenset[str]:
        """Ids of the steps at whose end a page waited for its server on a socket."""
        return self.connecting_steps | self.unanswered_steps


def _heartbeat_keys(recording: NetworkRecording) -> Iterator[str]:
    """Yield the keys of answers to heartbeats: of the known one, and of those recorded, which may have other times.

    By a handshake, the answer is known even if none was recorded.
    """
    found = {opened.socket: (opened.url, heartbeat) for opened, heartbeat in find_answered_heartbeats(recording)}
    yield from (message_key(url, each.answer) for url, each in found.values() if each.answer is not None)
    for each in recording.as_recorded.sockets if found else ():
        if isinstance(each, SocketMessage) and each.sender == "page" and each.socket in found:
            url, heartbeat = found[each.socket]
            content = recording.message(each)
            if heartbeat.is_answered_by(content):
                yield message_key(url, content)


def _unprompted_messages(
    steps: Sequence[ActionTrace], recording: NetworkRecording, phases: _StepPhases
) -> dict[str, Counter[str]]:
    """Return the messages that pages sent on sockets in each step before its action acted, by the id of the step."""
    sent = _message_phases(recording)
    found: dict[str, Counter[str]] = {}
    for place, step in enumerate(steps):
        is_read = isinstance(step.action, READING_ACTIONS)
        last_phase = phases.last(place) if is_read else phases.lookup(place)
        keys = [key for key in (() if step.baseline is None else step.baseline.requests) if sent.get(key)]
        found[step.id] = Counter(key for key in keys if sent[key] and sent[key].popleft() <= last_phase)
    return found


def _connecting_steps(steps: Sequence[ActionTrace], recording: NetworkRecording, phases: _StepPhases) -> Iterator[str]:
    """Yield the ids of the steps at whose end the server had not accepted a socket that their page had opened.

    These are the step in which it was opened, and those that only read the page after it. A socket that was never
    accepted counts as closed.
    """
    accepted = {each.socket: each.moment.phase for each in recording.sockets if isinstance(each, SocketAccepted)}
    opened: dict[str, deque[int]] = {}
    for event in recording.sockets:
        if isinstance(event, SocketOpened):
            opened.setdefault(socket_key(event.url), deque()).append(accepted.get(event.socket, 0))
    until_phase = 0
    for place, step in enumerate(steps):
        if not isinstance(step.action, READING_ACTIONS):
            until_phase = 0
        for key in () if step.baseline is None else step.baseline.requests:
            if found := opened.get(key):
                until_phase = max(until_phase, found.popleft())
        if until_phase > phases.last(place):
            yield step.id


def _unanswered_steps(
    steps: Sequence[ActionTrace], recording: NetworkRecording, phases: _StepPhases, heartbeats: frozenset[str]
) -> Iterator[str]:
    """Yield the ids of the steps after which the server answered a message that their page had sent on a socket.

    An answer is the first message of the server after that of the page, within the time in which something counts as
    an effect. All steps until it came are yielded. When a page sent a message is known from the recorded moments, when
    the answer came for the baselines from the timeline of the recording.
    """
    sockets = recording.as_recorded.sockets
    urls = {each.socket: each.url for each in sockets if isinstance(each, SocketOpened)}
    answered = _server_phases(recording)
    awaiting: defaultdict[int, list[SocketMessage]] = defaultdict(list)
    for each in sockets:
        if not isinstance(each, SocketMessage) or each.socket not in urls:
            continue
        if each.sender == "page":
            key = message_key(urls[each.socket], recording.message(each)) if heartbeats else ""
            if key not in heartbeats:
                awaiting[each.socket].append(each)
            continue
        end = phases.place(answered[each.socket].popleft())
        for sent in awaiting.pop(each.socket, ()):
            if each.moment.at_ms - sent.moment.at_ms <= EFFECT_MS:
                yield from (step.id for step in steps[max(phases.place(sent.moment.phase), 0) : end])


def _server_phases(recording: NetworkRecording) -> dict[int, deque[int]]:
    """Return the phases in which each socket gets its messages, in order."""
    found: defaultdict[int, deque[int]] = defaultdict(deque)
    for each in recording.sockets:
        if isinstance(each, SocketMessage) and each.sender == "server":
            found[each.socket].append(each.moment.phase)
    return found


def _message_phases(recording: NetworkRecording) -> dict[str, deque[int]]:
    """Return the phases in which pages sent each message, in order, by its key."""
    urls = {each.socket: each.url for each in recording.sockets if isinstance(each, SocketOpened)}
    phases: dict[str, deque[int]] = {}
    for each in recording.sockets:
        if isinstance(each, SocketMessage) and each.sender == "page" and each.socket in urls:
            key = message_key(urls[each.socket], recording.message(each))
            phases.setdefault(key, deque()).append(each.moment.phase)
    return phases
