"""A killed interactive recording has no secret in any file and lists the replaced ones."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import async_playwright

from eikon_engine.redact.scan import find_in_files
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, serve_pages
from tests.record.interactive.person import READY
from tests.until import GENEROUS_S

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

PASSWORD = "lime-grove-88"
COOKIE = "Zk3vQ9xB7mT2pL8wRc5dHn"
LOGIN = """<form method=post action=/in><input id=name name=name aria-label=Name>
<input id=password name=password type=password aria-label=Password><button>Sign in</button></form>"""


def test_a_killed_recording_has_no_secret_in_any_file(tmp_path: Path) -> None:
    """The remaining files open, list the redacted secrets, and have neither the password nor the session cookie."""
    with serve_pages() as site:
        site.answers["/in"] = Answer(
            body="<h1>Hello</h1><button>Go on</button>", headers=(("Set-Cookie", f"session={COOKIE}; HttpOnly"),)
        )
        asyncio.run(sign_in_and_kill(site.put(LOGIN), tmp_path / "b"))

    assert find_in_files(tmp_path / "b", {PASSWORD.encode(), COOKIE.encode()}) == set()
    trace = open_bundle(tmp_path / "b").trace
    assert [action.action.type for action in trace.subgoal_traces[0].actions_taken[:4]] == [
        *("navigate", "fill", "fill", "click")
    ]
    assert "session" in {found.name for found in trace.redaction.found}


async def sign_in_and_kill(url: str, folder: Path) -> None:
    """Sign in over the debugging port of the command, click again, and kill the command."""
    command = [sys.executable, "-m", "eikon_engine", "record", "--url", url, "--headless", "--no-certify"]
    recorder = await asyncio.create_subprocess_exec(
        *command, "-o", str(folder), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=os.environ
    )
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.connect_over_cdp(await port_of(recorder))
            page = browser.contexts[0].pages[0]
            await page.wait_for_function(READY)
            await page.click("#name")
            await page.keyboard.type("ada")
            await page.click("#password")
            await page.keyboard.type(PASSWORD)
            await page.click("button")
            await page.wait_for_selector("h1")
            await page.wait_for_function(READY)
            await page.click("button")
            async with asyncio.timeout(GENEROUS_S):
                while '"secrets_found"' not in (folder / "journal.jsonl").read_text():  # noqa: ASYNC110 - a file of another process
                    await asyncio.sleep(0.05)
    finally:
        with suppress(ProcessLookupError):
            recorder.send_signal(signal.SIGKILL)
        await recorder.wait()


async def port_of(recorder: asyncio.subprocess.Process) -> str:
    """Read the output of the command until it has its port."""
    assert recorder.stdout is not None
    async for line in recorder.stdout:
        if match := re.search(rb"127\.0\.0\.1:(\d+) under", line):
            return f"http://127.0.0.1:{match[1].decode()}"
    message = "no port was named"
    raise AssertionError(message)
