"""Policies decide whether changes without effect are findings; ignored parts are not compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.replay.ignore_file import read_ignore_file
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from tests.replay.conftest import Recorded

pytestmark = pytest.mark.browser

IGNORE = """
[[ignore]]
name = "cards"
reason = "sorted by what sells"
selector = "article.card"
url = "{url}/"
"""


@pytest.mark.parametrize(("policy", "verdict"), [("strict", "diverged"), ("effects", "faithful")])
def test_a_change_without_effect_is_a_finding_under_policy_effects(
    recorded: Recorded, tmp_path: Path, policy: str, verdict: str
) -> None:
    """Two swapped cards of a listing, of which the mission uses only the search field, are a finding only here."""
    recorded.shop.restart("reordered-list")

    outcome = replay(recorded.bundles["banana"], tmp_path / "run", network="live", policy=policy)

    actions = [step for subgoal in outcome.subgoals for step in subgoal.steps if step.kind == "action"]
    findings = [finding for step in actions for finding in step.findings]
    assert outcome.verdict == verdict
    assert {finding.severity for finding in findings} == ({"finding"} if policy == "effects" else set())
    summary = (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")
    assert ("Also changed" in summary) is (policy == "effects")


@pytest.mark.parametrize(
    ("change", "place", "why"),
    [
        ("renamed-target", ("add_to_cart", 1), "click #add-to-cart ('Add to cart') (sequence 2) depends on it"),
        ("other-price", ("prices", 1), "skill extract_table (sequence 2) returns a different value"),
        ("error-on-submit", ("check_out", 6), ""),
    ],
)
def test_a_change_that_touches_the_mission_diverges_under_every_policy(
    recorded: Recorded, tmp_path: Path, change: str, place: tuple[str, int], why: str
) -> None:
    """Changes of a later step's target, a skill's input and the response to a form diverge."""
    recorded.shop.restart(change)

    outcome = replay(recorded.bundles["order"], tmp_path / "run", network="live", policy="effects")

    first = outcome.divergences[0]
    assert (first.subgoal_id, first.sequence) == place
    assert why in first.message


def test_masked_differences_are_reported_as_reduced_coverage(recorded: Recorded, tmp_path: Path) -> None:
    """With the cards ignored, the summary reports that nothing was compared there."""
    recorded.shop.restart("reordered-list")
    file = tmp_path / "ignore.toml"
    file.write_text(IGNORE.format(url=recorded.shop.url), encoding="utf-8")

    outcome = replay(
        recorded.bundles["banana"], tmp_path / "run", network="live", masks=read_ignore_file(file), policy="strict"
    )

    summary = (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")
    assert outcome.verdict == "faithful"
    assert "not compared, masked: cards" in summary
