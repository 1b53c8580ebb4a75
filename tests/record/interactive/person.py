"""A scripted person who drives a recorded browser with real keys and pointers over the remote-debugging port."""

from __future__ import annotations

import asyncio
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from playwright.async_api import async_playwright

from eikon_engine.record.record_interactive import InteractiveOptions, record_interactive
from eikon_engine.trace.environment import DEFAULT_VIEWPORT
from eikon_engine.trace.trace_file import read_trace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from playwright.async_api import Page

    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.record.record_interactive import InteractiveReport
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.environment import Viewport

SHOWN_S: Final = 30.0
"""Timeout for the bar to show a new subgoal."""
READY = "window.__eikon__?.recorder !== undefined && document.readyState === 'complete'"


class RecorderOutput:
    """The output of the recorder, with its debugging port."""

    def __init__(self) -> None:
        """Start without output."""
        self.port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.lines: list[str] = []
        self.changed = asyncio.Event()

    def add_line(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)
        self.changed.set()
        match = re.search(r"127\.0\.0\.1:(\d+) under", line)
        if match and not self.port.done():
            self.port.set_result(int(match[1]))


OUTPUT: ContextVar[RecorderOutput] = ContextVar("OUTPUT")
"""Output of the recorder that this scripted person uses."""


async def finish(page: Page) -> None:
    """Press the hotkey that ends the recording."""
    await page.keyboard.press("Control+Shift+F9")


async def begin_subgoal(page: Page, text: str) -> None:
    """Enter the next subgoal in the recorder's bar, and wait until the bar shows it."""
    await page.keyboard.press("Control+Shift+F8")
    await page.keyboard.type(text)
    await page.keyboard.press("Enter")
    async with asyncio.timeout(SHOWN_S):
        while not any(line.endswith(f"subgoal: {text}") for line in OUTPUT.get().lines):
            OUTPUT.get().changed.clear()
            await OUTPUT.get().changed.wait()


async def type_into(page: Page, selector: str, text: str) -> None:
    """Click into a field, select its content, and type."""
    await page.locator(selector).click()
    await page.keyboard.press("Control+a")
    await page.keyboard.type(text)


def record(
    folder: Path,
    url: str,
    act: Callable[[Page], Awaitable[None]],
    *,
    certify: CertifyOptions | None = None,
    viewport: Viewport | None = None,
) -> InteractiveReport:
    """Record what `act` does, from the first page until the recording is finished."""
    return asyncio.run(_record(folder, url, act, certify, viewport))


def actions_of(folder: Path) -> list[Action]:
    """Return the actions of a recording, in order."""
    return [
        each.action
        for subgoal in read_trace(folder).subgoal_traces
        for each in sorted(subgoal.actions_taken, key=lambda each: each.sequence)
    ]


async def _record(
    folder: Path,
    url: str,
    act: Callable[[Page], Awaitable[None]],
    certify: CertifyOptions | None,
    viewport: Viewport | None,
) -> InteractiveReport:
    output = RecorderOutput()
    OUTPUT.set(output)
    options = InteractiveOptions(
        url=url,
        mission_text="Order a banana",
        headless=True,
        certify=certify,
        progress=output.add_line,
        viewport=viewport or DEFAULT_VIEWPORT,
    )
    recording = asyncio.ensure_future(record_interactive(folder, options))
    person = asyncio.ensure_future(_drive(output, act))
    await asyncio.wait({recording, person}, return_when=asyncio.FIRST_EXCEPTION)
    await person
    return await recording


async def _drive(output: RecorderOutput, act: Callable[[Page], Awaitable[None]]) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{await output.port}")
        page = next(page for context in browser.contexts for page in context.pages)
        page.set_default_timeout(10_000)
        await page.wait_for_function(READY)
        await act(page)
        await finish(page)
