"""Attach to pages before their first document comes: Playwright tells of a page only after it."""

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

ATTACH_S: Final = 2.0
"""Wall time for which a first document is held back at most."""


class DevTools(Protocol):
    """What is said to a page over the DevTools protocol, and what it says."""

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask, and wait for the answer."""

    def on(self, event: str, f: Callable[..., Any]) -> None:
        """Listen to an event."""


class Arrival:
    """A page spoken to through the browser; its renderer answers only once its first document has come."""

    def __init__(self, browser: CDPSession, session_id: str) -> None:
        """Begin with nothing asked."""
        self._browser = browser
        self._session_id = session_id
        self._numbers = itertools.count(1)
        self._awaited: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: dict[str, Callable[..., Any]] = {}

    def on(self, event: str, f: Callable[..., Any]) -> None:
        """Listen to an event; one listener each."""
        self._listeners[event] = f

    async def post(self, method: str, params: dict[str, Any] | None = None) -> asyncio.Future[dict[str, Any]]:
        """Ask, and wait until the browser holds the question; return where the answer will be."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._awaited[number] = answer
        message = json.dumps({"id": number, "method": method, "params": params or {}})
        await self._browser.send("Target.sendMessageToTarget", {"sessionId": self._session_id, "message": message})
        return answer

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        from playwright.async_api import Error

        told = await (await self.post(method, params))
        if "error" in told:
            raise Error(told["error"]["message"])
        result: dict[str, Any] = told.get("result", {})
        return result

    def hear(self, text: str) -> None:
        """Take an answer or an event."""
        told = json.loads(text)
        if "id" in told:
            answer = self._awaited.pop(told["id"], None)
            if answer is not None and not answer.done():
                answer.set_result(told)
        elif told["method"] in self._listeners:
            self._listeners[told["method"]](told.get("params", {}))

    def end(self) -> None:
        """Answer what is still awaited: the page is gone."""
        for answer in self._awaited.values():
            if not answer.done():
                answer.set_result({"error": {"message": "the page is gone"}})
        self._awaited.clear()


class Arrivals:
    """Attach to the pages to come of one context, and hold their first documents back until that is done."""

    def __init__(
        self,
        listen: Callable[[DevTools, str], None],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]],
    ) -> None:
        """Begin with none; `listen` is given each page's session and target id before it is switched on."""
        self._listen = listen
        self._spawn = spawn
        self._context_id: str | None = None
        self._browser: CDPSession | None = None
        self._by_session: dict[str, Arrival] = {}
        self._known: set[str] = set()
        self._coming: dict[str, float] = {}
        """Targets that Playwright has not told of as pages yet, and since when they are there."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self, browser: Browser, context_id: str, open_now: frozenset[str]) -> None:
        """Attach to every page target of the context that is not open now."""
        self._context_id = context_id
        devtools = self._browser = await browser.new_browser_cdp_session()
        pages_before = set(open_now)
        devtools.on("Target.targetCreated", lambda event: self._on_created(event["targetInfo"], pages_before))
        devtools.on("Target.targetDestroyed", lambda event: self.note_come(event["targetId"]))
        devtools.on("Target.receivedMessageFromTarget", self._on_message)
        devtools.on("Target.detachedFromTarget", self._on_detached)
        browser.on("disconnected", lambda _: self._end_all())
        await devtools.send("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": "page"}]})

    def knows(self, target: str) -> bool:
        """Say whether a page is, or is being, attached to from here."""
        return target in self._known

    def coming(self) -> int:
        """Count the pages that are about to be there; one that takes too long, as without a document, is none."""
        return sum(time.monotonic() - begun < ATTACH_S for begun in self._coming.values())

    def note_come(self, target: str) -> None:
        """Note that a page is there, or that none will be."""
        self._coming.pop(target, None)

    async def hold(self, request: Request) -> None:
        """Wait for pages that have just opened, if a request is for a document: it may be their first."""
        if self._tasks and request.is_navigation_request():
            await asyncio.wait(tuple(self._tasks), timeout=ATTACH_S)

    async def stop(self) -> None:
        """Let all pages go."""
        from playwright.async_api import Error

        self._end_all()
        if self._browser is not None:
            with suppress(Error):  # the browser is gone
                await self._browser.detach()

    def _on_created(self, info: dict[str, Any], open_before: set[str]) -> None:
        target: str = info["targetId"]
        if info["type"] != "page" or info.get("browserContextId") != self._context_id or target in open_before:
            return
        self._known.add(target)
        self._coming[target] = time.monotonic()
        task = self._spawn(self._attach(target))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _attach(self, target: str) -> None:
        """Switch the network domain on; the browser keeps the wish until the first document comes."""
        from playwright.async_api import Error

        if self._browser is None:
            return
        try:
            told = await self._browser.send("Target.attachToTarget", {"targetId": target, "flatten": False})
            arrival = self._by_session[told["sessionId"]] = Arrival(self._browser, told["sessionId"])
            self._listen(arrival, target)
            await arrival.post("Network.enable")
        except Error:
            self._known.discard(target)  # it has closed already
            self.note_come(target)

    def _on_message(self, event: dict[str, Any]) -> None:
        arrival = self._by_session.get(event["sessionId"])
        if arrival is not None:
            arrival.hear(event["message"])

    def _on_detached(self, event: dict[str, Any]) -> None:
        arrival = self._by_session.pop(event["sessionId"], None)
        if arrival is not None:
            arrival.end()

    def _end_all(self) -> None:
        for arrival in self._by_session.values():
            arrival.end()
        self._by_session.clear()
