"""Intercept every call an agent makes through a Playwright client, and navigate the private objects it is made on.

The client sends all calls of both APIs through one function of its connection (`send_message_to_server` in
`playwright/_impl/connection.py`); the interceptor replaces it on this connection only. Methods and parameters:
packages/protocol/src/protocol.yml of https://github.com/microsoft/playwright.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from eikon_engine.browser.attach.client_views import IS_INTERNAL_CALL, internal_calls
from eikon_engine.browser.playwright_errors import translate
from eikon_engine.browser.playwright_internals import (
    WAIT_INFO,
    can_intercept,
    has_sender,
    listener_error_kept,
    object_of_channel,
    observe_waits,
    parent_of,
    replace_sender,
    sender_of,
    stop_observing_waits,
    type_of,
)
from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from eikon_engine.browser.playwright_internals import SendCall, WaitDetail


NEW_PAGE: Final = "BrowserContext.newPage"
CLOSES: Final = frozenset({"Page.close", "BrowserContext.close", "Browser.close"})
"""Calls after which the browser has no response any more that a page received."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlaywrightCall:
    """One call to the browser."""

    name: str
    """Class and method, such as `Frame.click`."""
    target: Any = field(repr=False)
    """Client-side object of the call."""
    params: Mapping[str, Any] = field(repr=False)
    timeout_ms: float | None = None
    """0 for no timeout."""
    is_nested: bool = False
    """Whether the client made the call as a part of another one, such as a locator on the handle of its element."""
    api_name: str = ""
    """Class and method that the agent called, such as `Locator.click`; empty for a nested call."""


@dataclass(slots=True, kw_only=True, eq=False)
class PlaywrightWait:
    """A wait of the client for an event, which the driver only logs; mutable until it has ended."""

    call: PlaywrightCall
    """The message that it begins, on the object that emits the event."""
    event: str
    """Name of the event; empty for a navigation or a load state."""
    timeout_ms: float = 0.0
    """0 for no timeout."""
    frame: Any = field(default=None, repr=False)
    """Frame that navigates or loads."""
    pattern: Any = field(default=None, repr=False)
    """URL pattern of the agent: a glob, a compiled expression or a function; None for a function of the event."""
    state: str = ""
    """Load state that it waits for, once it does."""
    results: list[Any] = field(default_factory=list, repr=False)
    """What it got; for a navigation, that and a load state."""
    log: list[str] = field(default_factory=list, repr=False)
    error: str | None = None
    """Why it failed; None if it did not."""


class CallListener(Protocol):
    """Receives the calls of an agent."""

    def on_call_started(self, call: PlaywrightCall) -> None:
        """Handle a call before it is sent; anything sent now reaches the browser first."""

    def on_call_finished(self, call: PlaywrightCall, result: Mapping[str, Any] | None, error: Exception | None) -> None:
        """Handle the result before the agent gets it; both are None if the call was cancelled."""

    def on_wait_started(self, wait: PlaywrightWait) -> None:
        """Handle the beginning of a wait for an event."""

    def on_wait_ended(self, wait: PlaywrightWait) -> None:
        """Handle the end of a wait before the agent continues."""


