"""Hear of every call that a user makes through a Playwright client, as it is sent and as it is answered.

The client sends each call by one function of its connection (`send_message_to_server` in
`playwright/_impl/connection.py`), whether its user is synchronous or not, and whichever object the call began at. The
tap is put in its place on this one connection. Methods and parameters: packages/protocol/src/protocol.yml of
https://github.com/microsoft/playwright.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from eikon_engine.browser.attached.view import OURS, ours
from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Call:
    """One call on its way to the browser."""

    name: str
    """Class and method, such as `Frame.click`."""
    object: Any = field(repr=False)
    """What it is called on, as the client holds it."""
    params: Mapping[str, Any] = field(repr=False)
    timeout_ms: float | None = None
    """0 for none."""


class CallListener(Protocol):
    """Somebody who wants to know what a user does."""

    def begun(self, call: Call) -> None:
        """Hear of a call before it is sent; what is sent now comes to the browser before it."""

    def ended(self, call: Call, answer: Mapping[str, Any] | None, error: Exception | None) -> None:
        """Hear how it ended before the user does; both are None where it was cancelled."""


class Tap:
    """Stand between a client and its connection."""

    def __init__(self, connection: Any, listener: CallListener, on_fault: Callable[[Exception], None]) -> None:  # noqa: ANN401 - has no public type
        """Tap nothing yet; what `listener` raises goes to `on_fault`, not into the mission of the user.

        Raises:
            UsageError: this version of Playwright sends its calls in another way.
        """
        if not hasattr(connection, "send_message_to_server"):
            message = "wanted Playwright 1.65 or newer to watch an agent, found a client of another kind; update it"
            raise UsageError(message)
        self._connection = connection
        self._listener = listener
        self._on_fault = on_fault
        self._send: Callable[..., asyncio.Future[Any]] = connection.send_message_to_server

    def open(self) -> None:
        """Begin to listen."""
        self._send = self._connection.send_message_to_server
        self._connection.send_message_to_server = self._pass_on

    def close(self) -> None:
        """Leave the connection as it was; a tap that was put on later keeps passing on."""
        if self._connection.__dict__.get("send_message_to_server") == self._pass_on:
            self._connection.send_message_to_server = self._send
        self._listener = _Nobody()

    def send(self, target: Any, method: str, params: Mapping[str, Any]) -> asyncio.Future[Any] | None:  # noqa: ANN401 - as above
        """Send a call of ours now, and return where its answer will be; None where what it is made on is gone."""
        from playwright.async_api import Error

        try:
            with ours():
                return self._send_ours(target, method, params, {"internal": True, "timeout": 0})
        except Error:
            return None

    def _send_ours(self, target: Any, method: str, params: Any, options: dict[str, Any]) -> asyncio.Future[Any]:  # noqa: ANN401 - as above
        """Send something of ours; an error that a listener of the user raised stays for the next call of the user."""
        kept, self._connection._error = self._connection._error, None  # noqa: SLF001 - the seam of this module
        try:
            return self._send(target, method, params, options)
        finally:
            self._connection._error = self._connection._error or kept  # noqa: SLF001 - as above

    def _pass_on(self, target: Any, method: str, params: Any, options: dict[str, Any]) -> asyncio.Future[Any]:  # noqa: ANN401 - as above
        if OURS.get():
            return self._send_ours(target, method, params, options)
        call = Call(
            name=f"{target._type}.{method}",  # noqa: SLF001 - the seam of this module
            object=target,
            params=params or {},
            timeout_ms=options.get("timeout"),
        )
        self._tell(lambda: self._listener.begun(call))
        answer = self._send(target, method, params, options)
        answer.add_done_callback(lambda done: self._tell(lambda: self._end(call, done)))
        return answer

    def _end(self, call: Call, done: asyncio.Future[Any]) -> None:
        if done.cancelled():
            self._listener.ended(call, None, None)
            return
        error = done.exception()
        if error is None:
            self._listener.ended(call, done.result() or {}, None)
        elif isinstance(error, Exception):
            self._listener.ended(call, None, error)

    def _tell(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception as error:  # noqa: BLE001 - the user's mission goes on; the recording says what failed
            self._on_fault(error)


class _Nobody:
    """Hears nothing."""

    def begun(self, call: Call) -> None:
        """Hear nothing."""

    def ended(self, call: Call, answer: Mapping[str, Any] | None, error: Exception | None) -> None:
        """Hear nothing."""
