"""Proves that no change passes, that no harmless change is reported, and that the explanation is right.

Run: `python -m benchmarks.mutations [--per-document 3] [--parallel 4] [--only NAME,NAME] [--limit 150] [--live]` in the
environment of scripts/test. The bundled missions, and missions recorded in our shop, a control room, MiniWoB++ and
Django's admin, are mutated: operators change one element of a document, a response, a message, a script, a style sheet,
a download, or the trace itself, each in many places. Every mutant is replayed sealed with its changed network instead
of the recorded one (`--responses-from`), and must get the verdict, the first action, the layer and the cause that its
operator knows to be right. Prints a row for each operator, the matrices of verdicts and causes, and every mutant with
another result. Exits with 1 if a change passed or a harmless one did not, or if fewer than 98 % of the actions or 95 %
of the causes are right.

With `--live`, missions of plain Playwright scripts are recorded on three ordinary sites (`tests/sites/ordinary`), which
draw tokens, ids and numbers for each run; what varies is learned by `eikon certify --network live`. Then they are
replayed live: on the unchanged sites, and with each change that their responses can get. What such a change shows only
until the page goes on by itself may be missed, if the action reports that it went on. With `--policy effects`, the
table has how many changes diverged and how many are only listed as also changed; each must be one of both at the
action at which it shows.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.mutations.live import UNCHANGED, forbidden, live_mutants, record, replay_all, unchanged
from benchmarks.mutations.mutants import mutants
from benchmarks.mutations.report import holds, lists_all, report, report_effects
from benchmarks.mutations.results import run
from benchmarks.mutations.source import Source
from benchmarks.mutations.truth import spread
from benchmarks.subjects import subject
from tests.missions.ordinary import ORDINARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmarks.mutations.results import Result
    from tests.sites.ordinary import OrdinarySite

NAMES = ("shop_passing", "shop_failing", "shop-order", "dispatch", "miniwob-1", "miniwob-2", "django-admin")


async def main(names: Iterable[str], arguments: argparse.Namespace) -> int:
    """Mutate, replay, print."""
    results: list[Result] = []
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="eikon-missions-") as folder:
        for name in names:
            recorded = await subject(name, Path(folder))
            source = Source(name=name, root=recorded.bundle, secrets=recorded.secrets)
            chosen = list(mutants(source, arguments.per_document))
            if arguments.limit:
                chosen = spread(chosen, arguments.limit)
            results += await run(source, chosen, arguments.parallel)
    sys.stdout.write(report(results))
    sys.stdout.write(f"{len(results)} mutants, {time.perf_counter() - begin:.0f} s\n")
    return 0 if holds(results) else 1


def main_live(names: Iterable[str], arguments: argparse.Namespace) -> int:
    """Mutate living sites, replay, print."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="eikon-live-") as folder, ExitStack() as stack:
        sites = {name: stack.enter_context(ORDINARY[name][0]()) for name in names}
        sources = [record(name, site, Path(folder)) for name, site in sites.items()]
        found = asyncio.run(_replay_sites(sources, sites, arguments))
    results = [result for each in found for result in each]
    changed = sum(each.mutant.operator != UNCHANGED for each in results)
    is_strict = arguments.policy == "strict"
    sys.stdout.write(report(results) if is_strict else report_effects(results))
    replays = f"{changed} replays of changed sites, {len(results) - changed} of unchanged ones"
    sys.stdout.write(f"{replays}, {time.perf_counter() - begin:.0f} s\n")
    return 0 if (holds(results) if is_strict else lists_all(results)) else 1


async def _replay_sites(
    sources: Iterable[Source], sites: Mapping[str, OrdinarySite], arguments: argparse.Namespace
) -> list[list[Result]]:
    """Replay on all sites at once."""
    return await asyncio.gather(*(replay_live(source, sites[source.name], arguments) for source in sources))


async def replay_live(source: Source, site: OrdinarySite, arguments: argparse.Namespace) -> list[Result]:
    """Replay the mutants of one site, and its unchanged pages."""
    every = chain(mutants(source, arguments.per_document), forbidden(source))
    chosen = list(live_mutants(source, every))
    chosen = spread(chosen, arguments.limit) if arguments.limit else chosen
    with tempfile.TemporaryDirectory(prefix="eikon-live-") as folder:
        every_run = [*unchanged(arguments.unchanged), *chosen]
        return await replay_all(source, site, every_run, Path(folder), arguments.policy)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-document", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--live", action="store_true", help="mutate living sites")
    parser.add_argument("--policy", choices=("strict", "effects"), default="strict", help="of the live replays")
    parser.add_argument("--unchanged", type=int, default=35, help="live replays of each unchanged site")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=int, default=150, help="mutants of a mission, spread over all; 0 is all")
    given = parser.parse_args()
    if given.policy != "strict" and not given.live:
        parser.error("--policy requires --live")
    known = tuple(ORDINARY) if given.live else NAMES
    chosen_names = given.only.split(",") if given.only else known
    sys.exit(main_live(chosen_names, given) if given.live else asyncio.run(main(chosen_names, given)))
