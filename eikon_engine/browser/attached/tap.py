"""Intercept every call an agent makes through a Playwright client, when it is sent and when it returns.

The client sends all calls of both APIs through one function of its connection (`send_message_to_server` in
`playwright/_impl/connection.py`); the interceptor replaces it on this connection only. Methods and parameters:
packages/protocol/src/protocol.yml of https://github.com/microsoft/playwright.
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
    """One call to the browser."""

    name: str
    """Class and method, such as `Frame.click`."""
    object: Any = field(repr=False)
    """Client-side object of the call."""
    params: Mapping[str, Any] = field(repr=False)
    timeout_ms: float | None = None
    """0 for no timeout."""


class CallListener(Protocol):
    """Receives the calls of an agent."""

    def begun(self, call: Call) -> None:
        """Handle a call before it is sent; anything sent now reaches the browser first."""

    def ended(self, call: Call, answer: Mapping[str, Any] | None, error: Exception | None) -> None:
        """Handle the result before the agent gets it; both are None if the call was cancelled."""


class Tap:
    """Interceptor between a client and its connection."""

    def __init__(self, connection: Any, listener: CallListener, on_fault: Callable[[Exception], None]) -> None:  # noqa: ANN401 - has no public type
        """Intercept nothing yet; errors of `listener` go to `on_fault`, not into the agent's call.

        Raises:
            UsageError: this version of Playwright sends its calls differently.
        """
        if not hasattr(connection, "send_message_to_server"):
            message = "recording an agent requires Playwright 1.65 or newer; update playwright"
            raise UsageError(message)
        self._connection = connection
        self._listener = listener
        self._on_fault = on_fault
        self._send: Callable[..., asyncio.Future[Any]] = connection.send_message_to_server

    def open(self) -> None:
        """Start intercepting."""
        self._send = self._connection.send_message_to_server
        self._connection.send_message_to_server = self._pass_on

    def close(self) -> None:
        """Restore the connection; an interceptor installed later keeps working."""
        if self._connection.__dict__.get("send_message_to_server") == self._pass_on:
            self._connection.send_message_to_server = self._send
        self._listener = _Nobody()

    def send(self, target: Any, method: str, params: Mapping[str, Any]) -> asyncio.Future[Any] | None:  # noqa: ANN401 - as above
        """Send a call of our own now and return its future result; None if the target object is gone."""
        from playwright.async_api import Error

        try:
            with ours():
                return self._send_ours(target, method, params, {"internal": True, "timeout": 0})
        except Error:
            return None

    def _send_ours(self, target: Any, method: str, params: Any, options: dict[str, Any]) -> asyncio.Future[Any]:  # noqa: ANN401 - as above
        """Send an internal call; a pending error of an agent's event listener stays for the agent's next call."""
        kept, self._connection._error = self._connection._error, None  # noqa: SLF001 - this module wraps private objects
        try:
            return self._send(target, method, params, options)
        finally:
            self._connection._error = self._connection._error or kept  # noqa: SLF001 - as above

    def _pass_on(self, target: Any, method: str, params: Any, options: dict[str, Any]) -> asyncio.Future[Any]:  # noqa: ANN401 - as above
        if OURS.get():
            return self._send_ours(target, method, params, options)
        call = Call(
            name=f"{target._type}.{method}",  # noqa: SLF001 - this module wraps private objects
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
        except Exception as error:  # noqa: BLE001 - the agent continues; the error is recorded
            self._on_fault(error)


class _Nobody:
    """Ignores all calls."""

    def begun(self, call: Call) -> None:
        """Ignore the call."""

    def ended(self, call: Call, answer: Mapping[str, Any] | None, error: Exception | None) -> None:
        """Ignore the call."""
