"""Replay a mission for diagnosis, and halt where it leaves the recorded course."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.browser_storage import database_names
from eikon_engine.errors import ReplayDivergenceError
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.replay.options import Halt, Proceed
from eikon_engine.trace.trace_file import TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.dom.tree import PageSnapshot
    from eikon_engine.outcome.divergence import Layer
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.repair.options import RepairOptions
    from eikon_engine.replay.options import Decision
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.masks import Mask

APPEARANCE_LAYERS: Final[frozenset[Layer]] = frozenset({"dom", "accessibility", "storage", "pixels"})
"""Layers whose findings do not change what the mission does next."""
HALT_REASON: Final = "the mission left the recorded course here, so the next action was not executed"


@dataclass(slots=True)
class HaltOnDivergence:
    """Halt a replay before it does something on a live site that was never recorded."""

    has_diverged: bool = False

    def read(self, line: EventLine) -> None:
        """Note a divergence."""
        event = line.event
        if event.type == "divergence" and event.divergence.layer not in APPEARANCE_LAYERS:
            self.has_diverged = True

    async def decide(self, step: PlannedStep) -> Decision:  # noqa: ARG002 - the same for every step
        """Proceed until the mission leaves the recorded course."""
        return Halt(reason=HALT_REASON) if self.has_diverged else Proceed()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticReplay:
    """Result of a replay, with the pages it saw."""

    outcome: ReplayOutcome
    pages: Mapping[tuple[str, int], Mapping[int, PageSnapshot]] = field(default_factory=dict, repr=False)
    """Snapshots after each step, by attempt and sequence, then by page."""
    databases: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    """Names of databases, stores and caches after each step, by attempt and sequence."""


async def replay_until_divergence(bundle: Bundle, chosen: ReplayOptions) -> DiagnosticReplay:
    """Replay a mission, continuing past differences that are only visible, and return the findings.

    Raises:
        EikonError: it could not be replayed at all.
    """
    halting = HaltOnDivergence()
    pages: dict[tuple[str, int], Mapping[int, PageSnapshot]] = {}
    databases: dict[tuple[str, int], frozenset[str]] = {}

    def watch(step: PlannedStep, performed: PerformedAction) -> None:
        if performed.captured is not None:
            pages[step.subgoal.id, step.step.sequence] = performed.captured.snapshots

    async def look(step: PlannedStep, session: Session) -> None:
        databases[step.subgoal.id, step.step.sequence] = await database_names(session)

    with temporary_folder("diagnosis") as folder:
        engine = ReplayEngine(
            replace(
                chosen,
                artifacts_dir=folder,
                on_divergence="continue",
                reports=(),
                controller=halting,
                readers=(halting.read,),
                action_observers=(watch,),
                session_inspectors=(look,),
            )
        )
        try:
            outcome = await engine.replay_async(bundle)
        except ReplayDivergenceError:
            assert engine.last_run is not None  # noqa: S101 - set when a run diverged
            outcome = engine.last_run.outcome
    return DiagnosticReplay(outcome=outcome, pages=pages, databases=databases)


def diagnostic_options(options: RepairOptions) -> ReplayOptions:
    """Return the options of the replay that finds divergences."""
    plain = _base_options(options)
    if options.against == "live":
        return replace(plain, network="live", base_urls=options.base_urls, storage_state=options.storage_state)
    if options.against == "recording":
        return recording_options(options)
    if options.against.is_dir() or options.against.name == TRACE_FILE:
        return replace(plain, network="sealed", responses_from=options.against)
    return replace(plain, network="sealed", har=options.against)


def recording_options(options: RepairOptions) -> ReplayOptions:
    """Return the options of a replay with the bundle's own recorded network."""
    return replace(_base_options(options), network="sealed")


def comparison_options(options: RepairOptions, recorded: Path, masks: tuple[Mask, ...]) -> ReplayOptions:
    """Return the options for comparing the old mission with the new recording: served by it, or live."""
    plain = replace(_base_options(options), masks=masks)
    if options.base_urls:  # the new recording has other URLs and cannot serve the old mission
        return replace(plain, network="live", base_urls=options.base_urls, storage_state=options.storage_state)
    return replace(plain, network="sealed", responses_from=recorded)


def _base_options(options: RepairOptions) -> ReplayOptions:
    return ReplayOptions(
        headless=options.headless,
        browser_path=options.browser_path,
        secrets=options.secrets,
        variables=options.variables,
        timeout_ms=options.timeout_ms,
        now=options.now,
    )
