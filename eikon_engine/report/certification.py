"""Render a certification report as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.files.text import pluralize
from eikon_engine.outcome.terminal import safe_lines
from eikon_engine.trace.patch import SetObservation, describe_operation, operation_reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.outcome.certification import CertificationFinding, CertificationReport
    from eikon_engine.trace.patch import Operation

SHOWN_FINDINGS: Final = 8
SHOWN_PER_REASON: Final = 3


def render_certification(report: CertificationReport) -> str:
    """Return the verdict, the findings and the proposed changes as text."""
    return safe_lines(_certification_lines(report)).removesuffix("\n")


def _certification_lines(report: CertificationReport) -> Iterator[str]:
    yield f"{report.mission_id}: {_verdict_line(report)}"
    for finding in report.findings[:SHOWN_FINDINGS]:
        yield from _finding_lines(finding)
    if len(report.findings) > SHOWN_FINDINGS:
        yield f"  and {len(report.findings) - SHOWN_FINDINGS} more, mostly consequences; --json lists all"
    yield from (f"  note: {each}" for each in report.notes)
    if report.next_step:
        yield f"  next: {report.next_step}"
    done = "changed" if report.accepted else "proposed"
    for reason, group in _group_by_reason(report.patch.operations):
        if len(group) > SHOWN_PER_REASON:
            yield f"  {done}: new baselines for {pluralize(len(group), 'action')}"
        else:
            yield from (f"  {done}: {describe_operation(each)}" for each in group)
        yield f"      because {reason}"


def _group_by_reason(operations: Sequence[Operation]) -> Iterator[tuple[str, list[Operation]]]:
    """Group baselines that have the same reason."""
    groups: dict[tuple[str, str], list[Operation]] = {}
    for each in operations:
        own = "" if isinstance(each, SetObservation) else describe_operation(each)
        groups.setdefault((operation_reason(each), own), []).append(each)
    return ((reason, group) for (reason, _), group in groups.items())


def _verdict_line(report: CertificationReport) -> str:
    runs = f"{report.runs} of {report.runs} runs{' under load' if report.stress else ''} are identical"
    ended = "" if report.mission_status == "complete" else f" (the recorded mission: {report.mission_status})"
    took = f", {report.seconds:.1f} s" if report.seconds else ""
    if report.accepted or report.status == "certified":
        return f"certified{ended}, {runs}{took}"
    if report.status == "proposed":
        return f"not certified yet{ended}; with these changes {runs}{took}. Apply them with --accept"
    return f"{report.status}, not certified{ended}{took}"


def _finding_lines(finding: CertificationFinding) -> Iterator[str]:
    yield f"  {finding.headline}"
    yield f"      {finding.detail}"
