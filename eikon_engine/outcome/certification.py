"""The result of a certification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.files.models import FileModel
from eikon_engine.files.text import pluralize
from eikon_engine.outcome.divergence import Layer
from eikon_engine.trace.certificate import Certificate
from eikon_engine.trace.execution import MissionStatus
from eikon_engine.trace.patch import TracePatch

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ExecutionTrace

CertificationStatus: TypeAlias = Literal["certified", "proposed", "unstable", "diverged", "unverifiable"]

CERTIFICATION_EXIT_STATUS: Final[dict[CertificationStatus, int]] = {
    "certified": 0,
    "proposed": 3,
    "unstable": 1,
    "diverged": 1,
    "unverifiable": 1,
}


class CertificationFinding(FileModel):
    """One reason why a bundle is not certified."""

    kind: Literal["unstable", "diverged", "unverifiable"]
    """Runs differ from each other, all runs differ from the recording, or something cannot be compared."""
    subgoal: str
    """Id of the subgoal attempt; empty for the whole run."""
    sequence: int
    step: str
    """Label of the step."""
    layer: Layer | None = None
    code: str = ""
    """Divergence code, see docs/divergences.md; empty if nothing could be compared."""
    runs: int
    """Number of affected runs."""
    message: str

    @property
    def headline(self) -> str:
        """Return what was found where."""
        what = f"{self.layer}: {self.code}" if self.code else "cannot be compared"
        where = f"{self.subgoal}, sequence {self.sequence} ({self.step})" if self.subgoal else self.step
        return f"{self.kind} at {where}: {what}"

    @property
    def detail(self) -> str:
        """Return how many runs showed what."""
        return f"in {pluralize(self.runs, 'run')}: {self.message}"


class CertificationReport(FileModel):
    """The complete result, as printed."""

    status: CertificationStatus
    mission_id: str
    trace_path: str
    runs: int
    """Number of replays in the last round."""
    rounds: int
    """Number of rounds."""
    seconds: float = 0.0
    """Wall time of the certification, in seconds."""
    stress: bool
    findings: tuple[CertificationFinding, ...] = ()
    notes: tuple[str, ...] = ()
    """Limits of what identical replays prove, if they are, and the warnings of the recording, one line each."""
    next_step: str = ""
    """What to do to get a certificate; empty if there is one."""
    mission_status: MissionStatus = "complete"
    """How the recorded mission ended; replays of one that failed repeat the failure."""
    patch: TracePatch = TracePatch()
    """Changes that make the runs agree; empty if none are needed or none were found."""
    diff: str = ""
    """The patch, as a diff of trace.json."""
    accepted: bool = False
    """Whether the patch was written."""
    certificate: Certificate | None = None

    @property
    def reason(self) -> str:
        """Return why the bundle has no certificate yet: the first finding, or the proposed changes; empty if it has."""
        if self.findings:
            first = self.findings[0]
            return f"{first.headline}, {first.detail.splitlines()[0]}"
        if self.status == "proposed":
            return f"the runs agree with {pluralize(len(self.patch.operations), 'proposed change')} only"
        return ""

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command."""
        return 0 if self.accepted else CERTIFICATION_EXIT_STATUS[self.status]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certification:
    """A report with the files to write on acceptance."""

    report: CertificationReport
    trace: ExecutionTrace
    """The trace with all proposed changes."""
    tried: TracePatch
    """The changes of the last round, whether or not its runs agreed."""
    snapshots: tuple[bytes, ...] = ()
    """Snapshots of the new trace that are missing in the bundle."""
