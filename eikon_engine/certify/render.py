"""Show a certification to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.outcome.printable import printable
from eikon_engine.trace.patch import describe, reason_of
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.certify.certification import CertificationReport, Finding

SHOWN_FINDINGS: Final = 8


def render_certification(report: CertificationReport) -> str:
    """Write the verdict, what stands against it, and what is proposed."""
    return printable("\n".join(_lines(report)))


def _lines(report: CertificationReport) -> Iterator[str]:
    yield f"{report.mission_id}: {_verdict(report)}"
    for finding in report.findings[:SHOWN_FINDINGS]:
        yield from _finding(finding)
    if len(report.findings) > SHOWN_FINDINGS:
        yield f"  and {len(report.findings) - SHOWN_FINDINGS} more after these, mostly consequences; --json has all"
    for operation in report.patch.operations:
        yield f"  {'changed' if report.accepted else 'proposed'}: {describe(operation)}"
        yield f"      because {reason_of(operation)}"


def _verdict(report: CertificationReport) -> str:
    runs = f"{report.runs} of {report.runs} runs{' under load' if report.stress else ''} are equal"
    if report.accepted or report.status == "certified":
        return f"certified, {runs}"
    if report.status == "proposed":
        return f"not certified as it is; with these changes, {runs}; --accept writes them"
    return f"{report.status}, not certified"


def _finding(finding: Finding) -> Iterator[str]:
    what = f"{finding.layer}: {finding.code}" if finding.code else "cannot be compared"
    where = f"{finding.subgoal}, sequence {finding.sequence} ({finding.step})" if finding.subgoal else finding.step
    yield f"  {finding.kind} at {where}: {what}"
    yield f"      in {counted(finding.runs, 'run')}: {finding.message}"
