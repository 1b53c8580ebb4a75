"""The outcome of a replay in which a button was renamed."""

from __future__ import annotations

from datetime import UTC, datetime

from eikon_engine.outcome.divergence import Candidate, Divergence, Explanation, PropertyMatch
from eikon_engine.outcome.outcomes import ActionOutcome, ReplayCounts, ReplayOutcome, SubgoalOutcome
from eikon_engine.trace.execution import Artifact, Succeeded

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def diverged_outcome() -> ReplayOutcome:
    """Return the outcome."""
    candidate = Candidate(
        frame="",
        path="html>body>button",
        description="button 'Purchase'",
        score=0.9,
        agreements=(PropertyMatch(name="tag", recorded="button", observed="button", likeness=1.0),),
    )
    divergence = Divergence(
        code="target-missing",
        layer="target",
        subgoal="s1",
        subgoal_id="s1",
        sequence=2,
        expected="button 'Buy'",
        observed="nothing",
        message="No button 'Buy'.",
        candidates=(candidate,),
    )
    step = ActionOutcome(
        id="a2",
        sequence=2,
        type="click",
        label="click Buy",
        verdict="diverged",
        expected_result=Succeeded(),
        result=None,
        divergences=(divergence,),
        artifacts=(
            Artifact(name="difference", path="subgoal_1/002_click_dom_diff.txt"),
            Artifact(name="page", path="subgoal_1/002_click_page.png"),
            Artifact(name="strange", path="../outside.txt"),
        ),
    )
    return ReplayOutcome(
        mission_id="buy-banana",
        mission_text="Buy a banana",
        trace_id="t",
        trace_path="p",
        recorded_status="complete",
        started_at=NOW,
        ended_at=NOW,
        headless=True,
        network_mode="sealed",
        browser="none",
        counts=ReplayCounts(
            subgoals=1, subgoals_recorded=1, actions=1, actions_recorded=1, skills=0, skills_recorded=0
        ),
        verdict="diverged",
        explanation=Explanation(
            subgoal="s1",
            subgoal_id="s1",
            sequence=2,
            code="target-missing",
            cause="site-changed",
            sentence="The button is called Purchase now.",
            why="a button with another name",
        ),
        subgoals=(
            SubgoalOutcome(
                id="s1",
                subgoal_id="s1",
                description="buy",
                number=1,
                verdict="diverged",
                steps=(step,),
                steps_recorded=1,
            ),
        ),
    )
