"""Renderers: pure functions of an outcome."""

from eikon_engine.report.replay_summary import SummaryReport, standard_reports

__all__ = ["SummaryReport", "standard_reports"]
