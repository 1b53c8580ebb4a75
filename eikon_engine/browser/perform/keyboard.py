"""Fill, type, press."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.browser.bind import Readiness, bind
from eikon_engine.browser.perform.deed import ACT_TIMEOUT_MS, Deed, closed_gate, require_page, translated
from eikon_engine.trace.actions import SecretRef

if TYPE_CHECKING:
    from eikon_engine.browser.bind import Bound
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Fill, Press, TypeText


async def fill(session: Session, action: Fill) -> Deed:
    """Set the text of the target at once."""
    page = require_page(session, action.page)
    text = session.secrets.resolve(action.text)
    readiness = Readiness(enabled=True, editable=True)
    bound = await bind(page, action.target, session.rest, readiness, action.timeout_ms)
    _keep_secret(session, bound, action)
    async with translated(f"filling {action.target}"), closed_gate(session, page):
        await bound.locator.fill(text, timeout=ACT_TIMEOUT_MS)
    return Deed(bound=bound)


async def type_text(session: Session, action: TypeText) -> Deed:
    """Type a text into the target, key by key."""
    page = require_page(session, action.page)
    text = session.secrets.resolve(action.text)
    readiness = Readiness(enabled=True, editable=True)
    bound = await bind(page, action.target, session.rest, readiness, action.timeout_ms)
    _keep_secret(session, bound, action)
    async with translated(f"typing into {action.target}"), closed_gate(session, page):
        await bound.locator.press_sequentially(text, timeout=max(ACT_TIMEOUT_MS, 100.0 * len(text)), no_wait_after=True)
    return Deed(bound=bound)


async def press(session: Session, action: Press) -> Deed:
    """Press a key on the target, or on the focused element."""
    page = require_page(session, action.page)
    if action.target is None:
        async with translated(f"pressing {action.key}"), closed_gate(session, page):
            await page.keyboard.press(action.key)
        return Deed()
    bound = await bind(page, action.target, session.rest, Readiness(), action.timeout_ms)
    async with translated(f"pressing {action.key} on {action.target}"), closed_gate(session, page):
        await bound.locator.press(action.key, timeout=ACT_TIMEOUT_MS, no_wait_after=True)
    return Deed(bound=bound)


def _keep_secret(session: Session, bound: Bound, action: Fill | TypeText) -> None:
    """Redact a secret, or the text of a password field, before the page can show or send it."""
    if isinstance(action.text, SecretRef) or ("type", "password") in bound.identity.attributes:
        session.keep_secret(session.secrets.resolve(action.text))
