"""Fill, type and press; select options and text, set files of file inputs, scroll."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.actions.effect import (
    ACT_TIMEOUT_MS,
    ActionEffect,
    await_input,
    delivery_barrier,
    file_payloads,
    require_page,
    translated_errors,
)
from eikon_engine.browser.actions.secret_origins import require_target_origin
from eikon_engine.browser.actions.targets import Readiness, bind, may_be_css, readiness_for
from eikon_engine.browser.page_activity import dispatch_scroll_events
from eikon_engine.browser.page_calls import call_in_frame, is_document_gone
from eikon_engine.errors import ActionError, ActionRejectedError
from eikon_engine.secrets.names import is_secret_field
from eikon_engine.trace.actions import Fill, SecretRef, SelectOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.async_api import Locator, Page

    from eikon_engine.browser.actions.targets import BoundTarget
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import (
        Press,
        Scroll,
        ScrollIntoViewIfNeeded,
        SelectText,
        SetInputFiles,
        SetValue,
        TypeText,
    )


async def fill(session: Session, action: Fill) -> ActionEffect:
    """Set the text of the target at once."""
    page = require_page(session, action.page)
    text = session.secrets.resolve(action.text)
    bound = await bind(page, action.target, session, readiness_for(action), action.timeout_ms)
    await require_target_origin(session, action.text, bound.locator)
    _redact_secret(session, bound, action)
    async with translated_errors(f"filling {action.target}"), delivery_barrier(session, page):
        await bound.locator.fill(text, force=action.force, timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound)


async def type_text(session: Session, action: TypeText) -> ActionEffect:
    """Type a text into the target, key by key."""
    page = require_page(session, action.page)
    text = session.secrets.resolve(action.text)
    readiness = Readiness(enabled=True, editable=True)
    bound = await bind(page, action.target, session, readiness, action.timeout_ms)
    await require_target_origin(session, action.text, bound.locator)
    _redact_secret(session, bound, action)
    async with translated_errors(f"typing into {action.target}"):
        if action.delay_ms:
            await _focus_to_type(session, bound)
            await type_keys(session, page, text, action.delay_ms)
            return ActionEffect(bound=bound)
        async with delivery_barrier(session, page):
            timeout = max(ACT_TIMEOUT_MS, 100.0 * len(text))
            if isinstance(action.text, SecretRef) or not await _has_focus(session, bound):
                await bound.locator.press_sequentially(text, timeout=timeout, no_wait_after=True)
            else:
                await await_input(page, page.keyboard.type(text), timeout)
    return ActionEffect(bound=bound)


_HAS_FOCUS: Final = """([frames, selector]) => {
  const found = window.__eikon__?.find?.(frames, selector);
  return found?.elements.length === 1 && found.own.hasFocus(found.elements[0]);
}"""


async def _has_focus(session: Session, bound: BoundTarget) -> bool:
    """Whether keys already go to a target, as after an action on it: then Playwright would only press them.

    Binding has made all checks that Playwright would repeat, unless the page clock runs by itself. Playwright's code
    must first be sent to each document, which takes longer than the whole action.
    """
    from playwright.async_api import Error

    if session.timeline.is_natural or not may_be_css(bound.target):
        return False
    asked = [bound.target.frames, bound.target.selector]
    try:
        return await call_in_frame(bound.locator.page.main_frame, _HAS_FOCUS, asked) is True
    except Error as error:
        if is_document_gone(error):
            return False
        raise


async def _focus_to_type(session: Session, bound: BoundTarget) -> None:
    """Focus a field as before typing: unlike `focus`, this puts the caret at the beginning if it was elsewhere."""
    async with delivery_barrier(session, bound.locator.page):
        await bound.locator.press_sequentially("", timeout=ACT_TIMEOUT_MS, no_wait_after=True)


async def type_keys(session: Session, page: Page, text: str, delay_ms: float) -> None:
    """Type a text into whatever has the focus; each key is held for page time.

    A character without a key is inserted after that time, as Playwright does.
    """
    if not delay_ms:
        async with delivery_barrier(session, page):
            await page.keyboard.type(text)
        return
    for character in text:
        if _HAS_KEY.fullmatch(character):
            await _hold_keys(session, page, (character,), delay_ms)
            continue
        await session.stabilizer.pass_time_waiting(delay_ms)
        async with delivery_barrier(session, page):
            await page.keyboard.insert_text(character)


_HAS_KEY: Final = re.compile(r"[ -~\r\n]")
"""A character that a key of Playwright's keyboard layout types."""


