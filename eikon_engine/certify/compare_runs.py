"""Compare the runs of a mission with each other and with the recording."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from eikon_engine.certify.money import PageMoney
from eikon_engine.certify.runs import page_key
from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.detect import detect_divergences
from eikon_engine.divergence.detectors.read import READ_CHANGED
from eikon_engine.divergence.dom_diff import diff_snapshots, find_reorderings
from eikon_engine.divergence.masks import apply_masks
from eikon_engine.divergence.present_times import PresentTimes, page_time, page_zone, without_present_times
from eikon_engine.network.drawn_values import value_pattern
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.trace.actions import Evaluate
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import Blocked
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.read_values import value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from eikon_engine.certify.runs import PageKey, ReplayedRun, Snapshots
    from eikon_engine.divergence.dom_diff import DomChange, Reordering
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.files.blobs import BlobStore
    from eikon_engine.outcome.divergence import Divergence, Layer
    from eikon_engine.outcome.outcomes import StepOutcome
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace
    from eikon_engine.trace.masks import Mask
    from eikon_engine.trace.observation import Observation

FAILURE_LAYERS: Final[frozenset[Layer]] = frozenset({"target", "result"})
"""Layers in which a difference means that the action itself failed or hit another element."""
_MEASURES_TIME: Final = re.compile(r"\s*(?:\(\)\s*=>\s*)?(?:window\.)?performance\.now\(\)\s*;?\s*")
"""A script that returns the time of the page, and nothing else."""
_MEASURED_NAME: Final = "now"
"""Name of a value for which any number may be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChange:
    """One difference between a page in a run and in the first run."""

    run: int
    """Number of the run, from 0."""
    url: str
    change: DomChange
    is_money: bool = False
    """Whether a text or attribute with a number is about money."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReordering:
    """An element of a page whose child elements come in another order in a run than in the first run."""

    run: int
    """Number of the run, from 0."""
    url: str
    reordering: Reordering


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionComparison:
    """The comparison of one action across runs."""

    place: StepPosition
    recorded: ActionTrace
    outcomes: tuple[ActionOutcome, ...]
    """Outcome of the action in each run."""
    unstable: tuple[Divergence, ...]
    """Differences of later runs from the first one, each code once; `expected` is the value of the first run."""
    dom_changes: tuple[PageChange, ...]
    """DOM differences among the runs."""
    reorderings: tuple[PageReordering, ...]
    """Those of them that are an order of elements only."""
    differing_runs: int
    """Number of runs that differ from the first one."""
    diverged: tuple[Divergence, ...]
    """Differences of the first run from the recording."""

    @property
    def first(self) -> ActionOutcome:
        """Return the outcome in the first run."""
        return self.outcomes[0]

    @property
    def has_failed(self) -> bool:
        """Return whether the target or result differs among the runs or from the recording."""
        return any(self.is_failure(each) for each in (*self.unstable, *self.diverged))

    def is_failure(self, divergence: Divergence) -> bool:
        """Return whether a difference means that the action failed, or that the agent did not get what it got before.

        What a script returned may differ if it is drawn, such as a time.
        """
        if divergence.code == READ_CHANGED and self.drawn_value is not None:
            return False
        return divergence.code == READ_CHANGED or divergence.layer in FAILURE_LAYERS

    @property
    def drawn_value(self) -> str | None:
        """Return a regular expression of what a script returned, if that varies by its nature; else None."""
        action = self.recorded.action
        if not isinstance(action, Evaluate) or action.value is None:
            return None
        values = [action.value, *(each.observation.value for each in self.outcomes if each.observation is not None)]
        shown = (value_text(each.value) for each in values if each is not None and each.long is None)
        texts = [" ".join(text.split()) for text in shown]  # as masks compare them
        if len(texts) < len(values):
            return None
        name = _MEASURED_NAME if _MEASURES_TIME.fullmatch(action.expression) else ""
        patterns = {value_pattern(name, texts[0], text) for text in texts[1:] if text != texts[0]}
        return "|".join(sorted(filter(None, patterns))) if patterns and None not in patterns else None


def until_first_failure(comparisons: Sequence[ActionComparison]) -> tuple[ActionComparison, ...]:
    """Return the actions up to the first failed one; later differences are its consequences."""
    failed = next((place for place, each in enumerate(comparisons) if each.has_failed), len(comparisons))
    return tuple(comparisons[: failed + 1])


def compare_runs(trace: ExecutionTrace, runs: Sequence[ReplayedRun]) -> tuple[ActionComparison, ...]:
    """Compare every layer of every action across runs and with the recording, under the masks of the trace.

    Live runs need not agree in present times, nor in anything in which none of them differs from the recording.
    """
    outcomes = [_steps_by_place(run) for run in runs]
    is_live = any(run.outcome.network_mode == "live" for run in runs)
    page_snapshots: dict[PageKey, PageSnapshot] = {}
    for run in runs:
        page_snapshots.update(run.snapshots)
    found = []
    for subgoal in trace.subgoal_traces:
        for recorded in sorted(subgoal.actions_taken, key=lambda each: each.sequence):
            place = StepPosition(subgoal=subgoal.id, subgoal_id=subgoal.subgoal_id, sequence=recorded.sequence)
            seen = [outcome.get((subgoal.id, recorded.sequence)) for outcome in outcomes]
            actions = tuple(each for each in seen if each is not None and each.kind == "action")
            if not actions or isinstance(recorded.result, Blocked):
                continue
            known = (trace.masks, page_snapshots)
            if is_live:
                begins = [run.outcome.started_at for run in runs]
                adapt = remove_present_times(trace, begins[0], _step_ends(runs, place), begins)
                found.append(compare_action(place, recorded, actions, known, adapt, _diverged_codes(actions)))
            else:
                found.append(compare_action(place, recorded, actions, known))
    return tuple(found)


def _diverged_codes(outcomes: Sequence[ActionOutcome]) -> frozenset[tuple[Layer, str]]:
    """Return the layers and codes in which a run differs from the recording."""
    return frozenset((each.layer, each.code) for outcome in outcomes for each in outcome.divergences)


def _step_ends(runs: Sequence[ReplayedRun], place: StepPosition) -> list[datetime]:
    """Return when a step ended in each run that has it, from how long it and the steps before it took."""
    ends = []
    for run in runs:
        steps = [(subgoal.id, step) for subgoal in run.outcome.subgoals for step in subgoal.steps]
        passed = accumulate(step.duration_ms for _, step in steps)
        ends += [
            run.outcome.started_at + timedelta(milliseconds=passed_ms)
            for (subgoal, step), passed_ms in zip(steps, passed, strict=True)
            if (subgoal, step.sequence) == (place.subgoal, place.sequence)
        ]
    return ends


def remove_present_times(
    trace: ExecutionTrace, begin: datetime, ends: Sequence[datetime], begins: Sequence[datetime] = ()
) -> Callable[[Comparison, int], Comparison]:
    """Return a function that removes present times from the comparison of an outcome with the first one.

    That is of a run, or recording, that began at `begin`; `ends` is when the step ended in each, and `begins` when each
    began, if their pages have the same time.
    """
    zone = page_zone(trace.environment)

    def adapt(comparison: Comparison, number: int) -> Comparison:
        times = PresentTimes(
            begin=begin,
            recorded=ends[0],
            observed=ends[number],
            begun=begins[number] if begins else None,
            zone=zone,
            page_shift=_page_shift(comparison),
        )
        return without_present_times(comparison, times)[0]

    return adapt


def _page_shift(comparison: Comparison) -> timedelta | None:
    """Return how much later the second of two observations is by the clock of the page; None if one is missing."""
    recorded, observed = comparison.recorded.observation, comparison.observed
    return None if recorded is None or observed is None else page_time(observed) - page_time(recorded)


def _steps_by_place(run: ReplayedRun) -> dict[tuple[str, int], StepOutcome]:
    return {(subgoal.id, step.sequence): step for subgoal in run.outcome.subgoals for step in subgoal.steps}


def compare_action(
    place: StepPosition,
    recorded: ActionTrace,
    seen: tuple[ActionOutcome, ...],
    known: tuple[tuple[Mask, ...], Snapshots],
    adapt: Callable[[Comparison, int], Comparison] = lambda comparison, _number: comparison,
    codes: frozenset[tuple[Layer, str]] | None = None,
) -> ActionComparison:
    """Compare the outcomes of one action; `known` are the masks and the snapshots of all pages.

    `adapt` removes from each comparison what is not compared; it gets the number of the later outcome, too. With
    `codes`, given with their layers, only differences of these count.
    """
    unstable: dict[tuple[str, str], Divergence] = {}
    changes: list[PageChange] = []
    reorderings: list[PageReordering] = []
    differing = 0
    for number, later in enumerate(seen[1:], start=1):
        pair = adapt(_compare_pair(place, recorded, (seen[0], later), known[1]), number)
        comparison = apply_masks(pair, known[0]).comparison
        found = [each for each in detect_divergences(comparison) if codes is None or (each.layer, each.code) in codes]
        differing += bool(found)
        for each in found:
            unstable.setdefault((each.layer, each.code), each)
        if any(each.layer == "dom" for each in found):
            changes.extend(_dom_changes(comparison, number))
            reorderings.extend(_reorderings(comparison, number))
    return ActionComparison(
        place=place,
        recorded=recorded,
        outcomes=seen,
        unstable=tuple(unstable.values()),
        dom_changes=tuple(changes),
        reorderings=tuple(reorderings),
        differing_runs=differing,
        diverged=seen[0].divergences,
    )


def compare_with_recording(
    action: ActionComparison, trace: ExecutionTrace, runs: Sequence[ReplayedRun], dom: BlobStore
) -> ActionComparison | None:
    """Compare an action of live runs once more, with the recording as the first of the outcomes.

    Return None if it has no baseline. The masks are those of the trace.
    """
    baseline = action.recorded.baseline
    if baseline is None:
        return None
    page_snapshots: dict[PageKey, PageSnapshot] = {}
    for run in runs:
        page_snapshots.update(run.snapshots)
    for page in baseline.pages:
        snapshot = load_page(dom, page)
        if snapshot is not None:
            page_snapshots[page_key(page)] = snapshot
    outcomes = (recorded_outcome(action.recorded), *action.outcomes)
    recorded_end = action.recorded.ended_at or action.recorded.started_at or trace.started_at
    ends = (recorded_end, *_step_ends(runs, action.place))
    begins = (trace.started_at, *(run.outcome.started_at for run in runs))
    adapt = remove_present_times(trace, trace.started_at, ends, begins)
    return compare_action(action.place, action.recorded, outcomes, (trace.masks, page_snapshots), adapt)


def recorded_outcome(step: ActionTrace) -> ActionOutcome:
    """Return a recorded action as the outcome of a run."""
    return ActionOutcome(
        id=step.id,
        sequence=step.sequence,
        type=step.action.type,
        label=action_label(step.action),
        verdict="faithful",
        expected_result=step.result,
        result=step.result,
        observation=step.baseline,
    )


def _compare_pair(
    place: StepPosition, recorded: ActionTrace, pair: tuple[ActionOutcome, ActionOutcome], page_snapshots: Snapshots
) -> Comparison:
    """Compare a later run with the first one, in place of the recording."""
    first, later = pair
    result = first.result or recorded.result
    return Comparison(
        position=place,
        recorded=recorded.model_copy(update={"observation": first.observation, "result": result}),
        result=later.result or recorded.result,
        observed=later.observation,
        recorded_dom=snapshot_lookup(first.observation, page_snapshots),
        observed_dom=snapshot_lookup(later.observation, page_snapshots),
    )


def snapshot_lookup(observation: Observation | None, page_snapshots: Snapshots) -> Callable[[int], PageSnapshot | None]:
    """Return a function from the page number of an observation to its snapshot."""
    pages = {page.page: page for page in observation.pages} if observation is not None else {}
    return lambda page: page_snapshots.get(page_key(pages[page])) if page in pages else None


def _dom_changes(comparison: Comparison, run: int) -> Iterator[PageChange]:
    """Yield the DOM differences of all pages that are open in both runs."""
    for url, before, after in _page_pairs(comparison):
        money = PageMoney(before)
        for change in diff_snapshots(before, after):
            yield PageChange(run=run, url=url, change=change, is_money=money.is_money(change))


def _reorderings(comparison: Comparison, run: int) -> Iterator[PageReordering]:
    """Yield the elements whose children differ in their order only."""
    for url, before, after in _page_pairs(comparison):
        for each in find_reorderings(before, after):
            yield PageReordering(run=run, url=url, reordering=each)


def _page_pairs(comparison: Comparison) -> Iterator[tuple[str, PageSnapshot, PageSnapshot]]:
    """Yield the URL and both snapshots of each page that is open in both runs."""
    pages = comparison.recorded.observation.pages if comparison.recorded.observation is not None else ()
    for page in pages:
        before, after = comparison.recorded_dom(page.page), comparison.observed_dom(page.page)
        if before is not None and after is not None:
            yield page.url, before, after
