"""Fill, type, press."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.browser.bind import Readiness, bind
from eikon_engine.browser.perform.deed import (
    ACT_TIMEOUT_MS,
    ActionEffect,
    delivery_barrier,
    require_page,
    translated_errors,
)
from eikon_engine.trace.actions import SecretRef

if TYPE_CHECKING:
    from eikon_engine.browser.bind import BoundTarget
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Fill, Press, TypeText


async def fill(session: Session, action: Fill) -> ActionEffect:
    """Set the text of the target at once."""
    page = require_page(session, action.page)
    text = session.secrets.resolve(action.text)
    readiness = Readiness(enabled=True, editable=True)
    bound = await bind(page, action.target, session.stabilizer, readiness, action.timeout_ms)
    _redact_secret(session, bound, action)
    async with translated_errors(f"filling {action.target}"), delivery_barrier(session, page):
        await bound.locator.fill(text, timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound)


async def type_text(session: Session, action: TypeText) -> ActionEffect:
    """Type a text into the target, key by key."""
    page = require_page(session, action.page)
    text = session.secrets.resolve(action.text)
    readiness = Readiness(enabled=True, editable=True)
    bound = await bind(page, action.target, session.stabilizer, readiness, action.timeout_ms)
    _redact_secret(session, bound, action)
    async with translated_errors(f"typing into {action.target}"), delivery_barrier(session, page):
        await bound.locator.press_sequentially(text, timeout=max(ACT_TIMEOUT_MS, 100.0 * len(text)), no_wait_after=True)
    return ActionEffect(bound=bound)


async def press(session: Session, action: Press) -> ActionEffect:
    """Press a key on the target, or on the focused element."""
    page = require_page(session, action.page)
    if action.target is None:
        async with translated_errors(f"pressing {action.key}"), delivery_barrier(session, page):
            await page.keyboard.press(action.key)
        return ActionEffect()
    bound = await bind(page, action.target, session.stabilizer, Readiness(), action.timeout_ms)
    async with translated_errors(f"pressing {action.key} on {action.target}"), delivery_barrier(session, page):
        await bound.locator.press(action.key, timeout=ACT_TIMEOUT_MS, no_wait_after=True)
    return ActionEffect(bound=bound)


def _redact_secret(session: Session, bound: BoundTarget, action: Fill | TypeText) -> None:
    """Redact a secret, or the text of a password field, before the page can show or send it."""
    if isinstance(action.text, SecretRef) or ("type", "password") in bound.identity.attributes:
        session.redact_typed_secret(session.secrets.resolve(action.text))
