"""Pages that were not finished when the agent's next call began: scripts ran, and sent requests before that call acted.

A live replay waits for its pages, so that such a page is further than it was in the recording.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from eikon_engine.network.exchange import FETCH_TYPES
from eikon_engine.network.websocket import SOCKET_METHOD, SocketMessage, SocketOpened, message_key
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.observation import Observation

_SCRIPT_TYPES: Final = FETCH_TYPES | {"document", "script", "stylesheet"}
"""Types of requests after which the content of a page may change."""


MAX_REPEATS: Final = 3
"""How often timers of a page may send a request to one address, without its query, before this is a poll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedPages:
    """The steps after which pages went on by themselves, and what they sent then."""

    following: Mapping[str, ActionTrace] = field(default_factory=dict)
    """The next step, by the id of each of those steps."""
    requests: Mapping[str, Counter[str]] = field(default_factory=dict)
    """What they sent before the next action acted, and the socket messages of that action's step: keys with their
    numbers, by the id of that step."""


def find_unfinished_pages(plan: Plan, recording: NetworkRecording) -> UnfinishedPages:
    """Find the steps of a recording with the natural clock after which pages were not finished.

    Only requests that the baseline of the next step has count, if its pages are others then; and none of polls, since
    pages that poll are never finished.
    """
    sent = sorted(_sent(recording))
    steps = [each.step for subgoal in plan.subgoals for each in subgoal.steps if isinstance(each.step, ActionTrace)]
    addresses = Counter(_address(key) for _, key, _ in sent)
    unfinished: dict[str, ActionTrace] = {}
    requests: dict[str, Counter[str]] = {}
    for step, following in pairwise(steps):
        before, after = step.baseline, following.baseline
        if before is None or after is None or after.acted_ms is None or before.pages == after.pages:
            continue
        polls = Counter(key for key in after.timer_requests if addresses[_address(key)] > MAX_REPEATS)
        found = _between(sent, _end_ms(before), after.acted_ms, Counter(after.requests) - polls)
        if any(is_from_script for _, is_from_script in found):
            unfinished[step.id] = following
            messages = Counter(key for key in after.requests if key.startswith(f"{SOCKET_METHOD} "))
            requests[following.id] = messages | Counter(key for key, _ in found)
    return UnfinishedPages(following=unfinished, requests=requests)


def _end_ms(seen: Observation) -> float:
    """Return the page time at which a step was observed."""
    return seen.begun_ms + (seen.virtual_ms or 0.0)


def _address(key: str) -> str:
    """Return the method and URL of a request without its query and body."""
    method, _, rest = key.partition(" ")
    return f"{method} {rest.partition(' ')[0].partition('?')[0]}"


def _between(
    sent: Sequence[tuple[float, str, bool]], begin_ms: float, end_ms: float, due: Counter[str]
) -> list[tuple[str, bool]]:
    """Return what was sent between two times, with whether the content of a page may change after it, if it is due."""
    left = Counter(due)
    found = []
    for at_ms, key, is_from_script in sent:
        if begin_ms < at_ms < end_ms and left[key] > 0:
            left[key] -= 1
            found.append((key, is_from_script))
    return found


def _sent(recording: NetworkRecording) -> Iterator[tuple[float, str, bool]]:
    """Yield the page time and key of what pages sent, and whether the content of a page may change after it."""
    for each in recording.exchanges:
        yield each.started_ms, each.key, each.request.resource_type in _SCRIPT_TYPES
    urls = {each.socket: each.url for each in recording.sockets if isinstance(each, SocketOpened)}
    for event in recording.sockets:
        if isinstance(event, SocketMessage) and event.sender == "page" and event.socket in urls:
            content = recording.body(event.body) if event.body is not None else (event.text or "").encode()
            yield float(event.moment.at_ms), message_key(urls[event.socket], content), False
