"""Click, double click, hover, tap, check, uncheck, drag, download."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

from eikon_engine.browser.actions.effect import (
    ACT_TIMEOUT_MS,
    ActionEffect,
    delivery_barrier,
    require_page,
    translated_errors,
)
from eikon_engine.browser.actions.targets import BoundTarget, Readiness, bind
from eikon_engine.errors import ActionError
from eikon_engine.trace.actions import is_forced

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from playwright.async_api import Page, Position

    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import (
        Check,
        Click,
        DoubleClick,
        Download,
        Drag,
        Hover,
        MouseButton,
        Point,
        Tap,
        Uncheck,
    )


async def click(session: Session, action: Click | DoubleClick) -> ActionEffect:
    """Click the target, once or more often."""
    bound = await _bind_pointer(session, action, enabled=True)
    options = {**_pointer_options(action), "button": action.button}
    point = _known_point(session, action, bound)
    page = bound.locator.page
    times = action.click_count if action.type == "click" else 2
    async with translated_errors(f"clicking {action.target}"), delivery_barrier(session, page):
        if point is not None:
            delay_ms = action.delay_ms if action.type == "click" else None
            await _await_input(click_at(session, page, point, button=action.button, times=times, delay_ms=delay_ms))
        elif action.type == "click":
            await bound.locator.click(delay=action.delay_ms, click_count=times, no_wait_after=True, **options)
        else:
            await bound.locator.dblclick(**options)
    return ActionEffect(bound=bound)


async def click_at(
    session: Session, page: Page, point: tuple[float, float], *, button: MouseButton, times: int, delay_ms: float | None
) -> None:
    """Click a position; an instant of page time passes between two clicks, by which some pages recognize two."""
    if times == 1:
        session.pointers.pop(page, None)
        await page.mouse.click(*point, button=button, delay=delay_ms)
        session.pointers[page] = point
        return
    pause_s = (delay_ms or 0.0) / 1000
    await move_pointer(session, page, point)
    for count in range(1, times + 1):
        if count > 1:
            await asyncio.sleep(pause_s)
            await session.stabilizer.pass_instant()
        await page.mouse.down(button=button, click_count=count)
        await asyncio.sleep(pause_s)
        await page.mouse.up(button=button, click_count=count)


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
            await _await_input(move_pointer(session, bound.locator.page, point))
        else:
            await bound.locator.hover(**_pointer_options(action))
    return ActionEffect(bound=bound)


async def tap(session: Session, action: Tap) -> ActionEffect:
    """Tap the target."""
    bound = await _bind_pointer(session, action, enabled=True)
    async with translated_errors(f"tapping {action.target}"), delivery_barrier(session, bound.locator.page):
        if (point := _known_point(session, action, bound)) is not None:
            await _await_input(bound.locator.page.touchscreen.tap(*point))
        else:
            await bound.locator.tap(**_pointer_options(action))
    return ActionEffect(bound=bound)


async def set_checked(session: Session, action: Check | Uncheck) -> ActionEffect:
    """Check or uncheck the target; with a stepped clock, binding has done all of Playwright's checks."""
    bound = await _bind_pointer(session, action, enabled=True)
    async with translated_errors(f"{action.type}ing {action.target}"), delivery_barrier(session, bound.locator.page):
        await bound.locator.set_checked(
            action.type == "check",
            position=_position(action.position),
            force=action.force or not session.timeline.is_natural,
            timeout=ACT_TIMEOUT_MS,
        )
    return ActionEffect(bound=bound)


async def drag(session: Session, action: Drag) -> ActionEffect:
    """Drag the target onto another element."""
    page = require_page(session, action.page)
    readiness = Readiness(pointer=True, position=action.position)
    session.pointers.pop(page, None)
    bound = await bind(page, action.target, session.stabilizer, readiness, action.timeout_ms)
    second = await bind(page, action.to, session.stabilizer, Readiness(), action.timeout_ms)
    async with (
        translated_errors(f"dragging {action.target} to {action.to}"),
        delivery_barrier(session, bound.locator.page),
    ):
        await bound.locator.drag_to(
            second.locator,
            source_position=_position(action.position),
            target_position=_position(action.to_position),
            steps=action.steps,
            timeout=ACT_TIMEOUT_MS,
        )
    return ActionEffect(bound=bound, bound_second=second)


async def download(session: Session, action: Download) -> ActionEffect:
    """Click the target, and wait for a download to begin.

    Raises:
        ActionError: none began before the deadline.
    """
    bound = await _bind_pointer(session, action, enabled=True)
    before = session.tracker.download_count
    async with translated_errors(f"clicking {action.target}"), delivery_barrier(session, bound.locator.page):
        if (point := _known_point(session, action, bound)) is not None:
            await _await_input(click_at(session, bound.locator.page, point, button="left", times=1, delay_ms=None))
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


async def _bind_pointer(session: Session, action: _PointerAction | Check | Uncheck, *, enabled: bool) -> BoundTarget:
    """Bind the target; one of a forced action must be visible, but whatever receives the pointer is not checked.

    Where the pointer is after the action is unknown, unless the action moves it to a known point.
    """
    page = require_page(session, action.page)
    session.pointers.pop(page, None)
    readiness = Readiness(enabled=enabled, pointer=True, position=action.position)
    if is_forced(action):
        readiness = Readiness()
    return await bind(page, action.target, session.stabilizer, readiness, action.timeout_ms)


def _known_point(session: Session, action: _PointerAction, bound: BoundTarget) -> tuple[float, float] | None:
    """Return where the pointer certainly hits the target: nothing moves while the clock is stopped.

    Binding has made all checks that Playwright would repeat over several frames. If the page clock runs by itself,
    modifier keys are held, or the action is forced, Playwright must find the point, and None is returned.
    """
    return None if session.timeline.is_natural or action.modifiers else bound.point


async def _await_input(operation: Awaitable[None]) -> None:
    """Await a mouse or touchscreen operation, which has no timeout of its own.

    Raises:
        ActionError: the page did not respond.
    """
    try:
        async with asyncio.timeout(ACT_TIMEOUT_MS / 1000):
            await operation
    except TimeoutError as error:
        message = f"the page did not respond to the pointer within {ACT_TIMEOUT_MS:.0f} ms"
        raise ActionError(message, code="wait-timeout") from error


def _pointer_options(action: _PointerAction) -> dict[str, Any]:
    return {
        "force": is_forced(action),
        "modifiers": list(action.modifiers) or None,
        "position": _position(action.position),
        "timeout": ACT_TIMEOUT_MS,
    }


def _position(point: Point | None) -> Position | None:
    return {"x": point.x, "y": point.y} if point else None
