"""Simulated runs without a browser: a mission with computed pages, compared as in a replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.certify.runs import ReplayedRun, page_key
from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.detect import detect_divergences
from eikon_engine.divergence.masks import apply_masks
from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot, build_text_node, frame_digest
from eikon_engine.outcome.outcomes import (
    ActionOutcome,
    HermeticityViolation,
    NetworkMiss,
    NetworkOutcome,
    ReplayCounts,
    ReplayOutcome,
    SubgoalOutcome,
    Verdict,
)
from eikon_engine.trace.actions import Note
from eikon_engine.trace.bundle import load_page, store_snapshot
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, NetworkPart, SubgoalTrace, Succeeded
from eikon_engine.trace.observation import FrameObservation, Observation, PageObservation
from eikon_engine.trace.trace_file import write_trace

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.files.blobs import BlobStore
    from eikon_engine.trace.bundle import Bundle

NOW = datetime(2025, 3, 14, 9, 30, tzinfo=UTC)
URL = "http://shop.test/cart?id=1"
ENVIRONMENT = Environment(browser_version="1", playwright_version="1", platform="here", clock_start_ms=0, random_seed=1)
Play: TypeAlias = Callable[[int, float], Observation]
"""The text that a run with this number shows after this much page time."""


def page_of(*paragraphs: str) -> PageSnapshot:
    """Return a page of paragraphs."""
    nodes = tuple(DomNode(tag="p", children=(build_text_node(each),)) for each in paragraphs)
    root = DomNode(tag="html", children=(DomNode(tag="body", children=nodes),))
    return PageSnapshot(frames=(FrameSnapshot(path="", url=URL, name="", doctype="html", root=root),))


@dataclass(frozen=True, slots=True)
class Stage:
    """A mission of one action that is simulated without a browser."""

    play: Callable[[int, float], PageSnapshot]
    """The page that a run with this number shows after this much page time."""
    changes: Callable[[int], dict[str, object]] = lambda _run: {}
    """Fields of the observation of a run."""
    misses: Callable[[int, ExecutionTrace], tuple[NetworkMiss, ...]] = lambda _run, _trace: ()
    violations: tuple[HermeticityViolation, ...] = ()
    """Escaped requests of every run."""
    reasons: tuple[str, ...] = ()
    """The verdict of every run."""
    is_observed: bool = True
    """Whether the recording has an observation."""
    asked: list[int] = field(default_factory=list)
    """How many runs were asked for, each time."""

    def record(self, folder: Path, dom: BlobStore) -> ExecutionTrace:
        """Write the trace of run 0, with 500 ms of page time, into a folder."""
        page = self.play(0, 500.0)
        shown = observe(page, 500.0, self.changes(0))
        kept = shown.pages[0].model_copy(update={"snapshot": store_snapshot(dom, page)})
        action = ActionTrace(
            id="a1",
            sequence=1,
            action=Note(text="look"),
            result=Succeeded(),
            observation=shown.model_copy(update={"pages": (kept,)}) if self.is_observed else None,
        )
        subgoal = SubgoalTrace(
            id="s__attempt_1", subgoal_id="s", description="Look", status="complete", actions_taken=(action,)
        )
        (folder / "network").mkdir()
        trace = ExecutionTrace(
            id="t",
            mission_id="m",
            mission_text="Look",
            started_at=NOW,
            status="complete",
            environment=ENVIRONMENT,
            subgoal_traces=(subgoal,),
            network=NetworkPart(),
        )
        write_trace(trace, folder)
        return trace

    async def __call__(self, bundle: Bundle, runs: int) -> tuple[ReplayedRun, ...]:
        """Simulate some runs; the first one is number 1, as 0 is the recording."""
        self.asked.append(runs)
        return tuple(self._run(bundle, number) for number in range(1, runs + 1))

    def _run(self, bundle: Bundle, number: int) -> ReplayedRun:
        recorded = bundle.trace.subgoal_traces[0].actions_taken[0]
        budget = recorded.observation.virtual_ms if recorded.observation is not None else ENVIRONMENT.settle_ms
        page = self.play(number, budget)
        seen = observe(page, budget, self.changes(number))
        misses = self.misses(number, bundle.trace)
        place = StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=1)
        before = recorded.observation.pages[0] if recorded.observation is not None else None
        comparison = Comparison(
            position=place,
            recorded=recorded,
            result=Succeeded(),
            observed=seen,
            misses=misses,
            recorded_dom=lambda _page: load_page(bundle.dom, before) if before is not None else None,
            observed_dom=lambda _page: page,
        )
        masked = apply_masks(comparison, bundle.trace.masks)
        divergences = detect_divergences(masked.comparison)
        unverifiable = () if recorded.observation is not None else ("nothing was recorded",)
        verdict: Verdict = "diverged" if divergences else "unverifiable" if unverifiable else "faithful"
        action = ActionOutcome(
            id="a1",
            sequence=1,
            type="note",
            label="note look",
            verdict=verdict,
            expected_result=Succeeded(),
            result=Succeeded(),
            observation=seen,
            divergences=divergences,
            unverifiable=unverifiable,
            masked=masked.names,
        )
        network = NetworkOutcome(misses=misses, violations=self.violations)
        outcome = _outcome(action, network).model_copy(update={"reasons": self.reasons})
        return ReplayedRun(outcome=outcome, snapshots={page_key(seen.pages[0]): page})


def observe(page: PageSnapshot, virtual_ms: float, changes: dict[str, object]) -> Observation:
    """Return an observation of one page; `title` among the changes is that of the page."""
    fields = dict(changes)
    frames = tuple(FrameObservation(path=each.path, url=each.url, digest=frame_digest(each)) for each in page.frames)
    shown = PageObservation(page=0, url=URL, title=str(fields.pop("title", "Cart")), frames=frames)
    return Observation(pages=(shown,), virtual_ms=virtual_ms).model_copy(update=fields)


def _outcome(action: ActionOutcome, network: NetworkOutcome) -> ReplayOutcome:
    subgoal = SubgoalOutcome(
        id="s__attempt_1",
        subgoal_id="s",
        description="Look",
        number=1,
        verdict=action.verdict,
        steps=(action,),
        steps_recorded=1,
    )
    counts = ReplayCounts(subgoals=1, subgoals_recorded=1, actions=1, actions_recorded=1, skills=0, skills_recorded=0)
    return ReplayOutcome(
        mission_id="m",
        mission_text="Look",
        trace_id="t",
        trace_path="here",
        recorded_status="complete",
        started_at=NOW,
        ended_at=NOW,
        headless=True,
        network_mode="sealed",
        browser="chromium 1",
        environment=ENVIRONMENT,
        counts=counts,
        verdict="unverifiable" if action.verdict == "faithful" and network.page_violations else action.verdict,
        subgoals=(subgoal,),
        network=network,
    )
