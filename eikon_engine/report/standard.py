"""The reports that a replay writes if its caller names no others."""

from __future__ import annotations

from eikon_engine.report.html_report import HtmlReport
from eikon_engine.report.replay_summary import SummaryReport


def standard_reports(*, for_all: bool = False) -> tuple[SummaryReport | HtmlReport, ...]:
    """Return the summary, and a page if the replay is not faithful, or with `for_all`."""
    return SummaryReport(), HtmlReport(for_all=for_all)
