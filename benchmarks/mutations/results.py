"""Replay mutants, and compare their results with the expected ones."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.detectors.lifecycle import PAGE_LATE
from eikon_engine.replay.context import launch_replay_browser
from eikon_engine.replay.engine import run_replay
from eikon_engine.replay.live_comparison import PAGE_AHEAD
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from benchmarks.mutations.source import Source
    from benchmarks.mutations.truth import Mutant
    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import ActionOutcome
    from eikon_engine.replay.engine import Run
    from eikon_engine.replay.options import Report

A_BROWSER: Final = 60
"""Number of mutants per browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a mutant."""

    mission: str
    mutant: Mutant
    verdict: str
    place: tuple[str, int] | None
    layer: str
    cause: str
    sentence: str
    also_changed: tuple[Divergence, ...] = ()
    """What the policy `effects` lists as also changed."""

    moved_on: frozenset[tuple[str, int]] = frozenset()
    """The actions whose page went on by itself: it came to its recorded state later, or was ahead of it."""

    @property
    def is_corrected(self) -> bool:
        """Return whether the page itself replaced what the change showed, and the action reports that it went on."""
        return self.verdict == "faithful" and self.mutant.truth.place in self.moved_on

    @property
    def is_listed(self) -> bool:
        """Return whether the change was found at the expected action, as a divergence or as also changed."""
        places = {(each.subgoal, each.sequence) for each in self.also_changed}
        return self.mutant.truth.place in {self.place, *places}

    @property
    def is_right(self) -> bool:
        """Return whether the verdict is the expected one."""
        return self.verdict == self.mutant.truth.verdict or self.is_corrected

    @property
    def has_place(self) -> bool:
        """Return whether the first action that diverged is the expected one."""
        return self.place == self.mutant.truth.place or self.is_corrected

    @property
    def has_layer(self) -> bool:
        """Return whether the change was found in the expected layer."""
        return not self.mutant.truth.layers or self.layer in self.mutant.truth.layers or self.is_corrected

    @property
    def has_cause(self) -> bool:
        """Return whether the expected cause is reported."""
        return not self.mutant.truth.causes or self.cause in self.mutant.truth.causes or self.is_corrected


def result(mission: str, mutant: Mutant, done: Run) -> Result:
    """Return the result of an outcome."""
    outcome = done.outcome
    first = outcome.divergences[0] if outcome.divergences else None
    told = outcome.explanation
    steps = [step for subgoal in outcome.subgoals for step in subgoal.steps if step.kind == "action"]
    findings = [each for step in steps for each in step.findings]
    return Result(
        mission=mission,
        mutant=mutant,
        verdict=outcome.verdict if done.error is None else f"error: {done.error.message}",
        place=(first.subgoal, first.sequence) if first else None,
        layer=first.layer if first else "",
        cause=told.cause if told else "",
        sentence=told.sentence if told else "; ".join(outcome.reasons),
        also_changed=tuple(each for each in findings if each.code != PAGE_LATE),
        moved_on=frozenset(
            (subgoal.id, step.sequence)
            for subgoal in outcome.subgoals
            for step in subgoal.steps
            if step.kind == "action" and _has_moved_on(step)
        ),
    )


def _has_moved_on(step: ActionOutcome) -> bool:
    return PAGE_AHEAD in step.masked or any(each.code == PAGE_LATE for each in step.findings)


async def run(source: Source, chosen: Sequence[Mutant], parallel: int) -> list[Result]:
    """Replay mutants, several at a time in one browser, which is replaced regularly."""
    results: list[Result] = []
    free = asyncio.Semaphore(parallel)
    for start in range(0, len(chosen), A_BROWSER):
        with tempfile.TemporaryDirectory(prefix="eikon-mutants-") as scratch:
            async with open_browser(source) as browser:

                async def come_to(
                    place: int, mutant: Mutant, browser: LaunchedBrowser = browser, scratch: str = scratch
                ) -> Result:
                    async with free:
                        done = await replayed(source, mutant, Path(scratch) / str(place), browser)
                        return result(source.name, mutant, done)

                some = enumerate(chosen[start : start + A_BROWSER])
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(come_to(place, mutant)) for place, mutant in some]
            results.extend(task.result() for task in tasks)
        if sys.stderr.isatty():
            sys.stderr.write(f"{source.name}: {len(results)} of {len(chosen)}\n")
    return results


@asynccontextmanager
async def open_browser(source: Source) -> AsyncIterator[LaunchedBrowser]:
    """Launch the browser of a mission."""
    options = _options(source, Path(), None)
    async with launch_replay_browser(plan_replay(source.bundle, options), options) as browser:
        yield browser


async def replayed(
    source: Source, mutant: Mutant, folder: Path, browser: LaunchedBrowser, reports: tuple[Report, ...] = ()
) -> Run:
    """Replay one mutant: a changed trace with its own network, or the mission with changed responses."""
    changed = source.with_trace(folder / "mutant", mutant.trace) if mutant.trace is not None else None
    answers = source.with_answers(folder / "mutant", mutant.answers or {}, mutant.messages) if changed is None else None
    bundle = open_bundle(changed) if changed is not None else source.bundle
    return await run_replay(bundle, _options(source, folder / "run", answers), reports, browser)


def _options(source: Source, folder: Path, answers: Path | None) -> ReplayOptions:
    secrets = dict(source.secrets)
    return ReplayOptions(artifacts_dir=folder, network="sealed", responses_from=answers, secrets=secrets, reports=())
