"""What Playwright's own recording (HAR) replays of the torture site, item by item.

Run: `python -m benchmarks.har_torture [--only NAME,NAME] [OURS.json]` in the environment of scripts/test. Every item of
the site is run with plain Playwright while it records a HAR; then the server is stopped, and the items are run again
with `route_from_har`. Prints a Markdown table: whether the text that an item shows is the recorded one, or how it
differs. `OURS.json` adds a column for another replay: `{"recorded": {item: text}, "replayed": {item: text}}`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from contextlib import asynccontextmanager
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import Browser, async_playwright

from eikon_engine.browser.executable import find_browser
from tests.sites.torture import ITEMS, Item, serve_torture
from tests.sites.torture.drive import drive_item, torture_items

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from playwright.async_api import BrowserContext

__all__ = ["compare", "har_replay", "render", "torture_items"]

_PATIENCE_MS = 3_000.0
"""Minimum timeout of an item in a replay; an item that took longer when recorded gets more."""
_WIDTH = 100

Texts = dict[str, str]


async def har_replay(items: Sequence[Item], folder: Path) -> tuple[Texts, Texts]:
    """Record the items on the live site, replay them with the server stopped; return both as texts by item."""
    har = folder / "torture.har"
    async with _browser() as browser:
        with serve_torture() as site:
            url = site.url
            context = await browser.new_context(record_har_path=har, record_har_content="embed")
            recorded = await _drive(context, items, url)
        context = await browser.new_context(service_workers="block")
        await context.route_from_har(har, not_found="abort")
        replayed = await _drive(context, items, url)
    return recorded, replayed


@asynccontextmanager
async def _browser() -> AsyncIterator[Browser]:
    binary = find_browser(None, environ=os.environ)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(binary.path), chromium_sandbox=os.geteuid() != 0)
        yield browser
        await browser.close()


async def _drive(context: BrowserContext, items: Sequence[Item], url: str) -> Texts:
    page = await context.new_page()
    texts = {
        item.name: await drive_item(page, item, url, patience_ms=max(_PATIENCE_MS, item.patience_ms)) for item in items
    }
    await context.close()
    return texts


def compare(recorded: str, replayed: str | None) -> str:
    """Return "works", or the first line that differs."""
    if replayed is None:
        return "not done"
    if recorded == replayed:
        return "works"
    if sorted(recorded.splitlines()) == sorted(replayed.splitlines()):
        return "differs: another order"
    changes = [
        line
        for line in unified_diff(recorded.splitlines(), replayed.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    missing, added = (next((line[1:] for line in changes if line[0] == sign), None) for sign in "-+")
    if added is None:
        return f"differs: no `{_cell(missing or '')}`"
    return f"differs: `{_cell(added)}`" + (f" for `{_cell(missing)}`" if missing else "")


def render(items: Sequence[Item], recorded: Texts, replayed: Texts, ours: Mapping[str, Texts] | None = None) -> str:
    """Return the table, with a column of ours if there is one, and the number of items that work."""
    rows = [
        [item.name, f"`{_cell(recorded[item.name])}`", compare(recorded[item.name], replayed[item.name])]
        for item in items
    ]
    heads = ["item", "recorded", "Playwright HAR replay"]
    if ours is not None:
        heads.append("sealed replay")
        for row in rows:
            row.append(compare(ours["recorded"].get(row[0], ""), ours["replayed"].get(row[0])))
    counts = [str(sum(row[column] == "works" for row in rows)) for column in range(2, len(heads))]
    rows.append(["**works**", f"{len(items)} items", *counts])
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    flat = " / ".join(text.splitlines()).replace("|", "\\|").replace("`", "'")
    return flat if len(flat) <= _WIDTH else flat[: _WIDTH - 1] + "…"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Replay the torture site with Playwright's HAR and print a table.")
    parser.add_argument("--only", default="", help="names of items, with commas between them")
    parser.add_argument("ours", nargs="?", type=Path, help="texts of another way to replay, as JSON")
    arguments = parser.parse_args()
    names = set(arguments.only.split(",")) - {""}
    items = [item for item in ITEMS if not names or item.name in names]
    ours = json.loads(arguments.ours.read_text(encoding="utf-8")) if arguments.ours else None
    with tempfile.TemporaryDirectory() as scratch:
        recorded, replayed = asyncio.run(har_replay(items, Path(scratch)))
    sys.stdout.write(render(items, recorded, replayed, ours))


if __name__ == "__main__":
    main()