async def press(session: Session, action: Press) -> ActionEffect:
    """Press a key on the target, or on the focused element."""
    page = require_page(session, action.page)
    if action.target is None:
        async with translated_errors(f"pressing {action.key}"):
            if action.delay_ms:
                await _hold_keys(session, page, _KEYS_OF_CHORD.findall(action.key), action.delay_ms)
                return ActionEffect()
            async with delivery_barrier(session, page):
                await page.keyboard.press(action.key)
        return ActionEffect()
    bound = await bind(page, action.target, session, Readiness(), action.timeout_ms)
    async with translated_errors(f"pressing {action.key} on {action.target}"):
        if action.delay_ms:
            await _focus_to_type(session, bound)
            await _hold_keys(session, page, _KEYS_OF_CHORD.findall(action.key), action.delay_ms)
            return ActionEffect(bound=bound)
        async with delivery_barrier(session, page):
            if await _has_focus(session, bound):
                await await_input(page, page.keyboard.press(action.key))
            else:
                await bound.locator.press(action.key, timeout=ACT_TIMEOUT_MS, no_wait_after=True)
    return ActionEffect(bound=bound)


async def _hold_keys(session: Session, page: Page, keys: Sequence[str], delay_ms: float) -> None:
    """Press keys, and release them after some page time."""
    async with delivery_barrier(session, page):
        for key in keys:
            await page.keyboard.down(key)
    await session.stabilizer.pass_time_waiting(delay_ms)
    async with delivery_barrier(session, page):
        for key in reversed(keys):
            await page.keyboard.up(key)


_KEYS_OF_CHORD: Final = re.compile(r"\+(?=\+|$)|[^+]+")
"""Keys of `Control+A`; the last one of `Control++` is `+`."""


def _redact_secret(session: Session, bound: BoundTarget, action: Fill | TypeText | SetValue) -> None:
    """Redact a secret, or the text of a field for one, before the page can show or send it."""
    if isinstance(action.text, SecretRef) or is_secret_field(bound.identity.attributes):
        session.redact_typed_secret(session.secrets.resolve(action.text))


_READ_OPTIONS: Final = """elements => {
  if (elements.length !== 1) return [];
  const { options } = elements[0];
  return options ? Array.from(options, o => ({value: o.value, label: o.label, off: o.disabled})) : null;
}"""
"""Returns the options of the one element that a selector matches; null if it has none, being no select box."""
_IS_FILE_INPUT = "e => (e.localName === 'label' ? e.control : e)?.type === 'file'"
_SCROLL = "(e, by) => (e ?? document.scrollingElement).scrollBy({left: by[0], top: by[1], behavior: 'instant'})"


async def select_option(session: Session, action: SelectOption) -> ActionEffect:
    """Select options of the target.

    Raises:
        ActionError: the target has no such option at the deadline.
    """
    page = require_page(session, action.page)
    bound = await bind(page, action.target, session, readiness_for(action), action.timeout_ms)
    await _wait_for_options(session, action, bound.locator)
    choice: dict[str, Any] = {
        action.by: [int(option) for option in action.options] if action.by == "index" else list(action.options)
    }
    async with (
        translated_errors(f"selecting {', '.join(action.options)} in {action.target}"),
        delivery_barrier(session, bound.locator.page),
    ):
        await bound.locator.select_option(**choice, force=action.force, timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound)


