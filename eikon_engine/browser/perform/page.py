"""Answer dialogs, switch and close pages, keep pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.browser.ledger import DialogAnswer
from eikon_engine.browser.perform.deed import Deed, require_page, translated

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import AnswerDialog, ClosePage, Screenshot, SwitchPage


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


async def close_page(session: Session, action: ClosePage) -> Deed:
    """Close a page."""
    page = require_page(session, action.page)
    async with translated(f"closing page {action.page}"):
        await page.close()
    return Deed()


async def screenshot(session: Session, action: Screenshot) -> Deed:
    """Take a picture of a page at rest."""
    page = require_page(session, action.page)
    async with translated("taking a screenshot"):
        picture = await page.screenshot(full_page=action.full_page, animations="allow", caret="hide")
    return Deed(picture=picture)
