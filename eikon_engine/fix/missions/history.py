"""Record the repair in the repaired bundle: in the warnings of its trace, and in `repair.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.fix.missions.report import HISTORY_FILE
from eikon_engine.trace.patch import EDIT_WARNING_PREFIX, describe_operation
from eikon_engine.trace.serializer import TRACE_FILE, read_trace, write_trace
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.fix.missions.report import Repair, RepairHistory


def write_history(folder: Path, history: RepairHistory, before: tuple[str, ...]) -> None:
    """Write the history of a repair; edits among the old warnings `before` are kept.

    Raises:
        OutputError: it cannot be written.
    """
    write_atomically(folder / HISTORY_FILE, history.model_dump_json(indent=1).encode() + b"\n")
    trace = read_trace(folder)
    told = (*(each for each in before if each.startswith(EDIT_WARNING_PREFIX)), *_warning_lines(history))
    kept = (each for each in trace.warnings if not each.startswith(EDIT_WARNING_PREFIX))
    write_trace(trace.model_copy(update={"warnings": (*kept, *told)}), folder / TRACE_FILE)


def _warning_lines(history: RepairHistory) -> Iterator[str]:
    how = "re-recorded" if history.recorded_anew else "with the recorded network"
    stamp = history.repaired_at.isoformat(timespec="seconds")
    for repair in history.repairs:
        yield f"{EDIT_WARNING_PREFIX}by eikon fix trace, {stamp}, {how}: {_operations_text(repair)} ({repair.proposer}: {repair.reason})"
    for line in history.accepted:
        yield f"{EDIT_WARNING_PREFIX}by eikon fix trace, {stamp}: accepted {line}"


def _operations_text(repair: Repair) -> str:
    return "; ".join(describe_operation(each) for each in repair.patch.operations) or "accepted the new baseline"
