"""Record what a new step of a branch showed, so that later replays compare with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import is_known, with_operations
from eikon_engine.errors import BranchError
from eikon_engine.network.other_way import Given, other_way
from eikon_engine.network.store import read_network
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.dom.stored import store_snapshot
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.located import locate
from eikon_engine.trace.patch import AddFoundSecrets, SetObservation, SetTimeline

if TYPE_CHECKING:
    from eikon_engine.browser.given import GivenAsAsked
    from eikon_engine.browser.worker import Performed
    from eikon_engine.debug.branches.branch import Branch
    from eikon_engine.trace.blobs import BlobStore
    from eikon_engine.trace.found_secret import FoundSecret
    from eikon_engine.trace.observation import Observation
    from eikon_engine.trace.patch import Operation


def learn(
    branch: Branch, step: str, performed: Performed, given: GivenAsAsked, found: tuple[FoundSecret, ...] = ()
) -> Branch:
    """Return the branch with the result of one more step, and the timeline of all responses so far.

    `found` are the secrets found so far in responses of live sites.

    Steps with a known result, and skills, which use recorded documents, change nothing. Snapshots and responses are
    written before what refers to them.

    Raises:
        BranchError: no such step.
        OutputError: the folder of the branch cannot be written.
    """
    action = locate(branch.trace, step).step
    if action is None:
        message = f"expected a step of branch {branch.file.name}, got the attempt {step}; use the id of a step"
        raise BranchError(message)
    if not isinstance(action, ActionTrace) or is_known(action) or performed.observation is None:
        return branch
    operations: list[Operation] = [
        SetObservation(
            action=action.id,
            observation=_with_snapshots(performed, performed.observation, branch.bundle.dom),
            result=performed.result,
            identity=performed.identity,
            identity_second=performed.identity_second,
            reason=_reason(branch),
        )
    ]
    known = set(branch.trace.redaction.found)
    new = tuple(each for each in found if each not in known)
    if new:
        operations.append(AddFoundSecrets(found=new, reason=_reason(branch)))
    return with_operations(branch, [*operations, *_timeline(branch, given)])


def learn_times(branch: Branch, given: GivenAsAsked) -> Branch:
    """Return the branch with the timeline of all responses so far, including those after its last step.

    Raises:
        OutputError: the folder of the branch cannot be written.
    """
    operations = _timeline(branch, given)
    network = branch.trace.network
    if network is None or all(each.timeline == network.timeline for each in operations):
        return branch
    return with_operations(branch, operations)


def _timeline(branch: Branch, given: GivenAsAsked) -> list[SetTimeline]:
    network = branch.trace.network
    if network is None or not (given.moments or given.in_vain):
        return []
    stored = read_network(inside(branch.bundle.root, network.folder, "network.folder"))
    since = Given(before=given.before, since=given.moments, turns=given.turns, in_vain=given.in_vain)
    timeline = other_way(stored, given.recording, since)
    return [SetTimeline(timeline=timeline, reason=_reason(branch))]


def _with_snapshots(performed: Performed, observation: Observation, dom: BlobStore) -> Observation:
    shown = performed.sight.snapshots if performed.sight is not None else {}
    pages = tuple(
        page.model_copy(
            update={"snapshot": store_snapshot(dom, shown[page.page]) if page.page in shown else page.snapshot}
        )
        for page in observation.pages
    )
    return observation.model_copy(update={"pages": pages})


def _reason(branch: Branch) -> str:
    return f"recorded on branch {branch.file.name}"
