"""Proves that exported tests fail on a changed site, at the step that the change affects, and pass otherwise.

Run: `python -m benchmarks.exported_tests` in the environment of scripts/test. Two missions of the shop, and one on each
of the three ordinary sites, are recorded and exported for pytest-playwright; each test is run as its owner would, on
the unchanged site and on changes of it. Prints how each run ended, and where. Exits with 1 unless all are as expected.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from benchmarks.mutations import live
from benchmarks.table import table
from tests.exporters.changes import GREEN, RED
from tests.exporters.running import Ran, export, run
from tests.missions.ordinary import ORDINARY
from tests.replay.conftest import MISSIONS, SECRETS, record
from tests.sites.ordinary import Change
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WRONG: Final = "WRONG"


RENAMED = Change(request="GET /new", number=0, edit=lambda page: page.replace(">Save<", ">Store<"))
FEWER_TICKETS = Change(request="GET /tickets", number=0, edit=lambda page: page.replace("3 tickets", "4 tickets"))
NOT_DEPLOYED = Change(request="POST /api/deployments", number=0, status=500, body=b"{}")
OTHER_SERVICE = Change(request="GET /api/services", number=0, edit=lambda data: data.replace("search", "seek"))
OTHER_TOTAL = Change(request="GET /api/cart", number=0, edit=lambda data: data.replace("15", "16"))
NO_CHECKOUT = Change(request="POST /checkout", number=0, status=500, body=b"sorry")
DRIFTS: Final[Mapping[str, Mapping[str, tuple[Change, int]]]] = {
    "helpdesk": {"renamed button": (RENAMED, 9), "another number": (FEWER_TICKETS, 5)},
    "board": {"500 of a request": (NOT_DEPLOYED, 7), "another service": (OTHER_SERVICE, 4)},
    "store": {"another price": (OTHER_TOTAL, 11), "500 of a form": (NO_CHECKOUT, 13)},
}
"""Changes of the ordinary sites, with the step at which the exported test must fail."""

Row: TypeAlias = "tuple[str, str, str, str]"


def main() -> None:
    """Run all tests."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = [*run_shop(Path(name)), *(row for site in DRIFTS for row in run_ordinary(site, Path(name)))]
    sys.stdout.write(table(("site", "mission", "exported test", ""), rows))
    wrong = sum(row[-1] == WRONG for row in rows)
    sys.stdout.write(f"{len(rows)} runs, {wrong} wrong\n")
    sys.exit(int(wrong > 0))


def run_shop(folder: Path) -> Iterator[Row]:
    """Run the tests of the shop, unchanged and with each change."""
    wanted: list[tuple[str, str, tuple[str, int] | None]] = [("", mission, None) for mission in MISSIONS]
    wanted += [(change, mission, (subgoal, sequence)) for change, mission, subgoal, sequence in RED]
    wanted += [(change, mission, None) for change, mission in GREEN]
    with serve_shop() as shop:
        tests = {}
        for mission in MISSIONS:
            shop.restart()
            asyncio.run(record(mission, shop.url, folder / mission))
            tests[mission] = export(folder / mission, folder / f"{mission}-test"), folder / f"{mission}-test"
        for change, mission, step in wanted:
            shop.restart(*([change] if change else []))
            yield _row(change, mission, run(*tests[mission], secrets=SECRETS), step)


def run_ordinary(name: str, folder: Path) -> Iterator[Row]:
    """Run the test of a site that draws tokens and ids, whose mission was recorded from a plain script."""
    with ORDINARY[name][0]() as site:
        source = live.record(name, site, folder)
        test = export(source.root, folder / f"{name}-test")
        site.restart()
        yield _row("", name, run(test, folder / f"{name}-test", secrets=live.SECRETS), None)
        for drift, (change, sequence) in DRIFTS[name].items():
            site.restart(change)
            ran = run(test, folder / f"{name}-test", secrets=live.SECRETS)
            yield _row(drift, name, ran, ("subgoal_1", sequence))


def _row(change: str, mission: str, ran: Ran, step: tuple[str, int] | None) -> Row:
    is_right = ran.step == step and ran.passed == (step is None)
    where = "passed" if ran.passed else "failed" if ran.step is None else f"{ran.step[0]} {ran.step[1]}"
    return change or "unchanged", mission, where, "right" if is_right else WRONG


if __name__ == "__main__":
    main()
