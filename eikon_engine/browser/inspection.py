"""Inspect idle pages between two actions: evaluate JavaScript, list matches, console messages and storage."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

from eikon_engine.browser.actions.effect import require_page
from eikon_engine.browser.actions.targets import ambiguity_message, inspect_target
from eikon_engine.browser.frames import frame_path, frame_tree
from eikon_engine.browser.observation import observe
from eikon_engine.browser.page_activity import has_document
from eikon_engine.browser.page_calls import DOCUMENT_REPLACED, PAGE_RESPONSE_S
from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.browser.playwright_errors import first_line, is_target_gone, translate
from eikon_engine.browser.redaction import redact_page_text
from eikon_engine.errors import ActionError, BrowserDiedError, EikonError, PageMissingError
from eikon_engine.trace.target import Target, target_differences

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from playwright.async_api import Browser, CDPSession, Frame, Page
    from pydantic import JsonValue

    from eikon_engine.browser.actions.targets import Readiness
    from eikon_engine.browser.observation import CapturedObservation
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.environment import StorageState

EVALUATION_TIMEOUT_S: Final = 5.0
"""Wall time after which an evaluation counts as waiting: page time does not advance meanwhile."""
RESPONSE_S: Final = 1.0
"""Wall time within which a page responds unless it is in an endless loop."""
REPORT_MARK: Final = "\0eikon"
"""Begins the console messages by which our scripts report something."""
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
    const made = { __proto__: null };
    for (const name of Object.keys(given)) made[name.toWellFormed()] = plain(given[name], depth + 1);
    return made;
  };
  return JSON.stringify(plain(value, 0));
}"""

_READ: Final = """(value => typeof value === 'function' || typeof value?.then === 'function' ? undefined :
  ({to_json})(value, {depth}))((
{expression}
))"""
READ_TIMEOUT_MS: Final = 1000.0
"""Wall time of an evaluation that is to have no effect."""
_NOT_READ: Final = ("EvalError: Possible side-effect in debug-evaluate", "SyntaxError")
"""Begin of what is thrown instead of an effect, and for statements, which are no expression."""


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
    observed = await observe(session, None)
    session.tracker.restore_events(observed.events)
    return observed


async def evaluate_in_frame(session: Session, frame: Frame, expression: str) -> Evaluation:
    """Evaluate JavaScript in a frame, and wait until the pages are idle; page time does not advance.

    A script that loops is terminated on timeout or cancellation.

    Raises:
        BrowserDiedError: the browser is gone.
    """
    async with _devtools(session, frame.page) as devtools, _script_terminator(devtools, frame) as stop:
        try:
            async with asyncio.timeout(EVALUATION_TIMEOUT_S):
                evaluated = await _evaluate_expression(session, frame, expression)
        except TimeoutError:
            evaluated = Evaluation(result=None, error=await stop(), timed_out=True)
    await session.stabilizer.wait_until_idle()
    return evaluated


async def read_in_frame(session: Session, frame: Frame, expression: str) -> Evaluation | None:
    """Evaluate JavaScript that has no effect; None, and nothing has happened, if it may have one.

    V8 ends an evaluation before its first effect, such as a write to an object that it did not make itself:
    `throwOnSideEffect` of https://chromedevtools.github.io/devtools-protocol/tot/Runtime/#method-evaluate. A function,
    a promise, and what takes long are not evaluated in this way, nor are documents in processes of their own.

    Raises:
        BrowserDiedError: the browser is gone.
    """
    from playwright.async_api import Error

    restored = str(session.restore_secrets_in_json(expression))
    arguments = {
        "expression": _READ.format(to_json=_TO_JSON, expression=restored, depth=MAX_DEPTH),
        "throwOnSideEffect": True,
        "returnByValue": True,
        "timeout": READ_TIMEOUT_MS,
    }
    async with _devtools(session, frame.page) as devtools:
        try:
            async with asyncio.timeout(EVALUATION_TIMEOUT_S):
                context = await _context_id(devtools, frame)
                if context is None:
                    return None
                answer = await devtools.send("Runtime.evaluate", {**arguments, "contextId": context})
        except (Error, TimeoutError):  # it took too long, or the document was replaced
            return None
    if "exceptionDetails" in answer:
        error = answer["exceptionDetails"].get("exception", {})
        text = first_line(str(error.get("description") or error.get("value") or ""))
        is_error = text and not text.startswith(_NOT_READ)
        return Evaluation(result=None, error=redact_page_text(session, text)) if is_error else None
    found = answer["result"].get("value")
    return None if found is None else Evaluation(result=session.redactor.redact_json(from_json(found)))


