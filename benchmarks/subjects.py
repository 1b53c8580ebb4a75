"""Missions whose replays are measured: the bundled ones, and missions recorded on demand from loopback sites."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.record import RecordOptions, open_recorder
from tests.missions.dispatch import ship_an_order
from tests.missions.django_admin import PASSWORD_NAME, keep_a_note
from tests.missions.miniwob import SOLUTIONS, solve_task
from tests.missions.shop import SHOP_PASSWORD, order
from tests.sites.dispatch import serve_dispatch
from tests.sites.django_site import DJANGO_PASSWORD, DJANGO_USER, serve_django
from tests.sites.miniwob_site import serve_miniwob
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.outcome.outcomes import Verdict

TRACES = Path(__file__).resolve().parent.parent / "tests" / "data" / "traces"
BUNDLED: Mapping[str, Verdict] = {
    "shop_passing": "faithful",
    "shop_failing": "faithful",
    "shop_diverging": "diverged",
}
TASKS_A_MISSION = 4
TASKS = tuple(sorted(SOLUTIONS))
MINIWOB = {
    f"miniwob-{first // TASKS_A_MISSION + 1}": TASKS[first : first + TASKS_A_MISSION]
    for first in range(0, len(TASKS), TASKS_A_MISSION)
}
SETTLE_MS = 200.0
"""Page time after each action on MiniWoB++, whose episodes last ten seconds."""
NAMES = (*BUNDLED, *MINIWOB, "django-admin", "shop-order", "dispatch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A bundle, and the expected result of its replays."""

    name: str
    bundle: Path
    verdict: Verdict = "faithful"
    secrets: Mapping[str, str] = field(default_factory=dict)


async def subject(name: str, folder: Path) -> Subject:
    """Return a bundled mission, or record one; its server is stopped when this returns."""
    if name in BUNDLED:
        return Subject(name=name, bundle=TRACES / name, verdict=BUNDLED[name])
    bundle = folder / name
    match name:
        case "django-admin":
            return await _django(name, bundle)
        case "shop-order":
            secrets = {"PASSWORD": SHOP_PASSWORD}
            with serve_shop() as shop:
                options = RecordOptions(secrets=secrets)
                async with open_recorder(bundle, mission_text="Order a banana", options=options) as mission:
                    await order(mission, shop.url)
            return Subject(name=name, bundle=bundle, secrets=secrets)
        case "dispatch":
            with serve_dispatch() as url:
                async with open_recorder(bundle, mission_text="Ship an order") as mission:
                    await ship_an_order(mission, url)
        case _:
            await _miniwob(name, bundle)
    return Subject(name=name, bundle=bundle)


async def _miniwob(name: str, bundle: Path) -> None:
    options = RecordOptions(settle_ms=SETTLE_MS)
    with serve_miniwob() as url:
        async with open_recorder(bundle, mission_text=" ".join(MINIWOB[name]), options=options) as mission:
            for task in MINIWOB[name]:
                await solve_task(mission, url, task)


async def _django(name: str, bundle: Path) -> Subject:
    secrets = {PASSWORD_NAME: DJANGO_PASSWORD}
    with serve_django(bundle.with_name("site")) as url:
        async with open_recorder(bundle, mission_text="Keep a note", options=RecordOptions(secrets=secrets)) as mission:
            await keep_a_note(mission, url, DJANGO_USER)
    return Subject(name=name, bundle=bundle, secrets=secrets)
