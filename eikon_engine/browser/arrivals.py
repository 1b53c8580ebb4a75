"""Attach to pages before their first document loads; Playwright announces a page only afterwards."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from playwright.async_api import Browser, CDPSession, Request

ATTACH_TIMEOUT_S: Final = 2.0
"""Maximum wall time for which a first document is delayed."""


class DevToolsSession(Protocol):
    """A DevToolsSession protocol session of a page."""

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a command and wait for its result."""

    def on(self, event: str, f: Callable[..., Any]) -> None:
        """Listen to an event."""


class NewPageSession:
    """A page reached through the browser target; its renderer answers only once its first document has loaded."""

    def __init__(self, browser: CDPSession, session_id: str) -> None:
        """Talk through the `browser` session."""
        self._browser = browser
        self._session_id = session_id
        self._numbers = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: dict[str, Callable[..., Any]] = {}

    def on(self, event: str, f: Callable[..., Any]) -> None:
        """Listen to an event; one listener each."""
        self._listeners[event] = f

    async def post(self, method: str, params: dict[str, Any] | None = None) -> asyncio.Future[dict[str, Any]]:
        """Send a command, and wait until the browser has accepted it; return a future of the result."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        message = json.dumps({"id": number, "method": method, "params": params or {}})
        await self._browser.send("Target.sendMessageToTarget", {"sessionId": self._session_id, "message": message})
        return answer

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a command and wait for its result."""
        from playwright.async_api import Error

        reply = await (await self.post(method, params))
        if "error" in reply:
            raise Error(reply["error"]["message"])
        result: dict[str, Any] = reply.get("result", {})
        return result

    def handle_message(self, text: str) -> None:
        """Handle a result or an event."""
        reply = json.loads(text)
        if "id" in reply:
            answer = self._pending.pop(reply["id"], None)
            if answer is not None and not answer.done():
                answer.set_result(reply)
        elif reply["method"] in self._listeners:
            self._listeners[reply["method"]](reply.get("params", {}))

    def fail_pending(self) -> None:
        """Fail the pending commands: the page is gone."""
        for answer in self._pending.values():
            if not answer.done():
                answer.set_result({"error": {"message": "the page is gone"}})
        self._pending.clear()


class NewPageAttacher:
    """Attach to the new pages of one context, and delay their first documents until that is done."""

    def __init__(
        self,
        attach_listeners: Callable[[DevToolsSession, str], None],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]],
    ) -> None:
        """`listen` receives each page's session and target id before the session is enabled."""
        self._listen = attach_listeners
        self._spawn = spawn
        self._context_id: str | None = None
        self._browser: CDPSession | None = None
        self._by_session: dict[str, NewPageSession] = {}
        self._attached: set[str] = set()
        self._opening: dict[str, float] = {}
        """Targets that Playwright has not announced as pages yet, with their creation times."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self, browser: Browser, context_id: str, open_now: frozenset[str]) -> None:
        """Attach to every future page target of the context."""
        self._context_id = context_id
        devtools = self._browser = await browser.new_browser_cdp_session()
        pages_before = set(open_now)
        devtools.on("Target.targetCreated", lambda event: self._on_created(event["targetInfo"], pages_before))
        devtools.on("Target.targetDestroyed", lambda event: self.note_opened(event["targetId"]))
        devtools.on("Target.receivedMessageFromTarget", self._on_message)
        devtools.on("Target.detachedFromTarget", self._on_detached)
        browser.on("disconnected", lambda _: self._fail_all())
        await devtools.send("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": "page"}]})

    def is_attached(self, target: str) -> bool:
        """Whether a page is, or is being, attached to from here."""
        return target in self._attached

    def opening_count(self) -> int:
        """Count the pages about to open; one that takes too long, such as one without a document, does not count."""
        return sum(time.monotonic() - begun < ATTACH_TIMEOUT_S for begun in self._opening.values())

    def note_opened(self, target: str) -> None:
        """Note that a page opened, or never will."""
        self._opening.pop(target, None)

    async def delay_first_document(self, request: Request) -> None:
        """Delay a document request until pages that have just opened are attached: it may be their first."""
        if self._tasks and request.is_navigation_request():
            await asyncio.wait(tuple(self._tasks), timeout=ATTACH_TIMEOUT_S)

    async def stop(self) -> None:
        """Detach from all pages."""
        from playwright.async_api import Error

        self._fail_all()
        if self._browser is not None:
            with suppress(Error):  # the browser is gone
                await self._browser.detach()

    def _on_created(self, info: dict[str, Any], open_before: set[str]) -> None:
        target: str = info["targetId"]
        if info["type"] != "page" or info.get("browserContextId") != self._context_id or target in open_before:
            return
        self._attached.add(target)
        self._opening[target] = time.monotonic()
        task = self._spawn(self._attach(target))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _attach(self, target: str) -> None:
        """Enable the network domain; the browser queues the command until the first document loads."""
        from playwright.async_api import Error

        if self._browser is None:
            return
        try:
            reply = await self._browser.send("Target.attachToTarget", {"targetId": target, "flatten": False})
            arrival = self._by_session[reply["sessionId"]] = NewPageSession(self._browser, reply["sessionId"])
            self._listen(arrival, target)
            await arrival.post("Network.enable")
        except Error:
            self._attached.discard(target)  # closed already
            self.note_opened(target)

    def _on_message(self, event: dict[str, Any]) -> None:
        arrival = self._by_session.get(event["sessionId"])
        if arrival is not None:
            arrival.handle_message(event["message"])

    def _on_detached(self, event: dict[str, Any]) -> None:
        arrival = self._by_session.pop(event["sessionId"], None)
        if arrival is not None:
            arrival.fail_pending()

    def _fail_all(self) -> None:
        for arrival in self._by_session.values():
            arrival.fail_pending()
        self._by_session.clear()
