"""Short missions in the shop, recorded once; the shop changes afterwards."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.actions import Click, Fill, Navigate, SecretRef
from tests.browser.pages import serve_pages
from tests.missions.shop import SHOP_PASSWORD, css
from tests.repair.small_site import SmallSite, set_pages
from tests.replay.shared_browsers import SHARED
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from eikon_engine.record import MissionRecorder
    from tests.browser.pages import PageSite
    from tests.sites.shop import ShopServer

SECRETS = {"PASSWORD": SHOP_PASSWORD}


async def buy(mission: MissionRecorder, url: str) -> None:
    """Put a banana into the cart."""
    await mission.perform(Navigate(url=f"{url}/product/1"))
    await mission.perform(Click(target=css("#add-to-cart")))


async def buy_by_label(mission: MissionRecorder, url: str) -> None:
    """Do the same as `buy`, with the button selected by its label."""
    await mission.perform(Navigate(url=f"{url}/product/1"))
    await mission.perform(Click(target=css("role=button[name='Add to cart']")))


async def order(mission: MissionRecorder, url: str) -> None:
    """Sign in and place an order."""
    await mission.perform(Navigate(url=f"{url}/login?next=/checkout"))
    await mission.perform(Fill(target=css("#username"), text="ada"))
    await mission.perform(Fill(target=css("#password"), text=SecretRef(secret="PASSWORD")))
    await mission.perform(Click(target=css("#sign-in")))
    await mission.perform(Fill(target=css("#name"), text="Ada Lovelace"))
    await mission.perform(Click(target=css("#place-order")))


MISSIONS: dict[str, Callable[[MissionRecorder, str], Awaitable[None]]] = {
    each.__name__: each for each in (buy, buy_by_label, order)
}


@dataclass(frozen=True)
class Changing:
    """A shop, and copies of missions recorded in it before it changed."""

    shop: ShopServer
    folder: Path
    tmp_path: Path

    def bundle(self, name: str) -> Path:
        """Copy a bundle, and record it first if there is none yet."""
        source = self.folder / name
        if not source.exists():
            self.shop.restart()
            SHARED.run(self._record(name))
        return shutil.copytree(source, self.tmp_path / name)

    async def _record(self, name: str) -> None:
        options = RecordOptions(secrets=SECRETS)
        recorder = open_recorder(self.folder / name, mission_text=name, mission_id=name, options=options)
        async with recorder as mission, mission.subgoal("Do it", subgoal_id="do"):
            await MISSIONS[name](mission, self.shop.url)


@pytest.fixture(scope="session")
def shop_and_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ShopServer, Path]]:
    """Run a shop, and a folder for its recorded missions."""
    with serve_shop() as shop:
        yield shop, tmp_path_factory.mktemp("missions")


@pytest.fixture
def changing(shop_and_folder: tuple[ShopServer, Path], tmp_path: Path) -> Changing:
    """Return the shop and its recorded missions."""
    return Changing(*shop_and_folder, tmp_path)


@pytest.fixture(scope="session")
def pages_and_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageSite, Path]]:
    """Run the small site, and a folder for its recorded missions."""
    with serve_pages() as site:
        yield site, tmp_path_factory.mktemp("small")


@pytest.fixture
def small(pages_and_folder: tuple[PageSite, Path], tmp_path: Path) -> SmallSite:
    """Return the unchanged small site and its recorded missions."""
    set_pages(pages_and_folder[0])
    return SmallSite(*pages_and_folder, tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    """Read every file of a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
