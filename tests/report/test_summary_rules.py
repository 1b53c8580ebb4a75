"""The summary lists what rules ignored."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from eikon_engine.outcome.outcomes import NetworkOutcome, ReplayCounts, ReplayOutcome, RuleApplied
from eikon_engine.report.replay_summary import render_summary

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_each_used_rule_is_listed_with_its_reason() -> None:
    """The summary lists how often each part was ignored, the reason, and unused rules."""
    rules = tuple(
        RuleApplied(rule=f"query {name}", reason="a time", times=times) for name, times in [("_", 1), ("t", 3)]
    )
    outcome = ReplayOutcome(
        mission_id="m",
        mission_text="",
        trace_id="t",
        trace_path="p",
        recorded_status="complete",
        started_at=NOW,
        ended_at=NOW,
        headless=True,
        network_mode="sealed",
        browser="none",
        counts=ReplayCounts(
            subgoals=0, subgoals_recorded=0, actions=0, actions_recorded=0, skills=0, skills_recorded=0
        ),
        verdict="faithful",
        network=NetworkOutcome(rules_applied=rules, notes=("unused rule: header accept matched no request",)),
    )

    lines = render_summary(outcome, Path("runs/m")).splitlines()

    assert "  ignored, once: query _ (a time)" in lines
    assert "  ignored, 3 times: query t (a time)" in lines
    assert "  note: unused rule: header accept matched no request" in lines
