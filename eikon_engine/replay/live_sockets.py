"""What pages send on WebSockets by themselves, so that a live replay may have it in another step, or more often."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.network.exchange import PHASES_PER_ACTION, PHASES_PER_ACTION_WITH_LOOKUP
from eikon_engine.network.heartbeats import find_answered_heartbeats
from eikon_engine.network.websocket import SocketMessage, SocketOpened, message_key
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

    def last(self, place: int) -> int:
        """Return the last phase of the step at a position: the time until the next one begins."""
        return self.per_step * (place + 1)

    def lookup(self, place: int) -> int:
        """Return the last phase before the step at a position acts."""
        return self.per_step * (place + 1) - PHASES_PER_ACTION


@dataclass(frozen=True, slots=True)
class PageMessages:
    """What pages sent on the recorded WebSockets of a mission by themselves."""

    unprompted: Mapping[str, Counter[str]] = field(default_factory=dict)
    """The messages that pages sent in each step before its action acted, by the id of the step.

    Actions that only read pages cause none.
    """
    heartbeats: frozenset[str] = frozenset()
    """Keys of the answers of pages to heartbeats of servers; how many there are depends on wall time."""

    @classmethod
    def of(cls, trace: ExecutionTrace, steps: Sequence[ActionTrace], recording: NetworkRecording) -> PageMessages:
        """Read those of a recording with the steps of its mission."""
        performed = [each for each in steps if not isinstance(each.result, Blocked)]
        is_natural = trace.environment is not None and trace.environment.clock == "natural"
        phases = _StepPhases(PHASES_PER_ACTION_WITH_LOOKUP if is_natural else PHASES_PER_ACTION)
        return cls(
            unprompted=_unprompted_messages(performed, recording.as_recorded, phases),
            heartbeats=frozenset(_heartbeat_keys(recording)),
        )


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


def _message_phases(recording: NetworkRecording) -> dict[str, deque[int]]:
    """Return the phases in which pages sent each message, in order, by its key."""
    urls = {each.socket: each.url for each in recording.sockets if isinstance(each, SocketOpened)}
    phases: dict[str, deque[int]] = {}
    for each in recording.sockets:
        if isinstance(each, SocketMessage) and each.sender == "page" and each.socket in urls:
            key = message_key(urls[each.socket], recording.message(each))
            phases.setdefault(key, deque()).append(each.moment.phase)
    return phases
