"""Render what is accepted of a reviewed replay as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.outcome.terminal import safe_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.acceptance import AcceptanceReport


def render_acceptance(report: AcceptanceReport) -> str:
    """Return the status, the differences, and why they are refused if they are."""
    return safe_lines(_lines(report)).removesuffix("\n")


def _lines(report: AcceptanceReport) -> Iterator[str]:
    words = {
        "accepted": "accepted as the baseline of live replays",
        "acceptable": "nothing written yet; accept with --reason",
        "refused": "refused, nothing written",
    }
    yield f"{report.mission_id}: {words[report.status]}"
    for step in report.steps:
        yield f"  step {step.step}, {step.label}"
        yield from (f"      {each}" for each in step.differences)
    yield from (f"  refused: {each}" for each in report.refusals)
    yield from (f"  warning: {each}" for each in report.warnings)
    if report.remaining and not report.refusals:
        yield f"  not chosen: {', '.join(f'step {number}' for number in report.remaining)}"
