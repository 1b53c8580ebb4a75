"""Ctrl-C while Playwright's synchronous API runs its event loop: deferred, and neither lost nor breaking the loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from eikon_engine.browser.playwright_internals import DeferredInterrupts, run_synchronously

pytestmark = pytest.mark.browser


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Open a page; whatever a test does, Python handles Ctrl-C again after it."""
    with chromium.new_page() as opened:
        yield opened
    signal.signal(signal.SIGINT, signal.default_int_handler)


async def interrupt() -> None:
    """Interrupt in a callback of the event loop, and go on with the loop for a while."""
    signal.raise_signal(signal.SIGINT)
    await asyncio.sleep(60)


async def interrupt_late() -> None:
    """Interrupt in a callback that precedes the return to the caller."""
    asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)


def test_an_interrupt_in_a_callback_leaves_the_loop_intact(page: Page) -> None:
    """It is raised in the call of the agent, which may go on afterwards."""
    interrupts = DeferredInterrupts(page)
    with pytest.raises(KeyboardInterrupt):
        run_synchronously(page, interrupt())
    assert page.evaluate("1 + 1") == 2
    interrupts.restore()

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_in_a_listener_leaves_the_connection_intact(page: Page) -> None:
    """Listeners have greenlets of their own; an exception in one would end the task that reads from the driver."""
    interrupts = DeferredInterrupts(page)
    page.on("console", lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the event comes during either call
        page.evaluate("console.log(1)")
        page.wait_for_timeout(60_000)
    assert page.evaluate("1 + 1") == 2
    interrupts.restore()


def test_an_interrupt_before_the_loop_yields_to_the_agent_is_raised_there(page: Page) -> None:
    """The agent may not call Playwright for a long time."""
    interrupts = DeferredInterrupts(page)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it is raised in the second statement
        run_synchronously(page, interrupt_late())
        threading.Event().wait(60)
    interrupts.restore()


def test_an_interrupt_that_was_deferred_is_raised_at_the_end(page: Page) -> None:
    """None is lost when the recording ends; the agent's next interrupts are Python's."""
    interrupts = DeferredInterrupts(page)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it is raised in the second statement
        run_synchronously(page, interrupt_late())
        interrupts.restore()

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert page.evaluate("1 + 1") == 2


def test_the_agents_own_handler_stays(page: Page) -> None:
    """It is neither replaced nor restored, whether it was installed before or later."""
    seen: list[int] = []

    def handle(number: int, _: object) -> None:
        seen.append(number)

    signal.signal(signal.SIGINT, handle)
    DeferredInterrupts(page).restore()
    assert signal.getsignal(signal.SIGINT) is handle

    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupts = DeferredInterrupts(page)
    ours = signal.signal(signal.SIGINT, handle)
    interrupts.restore()
    assert signal.getsignal(signal.SIGINT) is handle

    signal.signal(signal.SIGINT, ours)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert seen == []


def test_other_threads_have_no_handler(page: Page) -> None:
    """Python handles signals in the main thread only."""
    thread = threading.Thread(target=lambda: DeferredInterrupts(page))
    thread.start()
    thread.join()

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