async def set_value(session: Session, action: SetValue) -> ActionEffect:
    """Select the option of a select box with a value, or fill any other field."""
    page = require_page(session, action.page)
    bound = await bind(page, action.target, session, Readiness(enabled=True), action.timeout_ms)
    await require_target_origin(session, action.text, bound.locator)
    _redact_secret(session, bound, action)
    if bound.identity.tag == "select":
        options = (session.secrets.resolve(action.text),)
        chosen = SelectOption(page=action.page, timeout_ms=action.timeout_ms, target=action.target, options=options)
        return await select_option(session, chosen)
    text = Fill(page=action.page, timeout_ms=action.timeout_ms, target=action.target, text=action.text)
    return await fill(session, text)


async def _wait_for_options(session: Session, action: SelectOption, locator: Locator) -> None:
    waited = 0.0
    while True:
        async with translated_errors(f"reading the options of {action.target}"):
            options = await locator.evaluate_all(_READ_OPTIONS)
        if options is None:
            message = f"{action.target}: expected a select box, found another element"
            raise ActionRejectedError(message)
        if action.by == "index":
            known = {str(index) for index in range(len(options))}
        else:
            known = {option[action.by] for option in options if not option["off"]}
        missing = [option for option in action.options if option not in known]
        if not missing:
            return
        if waited >= action.timeout_ms:
            listing = ", ".join(sorted(known)) or "none"
            message = f"{action.target}: no option with {action.by} {missing[0]!r}; its options: {listing}"
            raise ActionError(message, code="option-missing")
        await session.stabilizer.pass_time_waiting(100)
        waited += 100


async def select_text(session: Session, action: SelectText) -> ActionEffect:
    """Select the text of the target."""
    page = require_page(session, action.page)
    bound = await bind(page, action.target, session, readiness_for(action), action.timeout_ms)
    async with translated_errors(f"selecting the text of {action.target}"), delivery_barrier(session, page):
        await bound.locator.select_text(force=action.force, timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound)


async def set_input_files(session: Session, action: SetInputFiles) -> ActionEffect:
    """Set files of the bundle on the target."""
    page = require_page(session, action.page)
    payloads = file_payloads(session, action)
    readiness = Readiness(visible=False, enabled=True)
    bound = await bind(page, action.target, session, readiness, action.timeout_ms)
    async with translated_errors(f"uploading to {action.target}"):
        if not await bound.locator.evaluate(_IS_FILE_INPUT):
            message = f"{action.target}: expected a file input, found another element"
            raise ActionRejectedError(message)
    async with translated_errors(f"uploading to {action.target}"), delivery_barrier(session, bound.locator.page):
        await bound.locator.set_input_files(payloads, timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound)


async def scroll(session: Session, action: Scroll) -> ActionEffect:
    """Scroll the target, or the page."""
    page = require_page(session, action.page)
    if action.target is None:
        async with translated_errors("scrolling the page"), delivery_barrier(session, page):
            await page.evaluate(f"by => ({_SCROLL})(null, by)", [action.dx, action.dy])
            await dispatch_scroll_events(page)
        return ActionEffect()
    bound = await bind(page, action.target, session, Readiness(), action.timeout_ms)
    async with translated_errors(f"scrolling {action.target}"), delivery_barrier(session, page):
        await bound.locator.evaluate(_SCROLL, [action.dx, action.dy])
        await dispatch_scroll_events(page)
    return ActionEffect(bound=bound)


async def scroll_into_view(session: Session, action: ScrollIntoViewIfNeeded) -> ActionEffect:
    """Scroll to the target, which may be empty or covered."""
    page = require_page(session, action.page)
    readiness = Readiness(visible=False, rendered=True)
    bound = await bind(page, action.target, session, readiness, action.timeout_ms)
    async with translated_errors(f"scrolling to {action.target}"), delivery_barrier(session, page):
        await bound.locator.scroll_into_view_if_needed(timeout=ACT_TIMEOUT_MS)
        await dispatch_scroll_events(page)
    return ActionEffect(bound=bound)
