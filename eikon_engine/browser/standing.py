"""Look at pages that stand still between two actions, and run JavaScript in them by hand."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json

from eikon_engine.browser.clean import clean
from eikon_engine.browser.frames import frame_tree
from eikon_engine.browser.observe import observe
from eikon_engine.browser.perform.deed import require_page
from eikon_engine.browser.playwright_errors import first_line, says_gone
from eikon_engine.errors import BrowserDiedError, EikonError, PageMissingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from playwright.async_api import Browser, Frame
    from pydantic import JsonValue

    from eikon_engine.browser.observe import Sight
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.start_state import StorageState

EVALUATION_S: Final = 5.0
"""Wall time after which JavaScript that was run by hand counts as waiting: page time stands still meanwhile."""
ANSWER_S: Final = 1.0
"""Wall time within which a page answers that does not loop."""
DEEPEST: Final = 60
"""Levels of lists and objects in a result; what lies deeper is given as text."""
_AS_JSON: Final = """(value, deepest) => {
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
class Evaluated:
    """What JavaScript came to."""

    result: JsonValue
    """Its value without secrets; what JSON has no text for is given as the text it has in JavaScript."""
    error: str | None = None
    """Why there is none: it threw, or waits for something."""
    overdue: bool = False
    """Whether it was not over in time."""


async def look(session: Session) -> Sight:
    """Observe the pages once more; the next action finds everything as if nobody had looked."""
    await session.rest.quiesce()
    sight = await observe(session, None)
    session.ledger.put_back(sight.happened)
    return sight


async def evaluate(session: Session, frame: Frame, expression: str) -> Evaluated:
    """Run JavaScript in a frame, and bring the pages to rest; page time stands.

    Where it is cut off, a script that loops is stopped.

    Raises:
        BrowserDiedError: the browser went away.
    """
    async with _breaker(session, frame) as stop:
        try:
            async with asyncio.timeout(EVALUATION_S):
                evaluated = await _run(session, frame, expression)
        except TimeoutError:
            evaluated = Evaluated(result=None, error=await stop(), overdue=True)
    await session.rest.quiesce()
    return evaluated


async def storage_state(session: Session) -> StorageState:
    """Take down what the browser keeps, without secrets: cookies, and `localStorage` of the documents that are open.

    What is kept for other sites is left out: it can be read in documents of theirs alone, and none is opened for that.
    """
    frames = [frame for _, page in session.ledger.open_pages() for _, frame in frame_tree(page.main_frame)]
    read = await asyncio.gather(*(_local_storage(frame) for frame in frames))
    origins = [
        {"origin": origin, "localStorage": [{"name": name, "value": value} for name, value in sorted(items)]}
        for origin, items in sorted(dict(each for each in read if each is not None).items())
        if items
    ]
    cookies = await session.context.cookies()
    state = session.redactor.redact_texts(json.loads(json.dumps({"cookies": cookies, "origins": origins})))
    return state if isinstance(state, dict) else {}


@contextmanager
def living(browser: Browser) -> Iterator[None]:
    """Say of whatever goes wrong in a browser that is gone that it is gone.

    Raises:
        BrowserDiedError: it is.
    """
    from playwright.async_api import Error

    try:
        yield
    except BrowserDiedError:
        raise
    except (EikonError, Error) as error:
        if browser.is_connected() and not (isinstance(error, Error) and says_gone(error)):
            raise
        message = "the browser went away; all pages went with it"
        raise BrowserDiedError(message) from error


@asynccontextmanager
async def _breaker(session: Session, frame: Frame) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """Give what stops JavaScript that loops, and says why JavaScript was not over in time.

    Whoever could stop it has to be there before it begins: a page that loops lets nobody in.
    """
    from playwright.async_api import Error

    try:
        devtools = await session.context.new_cdp_session(frame.page)
    except Error as error:
        raise BrowserDiedError(f"the page cannot be reached: {first_line(error.message)}") from error

    async def stop() -> str:
        try:
            async with asyncio.timeout(ANSWER_S):
                with suppress(Error):  # a document that goes lets its script go
                    await frame.evaluate("0")
        except TimeoutError:
            await _in_time(devtools.send("Runtime.terminateExecution"))
            return f"it was not over within {EVALUATION_S:g} s, and was stopped"
        return f"it was not over within {EVALUATION_S:g} s; page time stands still, so nothing that waits goes on"

    try:
        yield stop
    except asyncio.CancelledError:
        await asyncio.shield(_in_time(devtools.send("Runtime.terminateExecution")))
        raise
    finally:
        await _in_time(devtools.detach())


async def _in_time(asked: Awaitable[object]) -> None:
    """Wait for the browser, which may have no answer: a page that loops, or goes, has none."""
    from playwright.async_api import Error

    with suppress(Error, TimeoutError):
        async with asyncio.timeout(ANSWER_S):
            await asked


async def _run(session: Session, frame: Frame, expression: str) -> Evaluated:
    from playwright.async_api import Error

    restored = session.put_back(expression.encode()).decode()
    try:
        handle = await frame.evaluate_handle(restored)
        text = await handle.evaluate(_AS_JSON, DEEPEST)
    except Error as error:
        if session.ledger.crashed:
            raise BrowserDiedError("the browser went away while JavaScript was run") from error
        return Evaluated(result=None, error=clean(session, first_line(error.message)))
    return Evaluated(result=session.redactor.redact_texts(from_json(text)))


async def _local_storage(frame: Frame) -> tuple[str, list[tuple[str, str]]] | None:
    """Read what a document keeps; None for one that may keep nothing, or is going."""
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(EVALUATION_S):
            origin, items = await frame.evaluate("() => [location.origin, Object.entries(localStorage)]")
    except (Error, TimeoutError):
        return None
    return str(origin), [(str(name), str(value)) for name, value in items]


def frame_in(session: Session, page: int, path: str) -> Frame:
    """Return a frame of an open page by its path, which is empty for the main one.

    Raises:
        PageMissingError: the page, or the frame in it, is not open.
    """
    frames = dict(frame_tree(require_page(session, page).main_frame))
    if path not in frames:
        listing = ", ".join(repr(each) for each in frames)
        message = f"wanted frame {path!r} of page {page}, found frames: {listing}"
        raise PageMissingError(message)
    return frames[path]
