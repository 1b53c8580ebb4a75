"""Replay a bundle many times, sealed, and count the results."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from benchmarks.digest import differences, digests_of, what_counts
from eikon_engine.replay.engine import replay_many
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from benchmarks.subjects import Subject
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import ReplayOutcome, Verdict
    from eikon_engine.replay.engine import Run

DETAIL: Final = 240
"""Number of characters shown of the evidence."""
A_BROWSER: Final = 50
"""Replays per browser; then a new one is launched, and the earlier outcomes are released."""
SHOWN: Final = 3
"""Number of differences stored for a deviating replay."""
LISTED: Final = 12
"""Number of findings of a kind that are printed."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """The results of many replays of one bundle."""

    wanted: Verdict
    runs: int = 0
    seconds: float = 0.0
    verdicts: Counter[str] = field(default_factory=Counter)
    observed: Counter[str] = field(default_factory=Counter)
    """Replays by digest."""
    network: Counter[str] = field(default_factory=Counter)
    """Replays by digest."""
    subgoals: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Replays by digest, for each subgoal."""
    divergences: Counter[str] = field(default_factory=Counter)
    misses: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    """Other failures: errors, violations, unused requests, steps that cannot be compared."""
    odd: Counter[str] = field(default_factory=Counter)
    """Where replays differ from the first one."""
    first: JsonValue = None

    def take(self, run: Run) -> None:
        """Count one replay."""
        outcome, digests = run.outcome, digests_of(run.outcome)
        self.runs += 1
        self.verdicts[outcome.verdict] += 1
        for name, digest in digests.subgoals.items():
            self.subgoals[name][digest] += 1
        self._note(outcome)
        if run.error is not None:
            self.others[f"error: {run.error.message}"] += 1
        counts: JsonValue = what_counts(outcome)
        if self.first is None:
            self.first = counts
        elif digests.observed not in self.observed or digests.network not in self.network:
            self.odd.update(differences(self.first, counts)[:SHOWN])
        self.observed[digests.observed] += 1
        self.network[digests.network] += 1

    def _note(self, outcome: ReplayOutcome) -> None:
        network = outcome.network
        told = set()
        for each in outcome.divergences:  # a difference that persists in later steps counts once
            if (what := (each.subgoal, each.code, each.message)) not in told:
                told.add(what)
                where = f"{each.subgoal_id} {each.sequence}"
                self.divergences[f"{where} {each.code}: {each.message}{_detail(each)}"] += 1
        self.misses.update(f"{each.key}: {each.reason}" for each in network.misses)
        self.notes.update(network.notes)
        self.others.update(f"never asked for: {key}" for key in network.unused)
        self.others.update(f"violation of the {each.kind}: {each.method} {each.target}" for each in network.violations)
        self.others.update(f"reason: {reason}" for reason in outcome.reasons if outcome.verdict == "unverifiable")

    @property
    def holds(self) -> bool:
        """Return whether every replay has the expected verdict, and all are equal."""
        equal = len(self.observed) == len(self.network) == 1
        return equal and set(self.verdicts) == {self.wanted} and not any("error:" in each for each in self.others)

    def findings(self) -> str:
        """Return the findings with their number of occurrences, one per line; for each kind the most frequent ones."""
        kinds = {
            "divergence": self.divergences,
            "miss": self.misses,
            "note": self.notes,
            "also": self.others,
            "differs": self.odd,
        }
        lines = []
        for kind, counts in kinds.items():
            lines += [f"  {times:5} x {kind}: {text}\n" for text, times in counts.most_common(LISTED)]
            if len(counts) > LISTED:
                lines.append(f"          and {len(counts) - LISTED} more of this kind\n")
        return "".join(lines)


async def replay_often(
    subject: Subject,
    *,
    runs: int,
    parallel: int,
    network: Literal["sealed", "live"] = "sealed",
    ended: Callable[[ReplayOutcome], None] | None = None,
) -> Tally:
    """Replay a bundle the given number of times; the artifacts of each run are deleted afterwards."""
    tally = Tally(wanted=subject.verdict)
    bundle = open_bundle(subject.bundle)

    def count(_place: int, run: Run) -> None:
        tally.take(run)
        shutil.rmtree(run.folder)
        if ended is not None:
            ended(run.outcome)

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="eikon-runs-") as scratch:
        for start in range(0, runs, A_BROWSER):
            chosen = [
                _options(subject, Path(scratch) / str(run), network)
                for run in range(start, min(start + A_BROWSER, runs))
            ]
            await replay_many(bundle, chosen, parallel=parallel, on_run_end=count)
    tally.seconds = time.perf_counter() - begin
    return tally


def _detail(divergence: Divergence) -> str:
    """Return the beginning of the evidence, in one line."""
    text = " / ".join(line.strip() for line in divergence.detail.splitlines())
    return f" [{text[:DETAIL]}]" if text else ""


def _options(subject: Subject, folder: Path, network: Literal["sealed", "live"]) -> ReplayOptions:
    return ReplayOptions(
        artifacts_dir=folder, network=network, on_divergence="continue", secrets=subject.secrets, reports=()
    )
