"""Change the files of a session that no longer runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.asked import Told
from eikon_engine.debug.checkpoint import delete_checkpoint
from eikon_engine.debug.place_in_timeline import demand_no_fork, find_checkpoint
from eikon_engine.debug.results import Marked
from eikon_engine.debug.session_lock import held_lock

if TYPE_CHECKING:
    from eikon_engine.debug.session_folder import SessionFolder


def delete_in_files(folder: SessionFolder, name: str) -> Told:
    """Remove a checkpoint from the timeline of a session, then its files.

    Raises:
        CheckpointMissingError: there is none.
        BranchError: a branch begins at it.
        SessionError: the timeline cannot be read.
        CheckpointError: its files cannot be deleted.
        OutputError: the timeline cannot be written.
    """
    with held_lock(folder.lock):
        timeline = folder.read_timeline()
        branch, entry = find_checkpoint(timeline, name, "checkpoint delete")
        demand_no_fork(timeline, entry)
        left = tuple(each for each in branch.checkpoints if each.id != entry.id)
        folder.write_timeline(timeline.with_branch(branch.model_copy(update={"checkpoints": left})))
        delete_checkpoint(folder.checkpoints, entry.id)
    deleted = Marked(change="deleted", branch=branch.name, checkpoint=entry)
    return Told(f"{deleted}\n", deleted.model_dump(mode="json"))
