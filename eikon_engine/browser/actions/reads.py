"""Read from a page, run a script of the agent in it, and wait until an assertion holds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, assert_never

from eikon_engine.browser.actions.effect import ActionEffect, require_page, translated_errors
from eikon_engine.browser.actions.targets import POLL_MS, locate, poll_step_ms
from eikon_engine.browser.playwright_errors import expectation_code
from eikon_engine.browser.playwright_internals import check_expectation
from eikon_engine.browser.stabilizer import fast_forward
from eikon_engine.errors import ActionError, ActionRejectedError
from eikon_engine.files.blobs import blob_ref
from eikon_engine.trace.actions import DEFAULT_TIMEOUT_MS, ReadValue
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.read_values import NotJsonError, is_same_value, redact_read_value, to_read_value
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from playwright.async_api import Frame, Locator, Page

    from eikon_engine.browser.session import Session
    from eikon_engine.files.blobs import BlobRef
    from eikon_engine.trace.actions import Evaluate, Expect, ExpectedText, Read

_READ_TIMEOUT_MS: Final = 5_000.0
"""Wall time for reading from an element that is there: a last resort, since waiting in page time comes first."""
_ANSWER_S: Final = 0.05
"""Wall time that a script has to return before its pages are checked for what it waits for."""


async def read(session: Session, action: Read) -> ActionEffect:
    """Read until the value is the recorded one, or until the deadline; return the last value.

    Raises:
        ActionError: there is nothing to read at the deadline, or the selector matches more than one element.
    """
    page = require_page(session, action.page)
    session.timeline.mark_acting(only_reads=True)
    expected = None if action.value is None else redact_read_value(action.value, session.redactor.redact_json)
    deadline_ms = action.timeout_ms if action.times > 1 else min(action.timeout_ms, DEFAULT_TIMEOUT_MS)
    waited = 0.0
    while True:
        try:
            effect = _effect(session, await _read_once(page, action), action.value)
            is_recorded = expected is None or (effect.value and is_same_value(action, expected, effect.value))
            if is_recorded or waited >= deadline_ms:
                return effect
        except ActionError as error:
            if error.code != "target-missing" or waited >= action.timeout_ms:
                raise
        waited += await _pass_time(session, waited, action.timeout_ms)


async def evaluate(session: Session, action: Evaluate) -> ActionEffect:
    """Run a script while page time passes if it waits for something, and return its result.

    It runs once; a script that polls, until it returns the recorded value, or until the deadline.

    Raises:
        ActionError: the script failed, or did not end before the deadline.
    """
    page = require_page(session, action.page)
    session.timeline.mark_acting()
    waited = 0.0
    if action.target is not None and not action.all_matches:
        while not await _count(page, action.target):
            if waited >= action.timeout_ms:
                raise _missing(action.target, action.timeout_ms)
            waited += await _pass_time(session, waited, action.timeout_ms)
    deadline_ms = min(action.timeout_ms, DEFAULT_TIMEOUT_MS)
    expected = None if action.value is None else redact_read_value(action.value, session.redactor.redact_json)
    while True:
        effect = await _run_script_once(session, page, action, waited)
        is_recorded = expected is None or effect.value == expected
        has_acted = session.traffic_log.has_unsafe_request_since(session.timeline.steps_begun)
        if is_recorded or not action.is_poll or has_acted or waited >= deadline_ms:
            return effect
        waited += await _pass_time(session, waited, deadline_ms)


async def _run_script_once(session: Session, page: Page, action: Evaluate, waited_ms: float) -> ActionEffect:
    async with translated_errors(action_label(action)):
        task = asyncio.ensure_future(_run_script(page, action))
        try:
            await _wait_for_script(session, action, task, waited_ms)
            result = task.result()
        finally:
            task.cancel()
    return ActionEffect() if action.returns_handle else _effect(session, result, action.value)


async def expect(session: Session, action: Expect) -> ActionEffect:
    """Wait until an assertion holds; the effect has what the page had instead at the deadline."""
    page = require_page(session, action.page)
    session.timeline.mark_acting(only_reads=True)
    place = page if action.target is None else locate(page, action.target)
    waited = 0.0
    while True:
        async with translated_errors(action_label(action)):
            failure = await check_expectation(place, action.expression, _options(action), is_not=action.is_not)
        if failure is None:
            return ActionEffect(waited_ms=waited)
        if waited >= action.timeout_ms or not failure.is_compared:
            message = f"{action_label(action)}: {failure.message.removeprefix('Error: ').splitlines()[0]}"
            error = ActionError(message, code=expectation_code(failure))
            received = failure.received
            seen = ActionEffect() if received is None else _effect(session, received[0], action.received)
            return ActionEffect(value=seen.value, long_text=seen.long_text, error=error)
        waited += await _pass_time(session, waited, action.timeout_ms)


async def _pass_time(session: Session, waited_ms: float, timeout_ms: float) -> float:
    """Let a little page time pass, more after a long wait; return how much."""
    step_ms = poll_step_ms(waited_ms)
    step = await fast_forward(session.stabilizer, step_ms, max(POLL_MS, timeout_ms - waited_ms))
    await session.stabilizer.pass_time_waiting(step)
    return step


def _effect(session: Session, value: object, recorded: ReadValue | None) -> ActionEffect:
    """Return a value as it is compared, with the text of a long one.

    A value that cannot be represented is not recorded. Where one was `recorded`, it is compared as a description.
    """
    texts: list[bytes] = []

    def keep(text: bytes) -> BlobRef:
        texts.append(text)
        return blob_ref(text)

    try:
        seen = to_read_value(value, store=keep, redact=session.redactor.redact_json)
    except NotJsonError:
        if recorded is None:
            return ActionEffect()
        # without its content, which may contain secrets
        seen = ReadValue(value=f"a value of type {type(value).__name__} (not JSON)")
    return ActionEffect(value=seen, long_text=texts[0].decode() if texts else None)


async def _read_once(page: Page, action: Read) -> object:  # noqa: PLR0911 - one case a kind
    async with translated_errors(action_label(action)):
        if action.target is None:
            return await _read_document(page, action)
        located = locate(page, action.target)
        match action.what:
            case "count":
                return await located.count()
            case "all_inner_texts":
                return await located.all_inner_texts()
            case "all_text_contents":
                return await located.all_text_contents()
            case "is_visible":
                return await located.is_visible()
            case "is_hidden":
                return await located.is_hidden()
            case _:
                if not await located.count():
                    raise _missing(action.target, action.timeout_ms)
                return await _read_element(located, action)


async def _read_document(page: Page, action: Read) -> object:
    frame = await find_frame(page, action.frames)
    options: dict[str, Any] = action.options
    match action.what:
        case "title":
            return await frame.title()
        case "content":
            return await frame.content(**options)
        case "aria_snapshot" if not action.frames:
            return await page.aria_snapshot(**options)
        case _:
            message = f"{action.what}: expected a target, the action has none"
            raise ActionRejectedError(message)


async def _read_element(located: Locator, action: Read) -> object:  # noqa: C901, PLR0911 - one case a kind
    match action.what:
        case "text_content":
            return await located.text_content(timeout=_READ_TIMEOUT_MS)
        case "inner_text":
            return await located.inner_text(timeout=_READ_TIMEOUT_MS)
        case "inner_html":
            return await located.inner_html(timeout=_READ_TIMEOUT_MS)
        case "input_value":
            return await located.input_value(timeout=_READ_TIMEOUT_MS)
        case "attribute":
            return await located.get_attribute(action.name or "", timeout=_READ_TIMEOUT_MS)
        case "is_checked":
            return await located.is_checked(timeout=_READ_TIMEOUT_MS)
        case "is_disabled":
            return await located.is_disabled(timeout=_READ_TIMEOUT_MS)
        case "is_editable":
            return await located.is_editable(timeout=_READ_TIMEOUT_MS)
        case "is_enabled":
            return await located.is_enabled(timeout=_READ_TIMEOUT_MS)
        case "aria_snapshot":
            options: dict[str, Any] = action.options
            return await located.aria_snapshot(timeout=_READ_TIMEOUT_MS, **options)
        case "all_inner_texts" | "all_text_contents" | "content" | "count" | "is_hidden" | "is_visible" | "title":
            message = f"{action.what} does not read from one element"
            raise ActionRejectedError(message)
        case _:
            assert_never(action.what)


async def find_frame(page: Page, frames: tuple[str, ...]) -> Frame:
    """Return the frame that iframes lead to; the main frame without any.

    Raises:
        ActionError: one of them is missing.
    """
    if not frames:
        return page.main_frame
    owner = Target(selector=frames[-1], frames=frames[:-1])
    if not await _count(page, owner):
        raise _missing(owner, 0.0)
    element = await locate(page, owner).element_handle(timeout=_READ_TIMEOUT_MS)
    found = await element.content_frame()
    if found is None:
        message = f"{owner}: expected an iframe, found another element"
        raise ActionRejectedError(message)
    return found


async def _count(page: Page, target: Target) -> int:
    async with translated_errors(f"looking for {target}"):
        return await locate(page, target).count()


def _missing(target: Target, timeout_ms: float) -> ActionError:
    message = f"{target}: expected one element, found none within {timeout_ms:.0f} ms of page time"
    return ActionError(message, code="target-missing")


async def _run_script(page: Page, action: Evaluate) -> object:
    if action.target is None:
        frame = await find_frame(page, action.frames)
        if action.returns_handle:
            return await frame.evaluate_handle(action.expression, action.argument)
        return await frame.evaluate(action.expression, action.argument)
    located = locate(page, action.target)
    if action.all_matches:
        return await located.evaluate_all(action.expression, action.argument)
    return await located.evaluate(action.expression, action.argument, timeout=_READ_TIMEOUT_MS)


async def _wait_for_script(session: Session, action: Evaluate, task: asyncio.Future[object], waited_ms: float) -> None:
    """Wait until a script has ended; its page may need responses and page time for it.

    Raises:
        ActionError: it has not ended at the deadline.
    """
    while True:
        await asyncio.wait({task}, timeout=_ANSWER_S)
        if not task.done():
            await session.stabilizer.wait_until_idle()
        if task.done():
            return
        if waited_ms >= action.timeout_ms:
            message = f"{action_label(action)}: still running after {action.timeout_ms:.0f} ms of page time"
            raise ActionError(message, code="wait-timeout")
        waited_ms += await _pass_time(session, waited_ms, action.timeout_ms)


def _options(action: Expect) -> dict[str, Any]:
    """Return the options of an assertion by their names in the protocol."""
    given: dict[str, Any] = {
        "expressionArg": action.argument,
        "expectedText": None if action.texts is None else [_text(each) for each in action.texts],
        "expectedNumber": action.number,
        "pseudo": action.pseudo,
        "useInnerText": action.use_inner_text,
        "expectedValue": action.expected,
    }
    is_value = action.expression == "to.have.property"  # null is a value that a property may have
    return {name: value for name, value in given.items() if value is not None or (is_value and name == "expectedValue")}


def _text(text: ExpectedText) -> dict[str, Any]:
    from eikon_engine.trace.playwright_calls import EXPECTED_TEXT_NAMES

    given = {name: getattr(text, field) for field, name in EXPECTED_TEXT_NAMES.items()}
    return {name: value for name, value in given.items() if value is not None}
