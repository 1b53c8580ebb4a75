"""Take what a new step showed for recorded: from then on, every replay of the branch has to show it again."""

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
    """Return a branch that knows what one more step led to, and when everything came up to now.

    `found` are the secrets that were found so far in what live sites sent.

    A step that is known already, and a skill, which works on what was recorded, change nothing. Snapshots and answers
    are written before what names them.

    Raises:
        BranchError: there is no such step.
        OutputError: the folder of the branch cannot be written.
    """
    action = locate(branch.trace, step).step
    if action is None:
        message = f"wanted a step of branch {branch.file.name}, found the attempt {step}; name one of its steps"
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
    """Return a branch that knows when everything came up to now, after its last step as well.

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
    return f"done so on the branch {branch.file.name}"
