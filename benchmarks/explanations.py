"""How a divergence of each layer is explained, printed for people to judge whether it is convincing.

Run: `python -m benchmarks.explanations` in the environment of scripts/test. Missions in the control room and in the
shop are recorded and mutated (`benchmarks/mutations`); for each layer one mutant is replayed sealed, and the part of
its summary that explains the first divergence is printed. Exits with 1 if a layer has none.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from benchmarks.mutations.mutants import mutants
from benchmarks.mutations.results import open_browser, replayed
from benchmarks.mutations.source import Source
from benchmarks.subjects import subject
from eikon_engine.outcome.divergence import Layer
from eikon_engine.report import standard_reports

if TYPE_CHECKING:
    from collections.abc import Mapping

CHOSEN: Mapping[str, tuple[str, ...]] = {
    "dispatch": (
        "another screen recorded",
        "id renamed",
        "script asks for more",
        "dialog text changed",
        "selector of nothing",
        "field changes what is typed",
        "number of an answer changed",
        "message of a socket changed",
        "script stores something",
        "element hidden by a style",
        "colour changed",
    ),
    "shop-order": ("500 page", "cookie expired: led to the login", "connection reset", "another skill output recorded"),
}
"""Operators by mission."""


async def explanations(folder: Path) -> dict[str, tuple[str, str]]:
    """Replay the chosen mutants; return layer and printed explanation by operator."""
    found: dict[str, tuple[str, str]] = {}
    for mission, operators in CHOSEN.items():
        recorded = await subject(mission, folder)
        source = Source(name=mission, root=recorded.bundle, secrets=recorded.secrets)
        first = {mutant.operator: mutant for mutant in reversed(list(mutants(source, per_document=1)))}
        async with open_browser(source) as browser:
            for operator in operators:
                mutant, scratch = first[operator], folder / f"{mission} {operator}"
                done = await replayed(source, mutant, scratch, browser, standard_reports())
                summary = (done.folder / "replay_summary.txt").read_text(encoding="utf-8")
                told = summary.partition(f"{'-' * 26}\n\n")[2].partition("\n\nSteps\n")[0]
                layer = done.outcome.divergences[0].layer if done.outcome.divergences else "none"
                found[f"{mission}: {operator}: {mutant.what}"] = (layer, told)
    return found


def main() -> int:
    """Print the explanations."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory(prefix="eikon-explanations-") as folder:
        found = asyncio.run(explanations(Path(folder)))
    for title, (_, told) in found.items():
        sys.stdout.write(f"=== {title}\n\n{told}\n\n")
    missing = set(get_args(Layer)) - {layer for layer, _ in found.values()}
    if missing:
        sys.stdout.write(f"no explanation of {', '.join(sorted(missing))}\n")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
