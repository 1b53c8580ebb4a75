"""Select options, set files of file inputs, scroll."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eikon_engine.browser.bind import Readiness, bind
from eikon_engine.browser.perform.deed import ACT_TIMEOUT_MS, Deed, closed_gate, require_page, translated
from eikon_engine.browser.perform.keyboard import fill
from eikon_engine.errors import ActionRejectedError, AttachmentMissingError, OptionMissingError
from eikon_engine.trace.actions import Fill, SelectOption

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Scroll, SetInputFiles, SetValue

_OPTIONS = "e => e.options ? Array.from(e.options, o => ({value: o.value, label: o.label, off: o.disabled})) : null"
_TAKES_FILES = "e => (e.localName === 'label' ? e.control : e)?.type === 'file'"
_SCROLL = "(e, by) => (e ?? document.scrollingElement).scrollBy({left: by[0], top: by[1], behavior: 'instant'})"


async def select_option(session: Session, action: SelectOption) -> Deed:
    """Select options of the target.

    Raises:
        OptionMissingError: the target has no such option at the deadline.
    """
    page = require_page(session, action.page)
    bound = await bind(page, action.target, session.rest, Readiness(enabled=True), action.timeout_ms)
    await _await_options(session, action, bound.locator)
    choice: dict[str, Any] = {
        action.by: [int(option) for option in action.options] if action.by == "index" else list(action.options)
    }
    async with (
        translated(f"selecting {', '.join(action.options)} in {action.target}"),
        closed_gate(session, bound.locator.page),
    ):
        await bound.locator.select_option(**choice, timeout=ACT_TIMEOUT_MS)
    return Deed(bound=bound)


async def set_value(session: Session, action: SetValue) -> Deed:
    """Select the option of a select box with a value, or fill any other field."""
    page = require_page(session, action.page)
    bound = await bind(page, action.target, session.rest, Readiness(enabled=True), action.timeout_ms)
    if bound.identity.tag == "select":
        options = (session.secrets.resolve(action.text),)
        chosen = SelectOption(page=action.page, timeout_ms=action.timeout_ms, target=action.target, options=options)
        return await select_option(session, chosen)
    text = Fill(page=action.page, timeout_ms=action.timeout_ms, target=action.target, text=action.text)
    return await fill(session, text)


async def _await_options(session: Session, action: SelectOption, locator: Locator) -> None:
    waited = 0.0
    while True:
        async with translated(f"reading the options of {action.target}"):
            options = await locator.evaluate(_OPTIONS)
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
            raise OptionMissingError(message)
        await session.rest.tick(100)
        waited += 100


async def set_input_files(session: Session, action: SetInputFiles) -> Deed:
    """Set files of the bundle on the target."""
    page = require_page(session, action.page)
    if session.uploads is None:
        message = f"{action.target}: the bundle contains no files to upload"
        raise AttachmentMissingError(message)
    readiness = Readiness(visible=False, enabled=True)
    bound = await bind(page, action.target, session.rest, readiness, action.timeout_ms)
    async with translated(f"uploading to {action.target}"):
        if not await bound.locator.evaluate(_TAKES_FILES):
            message = f"{action.target}: expected a file input, found another element"
            raise ActionRejectedError(message)
    uploads = session.uploads
    payloads: list[Any] = [
        {"name": file.name, "mimeType": file.mime_type, "buffer": uploads.get(file.content)} for file in action.files
    ]
    async with translated(f"uploading to {action.target}"), closed_gate(session, bound.locator.page):
        await bound.locator.set_input_files(payloads, timeout=ACT_TIMEOUT_MS)
    return Deed(bound=bound)


async def scroll(session: Session, action: Scroll) -> Deed:
    """Scroll the target, or the page."""
    page = require_page(session, action.page)
    if action.target is None:
        async with translated("scrolling the page"):
            await page.evaluate(f"by => ({_SCROLL})(null, by)", [action.dx, action.dy])
        return Deed()
    bound = await bind(page, action.target, session.rest, Readiness(), action.timeout_ms)
    async with translated(f"scrolling {action.target}"):
        await bound.locator.evaluate(_SCROLL, [action.dx, action.dy])
    return Deed(bound=bound)
