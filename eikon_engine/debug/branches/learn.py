"""Record what a new step of a branch showed, so that later replays compare with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import apply_operations, is_known_step
from eikon_engine.errors import BranchError
from eikon_engine.network.other_way import BranchDeliveries, branch_timeline
from eikon_engine.network.store import read_network
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.dom.stored import store_snapshot
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.located import locate_step
from eikon_engine.trace.patch import AddFoundSecrets, SetObservation, SetTimeline

if TYPE_CHECKING:
    from eikon_engine.browser.given import OnDemandDeliveries
    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.trace.blobs import BlobStore
    from eikon_engine.trace.found_secret import FoundSecret
    from eikon_engine.trace.observation import Observation
    from eikon_engine.trace.patch import Operation


def record_step(
    branch: BranchBundle,
    step_id: str,
    performed: PerformedAction,
    given: OnDemandDeliveries,
    found: tuple[FoundSecret, ...] = (),
) -> BranchBundle:
    """Return the branch with the result of one more step, and the timeline of all responses so far.

    `found` are the secrets found so far in responses of live sites.

    Steps with a known result, and skills, which use recorded documents, change nothing. Snapshots and responses are
    written before what refers to them.

    Raises:
        BranchError: no such step.
        OutputError: the folder of the branch cannot be written.
    """
    action = locate_step(branch.trace, step_id).step
    if action is None:
        message = f"expected a step of branch {branch.file.name}, got the attempt {step_id}; use the id of a step"
        raise BranchError(message)
    if not isinstance(action, ActionTrace) or is_known_step(action) or performed.observation is None:
        return branch
    operations: list[Operation] = [
        SetObservation(
            action=action.id,
            observation=_with_snapshots(performed, performed.observation, branch.bundle.dom),
            result=performed.result,
            identity=performed.identity,
            identity_second=performed.identity_second,
            reason=_operation_reason(branch),
        )
    ]
    known = set(branch.trace.redaction.found)
    new = tuple(each for each in found if each not in known)
    if new:
        operations.append(AddFoundSecrets(found=new, reason=_operation_reason(branch)))
    return apply_operations(branch, [*operations, *_timeline_operations(branch, given)])


def record_timeline(branch: BranchBundle, given: OnDemandDeliveries) -> BranchBundle:
    """Return the branch with the timeline of all responses so far, including those after its last step.

    Raises:
        OutputError: the folder of the branch cannot be written.
    """
    operations = _timeline_operations(branch, given)
    network = branch.trace.network
    if network is None or all(each.timeline == network.timeline for each in operations):
        return branch
    return apply_operations(branch, operations)


def _timeline_operations(branch: BranchBundle, given: OnDemandDeliveries) -> list[SetTimeline]:
    network = branch.trace.network
    if network is None or not (given.moments or given.unanswered):
        return []
    stored = read_network(resolve_inside(branch.bundle.root, network.folder, "network.folder"))
    since = BranchDeliveries(
        before=given.delivered_before, since=given.moments, separate=given.scheduled_orders, unanswered=given.unanswered
    )
    timeline = branch_timeline(stored, given.recording, since)
    return [SetTimeline(timeline=timeline, reason=_operation_reason(branch))]


def _with_snapshots(performed: PerformedAction, observation: Observation, dom: BlobStore) -> Observation:
    shown = performed.captured.snapshots if performed.captured is not None else {}
    pages = tuple(
        page.model_copy(
            update={"snapshot": store_snapshot(dom, shown[page.page]) if page.page in shown else page.snapshot}
        )
        for page in observation.pages
    )
    return observation.model_copy(update={"pages": pages})


def _operation_reason(branch: BranchBundle) -> str:
    return f"recorded on branch {branch.file.name}"
