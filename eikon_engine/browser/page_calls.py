"""Call our functions in a document, also where the page has replaced what JavaScript itself offers."""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from eikon_engine.browser.playwright_errors import first_line, is_target_gone
from eikon_engine.errors import PageUnreadableError, PageUnresponsiveError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from playwright.async_api import Browser, CDPSession, Frame, Page
    from playwright.async_api import Error as PlaywrightError

DOCUMENT_REPLACED: Final = (
    r"Execution context was destroyed|[Ff]rame was detached|navigat|Cannot find (?:default execution )?context"
)
"""Errors of Playwright and of the browser for a document that is being replaced."""
_CALL: Final = """text => {{
  const called = {script};
  const own = window.__eikon__;
  if (own?.call) return own.call(called, text);
  const write = value => typeof value === 'string' ? 's' + value : 'j' + JSON.stringify(value ?? null);
  const value = called(JSON.parse(text));
  return typeof value?.then === 'function' ? value.then(write) : write(value);
}}"""
"""Calls a function with a JSON value; see `call` in init_natives.js. Works as well where our init scripts did not run.

Texts alone are passed: Playwright's own code in the page converts other values, with what the page has replaced."""


PAGE_RESPONSE_S: Final = 30.0
"""Wall time for a page to answer, unless an action has less left."""
MIN_RESPONSE_S: Final = 5.0
"""Wall time for a page to answer, even if the action has none left."""
BUSY_S: Final = 5.0
"""Processor time after the wall time, within which a page that computes something still answers."""


@dataclass(slots=True)
class _ActionDeadline:
    """When the pages must have performed an action."""

    at: float
    """On the monotonic clock."""
    used_before: dict[int, float] | None = None
    """Processor times of the pages when the first answer was overdue; later ones count from then on."""


_DEADLINE: Final[ContextVar[_ActionDeadline | None]] = ContextVar("deadline", default=None)
"""That of the action of this task."""


@contextmanager
def page_deadline(timeout_ms: float) -> Iterator[None]:
    """Share one deadline between all waits for a page in the block, which performs an action with this timeout."""
    before = _DEADLINE.set(_ActionDeadline(time.monotonic() + timeout_ms / 1000))
    try:
        yield
    finally:
        _DEADLINE.reset(before)


def response_timeout_s(longest_s: float = PAGE_RESPONSE_S) -> float:
    """Return for how long to wait for a page: what the action has left, within limits."""
    deadline = _DEADLINE.get()
    return longest_s if deadline is None else min(longest_s, max(MIN_RESPONSE_S, deadline.at - time.monotonic()))


@asynccontextmanager
async def answer_timeout(page: Page, place: str, timeout_s: float | None = None) -> AsyncIterator[None]:
    """Wait for a page in the block, by default for what the action has left; `place` names it in the message.

    On a busy machine, a page does little in that time. So the block ends only after the browser's pages have also
    worked for `BUSY_S` of processor time since then, or since the first overdue answer of the same action, or after
    `PAGE_RESPONSE_S` in all.

    Raises:
        PageUnresponsiveError: the page did not answer in time.
    """
    timeout_s = timeout_s or response_timeout_s()
    loop = asyncio.get_running_loop()
    working: list[asyncio.Task[None]] = []
    try:
        async with asyncio.timeout(None) as limit:
            overdue = loop.call_later(timeout_s, lambda: working.append(loop.create_task(_end_if_busy(page, limit))))
            try:
                yield
            finally:
                overdue.cancel()
                for task in working:
                    task.cancel()
    except TimeoutError as error:
        raise PageUnresponsiveError(
            f"{place} did not answer within {timeout_s:.0f} s: a script keeps it busy"
        ) from error


async def _end_if_busy(page: Page, limit: asyncio.Timeout) -> None:
    """End the block of a timeout once a process of the browser's pages has used `BUSY_S` more of processor time."""
    loop = asyncio.get_running_loop()
    last_s = loop.time() + PAGE_RESPONSE_S
    deadline = _DEADLINE.get()
    before = None if deadline is None else deadline.used_before
    if before is None:
        before = await _processor_times(page)
        if deadline is not None:
            deadline.used_before = before
    while loop.time() < last_s:
        await asyncio.sleep(BUSY_S / 20)
        now = await _processor_times(page)
        if any(used - before.get(process, used) >= BUSY_S for process, used in now.items()):
            break
    limit.reschedule(loop.time())


async def _processor_times(page: Page) -> dict[int, float]:
    """Return the seconds of processor time of each process with pages; empty if the browser does not say."""
    from playwright.async_api import Error

    browser = page.context.browser
    if browser is None:
        return {}
    try:
        if browser not in _BROWSERS:
            _BROWSERS[browser] = await browser.new_browser_cdp_session()
        answer = await _BROWSERS[browser].send("SystemInfo.getProcessInfo")
    except Error:
        return {}
    return {each["id"]: each["cpuTime"] for each in answer["processInfo"] if each["type"] == "renderer"}


_BROWSERS: Final[WeakKeyDictionary[Browser, CDPSession]] = WeakKeyDictionary()
"""Sessions that ask for processor times."""


