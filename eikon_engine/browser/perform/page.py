"""Answer dialogs; open, switch, resize and close pages; take screenshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.browser.ledger import DialogAnswer
from eikon_engine.browser.perform.deed import Deed, closed_gate, require_page, translated
from eikon_engine.errors import ActionRejectedError

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import AnswerDialog, ClosePage, OpenPage, Screenshot, SetViewport, SwitchPage


async def answer_dialog(session: Session, action: AnswerDialog) -> Deed:
    """Arm the answer to the dialog that the next action opens."""
    require_page(session, action.page)
    text = None if action.text is None else session.secrets.resolve(action.text)
    session.ledger.answers.append(DialogAnswer(accept=action.accept, text=text))
    return Deed()


async def switch_page(session: Session, action: SwitchPage) -> Deed:
    """Bring a page to the front, waiting for it to open."""
    waited = 0.0
    while session.page(action.page) is None and waited < action.timeout_ms:
        await session.rest.tick(100)
        waited += 100
    page = require_page(session, action.page)
    async with translated(f"switching to page {action.page}"):
        await page.bring_to_front()
    return Deed()


async def open_page(session: Session, action: OpenPage) -> Deed:
    """Open a blank page.

    Raises:
        ActionRejectedError: it is not the next page in the order of opening.
    """
    coming = len(session.ledger.pages)
    if action.page != coming:
        message = f"cannot open page {action.page}: the next page in order of opening is {coming}"
        raise ActionRejectedError(message)
    session.rest.act()
    async with translated(f"opening page {action.page}"):
        await session.context.new_page()
    return Deed()


async def set_viewport(session: Session, action: SetViewport) -> Deed:
    """Resize the viewport of a page."""
    page = require_page(session, action.page)
    async with translated(f"setting the viewport of page {action.page}"), closed_gate(session, page):
        await page.set_viewport_size({"width": action.width, "height": action.height})
    return Deed()


async def close_page(session: Session, action: ClosePage) -> Deed:
    """Close a page."""
    page = require_page(session, action.page)
    async with translated(f"closing page {action.page}"):
        await page.close()
    return Deed()


async def screenshot(session: Session, action: Screenshot) -> Deed:
    """Take a screenshot of an idle page."""
    page = require_page(session, action.page)
    async with translated("taking a screenshot"):
        picture = await page.screenshot(full_page=action.full_page, animations="allow", caret="hide")
    return Deed(picture=picture)
