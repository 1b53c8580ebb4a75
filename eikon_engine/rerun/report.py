"""What a rerun came to: plain values, which are also what `--json` prints."""

from __future__ import annotations

from typing import Literal, TypeAlias

from eikon_engine.trace.execution import Result
from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.record import FiniteJson, Record

RerunStatus: TypeAlias = Literal["unchanged", "changed", "not_rerun", "unreadable"]

UNREADABLE = 65
NOT_RERUN = 3
CHANGED = 1


class Change(Record):
    """One place at which the output is another."""

    kind: Literal["added", "removed", "changed"]
    path: str
    """JSON path: in the new output for what was added, in the recorded one otherwise."""
    old: FiniteJson = None
    """Null when added."""
    new: FiniteJson = None
    """Null when removed."""


class UseRerun(Record):
    """One recorded use of a skill, or one page intent of an older recording, done again."""

    id: str
    """Id of the use; of the page intent."""
    subgoal: str
    """Id of the attempt; empty for page intents."""
    sequence: int | None
    skill: str
    status: RerunStatus
    recorded_version: int | None
    """None where the recording did not say."""
    version: int | None
    """None where the skill is not known."""
    old_result: Result
    new_result: Result | None
    """None where it was not run."""
    old: FiniteJson = None
    """The recorded output; left out (null) where nothing changed."""
    new: FiniteJson = None
    """What it is now; null where nothing changed."""
    changes: tuple[Change, ...] = ()
    why: str = ""
    """Why it was not run, or could not be read."""


class BundleRerun(Record):
    """What became of one bundle."""

    path: str
    error: str = ""
    """Why the bundle cannot be read; empty if it can."""
    uses: tuple[UseRerun, ...] = ()
    patch: TracePatch = TracePatch()
    """What makes the trace hold the new outputs."""
    accepted: bool = False
    """Whether the patch was written."""
    certificate_outdated: bool = False
    """Whether the bundle had a certificate, which holds no more."""


class RerunReport(Record):
    """What became of all bundles, in the order of their paths."""

    bundles: tuple[BundleRerun, ...]

    def count(self, status: RerunStatus) -> int:
        """Count the uses with a status; unreadable bundles count as one each."""
        broken = sum(bool(bundle.error) for bundle in self.bundles) if status == "unreadable" else 0
        return broken + sum(use.status == status for bundle in self.bundles for use in bundle.uses)

    @property
    def exit_status(self) -> int:
        """Return 65 if anything cannot be read, else 1 for changes that stay, 3 for what was not rerun, 0."""
        if self.count("unreadable"):
            return UNREADABLE
        if any(map(_has_changed, self.bundles)):
            return CHANGED
        reruns = self.count("changed") + self.count("unchanged")
        return NOT_RERUN if self.count("not_rerun") or not reruns else 0


def _has_changed(bundle: BundleRerun) -> bool:
    """Tell whether something changed that was not accepted; what cannot be written never is."""
    changed = sum(use.status == "changed" for use in bundle.uses)
    return changed > (len(bundle.patch.operations) if bundle.accepted else 0)
