"""Change the files of a session that no longer runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.asked import Output
from eikon_engine.debug.checkpoint import delete_checkpoint
from eikon_engine.debug.place_in_timeline import find_checkpoint, require_no_fork
from eikon_engine.debug.results import CheckpointChange
from eikon_engine.debug.session_lock import hold_lock

if TYPE_CHECKING:
    from eikon_engine.debug.session_folder import SessionFolder


def delete_checkpoint_offline(folder: SessionFolder, name: str) -> Output:
    """Remove a checkpoint from the timeline of a session, then its files.

    Raises:
        CheckpointMissingError: there is none.
        BranchError: a branch begins at it.
        SessionError: the timeline cannot be read.
        CheckpointError: its files cannot be deleted.
        OutputError: the timeline cannot be written.
    """
    with hold_lock(folder.lock_path):
        timeline = folder.read_timeline()
        branch, entry = find_checkpoint(timeline, name, "checkpoint delete")
        require_no_fork(timeline, entry)
        left = tuple(each for each in branch.checkpoints if each.id != entry.id)
        folder.write_timeline(timeline.with_branch(branch.model_copy(update={"checkpoints": left})))
        delete_checkpoint(folder.checkpoints, entry.id)
    deleted = CheckpointChange(change="deleted", branch=branch.name, checkpoint=entry)
    return Output(f"{deleted}\n", deleted.model_dump(mode="json"))
