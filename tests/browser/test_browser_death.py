from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser import page_calls
from eikon_engine.browser.actions import effect
from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.browser.stabilizer import IDLE_TIMEOUT_S
from eikon_engine.errors import BrowserDiedError, PageCrashedError, PageUnresponsiveError
from eikon_engine.trace.actions import Action, Click, FunctionCondition, Navigate, Screenshot, WaitFor
from tests.browser.desk import Room, at

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser


def browser_process(room: Room) -> int:
    """Return the process id of the browser."""

    async def ask() -> int:
        session = await room.browser.new_browser_cdp_session()
        answer = await session.send("SystemInfo.getProcessInfo")
        return next(int(each["id"]) for each in answer["processInfo"] if each["type"] == "browser")

    return room.portal.call(ask)


@pytest.mark.parametrize(
    "action",
    [
        Click(target=at("#b")),
        Navigate(url="http://127.0.0.1:9/"),
        Screenshot(),
        WaitFor(condition=FunctionCondition(expression="false")),
        WaitFor(condition=FunctionCondition(expression="true")),
    ],
    ids=["click", "navigate", "screenshot", "wait", "look"],
)
def test_a_dead_browser_is_reported(portal: BlockingPortal, site: PageSite, action: Action) -> None:
    """Every action on it fails with `browser-died`, and none hangs."""
    with (
        portal.wrap_async_context_manager(launch_browser(LaunchOptions())) as launched,
        Room(portal, launched.browser, site, launched.api_request).desk() as desk,
    ):
        desk.show("<button id=b>Go</button>")
        os.kill(browser_process(Room(portal, launched.browser, site, launched.api_request)), signal.SIGKILL)
        begin = time.monotonic()

        with pytest.raises(BrowserDiedError):
            desk.do(action)

        assert time.monotonic() - begin < IDLE_TIMEOUT_S


def test_a_browser_that_dies_during_an_action_is_reported(portal: BlockingPortal, site: PageSite) -> None:
    """The running action ends with the browser."""
    with portal.wrap_async_context_manager(launch_browser(LaunchOptions())) as launched:
        room = Room(portal, launched.browser, site, launched.api_request)
        with room.desk() as desk:
            desk.show("<p>wait")
            process = browser_process(room)
            killer = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -9 {process}"])
            begin = time.monotonic()

            with pytest.raises(BrowserDiedError):
                desk.do(WaitFor(condition=FunctionCondition(expression="false"), timeout_ms=100_000))

            assert time.monotonic() - begin < IDLE_TIMEOUT_S
            assert killer.wait(60) == 0


@pytest.mark.parametrize("url", ["chrome://crash", "chrome://kill"])
def test_crashed_page_ends_the_run(live_browser: Room, site: PageSite, url: str) -> None:
    """A session whose page crashed cannot continue; other sessions of the browser can."""
    with live_browser.desk() as desk:
        desk.show("<p>page")
        begin = time.monotonic()

        with pytest.raises(PageCrashedError, match="crashed"):
            desk.do(Navigate(url=url))

        assert time.monotonic() - begin < IDLE_TIMEOUT_S
    with live_browser.desk() as another:
        another.show("<p>alive")


BUSY: dict[str, tuple[str, Action]] = {
    "expression": ("<p>", WaitFor(condition=FunctionCondition(expression="(() => { for (;;); })()"), timeout_ms=1000)),
    "click": ("<button id=b onclick='for (;;);'>", Click(target=at("#b"), timeout_ms=1000)),
    "timer": (
        "<button id=b onclick='setTimeout(() => { for (;;); }, 20)'>",
        Click(target=at("#b"), timeout_ms=1000),
    ),
    "promises": (
        "<button id=b onclick='const go = () => Promise.resolve().then(go); go()'>",
        Click(target=at("#b"), timeout_ms=1000),
    ),
}


@pytest.mark.parametrize("script", BUSY)
def test_a_page_that_a_script_keeps_busy_ends_the_action_at_its_deadline(
    live_browser: Room, site: PageSite, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """All waits for the page share the deadline of the action; the error says what kept it."""
    monkeypatch.setattr(page_calls, "MIN_RESPONSE_S", 0.5)
    monkeypatch.setattr(page_calls, "BUSY_S", 0.5)
    monkeypatch.setattr(effect, "ACT_TIMEOUT_MS", 1000.0)
    html, action = BUSY[script]
    with live_browser.desk() as desk:
        desk.show(html)
        begin = time.monotonic()

        with pytest.raises(PageUnresponsiveError, match="a script keeps"):
            desk.do(action)

        assert time.monotonic() - begin < 5


def test_a_page_that_computes_for_longer_than_its_action_has_time_is_waited_for(
    live_browser: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine, a short computation takes that long: only processor time tells it from an endless loop."""
    monkeypatch.setattr(page_calls, "MIN_RESPONSE_S", 0.1)
    computes = "for (let n = 0; n < 2e9; n += 1); this.id = 'done'"
    with live_browser.desk() as desk:
        desk.show(f'<button id=b onclick="{computes}">')
        desk.ok(Click(target=at("#b"), timeout_ms=100))


def test_a_sandbox_that_the_system_refuses_is_named(portal: BlockingPortal, tmp_path: Path) -> None:
    """A browser that ends since it may not make user namespaces says nothing of them in Playwright's first line."""
    browser = tmp_path / "chromium"
    program = (
        'case "$1" in --version) echo Chromium 1.2.3.4;; *) echo "ERROR: No usable sandbox! If" >&2; exit 1;; esac'
    )
    browser.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
    browser.chmod(0o755)

    with (
        pytest.raises(BrowserDiedError, match="needs user namespaces, which this system or container refuses"),
        portal.wrap_async_context_manager(launch_browser(LaunchOptions(browser_path=browser))),
    ):
        pass