async def _context_id(devtools: CDPSession, frame: Frame) -> int | None:
    """Return the id of the main world of a frame; None if it is in a process of its own, or has no document."""
    contexts: dict[str, int] = {}

    def note(event: dict[str, Any]) -> None:
        data = event["context"].get("auxData", {})
        if data.get("isDefault"):
            contexts[data["frameId"]] = event["context"]["id"]

    devtools.on("Runtime.executionContextCreated", note)
    await devtools.send("Runtime.enable")
    tree = (await devtools.send("Page.getFrameTree"))["frameTree"]
    places: list[int] = []
    inner = frame
    while (above := inner.parent_frame) is not None and inner in above.child_frames:
        places.insert(0, above.child_frames.index(inner))
        inner = above
    for place in places:
        children = tree.get("childFrames", [])
        if place >= len(children):
            return None
        tree = children[place]
    shown = tree["frame"]
    is_same = shown["url"] + shown.get("urlFragment", "") == frame.url
    return contexts.get(shown["id"]) if is_same else None


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
async def _devtools(session: Session, page: Page) -> AsyncIterator[CDPSession]:
    """Open a DevTools session with a page.

    Raises:
        BrowserDiedError: the page does not answer.
    """
    from playwright.async_api import Error

    try:
        devtools = await session.context.new_cdp_session(page)
    except Error as error:
        raise BrowserDiedError(f"the page cannot be reached: {first_line(error.message)}") from error
    try:
        yield devtools
    finally:
        await _await_briefly(devtools.detach())


@asynccontextmanager
async def _script_terminator(devtools: CDPSession, frame: Frame) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """Yield a function that terminates a looping script, and returns why the evaluation timed out.

    The DevTools session must exist before the script starts: a looping page accepts no new one.
    """
    from playwright.async_api import Error

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


async def _await_briefly(matches: Awaitable[object]) -> None:
    """Wait briefly for the browser: a page that loops or closes never answers."""
    from playwright.async_api import Error

    with suppress(Error, TimeoutError):
        async with asyncio.timeout(RESPONSE_S):
            await matches


async def _evaluate_expression(session: Session, frame: Frame, expression: str) -> Evaluation:
    from playwright.async_api import Error

    restored = str(session.restore_secrets_in_json(expression))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleEntry:
    """One message."""

    page: int
    """Ordinal."""
    kind: str
    """`log`, `warning`, `error` … as the browser names it; `uncaught` for an uncaught error."""
    text: str
    place: str = ""
    """URL and line, where the browser knows them."""


async def read_console(session: Session) -> tuple[ConsoleEntry, ...]:
    """Return the last 200 messages of each open page, then its last 200 errors, all without secrets."""
    entries = await asyncio.gather(*(_read_page_console(session, *each) for each in session.tracker.open_pages()))
    return tuple(each for some in entries for each in some)


async def _read_page_console(session: Session, ordinal: int, page: Page) -> list[ConsoleEntry]:
    from playwright.async_api import Error

    try:
        messages, errors = await asyncio.gather(page.console_messages(), page.page_errors())
    except Error:
        return []  # the page is closing
    entries = []
    for each in messages:
        if each.text.startswith(REPORT_MARK):
            continue
        url, line = each.location.get("url", ""), each.location.get("lineNumber", 0)
        place = redact_page_text(session, f"{url}:{line + 1}") if url else ""
        entries.append(
            ConsoleEntry(page=ordinal, kind=each.type, text=redact_page_text(session, each.text), place=place)
        )
    for error in errors:
        text = f"{error.name or 'Error'}: {error.message}"
        entries.append(ConsoleEntry(page=ordinal, kind="uncaught", text=redact_page_text(session, text)))
    return entries


MAX_DESCRIBED: Final = 50
"""Elements that are described; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementMatch:
    """One element that a selector matches."""

    description: str
    """Tag and accessible name."""
    is_visible: bool
    box: tuple[float, float, float, float]
    """Left, top, width and height in CSS pixels, in the viewport of its frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorMatches:
    """What a selector matches in one document."""

    page: int
    """Ordinal."""
    frame: str
    """Path of the frame, empty for the main one."""
    count: int
    shown: tuple[ElementMatch, ...]
    """The first matches, in document order."""
    digest: str
    """Changes with the markup or form state of any match."""


