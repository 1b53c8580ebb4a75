"""Perform a mission as a plain Playwright script, in a process of its own; internal to the benchmark of speed.

Run: `python -m benchmarks.speed.perform SUBJECT URL BROWSER`. Prints JSON. Imports only what a user's script does.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, cast
from unittest.mock import patch

from playwright._impl.transport import PipeTransport

from benchmarks.speed.subjects import find_subject

if TYPE_CHECKING:
    from playwright.async_api import Page as AsyncPage
    from playwright.sync_api import Page

    from eikon_engine.browser.page_timeline import PageTimeline


@dataclass(slots=True)
class MessageCount:
    """Messages to the driver of Playwright."""

    total: int = 0
    by_step: list[int] = field(default_factory=list)
    """How many had been sent when each step began."""

    def of_a_step(self) -> float:
        """Return the median of the steps; the last one is not known, because closing the browser follows it."""
        return median(after - before for before, after in pairwise(self.by_step))


@contextmanager
def messages_counted(timeline: type[PageTimeline] | None = None) -> Iterator[MessageCount]:
    """Count the messages to all drivers of this process; those of steps only with the class that marks these."""
    count = MessageCount()
    send = PipeTransport.send

    def counting(pipe: PipeTransport, message: dict[str, object]) -> None:
        count.total += 1
        send(pipe, message)

    with ExitStack() as patched:
        patched.enter_context(patch.object(PipeTransport, "send", counting))  # there is no public hook
        if timeline is not None:
            begin = timeline.mark_begin

            def marking(self: PageTimeline) -> None:
                count.by_step.append(count.total)
                begin(self)

            patched.enter_context(patch.object(timeline, "mark_begin", marking))
        yield count


def main() -> None:
    """Perform a mission as a plain script, and print what it took."""
    subject, url, browser = sys.argv[1:]
    mission = find_subject(subject).mission
    perform = _perform_asynchronously if inspect.iscoroutinefunction(mission) else _perform_synchronously
    with messages_counted() as messages:
        wall_s = perform(mission, url, browser)
    sys.stdout.write(json.dumps({"messages": messages.total, "wall_s": wall_s}))


def _perform_synchronously(mission: object, url: str, path: str) -> float:
    from playwright.sync_api import sync_playwright

    act = cast("Callable[[Page, str], None]", mission)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        begin = time.perf_counter()
        page = browser.new_context().new_page()
        act(page, url)
        page.context.close()
        wall_s = time.perf_counter() - begin
        browser.close()
    return wall_s


def _perform_asynchronously(mission: object, url: str, path: str) -> float:
    from playwright.async_api import async_playwright

    act = cast("Callable[[AsyncPage, str], Awaitable[None]]", mission)

    async def run() -> float:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=path)
            begin = time.perf_counter()
            page = await (await browser.new_context()).new_page()
            await act(page, url)
            await page.context.close()
            wall_s = time.perf_counter() - begin
            await browser.close()
        return wall_s

    return asyncio.run(run())


if __name__ == "__main__":
    main()
