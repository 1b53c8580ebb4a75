"""The leak page reaches its targets in an unguarded browser, and every contact is counted."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest
from aiohttp import ClientSession
from playwright.async_api import Browser, async_playwright

from eikon_engine.browser.executable import find_browser
from tests.sites.async_loopback import HOST
from tests.sites.leaks import CLASSES, LeakSite, serve_leaks
from tests.until import GENEROUS_S

pytestmark = pytest.mark.browser

REACHING = {leak.name for leak in CLASSES if leak.reaches}
_ALL_CAME = "names => fetch('/counts').then(r => r.json()).then(counts => names.every(name => counts[name]))"


async def text(url: str) -> str:
    """Fetch a URL as text."""
    async with ClientSession() as session, session.get(url) as response:
        return await response.text()


def test_every_leak_has_a_name_and_a_button() -> None:
    """Names are unique, and the page has a button for each leak class."""
    with serve_leaks() as site:
        page = asyncio.run(text(site.url))

    assert len({leak.name for leak in CLASSES}) == len(CLASSES)
    assert [leak.name for leak in CLASSES if f'id="leak-{leak.name}"' not in page] == []


def test_the_target_can_be_chosen() -> None:
    """The page tries to reach the host given in its URL."""
    with serve_leaks() as site:
        page = asyncio.run(text(site.url_towards("leak.invalid:80")))
        ports = asyncio.run(text(site.url))

    assert page.count('"authority": "leak.invalid:80"') == len(CLASSES)
    assert "leak.invalid" not in ports


def test_contacts_without_a_request_are_counted() -> None:
    """An idle connection and a datagram are counted for the leak class of their port."""
    with serve_leaks() as site:
        ports = dict.fromkeys(("preconnect", "webrtc-stun"), 0)
        page = asyncio.run(text(site.url))
        for name in ports:
            ports[name] = int(page.partition(f'"{name}": ')[2].partition(f"{HOST}:")[2].partition('"')[0])
        with socket.create_connection((HOST, ports["preconnect"])) as quiet:
            quiet.shutdown(socket.SHUT_WR)
            assert quiet.recv(1) == b""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
            datagram.sendto(b"x", (HOST, ports["webrtc-stun"]))
            asyncio.run(text(f"{site.url}/counts"))
        counted = site.escaped
        site.forget()

    assert set(counted) == {"preconnect", "webrtc-stun"}
    assert site.escaped == ()


@pytest.mark.parametrize("leaves", [False, True])
def test_an_unguarded_browser_gets_out(*, leaves: bool) -> None:
    """Every leak class marked as reaching its target does so; otherwise the leak tests would prove nothing."""
    with serve_leaks() as site:
        asyncio.run(try_all(site, leaves=leaves))
        escaped = set(site.escaped)

    assert escaped == {leak.name for leak in CLASSES if leak.leaves == leaves and leak.reaches}


async def try_all(site: LeakSite, *, leaves: bool) -> None:
    """Click the buttons of all leak classes and wait until the expected ones were counted."""
    binary = find_browser(None, environ=os.environ)
    names = [leak.name for leak in CLASSES if leak.leaves == leaves]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(binary.path), chromium_sandbox=os.geteuid() != 0)
        for group in [[name] for name in names] if leaves else [names]:
            await try_group(browser, site, group)
        await browser.close()


async def try_group(browser: Browser, site: LeakSite, names: list[str]) -> None:
    """Click some buttons of one page."""
    context = await browser.new_context()
    watching, page = await context.new_page(), await context.new_page()
    await watching.goto(f"{site.url}/left")
    await page.goto(site.url)
    await page.evaluate("names => names.forEach(name => document.getElementById(`leak-${name}`).click())", names)
    wanted = [name for name in names if name in REACHING]
    async with asyncio.timeout(GENEROUS_S):
        while not await watching.evaluate(_ALL_CAME, wanted):
            await watching.evaluate("new Promise(over => setTimeout(over, 50))")
    await context.close()
