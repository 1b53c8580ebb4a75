"""Result of a repair, and its history in the repaired bundle (`repair.json`, warnings of the trace)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.files.models import FileModel
from eikon_engine.files.writing import write_atomically
from eikon_engine.outcome.certification import CertificationReport
from eikon_engine.outcome.divergence import Explanation
from eikon_engine.trace.patch import EDIT_WARNING_PREFIX, TracePatch, describe_operation
from eikon_engine.trace.trace_file import TRACE_FILE, read_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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

    repair_version: Literal[2] = 2
    repaired_at: AwareDatetime
    repaired_from: str
    """Id of the original trace."""
    cause: str
    """Why the repair was necessary, in a sentence."""
    repairs: tuple[Repair, ...]
    accepted: tuple[str, ...] = ()
    """Further differences accepted by `--accept-baseline`."""
    is_rerecorded: bool
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
    backup: str = ""
    """Path of the old bundle if it was replaced."""

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command."""
        return REPAIR_EXIT[self.status]


def write_history(folder: Path, history: RepairHistory, before: tuple[str, ...]) -> None:
    """Write the history of a repair; edits among the old warnings `before` are kept.

    Raises:
        OutputError: it cannot be written.
    """
    write_atomically(folder / HISTORY_FILE, history.model_dump_json(indent=1).encode() + b"\n")
    trace = read_trace(folder)
    edits = (*(each for each in before if each.startswith(EDIT_WARNING_PREFIX)), *_warning_lines(history))
    kept = (each for each in trace.warnings if not each.startswith(EDIT_WARNING_PREFIX))
    write_trace(trace.model_copy(update={"warnings": (*kept, *edits)}), folder / TRACE_FILE)


def _warning_lines(history: RepairHistory) -> Iterator[str]:
    how = "re-recorded" if history.is_rerecorded else "with the recorded network"
    stamp = history.repaired_at.isoformat(timespec="seconds")
    for repair in history.repairs:
        yield (
            f"{EDIT_WARNING_PREFIX}by eikon fix trace, {stamp}, {how}: {_operations_text(repair)} "
            f"({repair.proposer}: {repair.reason})"
        )
    for line in history.accepted:
        yield f"{EDIT_WARNING_PREFIX}by eikon fix trace, {stamp}: accepted {line}"


def _operations_text(repair: Repair) -> str:
    return "; ".join(describe_operation(each) for each in repair.patch.operations) or "accepted the new baseline"
