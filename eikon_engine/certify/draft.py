"""The changes that are being tried: proposed from what runs showed, one kind after the other.

First what a recording lacks (environment, observations), then rules for requests, then more page time, and only for
what time does not mend a mask where runs differ, or a new baseline where all runs agree against the recording.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.certify.agree import reached
from eikon_engine.certify.propose_baseline import baseline_of, is_met_otherwise, lacks_baseline
from eikon_engine.certify.propose_masks import propose_masks
from eikon_engine.certify.propose_rules import propose_rules
from eikon_engine.trace.outdated import lacks_edited_steps
from eikon_engine.trace.patch import (
    AddMask,
    AddRule,
    SetEnvironment,
    SetObservation,
    SetSettle,
    SetTimeline,
    TracePatch,
    apply_patch,
)
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.certify.agree import ActionAgreement
    from eikon_engine.certify.seen import RunSeen
    from eikon_engine.trace.blobs import BlobStore
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.mask import Mask
    from eikon_engine.trace.patch import Operation
    from eikon_engine.trace.timeline import Moved
    from eikon_engine.trace.volatile import VolatileRule

SHOWN_ACTIONS: Final = 3
NOT_WAITED_FOR: Final = "the agent did not wait for its pages to come to rest"


@dataclass(slots=True, kw_only=True)
class Draft:
    """Changes to one trace, as they grow."""

    original: ExecutionTrace
    dom: BlobStore
    """Where snapshots of new baselines are put."""
    doublings: int
    given: tuple[Operation, ...] = ()
    """Changes that are asked for, before any other."""
    environment: SetEnvironment | None = None
    timeline: SetTimeline | None = None
    rules: list[VolatileRule] = field(default_factory=list)
    baselines: dict[str, SetObservation] = field(default_factory=dict)
    settles: dict[str, SetSettle] = field(default_factory=dict)
    masks: list[Mask] = field(default_factory=list)
    doubled: Counter[str] = field(default_factory=Counter)
    """How often the page time of an action was doubled."""
    _without_baseline: frozenset[str] = field(init=False)
    """Actions of which the recording has none."""

    def __post_init__(self) -> None:
        """Look through the trace."""
        actions = (each for subgoal in self.original.subgoal_traces for each in subgoal.actions_taken)
        self._without_baseline = frozenset(each.id for each in actions if each.baseline is None)

    @property
    def patch(self) -> TracePatch:
        """Return the changes so far."""
        operations = [*self.given, *([self.environment] if self.environment is not None else [])]
        operations += [self.timeline] if self.timeline is not None else []
        operations += (AddRule(rule=rule) for rule in self.rules)
        operations += self.baselines.values()
        operations += self.settles.values()
        operations += (AddMask(mask=mask) for mask in self.masks)
        return TracePatch(operations=tuple(operations))

    @property
    def trace(self) -> ExecutionTrace:
        """Return the trace with the changes so far."""
        return apply_patch(self.original, self.patch)

    def grow(self, agreements: Sequence[ActionAgreement], runs: Sequence[RunSeen]) -> str:
        """Add the changes to try next, and say what they are; empty if nothing is left to try."""
        near = reached(agreements)
        for propose in (self._add_environment, self._add_rules, self._add_missing, self._add_time, self._add_rest):
            said = propose(near, runs)
            if said:
                return said
        return ""

    @property
    def is_unsettled(self) -> bool:
        """Say whether an agent was watched that did not wait for its pages, and a recorded network answers."""
        return self.is_of_agent and self.original.network is not None and not self.original.network.timeline

    @property
    def is_of_agent(self) -> bool:
        """Say whether an agent was watched, whose recording has no baselines of its own.

        A mission that was edited, and has a timeline for that, may leave out what was recorded.
        """
        actions = [each for subgoal in self.original.subgoal_traces for each in subgoal.actions_taken]
        unsettled = any(each.observation is not None and not each.observation.settled for each in actions)
        if unsettled or self.original.network is None:
            return unsettled
        return bool(self.original.network.timeline) and all(each.timing is None for each in actions)

    def settle(
        self, agreements: Sequence[ActionAgreement], runs: Sequence[RunSeen], timeline: tuple[Moved, ...]
    ) -> None:
        """Take the timeline and the baselines of runs in which pages were waited for."""
        self.timeline = SetTimeline(timeline=timeline, reason=NOT_WAITED_FOR)
        for each in reached(agreements):
            if lacks_baseline(each, runs[0]):
                self.baselines[each.recorded.id] = baseline_of(each, runs[0], self.dom, NOT_WAITED_FOR)

    def find_rules(self, runs: Sequence[RunSeen]) -> str:
        """Add rules for what the runs asked for, and say so; empty if there are none."""
        return self._add_rules((), runs)

    def _add_environment(self, _agreements: Sequence[ActionAgreement], runs: Sequence[RunSeen]) -> str:
        here = runs[0].outcome.environment
        if self.trace.environment is not None or here is None:
            return ""
        reason = "the recording kept no environment; this is the one of the first run, with its clock and its seed"
        self.environment = SetEnvironment(environment=here, reason=reason)
        return "an environment, as the recording kept none"

    def _add_rules(self, _agreements: Sequence[ActionAgreement], runs: Sequence[RunSeen]) -> str:
        asked = apply_patch(self.original, TracePatch(operations=self.given))
        if self.trace.network is None or lacks_edited_steps(asked):
            return ""  # what an edited mission asks for is no chance: a rule would answer it as if nothing was edited
        known = (*self.trace.network.rules, *self.rules)
        new = propose_rules([run.outcome.network.misses for run in runs], known)
        self.rules.extend(new)
        return f"{counted(len(new), 'rule')} for requests" if new else ""

    def _add_missing(self, agreements: Sequence[ActionAgreement], runs: Sequence[RunSeen]) -> str:
        lacking = [each for each in agreements if lacks_baseline(each, runs[0])]
        for each in lacking:
            self.baselines[each.recorded.id] = baseline_of(each, runs[0], self.dom, "the recording kept none")
        return f"a baseline for {_ids(lacking)}" if lacking else ""

    def _add_time(self, agreements: Sequence[ActionAgreement], _runs: Sequence[RunSeen]) -> str:
        """Double the page time of everything that is not met; give it up for what it did not help often enough."""
        unmet = [each for each in agreements if _is_unmet(each) and each.recorded.observation is not None]
        more = [each for each in unmet if self.doubled[each.recorded.id] < self.doublings]
        for each in more:
            self._double(each)
        if not more and any(each.undone for each in agreements):
            return ""  # no mask and no baseline does what an action did not do
        if more:
            return f"twice the page time for {_ids(more)}"
        useless = [each for each in unmet if self.settles.pop(each.recorded.id, None) is not None]
        return f"the recorded page time again for {_ids(useless)}, more did not help" if useless else ""

    def _add_rest(self, agreements: Sequence[ActionAgreement], runs: Sequence[RunSeen]) -> str:
        if any(each.undone for each in agreements):
            return ""
        before = len(self.masks)
        for each in agreements:
            self.masks.extend(propose_masks(each, (*self.original.masks, *self.masks)))
        if len(self.masks) > before:
            names = [mask.name for mask in self.masks[before:]]
            return f"{'mask' if len(names) == 1 else 'masks'} {', '.join(names)}"
        other = [each for each in agreements if is_met_otherwise(each) and self._may_have_another(each.recorded.id)]
        for each in other:
            first = each.diverged[0]
            reason = f"{len(runs)} of {len(runs)} runs agreed against the recording: {first.code}: {first.message}"
            self.baselines[each.recorded.id] = baseline_of(each, runs[0], self.dom, reason)
        return f"a new baseline for {_ids(other)}" if other else ""

    def _may_have_another(self, name: str) -> bool:
        """Say whether a baseline may be given: once, and again where the recording has none and times have changed."""
        return name not in self.baselines or name in self._without_baseline

    def _double(self, action: ActionAgreement) -> None:
        name = action.recorded.id
        self.doubled[name] += 1
        recorded = action.recorded.observation.virtual_ms if action.recorded.observation is not None else 0.0
        least = self.trace.environment.settle_ms if self.trace.environment is not None else 0.0
        reason = f"runs differed in {_codes(action)} after {recorded:.0f} ms of page time"
        self.settles[name] = SetSettle(action=name, virtual_ms=2 * max(recorded, least, 1.0), reason=reason)


def _is_unmet(action: ActionAgreement) -> bool:
    return bool(action.unstable or action.diverged)


def _codes(action: ActionAgreement) -> str:
    return ", ".join(sorted({each.code for each in (*action.unstable, *action.diverged)}))


def _ids(actions: Sequence[ActionAgreement]) -> str:
    more = f" and {counted(len(actions) - SHOWN_ACTIONS, 'more action')}" if len(actions) > SHOWN_ACTIONS else ""
    return ", ".join(each.recorded.id for each in actions[:SHOWN_ACTIONS]) + more
