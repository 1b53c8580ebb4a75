"""Inspect idle pages between two actions, and evaluate JavaScript in them."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json

from eikon_engine.browser.clean import redact_page_text
from eikon_engine.browser.frames import frame_tree
from eikon_engine.browser.observe import observe
from eikon_engine.browser.perform.deed import require_page
from eikon_engine.browser.playwright_errors import first_line, is_target_gone
from eikon_engine.errors import BrowserDiedError, EikonError, PageMissingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from playwright.async_api import Browser, Frame
    from pydantic import JsonValue

    from eikon_engine.browser.observe import CapturedObservation
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.start_state import StorageState

EVALUATION_TIMEOUT_S: Final = 5.0
"""Wall time after which an evaluation counts as waiting: page time does not advance meanwhile."""
RESPONSE_S: Final = 1.0
"""Wall time within which a page answers that is not in an endless loop."""
MAX_DEPTH: Final = 60
"""Nesting depth of a result; deeper values are returned as text."""
_TO_JSON: Final = """(value, deepest) => {
  const plain = (given, depth) => {
    if (given === undefined) return null;
    if (given instanceof Node) given = given.outerHTML ?? given.textContent ?? '';
    if (given instanceof NodeList || given instanceof HTMLCollection) given = [...given];
    if (typeof given === 'number' && !Number.isFinite(given)) return String(given);
    if (given === null || typeof given === 'number' || typeof given === 'boolean') return given;
    if (typeof given !== 'object' || depth === deepest) return String(given).toWellFormed();
    if (typeof given.toJSON === 'function') return plain(given.toJSON(), depth + 1);
    if (Array.isArray(given)) return given.map(each => plain(each, depth + 1));
    return Object.fromEntries(Object.keys(given).map(name => [name.toWellFormed(), plain(given[name], depth + 1)]));
  };
  return JSON.stringify(plain(value, 0));
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The result of an evaluation."""

    result: JsonValue
    """Its value without secrets; values that JSON cannot represent are given as JavaScript prints them."""
    error: str | None = None
    """Why there is no result: it threw, or it waits for something."""
    timed_out: bool = False
    """Whether it timed out."""


async def observe_idle(session: Session) -> CapturedObservation:
    """Observe the pages again, without any effect on the next action."""
    await session.stabilizer.wait_until_idle()
    sight = await observe(session, None)
    session.tracker.restore_events(sight.events)
    return sight


async def evaluate_in_frame(session: Session, frame: Frame, expression: str) -> Evaluation:
    """Evaluate JavaScript in a frame, and wait until the pages are idle; page time does not advance.

    A script that loops is terminated on timeout or cancellation.

    Raises:
        BrowserDiedError: the browser is gone.
    """
    async with _script_terminator(session, frame) as stop:
        try:
            async with asyncio.timeout(EVALUATION_TIMEOUT_S):
                evaluated = await _evaluate_expression(session, frame, expression)
        except TimeoutError:
            evaluated = Evaluation(result=None, error=await stop(), timed_out=True)
    await session.stabilizer.wait_until_idle()
    return evaluated


async def read_storage_state(session: Session) -> StorageState:
    """Return cookies and the `localStorage` of all open documents, without secrets.

    Other origins are omitted: only their own documents can read their storage, and none is opened for that.
    """
    frames = [frame for _, page in session.tracker.open_pages() for _, frame in frame_tree(page.main_frame)]
    read = await asyncio.gather(*(_read_local_storage(frame) for frame in frames))
    origins = [
        {"origin": origin, "localStorage": [{"name": name, "value": value} for name, value in sorted(items)]}
        for origin, items in sorted(dict(each for each in read if each is not None).items())
        if items
    ]
    cookies = await session.context.cookies()
    state = session.redactor.redact_json(json.loads(json.dumps({"cookies": cookies, "origins": origins})))
    return state if isinstance(state, dict) else {}


@contextmanager
def report_gone_browser(browser: Browser) -> Iterator[None]:
    """Report any failure in a browser that is gone as such.

    Raises:
        BrowserDiedError: the browser is gone.
    """
    from playwright.async_api import Error

    try:
        yield
    except BrowserDiedError:
        raise
    except (EikonError, Error) as error:
        if browser.is_connected() and not (isinstance(error, Error) and is_target_gone(error)):
            raise
        message = "the browser is gone, and all pages with it"
        raise BrowserDiedError(message) from error


@asynccontextmanager
async def _script_terminator(session: Session, frame: Frame) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """Yield a function that terminates a looping script, and returns why the evaluation timed out.

    The DevToolsSession session must exist before the script starts: a looping page accepts no new one.
    """
    from playwright.async_api import Error

    try:
        devtools = await session.context.new_cdp_session(frame.page)
    except Error as error:
        raise BrowserDiedError(f"the page cannot be reached: {first_line(error.message)}") from error

    async def stop() -> str:
        try:
            async with asyncio.timeout(RESPONSE_S):
                with suppress(Error):  # replacing the document ends its script
                    await frame.evaluate("0")
        except TimeoutError:
            await _await_briefly(devtools.send("Runtime.terminateExecution"))
            return f"timed out after {EVALUATION_TIMEOUT_S:g} s and was terminated"
        return f"timed out after {EVALUATION_TIMEOUT_S:g} s; page time does not advance, so timers do not fire"

    try:
        yield stop
    except asyncio.CancelledError:
        await asyncio.shield(_await_briefly(devtools.send("Runtime.terminateExecution")))
        raise
    finally:
        await _await_briefly(devtools.detach())


async def _await_briefly(asked: Awaitable[object]) -> None:
    """Wait briefly for the browser: a page that loops or closes never answers."""
    from playwright.async_api import Error

    with suppress(Error, TimeoutError):
        async with asyncio.timeout(RESPONSE_S):
            await asked


async def _evaluate_expression(session: Session, frame: Frame, expression: str) -> Evaluation:
    from playwright.async_api import Error

    restored = session.restore_secrets(expression.encode()).decode()
    try:
        handle = await frame.evaluate_handle(restored)
        text = await handle.evaluate(_TO_JSON, MAX_DEPTH)
    except Error as error:
        if session.tracker.is_dead:
            raise BrowserDiedError("the browser is gone; it closed during an evaluation") from error
        return Evaluation(result=None, error=redact_page_text(session, first_line(error.message)))
    return Evaluation(result=session.redactor.redact_json(from_json(text)))


async def _read_local_storage(frame: Frame) -> tuple[str, list[tuple[str, str]]] | None:
    """Read the local storage of a document; None if it has none, or is being replaced."""
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(EVALUATION_TIMEOUT_S):
            origin, items = await frame.evaluate("() => [location.origin, Object.entries(localStorage)]")
    except (Error, TimeoutError):
        return None
    return str(origin), [(str(name), str(value)) for name, value in items]


def require_frame(session: Session, page: int, path: str) -> Frame:
    """Return a frame of an open page by its path, which is empty for the main frame.

    Raises:
        PageMissingError: the page or the frame is not open.
    """
    frames = dict(frame_tree(require_page(session, page).main_frame))
    if path not in frames:
        listing = ", ".join(repr(each) for each in frames)
        message = f"no frame {path!r} on page {page}; its frames: {listing}"
        raise PageMissingError(message)
    return frames[path]
