"""The reports of a replay: `replay_summary.txt`, and `report.html`, whose renderer is imported when it is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.report.replay_summary import render_summary

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome

SUMMARY_FILE: Final = "replay_summary.txt"
REPORT_FILE: Final = "report.html"


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """Render an outcome as plain text."""

    @property
    def file_name(self) -> str:
        """Return the name of the file."""
        return SUMMARY_FILE

    def render(self, outcome: ReplayOutcome, folder: Path) -> str:
        """Return the text of the summary."""
        return render_summary(outcome, folder)


@dataclass(frozen=True, slots=True)
class HtmlReport:
    """Render an outcome as a page; with `for_all`, also a faithful one."""

    for_all: bool = False

    @property
    def file_name(self) -> str:
        """Return the name of the file."""
        return REPORT_FILE

    def render(self, outcome: ReplayOutcome, folder: Path) -> str | None:
        """Return the page, with the pictures in `folder`; None for a faithful replay, unless `for_all` is set."""
        if not (self.for_all or outcome.exit_status):
            return None
        from eikon_engine.report.html_report import render_report  # noqa: PLC0415 - see above

        return render_report(outcome, folder)


def standard_reports(*, for_all: bool = False) -> tuple[SummaryReport | HtmlReport, ...]:
    """Return the reports of a replay: the summary, and a page if it is not faithful, or with `for_all`."""
    return SummaryReport(), HtmlReport(for_all=for_all)
