"""A recorded mission replayed on the live site: every change of the site is found, and no other is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from tests.replay.conftest import Recorded

pytestmark = pytest.mark.browser

CHANGED = (
    # change of the site, mission, subgoal and sequence at which it must be found, codes of which the first must be one
    ("renamed-target", "order", "add_to_cart", 1, {"dom-changed"}),
    ("two-matches", "order", "add_to_cart", 1, {"dom-changed"}),
    ("disabled-button", "order", "add_to_cart", 1, {"dom-changed"}),
    ("other-redirect", "order", "check_out", 6, {"redirects-changed"}),
    ("error-on-submit", "order", "check_out", 6, {"status-changed"}),
    ("other-price", "order", "prices", 1, {"dom-changed"}),
    ("dialog-text", "banana", "check_cart", 4, {"dialog-changed"}),
    ("download-content", "banana", "compare_prices", 3, {"download-changed"}),
    ("popup-blocked", "banana", "check_cart", 8, {"document-missing"}),
    ("frame-text", "banana", "find_banana", 6, {"dom-changed"}),
    ("shadow-text", "banana", "find_banana", 6, {"dom-changed"}),
)


@pytest.mark.parametrize("mission", ["banana", "order"])
def test_an_unchanged_site_is_faithful(recorded: Recorded, mission: str, tmp_path: Path) -> None:
    """Replay the mission on the site it was recorded on, and find nothing."""
    recorded.shop.restart()

    outcome = replay(recorded.bundles[mission], tmp_path / "run", network="live")

    assert [divergence.message for divergence in outcome.divergences] == []
    assert outcome.verdict == "faithful"


@pytest.mark.parametrize(
    ("change", "mission", "subgoal", "sequence", "codes"), CHANGED, ids=[row[0] for row in CHANGED]
)
def test_a_changed_site_diverges_where_it_changed(  # noqa: PLR0913, PLR0917 - the columns of the table
    recorded: Recorded, tmp_path: Path, change: str, mission: str, subgoal: str, sequence: int, codes: set[str]
) -> None:
    """Replay the mission on a site with one change, and find it at the action that meets it first."""
    recorded.shop.restart(change)

    outcome = replay(recorded.bundles[mission], tmp_path / "run", network="live")

    assert outcome.verdict == "diverged"
    first = outcome.divergences[0]
    assert (first.subgoal_id, first.sequence) == (subgoal, sequence)
    assert first.code in codes


def test_a_slow_answer_is_no_divergence(recorded: Recorded, tmp_path: Path) -> None:
    """Let the list come 300 ms later, and stay faithful."""
    recorded.shop.restart("slow-list")

    outcome = replay(recorded.bundles["banana"], tmp_path / "run", network="live")

    assert outcome.verdict == "faithful"
