"""Missions recorded once per test process, and replays of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay import ReplayOptions
from eikon_engine.trace.bundle import open_bundle
from tests.missions.shop import SHOP_PASSWORD, buy_a_banana, order
from tests.replay.shared_browsers import SHARED
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.sites.shop import ShopServer

SECRETS = {"PASSWORD": SHOP_PASSWORD}
MISSIONS = {"banana": buy_a_banana, "order": order}


class Recorded(NamedTuple):
    """Bundles of missions in a shop that is still running."""

    shop: ShopServer
    bundles: dict[str, Path]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Record the shop missions on a live shop, once."""
    folder = tmp_path_factory.mktemp("recorded")
    with serve_shop() as shop:
        for name in MISSIONS:
            shop.restart()
            SHARED.run(record(name, shop.url, folder / name))
        yield Recorded(shop, {name: folder / name for name in MISSIONS})


async def record(name: str, url: str, directory: Path) -> None:
    """Record one of the missions."""
    options = RecordOptions(secrets=SECRETS)
    async with open_recorder(
        directory, mission_text=f"The mission {name}", mission_id=name, options=options
    ) as mission:
        await MISSIONS[name](mission, url)


def replay(bundle: Path, artifacts: Path, **options: object) -> ReplayOutcome:
    """Replay a bundle and return its verdict; a divergence raises no error."""
    chosen = ReplayOptions(artifacts_dir=artifacts, **{"secrets": SECRETS, **options})  # type: ignore[arg-type] # of the test
    run = SHARED.replay(open_bundle(bundle), chosen)
    if run.error is not None:
        raise run.error
    return run.outcome
