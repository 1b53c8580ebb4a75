"""Record missions in which something goes wrong: `troubled_missions.py sync|async FOLDER URL DOWN_URL AGENT…`.

An agent is a generator that yields each call of Playwright, so that the same code drives both APIs. Each mission has a
browser of its own, and prints one line at its end.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from playwright.async_api import Error, async_playwright
from playwright.sync_api import sync_playwright

from eikon_engine.browser.executable import find_browser
from eikon_engine.browser.playwright_internals import run_synchronously
from eikon_engine.record import AttachOptions, record_mission

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    Calls: TypeAlias = Generator[Any, Any, Any]
    Page: TypeAlias = Any
    """A page of either API."""
    Browser: TypeAlias = Any
    """A browser of either API."""

FOLDER, URL, DOWN_URL = Path(sys.argv[2]), *sys.argv[3:5]


def raises(page: Page, _: int) -> Calls:
    """Raise an exception in the middle."""
    yield page.goto(URL)
    yield page.click("button")
    message = "the model gave up"
    raise RuntimeError(message)


def kills_browser(page: Page, browser: int) -> Calls:
    """Lose the browser, and try to go on."""
    yield page.goto(URL)
    os.kill(browser, signal.SIGKILL)
    yield page.click("button")


def closes_browser(page: Page, _: int) -> Calls:
    """Close the browser, and try to go on."""
    yield page.goto(URL)
    yield page.context.browser.close()
    yield page.click("button")


def crashes_page(page: Page, _: int) -> Calls:
    """Crash the page, and try to go on."""
    yield page.goto(URL)
    try:
        yield page.goto("chrome://crash")
    except Error:
        yield page.click("button")


def finds_site_down(page: Page, _: int) -> Calls:
    """Navigate to a site that is down."""
    yield page.goto(DOWN_URL)


def hangs(page: Page, _: int) -> Calls:
    """Wait for an element that never appears."""
    yield page.goto(URL)
    yield page.click("button")
    print("hanging", flush=True)  # noqa: T201 - read by the test
    yield page.click("#never", timeout=0)


def is_interrupted(page: Page, _: int) -> Calls:
    """Be stopped by Ctrl-C while a message of the driver is about to be passed on."""
    yield page.goto(URL)
    feed_data = asyncio.StreamReader.feed_data

    def interrupt_and_feed(reader: asyncio.StreamReader, data: bytes) -> None:
        asyncio.StreamReader.feed_data = feed_data  # type: ignore[method-assign]
        signal.raise_signal(signal.SIGINT)
        reader.feed_data(data)

    asyncio.StreamReader.feed_data = interrupt_and_feed  # type: ignore[assignment, method-assign]
    yield page.click("#never", timeout=0)


def is_interrupted_before_it_goes_on(page: Page, _: int) -> Calls:
    """Be stopped by Ctrl-C when the event loop is about to give way to this code, which makes no call for an hour."""

    async def interrupt_soon() -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)

    yield page.goto(URL)
    run_synchronously(page, interrupt_soon())
    threading.Event().wait(3_600)


AGENTS: Final[Mapping[str, Callable[[Page, int], Calls]]] = {
    each.__name__: each
    for each in (
        raises,
        kills_browser,
        closes_browser,
        crashes_page,
        finds_site_down,
        hangs,
        is_interrupted,
        is_interrupted_before_it_goes_on,
    )
}
OPTIONS: Final = AttachOptions(certify=None)
BROWSER: Final = find_browser(None, environ=os.environ).path


def browser_process(browser: Browser) -> Calls:
    """Return the id of the browser's process."""
    session = yield browser.new_browser_cdp_session()
    found = yield session.send("SystemInfo.getProcessInfo")
    yield session.detach()
    return next(each["id"] for each in found["processInfo"] if each["type"] == "browser")


def run(calls: Calls) -> int:
    """Run the calls of the synchronous API, which are done when they are yielded."""
    result = None
    while True:
        try:
            result = calls.send(result)
        except StopIteration as end:
            return cast("int", end.value)


async def run_async(calls: Calls) -> int:
    """Await each call of the asynchronous API."""
    try:
        call = next(calls)
        while True:
            try:
                result = await call
            except Exception as error:  # noqa: BLE001 - the agent may handle it
                call = calls.throw(error)
            else:
                call = calls.send(result)
    except StopIteration as end:
        return cast("int", end.value)


@contextmanager
def reported(name: str, seen: list[BaseException]) -> Iterator[None]:
    """Print whether the exception that leaves the recording is the one that left the agent."""
    try:
        yield
    except Exception as left:  # noqa: BLE001 - the next mission follows
        print(json.dumps({"agent": name, "raised": type(left).__name__, "unchanged": [left] == seen}), flush=True)  # noqa: T201 - as above


@contextmanager
def noted(seen: list[BaseException]) -> Iterator[None]:
    """Note the exception that leaves the agent."""
    try:
        yield
    except BaseException as error:
        seen.append(error)
        raise


def record_all(names: list[str]) -> None:
    """Record agents that use the synchronous API."""
    for name in names:
        seen: list[BaseException] = []
        with sync_playwright() as playwright, reported(name, seen):
            browser = playwright.chromium.launch(executable_path=BROWSER)
            process, page = run(browser_process(browser)), browser.new_page()
            with record_mission(page, mission_text=name, directory=FOLDER / name, options=OPTIONS), noted(seen):
                run(AGENTS[name](page, process))


async def record_all_async(names: list[str]) -> None:
    """Record agents that use the asynchronous API."""
    for name in names:
        seen: list[BaseException] = []
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=BROWSER)
            process, page = await run_async(browser_process(browser)), await browser.new_page()
            with reported(name, seen):
                recording = record_mission(page, mission_text=name, directory=FOLDER / name, options=OPTIONS)
                async with recording:
                    with noted(seen):
                        await run_async(AGENTS[name](page, process))


if __name__ == "__main__":
    if sys.argv[1] == "sync":
        record_all(sys.argv[5:])
    else:
        asyncio.run(record_all_async(sys.argv[5:]))
