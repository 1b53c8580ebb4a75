"""Proves that every browser feature of the torture site is replayed: all items, a hundred times, with equal results.

Run: `python -m benchmarks.torture [--clock stepped|natural] [--runs 100] [--parallel 4] [--busy 0] [--only NAME,NAME]
[--write OURS.json]` in the environment of scripts/test. The items are recorded once, the server is stopped, and the
mission is replayed sealed. Prints the number of different digests of each page (`benchmarks/digest.py`; the
network has one digest as a whole), then the items that do not work: those whose page showed another text in some
replay, or whose steps had a new divergence. The texts of the items are written in the format of
`benchmarks.har_torture`, for a comparison with Playwright's own replay. Exits with 1 if an item does not work, or
digests differ.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.busy import busy
from benchmarks.often import replay_often
from benchmarks.subjects import Subject
from benchmarks.table import counted, table
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.trace_file import read_trace
from tests.missions.torture import torture
from tests.sites.torture import ITEMS, PAGES, Item, serve_torture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import JsonValue

    from benchmarks.har_torture import Texts
    from benchmarks.often import Tally
    from eikon_engine.outcome.outcomes import ReplayOutcome

CLOCKS = ("stepped", "natural")
SUMMARY = "summary"
PART = re.compile(r"section#([\w-]+) > ")
"""Matches the item in the evidence of a divergence."""
SHOWN = r"^text at [^\n]*#{}-result\n  expected: .*?\n  observed: (.*?)(?:\n\w[^\n]* at |\Z)"
"""Matches the text of an item in the evidence."""
HEADS = ("page", "items", "work", "runs", "digests")


@dataclass(slots=True, kw_only=True)
class Said:
    """The texts of the items when recorded and in replays: the text that differs, if one ever did."""

    recorded: Texts
    items: Sequence[Item]
    owners: dict[tuple[str, int], str]
    """Item of each action, by subgoal and sequence."""
    replayed: Texts = field(default_factory=dict)

    def take(self, outcome: ReplayOutcome) -> None:
        """Add one replay: every step compares the page, so an item without a divergence has its recorded text."""
        done = {(subgoal.id, step.sequence) for subgoal in outcome.subgoals for step in subgoal.steps}
        undone = {name for place, name in self.owners.items() if place not in done}
        said = self.recorded | dict(self._diverged(outcome)) | dict.fromkeys(undone, "(not done)")
        for item in self.items:
            if self.replayed.get(item.name, self.recorded[item.name]) == self.recorded[item.name]:
                self.replayed[item.name] = said[item.name]

    def _diverged(self, outcome: ReplayOutcome) -> Iterator[tuple[str, str]]:
        """Yield the items with another text: those whose part of the page differs, else the one of the step."""
        blamed: set[str] = set()
        for each in outcome.divergences:
            owner = self.owners.get((each.subgoal, each.sequence), "")
            for name in dict.fromkeys(PART.findall(each.detail)) or (owner,):
                if name in self.recorded and name not in blamed:
                    blamed.add(name)
                    shown = re.search(SHOWN.format(name), each.detail, re.DOTALL | re.MULTILINE)
                    text = " ".join(shown[1].split()) if shown else self.recorded[name]
                    yield name, f"{text} ({each.code} at {each.subgoal_id} {each.sequence})"

    def works(self, item: Item) -> bool:
        """Return whether an item had its recorded text in every replay."""
        return self.replayed.get(item.name) == self.recorded[item.name]


async def record(bundle: Path, items: Sequence[Item], clock: str) -> Said:
    """Record items, then stop the site."""
    upload = bundle.with_name("up.txt")
    upload.write_text("upload me", encoding="utf-8")
    options = RecordOptions(clock="natural" if clock == "natural" else "stepped")
    with serve_torture() as site:
        async with open_recorder(bundle, mission_text="torture", mission_id="torture", options=options) as mission:
            await torture(mission, site.url, upload, items=items)
    trace = read_trace(bundle)
    names = {item.name for item in items}
    owners = {}
    for subgoal in trace.subgoal_traces:
        owner = ""
        for action in subgoal.actions_taken:
            owner = next((name for name in _names(action.action.model_dump_json()) if name in names), owner)
            owners[subgoal.id, action.sequence] = owner
    return Said(recorded=_texts(trace.extractions[0].value), items=items, owners=owners)


def _names(action: str) -> Iterator[str]:
    """Yield the words of an action that may be the name of an item, longest first."""
    found = (item.name for item in ITEMS if f"#{item.name}-" in action or f'"{item.name}-result' in action)
    yield from sorted(found, key=len, reverse=True)


def _texts(output: JsonValue) -> Texts:
    """Return the texts in the table of the summary."""
    if not isinstance(output, dict) or not isinstance(rows := output["rows"], list):
        return {}
    texts = {}
    for row in rows:
        assert isinstance(row, dict)
        name, said = row.values()
        texts[str(name)] = str(said)
    return texts


def page_rows(said: Said, tally: Tally) -> Iterator[tuple[object, ...]]:
    """Yield a row for each page, and one for all."""
    for page in (*PAGES, SUMMARY):
        items = [item for item in said.items if item.page == page]
        if page in tally.subgoals:
            works = sum(map(said.works, items))
            yield page, len(items), works, tally.runs, len(tally.subgoals[page])
    works = sum(map(said.works, said.items))
    yield "all", len(said.items), works, tally.runs, len(tally.observed)


async def measure(arguments: argparse.Namespace, items: Sequence[Item]) -> tuple[Said, Tally]:
    """Record the items, and replay them."""
    with tempfile.TemporaryDirectory(prefix="eikon-torture-") as scratch:
        bundle = Path(scratch) / "bundle"
        said = await record(bundle, items, arguments.clock)
        subject = Subject(name="torture", bundle=bundle)
        with busy(arguments.busy):
            tally = await replay_often(subject, runs=arguments.runs, parallel=arguments.parallel, ended=said.take)
    return said, tally


def main() -> int:
    """Print the tables and write the texts of the items."""
    parser = argparse.ArgumentParser(description="Replay the torture site many times, and say what works.")
    parser.add_argument("--clock", choices=CLOCKS, default="stepped", help="how the page's clock runs when recording")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--parallel", type=int, default=4, help="replays at a time")
    parser.add_argument("--busy", type=int, default=0, help="processes that burn processor time meanwhile")
    parser.add_argument("--only", default="", help="names of items or pages, with commas between them")
    parser.add_argument("--write", type=Path, default=Path("OURS.json"), help="where the texts go")
    arguments = parser.parse_args()
    names = set(arguments.only.split(",")) - {""}
    if unknown := names - {name for item in ITEMS for name in (item.name, item.page)}:
        parser.error(f"no such item or page: {', '.join(sorted(unknown))}")
    items = [item for item in ITEMS if not names or names & {item.name, item.page}]
    said, tally = asyncio.run(measure(arguments, items))
    ours = {"recorded": said.recorded, "replayed": said.replayed}
    arguments.write.write_text(json.dumps(ours, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(table(HEADS, list(page_rows(said, tally))))
    sys.stdout.write(f"network: {len(tally.network)} digest(s); {counted(tally.verdicts)}; {tally.seconds:.1f} s\n")
    for item in items:
        if not said.works(item):
            recorded, replayed = said.recorded[item.name], said.replayed.get(item.name)
            sys.stdout.write(f"does not work: {item.name}: recorded {recorded!r}, replayed {replayed!r}\n")
    only = f"--only {','.join(item.name for item in items)} " if names else ""
    sys.stdout.write(tally.findings() + f"compare: python -m benchmarks.har_torture {only}{arguments.write}\n")
    return int(not (items and tally.holds and all(map(said.works, items))))


if __name__ == "__main__":
    sys.exit(main())
