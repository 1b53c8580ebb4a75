"""Answer dialogs; open, switch, resize and close pages; take screenshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.browser.ledger import DialogAnswer
from eikon_engine.browser.perform.deed import ActionEffect, delivery_barrier, require_page, translated_errors
from eikon_engine.errors import ActionRejectedError

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import AnswerDialog, ClosePage, OpenPage, Screenshot, SetViewport, SwitchPage


async def answer_dialog(session: Session, action: AnswerDialog) -> ActionEffect:
    """Arm the answer to the dialog that the next action opens."""
    require_page(session, action.page)
    text = None if action.text is None else session.secrets.resolve(action.text)
    session.tracker.dialog_answers.append(DialogAnswer(accept=action.accept, text=text))
    return ActionEffect()


async def switch_page(session: Session, action: SwitchPage) -> ActionEffect:
    """Bring a page to the front, waiting for it to open."""
    waited = 0.0
    while session.page(action.page) is None and waited < action.timeout_ms:
        await session.stabilizer.pass_time_waiting(100)
        waited += 100
    page = require_page(session, action.page)
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
    session.stabilizer.mark_acting()
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
    async with translated_errors(f"closing page {action.page}"):
        await page.close()
    return ActionEffect()


async def screenshot(session: Session, action: Screenshot) -> ActionEffect:
    """Take a screenshot of an idle page."""
    page = require_page(session, action.page)
    async with translated_errors("taking a screenshot"):
        picture = await page.screenshot(full_page=action.full_page, animations="allow", caret="hide")
    return ActionEffect(screenshot=picture)
