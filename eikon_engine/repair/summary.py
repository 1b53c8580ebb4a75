"""Render the result of a repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.outcome.terminal import safe_lines
from eikon_engine.trace.patch import describe_operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.repair.report import Repair, RepairReport


def render_repair(report: RepairReport) -> str:
    """Return what diverged, why, the proposed repairs, the proof, and where the repaired bundle is."""
    return safe_lines(_lines(report))


def _lines(report: RepairReport) -> Iterator[str]:
    yield f"mission    {report.mission_id}: {_status_text(report)}"
    if report.explanation is not None:
        yield f"diverged   {report.explanation.sentence}"
        yield f"cause      {report.explanation.cause}: {report.explanation.why}"
    for repair in report.repairs:
        yield from _repair_lines(repair)
    yield from (f"accepted   {each}" for each in report.accepted)
    if report.proof is not None:
        status = "faithful" if report.proof.certificate is not None else report.proof.status
        yield f"proof      {report.proof.runs} sealed replays: {status}"
    if report.written:
        yield f"written    {report.written}"
    if report.backup:
        yield f"old bundle {report.backup}"


def _status_text(report: RepairReport) -> str:
    match report.status:
        case "faithful":
            return f"faithful against {report.against}, nothing to repair"
        case "repaired":
            return "repaired"
        case "proposed":
            return "can be repaired; use --output DIR or --in-place to store the repaired bundle"
        case "refused":
            return "not repaired"
        case "unverifiable":
            return f"no divergence, but not everything could be compared ({report.refusal})"


def _repair_lines(repair: Repair) -> Iterator[str]:
    what = "; ".join(describe_operation(each) for each in repair.patch.operations) or "re-record it"
    yield f"proposed   {what} [{repair.proposer}]"
    yield f"           because {repair.reason}"
