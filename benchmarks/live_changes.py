"""What live replays report of a site with one change, and of an unchanged one.

Run: `python -m benchmarks.live_changes [UNCHANGED_RUNS]` in the environment of scripts/test. Two missions are
recorded on our shop, then replayed live: repeatedly on the unchanged shop, and once on each change of the shop. A
change that does not affect a mission must stay faithful; an affected mission must diverge. Exits with 1 if any verdict
is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from eikon_engine.errors import ReplayDivergenceError
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay import ReplayEngine, ReplayOptions
from tests.missions.shop import SHOP_PASSWORD, buy_a_banana, order
from tests.sites.shop import CHANGES, ShopServer, serve_shop

MISSIONS = {"banana": buy_a_banana, "order": order}
UNCHANGED_RUNS = 20
UNMET = {
    # Changes that do not affect the mission, which must stay faithful.
    "banana": {"other-redirect", "error-on-submit", "missing-option", "new-required-field", "expired-session"},
    "order": {
        "console-error",
        "dialog-text",
        "no-dialog",
        "popup-blocked",
        "only-one-left",
        "removed-item",
        "sponsored-first",
        "reordered-list",
        "title",
        "download-content",
    },
}
HARMLESS = {"slow-list"}


async def record(name: str, url: str, directory: Path) -> None:
    """Record a mission."""
    async with open_recorder(directory, mission_text=name, mission_id=name, options=RecordOptions()) as mission:
        await MISSIONS[name](mission, url)


def replay(bundle: Path, artifacts: Path) -> ReplayOutcome:
    """Replay it live."""
    secrets = {"PASSWORD": SHOP_PASSWORD}
    engine = ReplayEngine(ReplayOptions(artifacts_dir=artifacts, network="live", secrets=secrets))
    try:
        return engine.replay(bundle)
    except ReplayDivergenceError:
        if engine.last_run is None:
            raise
        return engine.last_run.outcome


def row(mission: str, change: str, outcome: ReplayOutcome, *, wanted: str) -> bool:
    """Print one line; return whether the result is as expected."""
    first = outcome.divergences[0] if outcome.divergences else None
    where = f"{first.subgoal_id} {first.sequence} {first.code}" if first else ""
    right = outcome.verdict == wanted
    sys.stdout.write(f"{mission:8} {change:20} {outcome.verdict:12} {where:45} {'' if right else 'WRONG'}\n")
    if outcome.explanation is not None:
        sys.stdout.write(f"{'':9}{outcome.explanation.sentence}\n{'':9}since {outcome.explanation.why}\n")
    sys.stdout.flush()
    return right


def main() -> int:
    """Print the table, and the number of wrong verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int, nargs="?", default=UNCHANGED_RUNS)
    runs: int = parser.parse_args().runs
    rights: list[bool] = []
    with tempfile.TemporaryDirectory() as scratch, serve_shop() as shop:
        folder = Path(scratch)
        for name in MISSIONS:
            shop.restart()
            asyncio.run(record(name, shop.url, folder / name))
            rights.extend(_rows(name, shop, folder, runs))
    sys.stdout.write(f"{len(rights)} replays, {rights.count(False)} wrong\n")
    return int(not all(rights))


def _rows(name: str, shop: ShopServer, folder: Path, runs: int) -> list[bool]:
    rights = []
    for index in range(runs):
        shop.restart()
        rights.append(row(name, "unchanged", replay(folder / name, folder / f"{name}-{index}"), wanted="faithful"))
    for change in CHANGES:
        shop.restart(change)
        wanted = "faithful" if change in UNMET[name] | HARMLESS else "diverged"
        rights.append(row(name, change, replay(folder / name, folder / f"{name}-{change}"), wanted=wanted))
    return rights


if __name__ == "__main__":
    sys.exit(main())
