"""The results of a rerun, also printed by `--json`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.trace.execution import Result
from eikon_engine.trace.patch import TracePatch

RerunStatus: TypeAlias = Literal["unchanged", "changed", "not_rerun", "unreadable"]

EXIT_UNREADABLE = 65
EXIT_NOT_RERUN = 3
EXIT_CHANGED = 1


class OutputDifference(FileModel):
    """One difference between two outputs."""

    kind: Literal["added", "removed", "changed"]
    path: str
    """JSON path: in the new output for an addition, else in the recorded output."""
    old: FiniteJson = None
    """Null for an addition."""
    new: FiniteJson = None
    """Null for a removal."""


class UseRerun(FileModel):
    """The rerun of one recorded skill use, or of one page intent of an older recording."""

    id: str
    """Id of the skill use or page intent."""
    subgoal: str
    """Id of the attempt; empty for a page intent."""
    sequence: int | None
    skill: str
    status: RerunStatus
    recorded_version: int | None
    """None if the recording does not contain it."""
    version: int | None
    """None if the skill is unknown."""
    old_result: Result
    new_result: Result | None
    """None if the skill was not run."""
    old: FiniteJson = None
    """The recorded output; null if unchanged."""
    new: FiniteJson = None
    """The new output; null if unchanged."""
    changes: tuple[OutputDifference, ...] = ()
    why: str = ""
    """Why the skill was not run, or the page could not be read."""


class BundleRerun(FileModel):
    """The rerun of one bundle."""

    path: str
    error: str = ""
    """Why the bundle cannot be read; empty if it is readable."""
    uses: tuple[UseRerun, ...] = ()
    patch: TracePatch = TracePatch()
    """The patch that writes the new outputs into the trace."""
    accepted: bool = False
    """Whether the patch was applied."""
    certificate_outdated: bool = False
    """Whether the bundle had a certificate, which the patch invalidated."""


class RerunReport(FileModel):
    """The reruns of all bundles, in the order of the arguments."""

    bundles: tuple[BundleRerun, ...]

    def count(self, status: RerunStatus) -> int:
        """Count the skill uses with a status; an unreadable bundle counts as one."""
        broken = sum(bool(bundle.error) for bundle in self.bundles) if status == "unreadable" else 0
        return broken + sum(use.status == status for bundle in self.bundles for use in bundle.uses)

    @property
    def exit_status(self) -> int:
        """Return 65 if anything is unreadable, else 1 for changes not accepted, else 3 if not all was rerun, else 0."""
        if self.count("unreadable"):
            return EXIT_UNREADABLE
        if any(map(_has_unaccepted_change, self.bundles)):
            return EXIT_CHANGED
        reruns = self.count("changed") + self.count("unchanged")
        return EXIT_NOT_RERUN if self.count("not_rerun") or not reruns else 0


def _has_unaccepted_change(bundle: BundleRerun) -> bool:
    """Whether a change was not accepted; a change that no patch can express never is."""
    changed = sum(use.status == "changed" for use in bundle.uses)
    return changed > (len(bundle.patch.operations) if bundle.accepted else 0)
