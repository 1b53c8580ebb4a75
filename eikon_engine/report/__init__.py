"""Renderers: pure functions of an outcome and of the artifacts beside it."""

from eikon_engine.report.replay_reports import HtmlReport, SummaryReport, standard_reports

__all__ = ["HtmlReport", "SummaryReport", "standard_reports"]
