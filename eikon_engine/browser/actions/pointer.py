"""Click, double click, hover, tap, check, uncheck, drag, drop, download."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

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
from eikon_engine.browser.actions.targets import BoundTarget, Readiness, bind
from eikon_engine.browser.page_calls import call_in_frame, is_document_gone
from eikon_engine.errors import ActionError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.trace.actions import SecretRef, is_forced

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from playwright.async_api import FilePayload, Page, Position

    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import (
        Check,
        Click,
        DoubleClick,
        Download,
        Drag,
        Drop,
        Hover,
        Modifier,
        MouseButton,
        Point,
        Tap,
        Uncheck,
    )

MODIFIER_KEYS: Final = ("Alt", "Control", "Meta", "Shift")
"""Modifier keys, in the order in which Playwright presses them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickOptions:
    """How the mouse clicks."""

    button: MouseButton = "left"
    times: int = 1
    delay_ms: float = 0.0
    """Page time for which the button is held, and between two clicks."""
    steps: int = 1
    """Number of moves to the position."""
    modifiers: tuple[Modifier, ...] = ()
    """Keys held while the button is held for some time."""


async def click(session: Session, action: Click | DoubleClick) -> ActionEffect:
    """Click the target, once or more often."""
    is_held = action.delay_ms > 0 and not session.timeline.is_natural
    bound = await _bind_pointer(session, action, enabled=True, needs_point=is_held)
    times = action.click_count if action.type == "click" else 2
    point = bound.point if is_held else _known_point(session, action, bound)
    async with translated_errors(f"clicking {action.target}"):
        if point is None:
            await _click_locator(session, action, bound, times)
        else:
            given = ClickOptions(
                button=action.button,
                times=times,
                delay_ms=action.delay_ms,
                steps=action.steps,
                modifiers=action.modifiers,
            )
            await click_at(session, bound.locator.page, point, given)
    return ActionEffect(bound=bound)


async def _click_locator(session: Session, action: Click | DoubleClick, bound: BoundTarget, times: int) -> None:
    """Have Playwright find the point; it holds the button for wall time, which is page time if it passes by itself."""
    held_ms = action.delay_ms * times * 2
    options: dict[str, Any] = {
        **_pointer_options(action),
        "button": action.button,
        "delay": action.delay_ms,
        "steps": action.steps,
        "timeout": ACT_TIMEOUT_MS + held_ms,
    }
    async with delivery_barrier(session, bound.locator.page):
        if action.type == "click":
            await bound.locator.click(click_count=times, no_wait_after=True, **options)
        else:
            await bound.locator.dblclick(**options)


async def click_at(session: Session, page: Page, point: tuple[float, float], options: ClickOptions) -> None:
    """Click a position, once or more often; nothing is delivered meanwhile, unless the button is held."""
    if options.delay_ms > 0:
        await _hold_at(session, page, point, options)
        return
    async with delivery_barrier(session, page):
        await await_input(page, _click_at_once(session, page, point, options))


async def _click_at_once(session: Session, page: Page, point: tuple[float, float], options: ClickOptions) -> None:
    """Click without pauses; an instant of page time passes between two clicks, by which some pages recognize two."""
    if options.times == 1 and options.steps == 1:
        session.pointers.pop(page, None)
        await page.mouse.click(*point, button=options.button)
        session.pointers[page] = point
        return
    await move_pointer(session, page, point, steps=options.steps)
    for count in range(1, options.times + 1):
        if count > 1:
            await session.stabilizer.pass_instant()
        await page.mouse.down(button=options.button, click_count=count)
        await page.mouse.up(button=options.button, click_count=count)


async def _hold_at(session: Session, page: Page, point: tuple[float, float], options: ClickOptions) -> None:
    """Click and hold the button for page time, in which responses arrive."""
    pass_delay = partial(session.stabilizer.pass_time_waiting, options.delay_ms)
    async with _keys_held(session, page, options.modifiers):
        for count in range(1, options.times + 1):
            async with delivery_barrier(session, page):
                if count == 1:
                    await await_input(page, move_pointer(session, page, point, steps=options.steps))
                await await_input(page, page.mouse.down(button=options.button, click_count=count))
            async with _released(partial(_release_button, session, page, options.button, count)):
                await pass_delay()
            if count < options.times:
                await pass_delay()


async def _release_button(session: Session, page: Page, button: MouseButton, count: int) -> None:
    async with delivery_barrier(session, page):
        await await_input(page, page.mouse.up(button=button, click_count=count))


