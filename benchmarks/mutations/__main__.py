"""Proves that no change passes, that no harmless change is reported, and that the explanation is right.

Run: `python -m benchmarks.mutations [--per-document 3] [--parallel 4] [--only NAME,NAME] [--limit 150]` in the
environment of scripts/test. The bundled missions, and missions recorded in our shop, a control room, MiniWoB++ and
Django's admin, are mutated: operators change one element of a document, a response, a message, a script, a style sheet,
a download, or the trace itself, each in many places. Every mutant is replayed sealed with its changed network instead
of the recorded one (`--responses-from`), and must get the verdict, the first action, the layer and the cause that its
operator knows to be right. Prints a row for each operator, the matrix of verdicts, and every mutant with another
result. Exits with 1 if a change passed or a harmless one did not, or if fewer than 98 % of the actions or 95 % of the
causes are right.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.mutations.mutants import mutants
from benchmarks.mutations.report import holds, report
from benchmarks.mutations.results import run
from benchmarks.mutations.source import Source
from benchmarks.mutations.truth import spread
from benchmarks.subjects import subject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.mutations.results import Result

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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-document", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--limit", type=int, default=150, help="mutants of a mission, spread over all; 0 is all")
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.only.split(","), given)))
