"""The draft of a trace: changes proposed from what the runs showed, one kind at a time.

First what the recording is missing (environment, observations), then rules for requests, then more page time. If time
does not help: a mask where runs differ, or a new baseline where all runs agree against the recording.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.certify.compare_runs import (
    compare_runs,
    compare_with_recording,
    snapshot_lookup,
    until_first_failure,
)
from eikon_engine.certify.propose_masks import (
    has_number_without_type,
    propose_masks,
    propose_read_mask,
    propose_typed_masks,
)
from eikon_engine.certify.propose_rules import merge_rules, propose_number_rules, propose_rules
from eikon_engine.divergence.detectors.result import UNKNOWN_FAILURE
from eikon_engine.files.text import pluralize
from eikon_engine.trace.actions import Drag
from eikon_engine.trace.bundle import store_snapshot
from eikon_engine.trace.execution import Failed, Succeeded
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.patch import (
    AddMask,
    AddRule,
    SetEnvironment,
    SetObservation,
    SetPageTime,
    SetTimeline,
    TracePatch,
    apply_patch,
)
from eikon_engine.trace.steps import has_unobserved_edits, has_unsettled_observations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.certify.compare_runs import ActionComparison
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.certify.runs import HitElements, ReplayedRun
    from eikon_engine.files.blobs import BlobStore
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.execution import ExecutionTrace, MovedDelivery
    from eikon_engine.trace.masks import Mask
    from eikon_engine.trace.patch import Operation
    from eikon_engine.trace.rules import VolatileRule
    from eikon_engine.trace.target import Identity


def is_missing_baseline(action: ActionComparison, run: ReplayedRun) -> bool:
    """Return whether the recording is missing a baseline, target identity or failure code that a run provides."""
    recorded = action.recorded
    if action.first.observation is None or action.has_failed:
        return False
    hit = run.hits.get((action.place.subgoal, action.place.sequence))
    known = hit is not None and _new_identities(action, hit) != (None, None)
    return recorded.baseline is None or known or _has_unknown_failure(action)


def has_stable_difference(action: ActionComparison) -> bool:
    """Return whether all runs performed the action and differ from the recording in the same way."""
    if not action.diverged or action.unstable or action.has_failed or action.first.observation is None:
        return False
    same = all(_divergence_codes(each.divergences) == _divergence_codes(action.diverged) for each in action.outcomes)
    return same and all(each.code != "request-not-recorded" for each in action.diverged)


def build_baseline(action: ActionComparison, run: ReplayedRun, dom: BlobStore, reason: str) -> SetObservation:
    """Build a baseline from a run; store its snapshots in `dom`."""
    observation = action.recorded.baseline
    if observation is None or action.diverged:
        observation = _store_snapshots(action, run, dom)
    hit = run.hits.get((action.place.subgoal, action.place.sequence))
    first, second = _new_identities(action, hit) if hit is not None else (None, None)
    return SetObservation(
        action=action.recorded.id,
        observation=observation,
        result=action.first.result if _has_unknown_failure(action) else None,
        identity=first,
        identity_second=second,
        reason=reason,
    )


def _store_snapshots(action: ActionComparison, run: ReplayedRun, dom: BlobStore) -> Observation:
    seen = action.first.observation or Observation(pages=())
    seen = seen.model_copy(update={"acted_ms": _looked_ms(action.recorded.observation, seen)})
    snapshot_of = snapshot_lookup(seen, run.snapshots)
    pages = []
    for page in seen.pages:
        snapshot = snapshot_of(page.page)
        ref = None if snapshot is None else store_snapshot(dom, snapshot)
        pages.append(page.model_copy(update={"snapshot": ref}))
    return seen.model_copy(update={"pages": tuple(pages)})


def _looked_ms(recorded: Observation | None, seen: Observation) -> float | None:
    """Return when a run began to look for the target of an action: that may scroll to it, however long it is not ready.

    Later runs must look for it at the same time, as long after the action began as it was in the recording.
    """
    if recorded is None or None in {recorded.begun_ms, recorded.acted_ms, seen.begun_ms, seen.acted_ms}:
        return seen.acted_ms
    begun_ms, acted_ms = (round(each or 0.0) for each in (recorded.begun_ms, recorded.acted_ms))
    return min(seen.acted_ms or 0.0, (seen.begun_ms or 0.0) + acted_ms - begun_ms)


def _new_identities(action: ActionComparison, hit: HitElements) -> tuple[Identity | None, Identity | None]:
    """Return the identities of the elements that a run hit and the recording does not identify."""
    performed = action.recorded.action
    target = getattr(performed, "target", None)
    if not isinstance(action.recorded.result, Succeeded):
        return None, None
    first = hit.first if target is not None and target.identity is None else None
    second = hit.second if isinstance(performed, Drag) and performed.to.identity is None else None
    return first, second


def _has_unknown_failure(action: ActionComparison) -> bool:
    recorded = action.recorded.result
    return isinstance(recorded, Failed) and recorded.code == UNKNOWN_FAILURE and isinstance(action.first.result, Failed)


def _divergence_codes(divergences: tuple[Divergence, ...]) -> list[str]:
    return sorted(each.code for each in divergences)


SHOWN_ACTIONS: Final = 3
_ADDED_REQUESTS: Final = frozenset({"request-not-recorded", "request-unexpected"})
"""Differences that more page time only adds to."""
AGENT_DID_NOT_WAIT: Final = "the agent acted before its pages were idle"


@dataclass(slots=True, kw_only=True)
class Draft:
    """Accumulated changes to one trace."""

    original: ExecutionTrace
    dom: BlobStore
    """Store for the snapshots of new baselines."""
    doublings: int
    is_live: bool = False
    """Whether the runs visit the site: then only values of a known type are masked, and nothing is a new baseline."""
    masks_noise: bool = False
    """Whether other differences among live runs are masked, too."""
    requested: tuple[Operation, ...] = ()
    """Changes requested by the caller, applied first."""
    environment: SetEnvironment | None = None
    timeline: SetTimeline | None = None
    rules: list[VolatileRule] = field(default_factory=list)
    baselines: dict[str, SetObservation] = field(default_factory=dict)
    settles: dict[str, SetPageTime] = field(default_factory=dict)
    masks: list[Mask] = field(default_factory=list)
    typed_masks: list[Mask] = field(default_factory=list)
    """Masks for what live runs vary by a known type."""
    live_runs: list[ReplayedRun] = field(default_factory=list)
    """All live runs so far with the learned rules."""
    needs_more_live_runs: bool = False
    """Whether further live runs may tell what a number is that differs among them."""
    doubled: Counter[str] = field(default_factory=Counter)
    """How often the page time of each action was doubled."""
    _before_doubling: dict[str, _StableDifference] = field(default_factory=dict)
    """What all runs of the last round agreed on against an earlier baseline, for actions whose time was doubled."""
    _without_baseline: frozenset[str] = field(init=False)
    """Ids of actions without a recorded baseline."""

    def __post_init__(self) -> None:
        """Collect the actions without a baseline."""
        actions = (each for subgoal in self.original.subgoal_traces for each in subgoal.actions_taken)
        self._without_baseline = frozenset(each.id for each in actions if each.baseline is None)

    @property
    def patch(self) -> TracePatch:
        """Return the changes so far."""
        operations = [*self.requested, *([self.environment] if self.environment is not None else [])]
        operations += [self.timeline] if self.timeline is not None else []
        operations += (AddRule(rule=rule) for rule in self.rules)
        operations += self.baselines.values()
        operations += self.settles.values()
        operations += (AddMask(mask=mask) for mask in (*self.typed_masks, *self.masks))
        return TracePatch(operations=tuple(operations))

    @property
    def trace(self) -> ExecutionTrace:
        """Return the trace with the changes so far."""
        return apply_patch(self.original, self.patch)

    def propose_next(self, comparisons: Sequence[ActionComparison], runs: Sequence[ReplayedRun]) -> str:
        """Add the next changes to try, and describe them; empty if nothing is left to try."""
        near = until_first_failure(comparisons)
        if self.is_live:
            self.live_runs.extend(runs)
            added = " and ".join(filter(None, (self._add_number_rules(), self._add_typed_masks())))
            return added or (self._add_noise_masks(near) if self.masks_noise else "")
        for propose in (
            self._add_environment,
            self._add_rules,
            self._add_missing_baselines,
            self._add_read_masks,
            self._add_page_time,
            self._add_masks_or_baselines,
        ):
            added = propose(near, runs)
            if added:
                return added
        return ""

    def needs_page_time(self, comparisons: Sequence[ActionComparison]) -> bool:
        """Return whether more page time is to be tried for an action before a mask or a baseline."""
        return not self.is_live and bool(self._short_of_time(until_first_failure(comparisons)))

    @property
    def has_missing_baselines(self) -> bool:
        """Return whether an action has neither a recorded baseline nor one of this draft."""
        return not self.is_live and not self._without_baseline <= self.baselines.keys()

    def needs_few_runs(self, comparisons: Sequence[ActionComparison], runs: Sequence[ReplayedRun]) -> bool:
        """Return whether some runs suffice for the next change: a baseline that is missing, or more page time."""
        near = until_first_failure(comparisons)
        is_missing = not self.is_live and any(is_missing_baseline(each, runs[0]) for each in near)
        return is_missing or self.needs_page_time(comparisons)

    @property
    def needs_timeline(self) -> bool:
        """Return whether the recorded agent did not wait for its pages, and no timeline has been found yet."""
        network = self.original.network
        return network is not None and not network.timeline and has_unsettled_observations(self.original)

    def adopt_timeline(
        self, comparisons: Sequence[ActionComparison], run: ReplayedRun, timeline: tuple[MovedDelivery, ...]
    ) -> None:
        """Adopt the timeline and baselines of a run that waited for the pages."""
        self.timeline = SetTimeline(timeline=timeline, reason=AGENT_DID_NOT_WAIT)
        for each in until_first_failure(comparisons):
            if is_missing_baseline(each, run):
                self.baselines[each.recorded.id] = build_baseline(each, run, self.dom, AGENT_DID_NOT_WAIT)

    @property
    def may_get_rules(self) -> bool:
        """Return whether rules for requests may be added: one would hide the effect of an edit."""
        with_requested = apply_patch(self.original, TracePatch(operations=self.requested))
        return self.original.network is not None and not has_unobserved_edits(with_requested)

    def learn(self, rules: Sequence[VolatileRule], options: CertifyOptions) -> None:
        """Add rules that a replay learned."""
        if rules:
            merged = merge_rules(rules)
            self.rules.extend(merged)
            options.progress(f"learned {pluralize(len(merged), 'rule')}")

    def _add_environment(self, _comparisons: Sequence[ActionComparison], runs: Sequence[ReplayedRun]) -> str:
        here = runs[0].outcome.environment
        if self.trace.environment is not None or here is None:
            return ""
        reason = "the recording has no environment; this is that of the first run, with its clock and seed"
        self.environment = SetEnvironment(environment=here, reason=reason)
        return "an environment, because the recording has none"

    def _add_rules(self, _comparisons: Sequence[ActionComparison], runs: Sequence[ReplayedRun]) -> str:
        if self.trace.network is None or not self.may_get_rules:
            return ""
        known = (*self.trace.network.rules, *self.rules)
        new = propose_rules([run.outcome.network.misses for run in runs], known)
        self.rules.extend(new)
        return f"{pluralize(len(new), 'rule')} for requests" if new else ""

    def _add_missing_baselines(self, comparisons: Sequence[ActionComparison], runs: Sequence[ReplayedRun]) -> str:
        lacking = [each for each in comparisons if is_missing_baseline(each, runs[0])]
        for each in lacking:
            self.baselines[each.recorded.id] = build_baseline(each, runs[0], self.dom, "the recording has none")
        return f"a baseline for {_ids(lacking)}" if lacking else ""

    def _add_read_masks(self, comparisons: Sequence[ActionComparison], _runs: Sequence[ReplayedRun]) -> str:
        """Mask results of the agent's scripts that no replay repeats."""
        before = len(self.masks)
        for each in comparisons:
            mask = propose_read_mask(each, (*self.original.masks, *self.masks))
            self.masks.extend(() if mask is None else (mask,))
        return _describe_masks(self.masks[before:])

    def _add_number_rules(self) -> str:
        """Add rules for numbers in requests that differ among all live runs so far."""
        if self.trace.network is None or not self.may_get_rules:
            return ""
        known = (*self.trace.network.rules, *self.rules)
        new = propose_number_rules([run.outcome.network.changed_requests for run in self.live_runs], known)
        self.rules.extend(new)
        return f"{pluralize(len(new), 'rule')} for requests" if new else ""

    def _add_typed_masks(self) -> str:
        """Mask what differs among all live runs so far and is of a known type: each further run tells more of it."""
        trace = apply_patch(self.original, TracePatch(operations=self.requested))
        before, self.typed_masks, self.needs_more_live_runs = self.typed_masks, [], False
        for each in until_first_failure(compare_runs(self.original, self.live_runs)):
            if not any(outcome.divergences for outcome in each.outcomes):
                continue
            whole = compare_with_recording(each, trace, self.live_runs, self.dom)
            if whole is not None:
                taken = (*trace.masks, *self.masks, *self.typed_masks)
                self.typed_masks.extend(propose_typed_masks(whole, taken, tried=before, has_recording=True))
                self.needs_more_live_runs |= has_number_without_type(whole, (*taken, *self.typed_masks))
        new = [mask for mask in self.typed_masks if mask.part not in {each.part for each in before}]
        gone = [each for each in before if each.part not in {mask.part for mask in self.typed_masks}]
        return _describe_masks(new) or (f"no longer the {_describe_masks(gone)}" if gone else "")

    def _add_noise_masks(self, comparisons: Sequence[ActionComparison]) -> str:
        """Mask everything that differs among live runs."""
        before = len(self.masks)
        for each in comparisons:
            known = (*self.original.masks, *self.typed_masks, *self.masks)
            self.masks.extend(propose_masks(each, known, "noise"))
        return _describe_masks(self.masks[before:])

    def _add_page_time(self, comparisons: Sequence[ActionComparison], runs: Sequence[ReplayedRun]) -> str:
        """Double the page time of actions that differ; undo it for those that it did not help."""
        if useless := self._restore_page_time(comparisons):
            return f"a new baseline for {_ids(useless)}, because more page time did not help"
        more = self._short_of_time(comparisons)
        for each in more:
            self._note_stable_difference(each, runs)
            self._double_page_time(each)
        if not more and any(each.has_failed for each in comparisons):
            return ""  # neither mask nor baseline repairs a failed action
        if more:
            return f"twice the page time for {_ids(more)}"
        unmet = (each for each in comparisons if _differs(each) and each.recorded.observation is not None)
        useless = [each for each in unmet if self.settles.pop(each.recorded.id, None) is not None]
        return f"the recorded page time for {_ids(useless)}, because more did not help" if useless else ""

    def _note_stable_difference(self, action: ActionComparison, runs: Sequence[ReplayedRun]) -> None:
        """Keep what all runs agree on, in case more page time does not help, for an action without a recorded baseline.

        Its baseline is of an earlier round, in which its page time was another one: animations are in another state.
        """
        name = action.recorded.id
        if name in self._without_baseline and self.doubled[name] == 0 and has_stable_difference(action):
            reason = f"{len(runs)} of {len(runs)} runs agreed, and more page time did not help"
            baseline = build_baseline(action, runs[0], self.dom, reason)
            self._before_doubling[name] = _StableDifference(_messages(action), baseline)

    def _restore_page_time(self, comparisons: Sequence[ActionComparison]) -> list[ActionComparison]:
        """Undo the page time of actions that differ as before, and give them the baselines they had then."""
        useless, noted = [], self._before_doubling
        self._before_doubling = {}
        for each in comparisons:
            name = each.recorded.id
            before = noted.get(name)
            if before is None or not has_stable_difference(each) or _messages(each) != before.messages:
                continue
            self.settles.pop(name, None)
            self.doubled[name] = self.doublings
            self.baselines[name] = before.baseline
            useless.append(each)
        return useless

    def _short_of_time(self, comparisons: Sequence[ActionComparison]) -> list[ActionComparison]:
        return [
            each
            for each in comparisons
            if _differs(each)
            and each.recorded.observation is not None
            and self.doubled[each.recorded.id] < self.doublings
            and _may_need_time(each)
        ]

    def _add_masks_or_baselines(self, comparisons: Sequence[ActionComparison], runs: Sequence[ReplayedRun]) -> str:
        if any(each.has_failed for each in comparisons):
            return ""
        before = len(self.masks)
        for each in comparisons:
            self.masks.extend(propose_masks(each, (*self.original.masks, *self.masks)))
        if len(self.masks) > before:
            return _describe_masks(self.masks[before:])
        other = [
            each for each in comparisons if has_stable_difference(each) and self._may_get_baseline(each.recorded.id)
        ]
        for each in other:
            first = each.diverged[0]
            reason = f"{len(runs)} of {len(runs)} runs agreed against the recording: {first.code}: {first.message}"
            self.baselines[each.recorded.id] = build_baseline(each, runs[0], self.dom, reason)
        return f"a new baseline for {_ids(other)}" if other else ""

    def _may_get_baseline(self, name: str) -> bool:
        """Return whether an action may get a new baseline: once, or repeatedly if the recording has none."""
        return name not in self.baselines or name in self._without_baseline

    def _double_page_time(self, action: ActionComparison) -> None:
        name = action.recorded.id
        self.doubled[name] += 1
        recorded = action.recorded.observation.virtual_ms if action.recorded.observation is not None else 0.0
        least = self.trace.environment.settle_ms if self.trace.environment is not None else 0.0
        reason = f"runs differed in {_difference_codes(action)} after {recorded:.0f} ms of page time"
        self.settles[name] = SetPageTime(action=name, virtual_ms=2 * max(recorded, least, 1.0), reason=reason)


