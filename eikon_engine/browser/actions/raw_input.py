"""Raw mouse, touchscreen, keyboard and DOM events, for agents that do not address elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.actions.effect import (
    ACT_TIMEOUT_MS,
    ActionEffect,
    delivery_barrier,
    require_page,
    translated_errors,
)
from eikon_engine.browser.actions.fields import type_keys
from eikon_engine.browser.actions.pointer import MODIFIER_KEYS, ClickOptions, click_at, key_of_modifier, move_pointer
from eikon_engine.browser.actions.targets import POLL_MS, Readiness, bind
from eikon_engine.browser.page_activity import dispatch_scroll_events
from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.errors import ActionError
from eikon_engine.secrets.names import is_secret_field
from eikon_engine.trace.actions import SecretRef
from eikon_engine.trace.target import Identity, identity_differences

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, Page

    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Blur, DispatchEvent, Focus, InsertText, Key, Mouse, TouchscreenTap

IDENTITY_AT_POINT: Final = f"""([x, y]) => {{
  let hit = document.elementFromPoint(x, y);
  while (hit?.shadowRoot) {{
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }}
  return hit ? ({load_script("inspect_elements.js").strip().rstrip(";")})([hit], {{}}).identity : null;
}}"""

_FRAMES_OF_A_WHEEL: Final = 2
"""The first frame scrolls, the second one dispatches the scroll event."""

FOCUSED_ELEMENT: Final = """() => {
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  return focused;
}"""


async def move_mouse(session: Session, action: Mouse) -> ActionEffect:
    """Move the pointer, press, release, click, or turn the wheel.

    Raises:
        ActionError: there is no element at that point at the deadline; a different element than recorded is there at
            the deadline.
    """
    page = require_page(session, action.page)
    if action.event in {"down", "click"}:
        await _wait_for_element_at(session, page, action)
    async with translated_errors(f"mouse {action.event} at {action.x:g}, {action.y:g}"):
        if action.event == "click":
            given = ClickOptions(button=action.button, times=action.click_count, delay_ms=action.delay_ms)
            await click_at(session, page, (action.x, action.y), given)
        else:
            async with delivery_barrier(session, page):
                await _use_mouse(session, page, action)
    return ActionEffect()


async def _use_mouse(session: Session, page: Page, action: Mouse) -> None:
    """Move the pointer, press, release, or turn the wheel."""
    point = (action.x, action.y)
    if action.event == "move" or session.pointers.get(page) != point:  # else the page would get another event
        await move_pointer(session, page, point, steps=action.steps)
    if action.event == "down":
        await page.mouse.down(button=action.button, click_count=action.click_count)
    elif action.event == "up":
        await page.mouse.up(button=action.button, click_count=action.click_count)
    elif action.event == "wheel":
        await page.mouse.wheel(action.dx, action.dy)
        for _ in range(_FRAMES_OF_A_WHEEL):
            await dispatch_scroll_events(page)


async def tap_touchscreen(session: Session, action: TouchscreenTap) -> ActionEffect:
    """Tap a position.

    Raises:
        ActionError: there is no element at that point at the deadline; a different element than recorded is there at
            the deadline.
    """
    page = require_page(session, action.page)
    await _wait_for_element_at(session, page, action)
    async with translated_errors(f"tapping at {action.x:g}, {action.y:g}"), delivery_barrier(session, page):
        await page.touchscreen.tap(action.x, action.y)
    return ActionEffect()


async def press_or_release_key(session: Session, action: Key) -> ActionEffect:
    """Press or release a key."""
    page = require_page(session, action.page)
    async with translated_errors(f"key {action.event} {action.key}"), delivery_barrier(session, page):
        if action.event == "down":
            await page.keyboard.down(action.key)
        else:
            await page.keyboard.up(action.key)
    _note_modifier(session, page, action)
    return ActionEffect()


def _note_modifier(session: Session, page: Page, action: Key) -> None:
    """Remember which modifier keys are held."""
    name = key_of_modifier(action.key.removesuffix("Left").removesuffix("Right"))
    if name in MODIFIER_KEYS:
        held = session.held_modifiers.get(page, frozenset()) - {name}
        session.held_modifiers[page] = held | {name} if action.event == "down" else held


async def insert_text(session: Session, action: InsertText) -> ActionEffect:
    """Insert a text into the focused element."""
    page = require_page(session, action.page)
    text = session.secrets.resolve(action.text)
    async with translated_errors("reading the focused element"):
        is_secret = isinstance(action.text, SecretRef) or await _is_secret_focused(page)
    if is_secret:
        session.redact_typed_secret(text)
    async with translated_errors("inserting a text"):
        if action.key_by_key:
            await type_keys(session, page, text, action.delay_ms)
            return ActionEffect()
        async with delivery_barrier(session, page):
            await page.keyboard.insert_text(text)
    return ActionEffect()


async def focus(session: Session, action: Focus) -> ActionEffect:
    """Focus the target."""
    page = require_page(session, action.page)
    bound = await bind(page, action.target, session, Readiness(visible=False), action.timeout_ms)
    async with translated_errors(f"focusing {action.target}"), delivery_barrier(session, page):
        await bound.locator.focus(timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound)


async def blur(session: Session, action: Blur) -> ActionEffect:
    """Take the focus from the target."""
    page = require_page(session, action.page)
    bound = await bind(page, action.target, session, Readiness(visible=False), action.timeout_ms)
    async with translated_errors(f"blurring {action.target}"), delivery_barrier(session, page):
        await bound.locator.blur(timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound)


async def dispatch_event(session: Session, action: DispatchEvent) -> ActionEffect:
    """Dispatch an event on the target."""
    page = require_page(session, action.page)
    bound = await bind(page, action.target, session, Readiness(visible=False), action.timeout_ms)
    init: Any = action.init
    async with translated_errors(f"dispatching {action.event} to {action.target}"), delivery_barrier(session, page):
        await bound.locator.dispatch_event(action.event, init, timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound)


async def _wait_for_element_at(session: Session, page: Page, action: Mouse | TouchscreenTap) -> None:
    """Wait, in page time, until the recorded element lies under the pointer."""
    waited = 0.0
    while True:
        async with translated_errors("reading the element under the pointer"):
            seen = await page.evaluate(IDENTITY_AT_POINT, [action.x, action.y])
        found = None if seen is None else Identity.model_validate(seen, strict=False)
        if found is not None and (action.under is None or not identity_differences(action.under, found)):
            return
        if waited >= action.timeout_ms:
            raise _wrong_element_error(action, found)
        await session.stabilizer.pass_time_waiting(min(POLL_MS, action.timeout_ms - waited))
        waited += POLL_MS


async def _is_secret_focused(page: Page) -> bool:
    """Whether a field for a secret has the focus, in any frame; closed shadow roots are not searched."""
    frame: Frame | None = page.main_frame
    focused: ElementHandle | None = None
    while frame is not None:
        focused = (await frame.evaluate_handle(FOCUSED_ELEMENT)).as_element()
        frame = None if focused is None else await focused.content_frame()
    return focused is not None and is_secret_field(await focused.evaluate(_NAMES_OF_FIELD))


_NAMES_OF_FIELD: Final = "each => ['id', 'name', 'type'].map(name => [name, String(each[name] ?? '')])"


def _wrong_element_error(action: Mouse | TouchscreenTap, found: Identity | None) -> ActionError:
    place = f"at {action.x:g}, {action.y:g}"
    if found is None or action.under is None:
        return ActionError(
            f"{place}: expected an element, found none; the point is outside the viewport", code="target-missing"
        )
    differences = "; ".join(identity_differences(action.under, found))
    return ActionError(f"{place}: the element is not the recorded one: {differences}", code="target-changed")
