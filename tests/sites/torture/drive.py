"""Drive the torture site with plain Playwright, and read the results on its pages."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from playwright.async_api import Error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Dialog, FilePayload, Page

    from tests.sites.torture.items import Item

UPLOADED: FilePayload = {"name": "given.bin", "mimeType": "application/x-given", "buffer": bytes(range(256)) * 4}
"""The file that forms upload."""
_DOWNLOAD_MS = 2_000.0
_READ = """() => Object.fromEntries(
  Array.from(document.querySelectorAll("[data-item]"), (item) => {
    const result = item.querySelector(".result");
    const unfinished = result.dataset.state === "done" ? "" : ` (${result.dataset.state})`;
    return [item.dataset.item, result.textContent + unfinished];
  })
)"""
_LINES = """([name, lines]) => {
  const result = document.getElementById(`${name}-result`);
  return result.dataset.state === "done" || result.textContent.split("\\n").filter(Boolean).length >= lines;
}"""


async def torture_items(page: Page) -> dict[str, str]:
    """Return the results on a page, by item; ``/summary`` has those of all pages this tab has visited."""
    found: dict[str, str] = await page.evaluate(_READ)
    return found


async def drive_item(page: Page, item: Item, url: str, *, patience_ms: float | None = None) -> str:
    """Do one item and return its result, with any download; an item that does not end is marked as such."""
    remark = ""
    try:
        if page.url != f"{url}/{item.page}":
            await page.goto(f"{url}/{item.page}")
        if item.takes_file:
            await page.set_input_files(f"#{item.name}-file", files=UPLOADED)
        remark = await _click_all(page, item)
        done = f"#{item.name}-result[data-state=done]"
        await page.wait_for_selector(done, timeout=patience_ms or item.patience_ms)
    except Error as error:
        remark = f" ({error.message.splitlines()[0]})"
    for other in page.context.pages[1:]:
        await other.close()
    return (await torture_items(page)).get(item.name, "") + remark


async def _click_all(page: Page, item: Item) -> str:
    for number, step in enumerate(item.steps, start=1):
        selector = f"#{item.name}-{step}"
        if item.downloads:
            return await _download(page, selector)
        if item.dialogs:
            page.once("dialog", _answer(item.dialogs[number - 1]))
        await page.click(selector)
        if number < len(item.steps):
            await page.wait_for_function(_LINES, arg=[item.name, number], timeout=item.patience_ms)
    return ""


async def _download(page: Page, selector: str) -> str:
    async with page.expect_download(timeout=_DOWNLOAD_MS) as waiting:
        await page.click(selector)
    content = (await (await waiting.value).path()).read_bytes()
    return f" (downloaded {len(content)} bytes, {sha256(content).hexdigest()[:12]})"


def _answer(text: str | None) -> Callable[[Dialog], Awaitable[None]]:
    async def answer(dialog: Dialog) -> None:
        await (dialog.dismiss() if text is None else dialog.accept(text))

    return answer