@dataclass(frozen=True, slots=True)
class _StableDifference:
    """A difference from the baseline on which all runs agreed, and the baseline that they would give."""

    messages: tuple[str, ...]
    baseline: SetObservation


def _describe_masks(masks: Sequence[Mask]) -> str:
    """Describe masks; empty if there are none."""
    names = [mask.name for mask in masks]
    return f"{'mask' if len(names) == 1 else 'masks'} {', '.join(names)}" if names else ""


def _messages(action: ActionComparison) -> tuple[str, ...]:
    return tuple(sorted(f"{each.code}: {each.message}" for each in action.diverged))


def _differs(action: ActionComparison) -> bool:
    return bool(action.unstable or action.diverged)


def _may_need_time(action: ActionComparison) -> bool:
    """Return whether more page time after an action may help: not if it failed, or sent more than in the recording."""
    return not action.has_failed and not {each.code for each in (*action.unstable, *action.diverged)} <= _ADDED_REQUESTS


def _difference_codes(action: ActionComparison) -> str:
    return ", ".join(sorted({each.code for each in (*action.unstable, *action.diverged)}))


def _ids(actions: Sequence[ActionComparison]) -> str:
    more = f" and {pluralize(len(actions) - SHOWN_ACTIONS, 'more action')}" if len(actions) > SHOWN_ACTIONS else ""
    return ", ".join(each.recorded.id for each in actions[:SHOWN_ACTIONS]) + more
