"""Replay a bundle many times, sealed, and count what came of it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
"""Characters shown of the evidence."""
A_BROWSER: Final = 50
"""Replays in one browser; then another one is launched, and the outcomes so far are let go."""
SHOWN: Final = 3
"""Differences taken down of a replay that is odd."""
LISTED: Final = 12
"""Findings of a kind that are printed."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What many replays of one bundle came to."""

    wanted: Verdict
    runs: int = 0
    seconds: float = 0.0
    verdicts: Counter[str] = field(default_factory=Counter)
    observed: Counter[str] = field(default_factory=Counter)
    """Replays by digest."""
    network: Counter[str] = field(default_factory=Counter)
    """Replays by digest."""
    subgoals: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Replays by digest, of each subgoal."""
    divergences: Counter[str] = field(default_factory=Counter)
    misses: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    """What else stands in the way: errors, violations, requests that nobody made, steps that cannot be compared."""
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
        for each in outcome.divergences:  # what a page shows from one step on counts once
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
        """Tell whether every replay came to the wanted verdict, and all are equal."""
        equal = len(self.observed) == len(self.network) == 1
        return equal and set(self.verdicts) == {self.wanted} and not any("error:" in each for each in self.others)

    def findings(self) -> str:
        """List what was told, with the number of times, a line each; of each kind what was told most often."""
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
    subject: Subject, *, runs: int, parallel: int, ended: Callable[[ReplayOutcome], None] | None = None
) -> Tally:
    """Replay a bundle so often; the artifacts of a run are removed when it is over."""
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
            chosen = [_options(subject, Path(scratch) / str(run)) for run in range(start, min(start + A_BROWSER, runs))]
            await replay_many(bundle, chosen, parallel=parallel, on_run_end=count)
    tally.seconds = time.perf_counter() - begin
    return tally


def _detail(divergence: Divergence) -> str:
    """Show the beginning of the evidence, in one line."""
    text = " / ".join(line.strip() for line in divergence.detail.splitlines())
    return f" [{text[:DETAIL]}]" if text else ""


def _options(subject: Subject, folder: Path) -> ReplayOptions:
    return ReplayOptions(
        artifacts_dir=folder, network="sealed", on_divergence="continue", secrets=subject.secrets, reports=()
    )
