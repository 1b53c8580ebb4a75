"""What recordings of one mission teach about what varies from run to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.files.models import FileModel
from eikon_engine.outcome.certification import CertificationFinding
from eikon_engine.trace.patch import TracePatch

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ExecutionTrace

LearningStatus: TypeAlias = Literal["equal", "proposed", "different", "unverifiable"]

LEARNING_EXIT_STATUS: Final[dict[LearningStatus, int]] = {"equal": 0, "proposed": 3, "different": 1, "unverifiable": 1}


class LearningReport(FileModel):
    """What recordings of one mission differ in."""

    status: LearningStatus
    """`equal`: they differ in nothing that needs a rule or mask; `proposed`: rules and masks cover all differences;
    `different`: some have no known type; `unverifiable`: some actions could not be compared."""
    mission_id: str
    trace_path: str
    other_paths: tuple[str, ...]
    steps: int
    """Number of actions whose pages were compared."""
    steps_without_baseline: int = 0
    """Number of actions that are not compared, because one of the recordings is not certified."""
    patch: TracePatch = TracePatch()
    """Rules and masks for what varies, each with its evidence."""
    diff: str = ""
    """The patch, as a diff of trace.json."""
    differences: tuple[CertificationFinding, ...] = ()
    """Differences of no known type, in mission order: no rule or mask is proposed for them."""
    accepted: bool = False
    """Whether the patch was written."""

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command."""
        return 0 if self.accepted and self.status == "proposed" else LEARNING_EXIT_STATUS[self.status]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """A report with the changed trace."""

    report: LearningReport
    trace: ExecutionTrace
    """The trace with all proposed rules and masks."""
