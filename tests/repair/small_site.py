"""A small site whose pages can change, and missions recorded on it before."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Assert, AssertText, Click, Navigate
from tests.browser.pages import Answer
from tests.certify.conftest import ASKS_WITH_KEY
from tests.missions.shop import css
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.actions import Action
    from tests.browser.pages import PageSite

SHELF = "<p>Bread, {price}</p><a id={link} href=/cart>To the cart</a>"
CART = "<p>In the cart: bread</p><form method=post action={action}><button id={button}>{label}</button></form>"
USUAL = {"price": "3.10", "link": "cart", "action": "/order", "button": "order", "label": "Order now"}


def set_pages(site: PageSite, *, status: int = 200, **changed: str) -> None:
    """Serve the recorded pages, optionally with replaced text."""
    words = {**USUAL, **changed}
    bodies = {
        "/": SHELF.format(**words),
        "/cart": CART.format(**words),
        "/order": "<p>Thank you</p>",
        "/wish": "<p>Kept for later</p>",
        "/key": ASKS_WITH_KEY,
    }
    for path, body in bodies.items():
        code = status if path == "/order" else 200
        site.answers[path] = Answer(body=f"<!doctype html><title>Bread</title>{body}", status=code)
    site.answers["/price"] = Answer(body="310", content_type="text/plain")


@dataclass(frozen=True)
class SmallSite:
    """The site, and copies of missions that are recorded once."""

    pages: PageSite
    folder: Path
    tmp_path: Path

    def bundle(self, name: str) -> Path:
        """Copy the bundle of a mission."""
        source = self.folder / name
        if not source.exists():
            set_pages(self.pages)
            SHARED.run(_record(source, self._missions[name]))
        self.pages.asked.clear()
        return shutil.copytree(source, self.tmp_path / name)

    def change(self, *, status: int = 200, **changed: str) -> None:
        """Replace text of the site's pages."""
        set_pages(self.pages, status=status, **changed)

    @property
    def _missions(self) -> dict[str, tuple[Action, ...]]:
        url = self.pages.url
        order = Click(target=css("#order"))
        reads = Assert(expectation=AssertText(target=css("#order"), text="Order now"))
        return {
            "look": (Navigate(url=url),),
            "order": (Navigate(url=f"{url}/cart"), order),
            "shelf_to_order": (Navigate(url=url), Click(target=css("#cart")), order),
            "assert": (Navigate(url=f"{url}/cart"), reads),
            "key": (Navigate(url=f"{url}/key"),),
        }


async def _record(folder: Path, actions: tuple[Action, ...]) -> None:
    recorder = open_recorder(folder, mission_text="Order bread", mission_id=folder.name)
    async with recorder as mission, mission.subgoal("Order", subgoal_id="order"):
        for action in actions:
            await mission.perform(action)
