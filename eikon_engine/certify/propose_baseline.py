"""Propose a new baseline for an action whose recording has none, or that no run reproduces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.certify.agree import snapshot_lookup
from eikon_engine.divergence.result import UNKNOWN_FAILURE
from eikon_engine.trace.actions import Drag
from eikon_engine.trace.dom.stored import store_snapshot
from eikon_engine.trace.execution import Failed, Succeeded
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.patch import SetObservation

if TYPE_CHECKING:
    from eikon_engine.certify.agree import ActionComparison
    from eikon_engine.certify.seen import HitElements, ReplayedRun
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.blobs import BlobStore
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
    snapshot_of = snapshot_lookup(seen, run.snapshots)
    pages = []
    for page in seen.pages:
        snapshot = snapshot_of(page.page)
        ref = None if snapshot is None else store_snapshot(dom, snapshot)
        pages.append(page.model_copy(update={"snapshot": ref}))
    return seen.model_copy(update={"pages": tuple(pages)})


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