async def call_in_frame(frame: Frame, script: str, argument: object = None, *, timeout_s: float | None = None) -> Any:  # noqa: ANN401 - a JSON value
    """Call a JavaScript function in a document with a JSON value; return its result, also a JSON value.

    By default, the timeout is what the action has left, see `page_deadline`.

    Playwright's own code in the page fails if the page has replaced what it uses. Then, and from then on, the browser
    is asked directly.

    Raises:
        playwright.async_api.Error: the document is being replaced, or it is gone.
        PageUnreadableError: the page has replaced what the function, or the browser, uses.
        PageUnresponsiveError: the page does not answer in time.
    """
    async with answer_timeout(frame.page, frame.url, timeout_s):
        return await _call_in_frame(frame, script, json.dumps(argument))


async def _call_in_frame(frame: Frame, script: str, text: str) -> Any:  # noqa: ANN401 - a JSON value
    from playwright.async_api import Error

    function = _CALL.format(script=script)
    if frame not in _DIRECT:
        try:
            answer = await frame.evaluate(function, text)
        except Error as error:
            if is_document_gone(error):
                raise
        else:
            if (value := _parse(answer)) is not _UNREADABLE:
                return value
        _DIRECT[frame] = _DirectCalls(frame)
    return await _DIRECT[frame].call(f"({function})({json.dumps(text)})")


def is_document_gone(error: PlaywrightError) -> bool:
    """Whether an error says that a document was replaced, or that its page or browser is gone."""
    return is_target_gone(error) or re.search(DOCUMENT_REPLACED, error.message) is not None


_UNREADABLE: Final = object()


def _parse(answer: object) -> Any:  # noqa: ANN401 - a JSON value
    """Return the value of an answer of `_CALL`; `_UNREADABLE` if it has another form."""
    if isinstance(answer, str) and answer.startswith("s"):
        return answer[1:]
    try:
        return json.loads(answer[1:]) if isinstance(answer, str) and answer.startswith("j") else _UNREADABLE
    except ValueError:
        return _UNREADABLE


class _DirectCalls:
    """Evaluates JavaScript in a frame without Playwright's own code in the page."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._lock = asyncio.Lock()
        self._devtools: CDPSession | None = None
        self._contexts: dict[str, int] = {}
        self._root = frame
        """The outermost frame in the process of the frame."""

    async def call(self, expression: str) -> Any:  # noqa: ANN401 - a JSON value
        """Evaluate an expression in the main world.

        Raises:
            playwright.async_api.Error: the document is being replaced, or it is gone.
            PageUnreadableError: it threw, or the result is none of `_CALL`.
        """
        async with self._lock:
            devtools = self._devtools = self._devtools or await self._connect()
        arguments: dict[str, Any] = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        if self._frame is not self._root:
            arguments["contextId"] = await self._context_id(devtools)
        answer = await devtools.send("Runtime.evaluate", arguments)
        value = _parse(answer["result"].get("value"))
        if value is _UNREADABLE or "exceptionDetails" in answer:
            thrown = answer.get("exceptionDetails", {}).get("exception", {})
            reason = first_line(str(thrown.get("description") or thrown.get("value") or "no result"))
            named = await devtools.send("Runtime.evaluate", {**arguments, "expression": "window.__eikon__?.replaced"})
            replaced = named["result"].get("value")
            raise unreadable(self._frame, f"{replaced}; {reason}" if replaced else reason)
        return value

    async def _connect(self) -> CDPSession:
        """Open a session with the process of the frame."""
        from playwright.async_api import Error

        while (above := self._root.parent_frame) is not None:
            try:
                devtools = await self._root.page.context.new_cdp_session(self._root)
            except Error as error:
                if is_document_gone(error):
                    raise
                self._root = above
            else:
                break
        else:
            devtools = await self._root.page.context.new_cdp_session(self._root.page)
        if self._frame is not self._root:
            devtools.on("Runtime.executionContextCreated", self._note_context)
            await devtools.send("Runtime.enable")
        return devtools

    def _note_context(self, event: dict[str, Any]) -> None:
        data = event["context"].get("auxData", {})
        if data.get("isDefault"):
            self._contexts[data["frameId"]] = event["context"]["id"]

    async def _context_id(self, devtools: CDPSession) -> int:
        """Return the id of the main world of the frame.

        Raises:
            playwright.async_api.Error: the frame is being replaced.
        """
        from playwright.async_api import Error

        tree = (await devtools.send("Page.getFrameTree"))["frameTree"]
        for place in _places_below(self._root, self._frame):
            children = tree.get("childFrames", [])
            tree = children[place] if place < len(children) else {"frame": {"id": "", "url": ""}}
        context = self._contexts.get(tree["frame"]["id"])
        if context is None:
            raise Error("Cannot find context of the frame")
        return context


_DIRECT: Final[WeakKeyDictionary[Frame, _DirectCalls]] = WeakKeyDictionary()
"""The frames whose page has replaced what Playwright uses."""


def _places_below(root: Frame, frame: Frame) -> list[int]:
    """Return the index of a frame among its siblings, for each level below another frame."""
    places: list[int] = []
    while frame is not root and (above := frame.parent_frame) is not None and frame in above.child_frames:
        places.insert(0, above.child_frames.index(frame))
        frame = above
    return places


def unreadable(frame: Frame, reason: str) -> PageUnreadableError:
    """Return the error for a page that has replaced what we use; `reason` is what failed."""
    return PageUnreadableError(
        f"{frame.url} cannot be observed: it has replaced what JavaScript or the browser offers ({reason})"
    )
