"""Give live sockets and their messages the keys of the recording where rules allow it."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from eikon_engine.network.socket import SocketMessage, SocketOpened, message_key, socket_key

if TYPE_CHECKING:
    from eikon_engine.browser.socket_player import SocketRules
    from eikon_engine.network.store import NetworkRecording


class RecordedSocketNames:
    """Pair the n-th socket of a URL with the n-th recorded one, and its messages in order."""

    def __init__(self, recording: NetworkRecording, rules: SocketRules) -> None:
        """Group the recorded events by socket."""
        self._rules = rules
        self._recording = recording
        self._unopened: defaultdict[str, deque[SocketOpened]] = defaultdict(deque)
        self._expected: defaultdict[int, deque[SocketMessage]] = defaultdict(deque)
        self._paired: dict[int, SocketOpened] = {}
        for event in recording.sockets:
            if isinstance(event, SocketOpened):
                self._unopened[rules.lookup_key(event.url)].append(event)
            elif isinstance(event, SocketMessage) and event.sender == "page":
                self._expected[event.socket].append(event)

    def key_of_opened(self, socket: int, url: str) -> str:
        """Return the key of a socket that a page opens; `url` is without secrets."""
        waiting = self._unopened[self._rules.lookup_key(url)]
        if not waiting:
            return socket_key(url)
        recorded = self._paired[socket] = waiting.popleft()
        self._rules.count_used(recorded.url, url)
        return socket_key(recorded.url)

    def key_of_sent(self, socket: int, url: str, data: bytes) -> str:
        """Return the key of the next message of a page; `data` is redacted by `Redactor.redact_key_bytes`."""
        opened = self._paired.get(socket)
        expected = self._expected[opened.socket] if opened is not None else None
        if opened is None or not expected:
            return message_key(url, data)
        message = expected.popleft()
        recorded = self._recording.body(message.body) if message.body is not None else (message.text or "").encode()
        equal = self._rules.are_equal(opened.url, recorded, data)
        return message_key(opened.url, recorded) if equal else message_key(url, data)
