"""Navigate, go back and forward, reload; open, switch, resize and close pages; answer dialogs; take screenshots."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from eikon_engine.browser.actions.effect import (
    ACT_TIMEOUT_MS,
    ActionEffect,
    delivery_barrier,
    require_page,
    translated_errors,
)
from eikon_engine.browser.actions.secret_origins import allowed_origins
from eikon_engine.browser.actions.targets import Readiness, bind
from eikon_engine.browser.page_calls import DOCUMENT_REPLACED
from eikon_engine.browser.page_tracker import DialogAnswer
from eikon_engine.browser.playwright_errors import translate
from eikon_engine.errors import ActionRejectedError, NavigationError
from eikon_engine.trace.actions import SecretRef

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from playwright.async_api import FloatRect, Page, Response

    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import (
        AnswerDialog,
        ClosePage,
        GoBack,
        GoForward,
        Navigate,
        OpenPage,
        Reload,
        Screenshot,
        SetViewport,
        SwitchPage,
    )


async def navigate(session: Session, action: Navigate) -> ActionEffect:
    """Load a URL."""
    page = require_page(session, action.page)
    session.requested_url = action.url
    load = page.goto(action.url, wait_until=action.wait_until, timeout=action.timeout_ms, referer=action.referer)
    try:
        await _wait_for_load(session, load, f"navigating to {action.url}")
    finally:
        session.requested_url = ""
    return ActionEffect()


async def reload(session: Session, action: Reload) -> ActionEffect:
    """Load the current document again."""
    page = require_page(session, action.page)
    await _wait_for_load(session, page.reload(wait_until=action.wait_until, timeout=action.timeout_ms), "reloading")
    return ActionEffect()


async def go_through_history(session: Session, action: GoBack | GoForward) -> ActionEffect:
    """Move one step through the history of a page.

    Raises:
        NavigationError: the history has no such entry.
    """
    page = require_page(session, action.page)
    before = await _history_entry(page, action.type)
    if action.type == "go_back":
        move, operation = page.go_back(wait_until=action.wait_until, timeout=action.timeout_ms), "going back"
    else:
        move, operation = page.go_forward(wait_until=action.wait_until, timeout=action.timeout_ms), "going forward"
    response = await _wait_for_load(session, move, operation)
    await session.stabilizer.wait_until_idle()
    if response is None and await _history_entry(page, action.type) == before:
        message = f"{operation}: the history of page {action.page} has no such entry; the page is still at {page.url}"
        raise NavigationError(message)
    return ActionEffect()


async def _history_entry(page: Page, operation: str) -> object:
    """Return the current history entry; two states of an application may share one URL."""
    from playwright.async_api import Error

    try:
        return await page.evaluate("[window.navigation?.currentEntry?.key ?? '', location.href]")
    except Error as error:
        if re.search(DOCUMENT_REPLACED, error.message):
            return None  # the page is navigating
        raise translate(error, f"reading the history to {operation}") from error


async def _wait_for_load(session: Session, load: Awaitable[Response | None], operation: str) -> Response | None:
    from playwright.async_api import Error

    redirects, downloads = session.redirects_served, session.tracker.download_count
    session.timeline.mark_acting()
    task = asyncio.ensure_future(load)
    try:
        await session.stabilizer.run_with_deliveries(task)
        return task.result()
    except Error as error:
        if session.redirects_served > redirects:
            return None  # a recorded document redirect continues as a navigation of our own
        if session.tracker.download_count > downloads or "Download is starting" in error.message:
            return None  # the document turned out to be a download
        raise translate(error, operation) from error
    finally:
        task.cancel()  # after Ctrl-C it would fail later, and asyncio would print its error


async def answer_dialog(session: Session, action: AnswerDialog) -> ActionEffect:
    """Arm the answer to the dialog that the next action opens."""
    require_page(session, action.page)
    text = None if action.text is None else session.secrets.resolve(action.text)
    if text is not None and isinstance(action.text, SecretRef):
        session.redact_typed_secret(text)
    origins = None if action.text is None else allowed_origins(session, action.text)
    session.tracker.dialog_answers.append(DialogAnswer(accept=action.accept, text=text, origins=origins))
    return ActionEffect()


async def switch_page(session: Session, action: SwitchPage) -> ActionEffect:
    """Bring a page to the front, waiting for it to open."""
    waited = 0.0
    while session.page(action.page) is None and waited < action.timeout_ms:
        await session.stabilizer.pass_time_waiting(100)
        waited += 100
    page = require_page(session, action.page)
    session.timeline.mark_acting()
    async with translated_errors(f"switching to page {action.page}"):
        await page.bring_to_front()
    return ActionEffect()


async def open_page(session: Session, action: OpenPage) -> ActionEffect:
    """Open a blank page.

    Raises:
        ActionRejectedError: it is not the next page in the order of opening.
    """
    coming = len(session.tracker.pages)
    if action.page != coming:
        message = f"cannot open page {action.page}: the next page in order of opening is {coming}"
        raise ActionRejectedError(message)
    session.timeline.mark_acting()
    async with translated_errors(f"opening page {action.page}"):
        await session.context.new_page()
    return ActionEffect()


async def set_viewport(session: Session, action: SetViewport) -> ActionEffect:
    """Resize the viewport of a page."""
    page = require_page(session, action.page)
    async with translated_errors(f"setting the viewport of page {action.page}"), delivery_barrier(session, page):
        await page.set_viewport_size({"width": action.width, "height": action.height})
    return ActionEffect()


async def close_page(session: Session, action: ClosePage) -> ActionEffect:
    """Close a page."""
    page = require_page(session, action.page)
    session.timeline.mark_acting()
    async with translated_errors(f"closing page {action.page}"):
        await page.close()
    return ActionEffect()


def _clip(action: Screenshot) -> FloatRect | None:
    if action.clip is None:
        return None
    return {"x": action.clip.x, "y": action.clip.y, "width": action.clip.width, "height": action.clip.height}


async def screenshot(session: Session, action: Screenshot) -> ActionEffect:
    """Take a screenshot of an idle page, or of the target on it."""
    page = require_page(session, action.page)
    if action.target is None:
        session.timeline.begin_acting_phase()
        async with translated_errors("taking a screenshot"):
            picture = await page.screenshot(
                full_page=action.full_page, clip=_clip(action), animations="allow", caret="hide"
            )
        return ActionEffect(screenshot=picture)
    bound = await bind(page, action.target, session, Readiness(), action.timeout_ms)
    session.timeline.begin_acting_phase()
    async with translated_errors(f"taking a screenshot of {action.target}"):
        picture = await bound.locator.screenshot(animations="allow", caret="hide", timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound, screenshot=picture)
