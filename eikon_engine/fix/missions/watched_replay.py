"""The test of a mission: a replay that goes no further than where the mission lost its way."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.databases import kept_by_name
from eikon_engine.errors import ReplayDivergenceError
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.replay.control import Halt, Proceed
from eikon_engine.trace.serializer import TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.worker import Performed
    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.outcome.divergence import Layer
    from eikon_engine.outcome.events import JournalLine
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.replay.control import Decision
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.dom.tree import PageSnapshot
    from eikon_engine.trace.mask import Mask

SHOWN_OTHERWISE: Final[frozenset[Layer]] = frozenset({"dom", "accessibility", "storage", "pixels"})
"""Layers in which a finding leaves the mission on its way: what is done next is still what was done."""
LOST: Final = "the mission lost its way here; what it would do next is not what was recorded"


@dataclass(slots=True)
class HaltWhereLost:
    """End a replay before it does on a live site what the recording never did."""

    is_lost: bool = False

    def read(self, line: JournalLine) -> None:
        """Hear of a divergence."""
        event = line.event
        if event.type == "divergence" and event.divergence.layer not in SHOWN_OTHERWISE:
            self.is_lost = True

    async def decide(self, step: PlannedStep) -> Decision:  # noqa: ARG002 - every step alike
        """Go on as long as the mission is on its way."""
        return Halt(reason=LOST) if self.is_lost else Proceed()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What a replay came to, with the pages that it saw."""

    outcome: ReplayOutcome
    pages: Mapping[tuple[str, int], Mapping[int, PageSnapshot]] = field(default_factory=dict, repr=False)
    """Snapshots by attempt and sequence, then by page, as they were after the step."""
    databases: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    """Names of databases, their stores and caches by attempt and sequence, as they were after the step."""


async def replay_to_the_first_loss(bundle: Bundle, chosen: ReplayOptions) -> Tested:
    """Replay a mission, on where pages only look otherwise, and tell what was found.

    Raises:
        EikonError: it could not be replayed at all.
    """
    halting = HaltWhereLost()
    pages: dict[tuple[str, int], Mapping[int, PageSnapshot]] = {}
    databases: dict[tuple[str, int], frozenset[str]] = {}

    def watch(step: PlannedStep, performed: Performed) -> None:
        if performed.sight is not None:
            pages[step.subgoal.id, step.step.sequence] = performed.sight.snapshots

    async def look(step: PlannedStep, session: Session) -> None:
        databases[step.subgoal.id, step.step.sequence] = await kept_by_name(session)

    with tempfile.TemporaryDirectory(prefix="eikon-fix-") as folder:
        engine = ReplayEngine(
            replace(
                chosen,
                artifacts_dir=Path(folder),
                on_divergence="continue",
                reports=(),
                controller=halting,
                readers=(halting.read,),
                watchers=(watch,),
                lookers=(look,),
            )
        )
        try:
            outcome = await engine.replay_async(bundle)
        except ReplayDivergenceError:
            assert engine.last_run is not None  # noqa: S101 - it diverged, so it ran
            outcome = engine.last_run.outcome
    return Tested(outcome=outcome, pages=pages, databases=databases)


def options_of_test(options: RepairOptions) -> ReplayOptions:
    """Return how the mission is replayed to see whether, and where, it diverges."""
    plain = _plain(options)
    if options.against == "live":
        return replace(plain, network="live", base_urls=options.base_urls, storage_state=options.storage_state)
    if options.against == "recording":
        return options_of_recording(options)
    if options.against.is_dir() or options.against.name == TRACE_FILE:
        return replace(plain, network="sealed", answers=options.against)
    return replace(plain, network="sealed", har=options.against)


def options_of_recording(options: RepairOptions) -> ReplayOptions:
    """Return how the mission is replayed with its own recorded network."""
    return replace(_plain(options), network="sealed")


def options_of_comparison(options: RepairOptions, recorded: Path, masks: tuple[Mask, ...]) -> ReplayOptions:
    """Return how the old mission is compared with what was recorded anew: answered by it, or live elsewhere."""
    plain = replace(_plain(options), masks=masks)
    if options.base_urls:  # what was recorded anew has other addresses, and cannot answer the old mission
        return replace(plain, network="live", base_urls=options.base_urls, storage_state=options.storage_state)
    return replace(plain, network="sealed", answers=recorded)


def _plain(options: RepairOptions) -> ReplayOptions:
    return ReplayOptions(
        browser_path=options.browser_path,
        secrets=options.secrets,
        variables=options.variables,
        timeout_ms=options.timeout_ms,
        now=options.now,
    )
