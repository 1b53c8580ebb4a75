"""Render what recordings of a mission teach as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.files.text import pluralize
from eikon_engine.outcome.terminal import safe_lines
from eikon_engine.trace.patch import describe_operation, operation_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.learning import LearningReport

SHOWN: Final = 8


def render_learning(report: LearningReport) -> str:
    """Return the status, the proposals and what no proposal covers."""
    return safe_lines(_lines(report)).removesuffix("\n")


def _lines(report: LearningReport) -> Iterator[str]:
    compared = f"the pages of {pluralize(report.steps, 'action')} compared"
    without = report.steps_without_baseline
    missing = f", {without} not: certify the recordings first" if without else ""
    yield f"{report.mission_id}: {report.status}, {compared}{missing}"
    done = "changed" if report.accepted else "proposed"
    for each in report.patch.operations:
        yield f"  {done}: {describe_operation(each)}"
        yield f"      because {operation_reason(each)}"
    for finding in report.differences[:SHOWN]:
        yield f"  different at {finding.subgoal}, sequence {finding.sequence} ({finding.step}): {finding.code}"
        yield f"      {finding.message}"
    if len(report.differences) > SHOWN:
        yield f"  and {len(report.differences) - SHOWN} more; --json lists all"
    if report.patch.operations and not report.accepted:
        yield "  next: read the changes, and apply them with --accept; then certify the bundle again"