async def find_matches(session: Session, selector: str, page: int, frame: str = "") -> SelectorMatches:
    """List everything that a selector matches in one frame of a page, without secrets.

    Raises:
        PageMissingError: the page, or its frame, is not open.
        ActionError: the selector is invalid, or the page does not respond.
    """
    matches = await _query_matches(session, require_frame(session, page, frame), selector, page)
    if matches is None:
        message = f"page {page} is navigating. Try again when the new document has loaded."
        raise ActionError(message)
    return matches


async def find_matches_everywhere(session: Session, selector: str) -> tuple[SelectorMatches, ...]:
    """List what a selector matches in each document of all pages; documents being replaced are omitted.

    Raises:
        ActionError: the selector is invalid, or a page does not respond.
    """
    matches = [
        _query_matches(session, frame, selector, ordinal)
        for ordinal, page in session.tracker.open_pages()
        if not session.tracker.requests.is_navigating(page)
        for frame in page.frames
        if has_document(frame)
    ]
    return tuple(each for each in await asyncio.gather(*matches) if each is not None)


async def _query_matches(session: Session, frame: Frame, selector: str, page: int) -> SelectorMatches | None:
    from playwright.async_api import Error

    path, in_clear = frame_path(frame), session.secret_restorer.restore_bytes(selector.encode()).decode()
    if session.tracker.requests.is_navigating(frame.page):
        return None
    try:
        async with asyncio.timeout(PAGE_RESPONSE_S):
            answer = await frame.locator(in_clear).evaluate_all(
                load_script("inspect_elements.js"), {"every": MAX_DESCRIBED}
            )
    except TimeoutError as error:
        message = f"page {page} did not respond within {PAGE_RESPONSE_S:.0f} s"
        raise ActionError(message) from error
    except Error as error:
        if session.tracker.is_dead:
            message = f"the browser is gone; it closed while evaluating {selector}"
            raise BrowserDiedError(message) from error
        if re.search(DOCUMENT_REPLACED, error.message):
            return None
        refused = translate(error, f"looking for {selector}")
        raise type(refused)(session.redactor_for_query(selector).redact_text(refused.message)) from error
    return _parse_matches(session, answer, page, path)


def _parse_matches(session: Session, answer: Any, page: int, frame: str) -> SelectorMatches:  # noqa: ANN401 - what a page's script returns has no type yet
    return SelectorMatches(
        page=page,
        frame=frame,
        count=int(answer["count"]),
        shown=tuple(
            ElementMatch(
                description=redact_page_text(session, each["description"]),
                is_visible=bool(each["visible"]),
                box=_parse_box(each["box"]),
            )
            for each in answer["shown"]
        ),
        digest=str(answer["digest"]),
    )


def _parse_box(numbers: list[float]) -> tuple[float, float, float, float]:
    left, top, width, height = numbers
    return left, top, width, height


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStatus:
    """What a target matches now."""

    count: int
    matches: tuple[str, ...]
    """Descriptions of the first five."""
    problem: str | None
    """Why it would not bind if its action were performed now; None if it would."""


async def inspect_target_now(session: Session, page: int, target: Target, readiness: Readiness) -> TargetStatus:
    """Check what a target matches; `readiness` is what its action requires, without a pointer, which would scroll.

    Raises:
        PageMissingError: the page is not open.
    """
    shown = require_page(session, page)
    if session.tracker.requests.is_navigating(shown):
        return TargetStatus(count=0, matches=(), problem="the page is navigating")
    try:
        seen = await inspect_target(shown, _with_secrets(session, target), readiness)
    except ActionError as error:
        return TargetStatus(
            count=0, matches=(), problem=session.redactor_for_query(str(target)).redact_text(error.message)
        )
    problem = None
    if seen.count == 0:
        problem = f"{target}: expected one element, found none"
    elif seen.identity is None:
        problem = ambiguity_message(target, seen)
    elif target.identity is not None and (differences := target_differences(target, seen.identity)):
        problem = f"{target}: the element is not the recorded one: {'; '.join(differences)}"
    elif seen.obstacle:
        problem = f"{target}: {seen.matches[0]} is {seen.obstacle}"
    return TargetStatus(
        count=seen.count,
        matches=tuple(redact_page_text(session, each) for each in seen.matches),
        problem=None if problem is None else redact_page_text(session, problem),
    )


def _with_secrets(session: Session, target: Target) -> Target:
    """Insert the values of secrets into selectors that contain their stand-ins."""
    data = target.model_dump(mode="json")
    restored = session.secret_restorer.restore_json(data)
    return target if restored == data else Target.model_validate_json(json.dumps(restored))