@asynccontextmanager
async def _released(release: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Release what is held when the block ends; after an error as far as possible, since that counts."""
    from playwright.async_api import Error

    try:
        yield
    except BaseException:
        with suppress(ActionError, Error):
            await release()
        raise
    await release()


@asynccontextmanager
async def _keys_held(session: Session, page: Page, modifiers: tuple[Modifier, ...]) -> AsyncIterator[None]:
    """Hold exactly these modifier keys, as a locator does, and restore those that were held; none leaves them."""
    if not modifiers:
        yield
        return
    before = session.held_modifiers.get(page, frozenset())
    requested = frozenset(map(key_of_modifier, modifiers))
    await _change_held_keys(session, page, before, requested)
    async with _released(partial(_change_held_keys, session, page, requested, before)):
        yield


async def _change_held_keys(session: Session, page: Page, held: frozenset[str], requested: frozenset[str]) -> None:
    async with delivery_barrier(session, page):
        for key in MODIFIER_KEYS:
            if key in requested - held:
                await await_input(page, page.keyboard.down(key))
            elif key in held - requested:
                await await_input(page, page.keyboard.up(key))


def key_of_modifier(modifier: str) -> str:
    """Return the key of a modifier on this platform."""
    if modifier != "ControlOrMeta":
        return modifier
    return "Meta" if sys.platform == "darwin" else "Control"


async def move_pointer(session: Session, page: Page, point: tuple[float, float], steps: int = 1) -> None:
    """Move the pointer to a position, and remember it."""
    session.pointers.pop(page, None)
    await page.mouse.move(*point, steps=steps)
    session.pointers[page] = point


async def hover(session: Session, action: Hover) -> ActionEffect:
    """Move the pointer over the target."""
    bound = await _bind_pointer(session, action, enabled=False)
    async with translated_errors(f"hovering over {action.target}"), delivery_barrier(session, bound.locator.page):
        if (point := _known_point(session, action, bound)) is not None:
            await await_input(bound.locator.page, move_pointer(session, bound.locator.page, point))
        else:
            await bound.locator.hover(**_pointer_options(action))
    return ActionEffect(bound=bound)


async def tap(session: Session, action: Tap) -> ActionEffect:
    """Tap the target."""
    bound = await _bind_pointer(session, action, enabled=True)
    async with translated_errors(f"tapping {action.target}"), delivery_barrier(session, bound.locator.page):
        if (point := _known_point(session, action, bound)) is not None:
            await await_input(bound.locator.page, bound.locator.page.touchscreen.tap(*point))
        else:
            await bound.locator.tap(**_pointer_options(action))
    return ActionEffect(bound=bound)


async def set_checked(session: Session, action: Check | Uncheck) -> ActionEffect:
    """Check or uncheck the target; with a stepped clock, binding has done all of Playwright's checks."""
    bound = await _bind_pointer(session, action, enabled=True)
    is_check, page = action.type == "check", bound.locator.page
    async with translated_errors(f"{action.type}ing {action.target}"), delivery_barrier(session, page):
        if bound.point is not None and bound.state is not None and _is_plain_box(session, action, bound):
            if bound.state.checked is not is_check:
                await await_input(page, _click_at_once(session, page, bound.point, ClickOptions()))
                await _require_checked(bound, expected=is_check)
            return ActionEffect(bound=bound)
        await bound.locator.set_checked(
            is_check,
            position=_position(action.position),
            force=action.force or not session.timeline.is_natural,
            timeout=ACT_TIMEOUT_MS,
        )
    return ActionEffect(bound=bound)


def _is_plain_box(session: Session, action: Check | Uncheck, bound: BoundTarget) -> bool:
    """Whether Playwright is not needed to check or uncheck a target, as it certainly would click the bound point."""
    kind = dict(bound.identity.attributes).get("type", "").lower()
    is_box = kind == "checkbox" or (kind == "radio" and action.type == "check")
    return bound.identity.tag == "input" and is_box and not (session.timeline.is_natural or action.force)


_IS_CHECKED: Final = """([frames, selector]) => {
  const found = window.__eikon__?.find?.(frames, selector);
  if (!found) return 'unknown';
  const { elements, own: { natives } } = found;
  const boxes = elements.filter(each => each.localName === 'input');
  return boxes.length === 1 ? natives["Reflect.apply"](natives["HTMLInputElement.checked"], boxes[0], []) : null;
}"""
_ARE_CHECKED: Final = "boxes => boxes.filter(each => each.localName === 'input').map(each => each.checked)"


async def _require_checked(bound: BoundTarget, *, expected: bool) -> None:
    """Verify that a click has ticked or cleared a box; one that is gone by now is not verified.

    Raises:
        playwright.async_api.Error: it has not, with Playwright's message.
    """
    from playwright.async_api import Error

    asked = [bound.target.frames, bound.target.selector]
    try:
        is_checked = await call_in_frame(bound.locator.page.main_frame, _IS_CHECKED, asked)
        if is_checked == "unknown":
            all_checked = await bound.locator.evaluate_all(_ARE_CHECKED)
            is_checked = all_checked[0] if len(all_checked) == 1 else None
    except Error as error:
        if is_document_gone(error):
            return
        raise
    if is_checked is not None and is_checked is not expected:
        raise Error("Clicking the checkbox did not change its state")


async def drag(session: Session, action: Drag) -> ActionEffect:
    """Drag the target onto another element."""
    page = require_page(session, action.page)
    readiness = Readiness() if action.force else Readiness(pointer=True, position=action.position)
    session.pointers.pop(page, None)
    bound = await bind(page, action.target, session, readiness, action.timeout_ms)
    second = await bind(page, action.to, session, Readiness(), action.timeout_ms)
    async with (
        translated_errors(f"dragging {action.target} to {action.to}"),
        delivery_barrier(session, bound.locator.page),
    ):
        await bound.locator.drag_to(
            second.locator,
            source_position=_position(action.position),
            target_position=_position(action.to_position),
            steps=action.steps,
            force=action.force,
            timeout=ACT_TIMEOUT_MS,
        )
    return ActionEffect(bound=bound, bound_second=second)


async def drop(session: Session, action: Drop) -> ActionEffect:
    """Drop files of the bundle, or data, on the target.

    Raises:
        TraceError: the bundle contains no files.
    """
    page = require_page(session, action.page)
    readiness = Readiness(pointer=True, position=action.position)
    bound = await bind(page, action.target, session, readiness, action.timeout_ms)
    payload: Any = {}
    for each in action.data:
        await require_target_origin(session, each.value, bound.locator)
    if action.data:
        payload["data"] = {each.mime_type: session.secrets.resolve(each.value) for each in action.data}
    for each in action.data:
        if isinstance(each.value, SecretRef):
            session.redact_typed_secret(session.secrets.resolve(each.value))
    with _dropped_files(session, action) as files:
        if files:
            payload["files"] = files
        async with translated_errors(f"dropping on {action.target}"), delivery_barrier(session, bound.locator.page):
            await bound.locator.drop(payload, position=_position(action.position), timeout=ACT_TIMEOUT_MS)
    return ActionEffect(bound=bound)


@contextmanager
def _dropped_files(session: Session, action: Drop) -> Iterator[list[FilePayload] | list[Path]]:
    """Yield the files of a drop; as files of the system if the page must see when they were changed."""
    payloads = file_payloads(session, action) if action.files else []
    if all(each.last_modified_ms is None for each in action.files):
        yield payloads
        return
    with temporary_folder("drop") as folder:
        paths = [resolve_inside(folder, f"{number}/{each.name}") for number, each in enumerate(action.files)]
        for path, file, payload in zip(paths, action.files, payloads, strict=True):
            path.parent.mkdir()
            path.write_bytes(payload["buffer"])
            if file.last_modified_ms is not None:
                changed_ns = file.last_modified_ms * 1_000_000
                os.utime(path, ns=(changed_ns, changed_ns))
        yield paths


async def download(session: Session, action: Download) -> ActionEffect:
    """Click the target, and wait for a download to begin.

    Raises:
        ActionError: none began before the deadline.
    """
    bound = await _bind_pointer(session, action, enabled=True)
    before = session.tracker.download_count
    async with translated_errors(f"clicking {action.target}"), delivery_barrier(session, bound.locator.page):
        if (point := _known_point(session, action, bound)) is not None:
            await await_input(bound.locator.page, _click_at_once(session, bound.locator.page, point, ClickOptions()))
        else:
            await bound.locator.click(no_wait_after=True, **_pointer_options(action))
    waited = 0.0
    await session.stabilizer.wait_until_idle()
    while session.tracker.download_count == before:
        if waited >= action.timeout_ms:
            message = f"clicking {action.target}: expected a download, none began within {waited:.0f} ms of page time"
            raise ActionError(message, code="download-missing")
        await session.stabilizer.pass_time_waiting(100)
        waited += 100
    return ActionEffect(bound=bound)


_PointerAction: TypeAlias = "Click | DoubleClick | Download | Hover | Tap"


async def _bind_pointer(
    session: Session, action: _PointerAction | Check | Uncheck, *, enabled: bool, needs_point: bool = False
) -> BoundTarget:
    """Bind the target; one of a forced action must be visible, but whatever receives the pointer is not checked.

    Where the pointer is after the action is unknown, unless the action moves it to a known point.
    """
    page = require_page(session, action.page)
    session.pointers.pop(page, None)
    readiness = Readiness(enabled=enabled, pointer=True, position=action.position)
    if is_forced(action):
        readiness = Readiness(pointer=needs_point, may_be_covered=True, position=action.position)
    return await bind(page, action.target, session, readiness, action.timeout_ms)


def _known_point(session: Session, action: _PointerAction, bound: BoundTarget) -> tuple[float, float] | None:
    """Return where the pointer certainly hits the target: nothing moves while the clock is stopped.

    Binding has made all checks that Playwright would repeat over several frames. If the page clock runs by itself,
    modifier keys are held, or the action is forced, Playwright must find the point, and None is returned.
    """
    return None if session.timeline.is_natural or action.modifiers else bound.point


def _pointer_options(action: _PointerAction) -> dict[str, Any]:
    return {
        "force": is_forced(action),
        "modifiers": list(action.modifiers) or None,
        "position": _position(action.position),
        "timeout": ACT_TIMEOUT_MS,
    }


def _position(point: Point | None) -> Position | None:
    return {"x": point.x, "y": point.y} if point else None
