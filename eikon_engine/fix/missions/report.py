"""What became of a mission that was to be mended."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.certify.certification import CertificationReport
from eikon_engine.outcome.explanation import Explanation
from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

RepairStatus: TypeAlias = Literal["faithful", "repaired", "proposed", "refused", "unverifiable"]
ProposerName: TypeAlias = Literal["did-you-mean", "volatile-rule", "accept-baseline", "model", "certify"]

REPAIR_EXIT: Final[Mapping[RepairStatus, int]] = MappingProxyType(
    {"faithful": 0, "repaired": 0, "proposed": 3, "refused": 1, "unverifiable": 3}
)
HISTORY_FILE: Final = "repair.json"


class Repair(Record):
    """One change of the mission: who proposed it, what it is, why."""

    proposer: ProposerName
    patch: TracePatch
    """Empty where nothing but what the site shows is another one."""
    reason: str = Field(min_length=1)


class RepairHistory(Record):
    """`repair.json` of a mended bundle."""

    repair_version: Literal[1] = 1
    repaired_at: AwareDatetime
    repaired_from: str
    """Id of the trace that was mended."""
    cause: str
    """Why it had to be, in a sentence."""
    repairs: tuple[Repair, ...]
    accepted: tuple[str, ...] = ()
    """Other differences that `--accept-baseline` took."""
    recorded_anew: bool
    """Whether the mission was done once more, live; else its recorded network is the old one."""
    runs: int
    """Strict sealed replays that were faithful."""


class RepairReport(Record):
    """The whole result, as it is printed."""

    status: RepairStatus
    mission_id: str
    trace_path: str
    against: str
    explanation: Explanation | None = None
    """What diverged and why; None where nothing did."""
    repairs: tuple[Repair, ...] = ()
    accepted: tuple[str, ...] = ()
    diff: str = ""
    """The changes of the mission, as a difference of trace.json."""
    proof: CertificationReport | None = None
    """The sealed replays of the mended mission."""
    refusal: str = ""
    """Why nothing was mended."""
    written: str = ""
    """Folder of the mended bundle."""
    kept_aside: str = ""
    """Where the old bundle lies, if another one is in its place."""

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command line."""
        return REPAIR_EXIT[self.status]
