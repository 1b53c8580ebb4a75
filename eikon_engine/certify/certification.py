"""What a certification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.outcome.divergence import Layer
from eikon_engine.trace.certificate import Certificate
from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ExecutionTrace

Status: TypeAlias = Literal["certified", "proposed", "unstable", "diverged", "unverifiable"]

EXIT_STATUS: Final[dict[Status, int]] = {
    "certified": 0,
    "proposed": 3,
    "unstable": 1,
    "diverged": 1,
    "unverifiable": 1,
}


class Finding(Record):
    """One thing that keeps a bundle from being certified."""

    kind: Literal["unstable", "diverged", "unverifiable"]
    """Runs differ from each other, all differ from the recording, or something cannot be compared."""
    subgoal: str
    """Id of the subgoal attempt; empty for what concerns the whole run."""
    sequence: int
    step: str
    """What the step does, for people."""
    layer: Layer | None = None
    code: str = ""
    """Code of the divergence, see docs/divergences.md; empty if nothing could be compared."""
    runs: int
    """In how many runs."""
    message: str


class CertificationReport(Record):
    """The whole result, as it is printed."""

    status: Status
    mission_id: str
    trace_path: str
    runs: int
    """Replays in the last round."""
    rounds: int
    """How often the bundle was replayed that many times."""
    stress: bool
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    """What equal replays do not prove, a line each."""
    patch: TracePatch = TracePatch()
    """What has to change for the runs to agree; empty if nothing has to, or if no change was found."""
    diff: str = ""
    """The patch, as a difference of trace.json."""
    accepted: bool = False
    """Whether the patch was written."""
    certificate: Certificate | None = None

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command line."""
        return 0 if self.accepted else EXIT_STATUS[self.status]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certification:
    """A report, with what is written if it is accepted."""

    report: CertificationReport
    trace: ExecutionTrace
    """The trace with all proposed changes."""
    snapshots: tuple[bytes, ...] = ()
    """Snapshots that the new trace refers to and the bundle lacks."""
