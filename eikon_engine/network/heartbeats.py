"""Recognize what pages send on WebSockets by themselves, such as heartbeats: how often they do varies from run to run.

What an action causes is sent once for each action, so two things tell a heartbeat: the regular intervals between its
recorded messages, and a timer that sends it in the replay while no action can be the cause.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.network.unsent import MISSED_INTERVALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MessageKey: TypeAlias = tuple[str, bytes | None]
"""Key of a socket, and a message without what the rules ignore; None instead of it for the opening of a socket."""
MAX_JITTER: Final = 1.2
"""Ratio of two successive intervals between the heartbeats of a timer."""
EFFECT_MS: Final = 2000.0
"""Page time after an action within which what a page sends may be an effect of it, such as a debounced save."""


@dataclass(frozen=True, slots=True)
class RegularMessage:
    """A message that a page sent at least three times on one socket, in similar intervals."""

    content: bytes
    """As it was first recorded."""
    last_ms: float
    """Page time of the last one."""
    interval_ms: float
    """The longest interval."""


def find_regular_messages(
    messages: Iterable[tuple[int, MessageKey, bytes, float]],
) -> Iterator[tuple[MessageKey, RegularMessage]]:
    """Yield the messages that a page sent at regular intervals.

    `messages` are all recorded ones of pages: socket, key, content and page time of each, in order.
    """
    contents: dict[MessageKey, bytes] = {}
    times: defaultdict[MessageKey, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for socket, key, content, at_ms in messages:
        contents.setdefault(key, content)
        times[key][socket].append(at_ms)
    for key, by_socket in times.items():
        intervals = [[after - before for before, after in pairwise(each)] for each in by_socket.values()]
        if any(map(_is_regular, intervals)):
            last_ms = max(max(each) for each in by_socket.values())
            yield key, RegularMessage(contents[key], last_ms, max(map(max, filter(None, intervals))))


def _is_regular(intervals: list[float]) -> bool:
    return any(min(pair) > 0 and max(pair) < MAX_JITTER * min(pair) for pair in pairwise(intervals))


class SpontaneousMessages:
    """What timers have sent in a replay while no action can be the cause.

    That is more than `EFFECT_MS` after the last action, or once more since then.
    """

    def __init__(self) -> None:
        """Start without messages."""
        self._by_timer: dict[MessageKey, int] = {}
        """The number of actions before each message of a timer."""
        self._last_ms: dict[MessageKey, float] = {}
        """When each of those without a cause was last sent, in the recorded timeline."""

    def note_sent_by_timer(self, key: MessageKey, *, actions: int, since_action_ms: float, recorded_ms: float) -> None:
        """Note that a timer sends a message now, `since_action_ms` after the last of a number of actions."""
        if key in self._last_ms or since_action_ms > EFFECT_MS or self._by_timer.get(key) == actions:
            self._last_ms[key] = recorded_ms
        self._by_timer[key] = actions

    def __contains__(self, key: MessageKey) -> bool:
        """Return whether a page has sent a message without an action."""
        return key in self._last_ms

    def has_continued(self, key: MessageKey, regular: RegularMessage, end_ms: float) -> bool:
        """Return whether a page went on to send a message as long as in the recording, or until `end_ms`."""
        until = min(end_ms, regular.last_ms) - MISSED_INTERVALS * regular.interval_ms
        return self._last_ms.get(key, float("-inf")) >= until