class CallInterceptor:
    """Interceptor between a client and its connection."""

    def __init__(
        self,
        connection: Any,  # noqa: ANN401 - has no public type
        listener: CallListener,
        on_error: Callable[[Exception], None],
        prepare_new_page: Callable[[], Awaitable[None]],
        prepare_close: Callable[[PlaywrightCall], Awaitable[None]],
    ) -> None:
        """Intercept nothing yet; errors of `listener` go to `on_error`, not into the agent's call.

        A page that the agent opens is the agent's once `prepare_new_page` has returned. What it closes is open until
        `prepare_close` has returned.

        Raises:
            UsageError: this version of Playwright sends its calls differently.
        """
        if not can_intercept(connection):
            message = "recording an agent requires Playwright 1.65 or newer; update playwright"
            raise UsageError(message)
        self._connection = connection
        self._listener = listener
        self._on_error = on_error
        self._prepare_new_page = prepare_new_page
        self._prepare_close = prepare_close
        self._send: SendCall = sender_of(connection)
        self._waits: dict[str, PlaywrightWait] = {}
        """Waits that have not ended, by id."""

    def start(self) -> None:
        """Start intercepting."""
        self._send = sender_of(self._connection)
        replace_sender(self._connection, self._intercept)
        observe_waits(self._connection, self._note_wait_detail)

    def stop(self) -> None:
        """Restore the connection; an interceptor installed later keeps working."""
        if has_sender(self._connection, self._intercept):
            replace_sender(self._connection, self._send)
        stop_observing_waits(self._connection, self._note_wait_detail)
        self._listener = _NullListener()

    def send(self, target: Any, method: str, params: Mapping[str, Any]) -> asyncio.Future[Any] | None:  # noqa: ANN401 - as above
        """Send a call of our own now and return its future result; None if the target object is gone."""
        from playwright.async_api import Error

        try:
            with internal_calls():
                return self._send_internal(target, method, params, {"internal": True, "timeout": 0})
        except Error:
            return None

    def _send_internal(self, target: Any, method: str, params: Any, options: dict[str, Any]) -> asyncio.Future[Any]:  # noqa: ANN401 - as above
        """Send an internal call; a pending error of an agent's event listener stays for the agent's next call."""
        with listener_error_kept(self._connection):
            return self._send(target, method, params, options)

    def _intercept(self, target: Any, method: str, params: Any, options: dict[str, Any]) -> asyncio.Future[Any]:  # noqa: ANN401 - as above
        if IS_INTERNAL_CALL.get():
            return self._send_internal(target, method, params, options)
        call = PlaywrightCall(
            name=f"{type_of(target)}.{method}",
            target=target,
            params=params or {},
            timeout_ms=options.get("timeout"),
            is_nested=bool(options.get("internal")),
            api_name=options.get("api_name") or "",
        )
        if method == WAIT_INFO:
            self._notify(lambda: self._follow_wait(call))
            return self._send(target, method, params, options)
        self._notify(lambda: self._listener.on_call_started(call))
        answer: asyncio.Future[Any]
        if call.name in CLOSES:
            answer = asyncio.ensure_future(self._close_after_preparation(call, options))
        else:
            answer = self._send(target, method, params, options)
        answer.add_done_callback(lambda done: self._notify(lambda: self._end(call, done)))
        return asyncio.ensure_future(self._after_preparation(answer)) if call.name == NEW_PAGE else answer

    def _follow_wait(self, message: PlaywrightCall) -> None:
        name, phase = message.params["waitId"], message.params["phase"]
        if phase == "before":
            self._waits[name] = PlaywrightWait(call=message, event=message.params.get("event") or "")
            self._listener.on_wait_started(self._waits[name])
        elif phase == "log" and name in self._waits:
            self._waits[name].log.append(message.params.get("message") or "")
        elif phase == "after" and name in self._waits:  # a failed one may end twice
            wait = self._waits.pop(name)
            wait.error = message.params.get("error")
            self._listener.on_wait_ended(wait)

    def _note_wait_detail(self, name: str, detail: WaitDetail, value: Any) -> None:  # noqa: ANN401 - as above
        wait = self._waits.get(name)
        if wait is None:
            return
        match detail:
            case "timeout":
                wait.timeout_ms = value or 0.0
            case "frame":
                wait.frame = value
            case "pattern":
                wait.pattern = value
            case "state":
                wait.state = value
            case "result":
                wait.results.append(value)

    async def _after_preparation(self, answer: asyncio.Future[Any]) -> Any:  # noqa: ANN401 - has no public type
        result = await answer
        await self._prepare(self._prepare_new_page())
        return result

    async def _close_after_preparation(self, call: PlaywrightCall, options: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        await self._prepare(self._prepare_close(call))
        return await self._send(call.target, call.name.rpartition(".")[2], call.params, options)

    async def _prepare(self, preparation: Awaitable[None]) -> None:
        try:
            await preparation
        except Exception as error:  # noqa: BLE001 - the agent continues; the error is recorded
            self._on_error(error)

    def _end(self, call: PlaywrightCall, future: asyncio.Future[Any]) -> None:
        if future.cancelled():
            self._listener.on_call_finished(call, None, None)
            return
        error = future.exception()
        if error is None:
            self._listener.on_call_finished(call, future.result() or {}, None)
        elif isinstance(error, Exception):
            self._listener.on_call_finished(call, None, error)

    def _notify(self, notify: Callable[[], None]) -> None:
        try:
            notify()
        except Exception as error:  # noqa: BLE001 - the agent continues; the error is recorded
            self._on_error(error)


class _NullListener:
    """Ignores all calls."""

    def on_call_started(self, call: PlaywrightCall) -> None:
        """Ignore the call."""

    def on_call_finished(self, call: PlaywrightCall, result: Mapping[str, Any] | None, error: Exception | None) -> None:
        """Ignore the call."""

    def on_wait_started(self, wait: PlaywrightWait) -> None:
        """Ignore the wait."""

    def on_wait_ended(self, wait: PlaywrightWait) -> None:
        """Ignore the wait."""


def context_of_call(call: PlaywrightCall) -> Any:  # noqa: ANN401 - the objects of the client have no public types
    """Return the context of a call; None if it has none."""
    found = call.target
    while found is not None and type_of(found) != "BrowserContext":
        found = parent_of(found)
    return found


def page_of_call(call: PlaywrightCall) -> Any:  # noqa: ANN401 - as above
    """Return the page of a call; None if it has none."""
    found = call.target
    while found is not None and type_of(found) != "Page":
        found = found.page if type_of(found) in {"Dialog", "Frame"} else parent_of(found)
    return found


def frame_of_call(call: PlaywrightCall) -> Any:  # noqa: ANN401 - as above
    """Return the frame in which a call resolves selectors: its own, or the main frame of its page."""
    found = call.target
    while found is not None and type_of(found) != "Frame":
        found = found.main_frame if type_of(found) == "Page" else parent_of(found)
    return found


def frames_of_call(call: PlaywrightCall) -> tuple[Any, ...]:
    """Return all frames of the page of a call, the main frame first."""
    page = page_of_call(call)
    return () if page is None else tuple(page.frames)


def frame_selectors(frame: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
    """Return selectors of the iframes that lead from the page to a frame, outermost first."""
    selectors: list[str] = []
    while frame is not None and frame.parent_frame is not None:
        siblings = frame.parent_frame.child_frames
        named = [each for each in siblings if frame.name and each.name == frame.name]
        if len(named) == 1 and not {'"', "\\"} & set(frame.name):
            selectors.append(_iframe_with_name(frame.name))
        else:
            selectors.append(f"iframe >> nth={siblings.index(frame) if frame in siblings else 0}")
        frame = frame.parent_frame
    return tuple(reversed(selectors))


def _iframe_with_name(name: str) -> str:
    """Return the selector of the iframe of a frame: its name is its id if it has no name of its own."""
    return f'iframe:is([name="{name}"], [id="{name}"]:not([name]), [id="{name}"][name=""])'


def handle_in_result(result: Any) -> Any:  # noqa: ANN401 - as above
    """Return the object behind a channel in a result; None if there is none."""
    return object_of_channel(result)


def failure_from_error(error: Exception, operation: str) -> tuple[str, str]:
    """Return code and message of a failed call; `operation` describes the call."""
    from playwright.async_api import Error

    if not isinstance(error, Error):
        return "unknown", f"{operation}: {type(error).__name__}: {error}"
    translated = translate(error, operation)
    return translated.code, translated.message


def awaited_request(result: Any) -> tuple[Any, int | None]:  # noqa: ANN401 - as above
    """Return the request that a wait got, itself or by its response, and the status of a response, if there is one."""
    if type_of(result) == "Response":
        return result.request, result.status
    response = result.existing_response
    return result, None if response is None else response.status


def dialog_details(call: PlaywrightCall) -> tuple[str, str, str]:
    """Return type, message and default value of a dialog."""
    dialog = call.target
    return dialog.type, dialog.message, dialog.default_value
