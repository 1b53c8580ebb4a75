"""Result of a repair."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.certify.certification import CertificationReport
from eikon_engine.outcome.explanation import Explanation
from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from collections.abc import Mapping

RepairStatus: TypeAlias = Literal["faithful", "repaired", "proposed", "refused", "unverifiable"]
ProposerName: TypeAlias = Literal["did-you-mean", "volatile-rule", "accept-baseline", "model", "certify"]

REPAIR_EXIT: Final[Mapping[RepairStatus, int]] = MappingProxyType(
    {"faithful": 0, "repaired": 0, "proposed": 3, "refused": 1, "unverifiable": 3}
)
HISTORY_FILE: Final = "repair.json"


class Repair(FileModel):
    """One change of the mission: proposer, patch, reason."""

    proposer: ProposerName
    patch: TracePatch
    """Empty if only the baseline changes."""
    reason: str = Field(min_length=1)


class RepairHistory(FileModel):
    """`repair.json` of a repaired bundle."""

    repair_version: Literal[1] = 1
    repaired_at: AwareDatetime
    repaired_from: str
    """Id of the original trace."""
    cause: str
    """Why the repair was necessary, in a sentence."""
    repairs: tuple[Repair, ...]
    accepted: tuple[str, ...] = ()
    """Further differences accepted by `--accept-baseline`."""
    recorded_anew: bool
    """Whether the mission was re-recorded live; otherwise its recorded network is the old one."""
    runs: int
    """Number of faithful strict sealed replays."""


class RepairReport(FileModel):
    """The complete result, as printed."""

    status: RepairStatus
    mission_id: str
    trace_path: str
    against: str
    explanation: Explanation | None = None
    """What diverged and why; None if nothing did."""
    repairs: tuple[Repair, ...] = ()
    accepted: tuple[str, ...] = ()
    diff: str = ""
    """Changes to the mission, as a diff of trace.json."""
    proof: CertificationReport | None = None
    """The sealed replays of the repaired mission."""
    refusal: str = ""
    """Why nothing was repaired."""
    written: str = ""
    """Folder of the repaired bundle."""
    kept_aside: str = ""
    """Path of the old bundle if it was moved aside."""

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command."""
        return REPAIR_EXIT[self.status]
