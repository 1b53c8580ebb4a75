"""Replay a bundle some times, one run after the other."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.certify.seen import ActionKey, Hit, PageKey, RunSeen, page_key
from eikon_engine.errors import ReplayDivergenceError
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.replay_engine import ReplayEngine

if TYPE_CHECKING:
    from eikon_engine.browser.worker import Performed
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.certify.seen import RunMany
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.dom import PageSnapshot


class Witness:
    """Keep what outcomes do not hold: the documents, and the elements that were hit."""

    def __init__(self, gallery: dict[PageKey, PageSnapshot]) -> None:
        """Keep documents in `gallery`, equal ones once."""
        self.gallery = gallery
        self.hits: dict[ActionKey, Hit] = {}

    def watch(self, step: PlannedStep, performed: Performed) -> None:
        """Take down one action."""
        key = (step.subgoal.id, step.step.sequence)
        self.hits[key] = Hit(first=performed.identity, second=performed.identity_second)
        if performed.sight is None:
            return
        for page in performed.sight.observation.pages:
            snapshot = performed.sight.snapshots.get(page.page)
            if snapshot is not None:
                self.gallery.setdefault(page_key(page), snapshot)


def replay_in_turn(options: CertifyOptions) -> RunMany:
    """Return the way to replay a bundle in fresh browsers, one after the other."""

    async def replay(bundle: Bundle, runs: int) -> tuple[RunSeen, ...]:
        gallery: dict[PageKey, PageSnapshot] = {}
        seen = []
        for number in range(1, runs + 1):
            witness = Witness(gallery)
            outcome = await _replay_once(bundle, options, witness)
            seconds = (outcome.ended_at - outcome.started_at).total_seconds()
            options.progress(f"run {number} of {runs}: {outcome.verdict}, {seconds:.1f} s")
            seen.append(RunSeen(outcome=outcome, hits=witness.hits, gallery=gallery))
        return tuple(seen)

    return replay


async def _replay_once(bundle: Bundle, options: CertifyOptions, witness: Witness) -> ReplayOutcome:
    with tempfile.TemporaryDirectory(prefix="eikon-certify-") as folder:
        engine = ReplayEngine(
            ReplayOptions(
                browser_path=options.browser_path,
                artifacts_dir=Path(folder) / "run",
                network=options.network,
                on_divergence="continue",
                secrets=options.secrets,
                reports=(),
                watchers=(witness.watch,),
                now=options.now,
            )
        )
        try:
            return await engine.replay_async(bundle)
        except ReplayDivergenceError:
            if engine.last_run is None:
                raise
            return engine.last_run.outcome
