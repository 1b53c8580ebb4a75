"""A recorded mission replayed on the live site: every change is found and explained, with no false findings.

Each change is replayed once, for all assertions about it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.outcome.outcomes import ReplayOutcome
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
EXPLAINED = (
    # change of the site, mission, key and value that must be named behind the first finding
    ("other-price", "order", "GET {url}/prices: body line ", "recorded 0.25 €, live 0.35 €"),
    ("renamed-target", "order", "GET {url}/product/1: body line ", "recorded add-to-cart, live buy-now"),
    ("frame-text", "banana", "GET {url}/reviews-frame?product=1: body line ", "live What people say"),
    ("shadow-text", "banana", "GET {url}/static/product.js: body line ", ""),
    ("dialog-text", "banana", "GET {url}/static/cart.js (at step ", "body line "),
    ("error-on-submit", "order", "POST {url}/checkout", "status: recorded 200, live 500"),
)


class LiveReplay(NamedTuple):
    """The outcome of a live replay, and the summary that it wrote."""

    outcome: ReplayOutcome
    summary: str


@pytest.fixture(scope="module")
def on_site(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., LiveReplay]:
    """Return a function that replays a mission live on the shop with some changes, once."""

    @cache
    def replayed(mission: str, *changes: str) -> LiveReplay:
        recorded.shop.restart(*changes)
        run = tmp_path_factory.mktemp("live") / "run"
        outcome = replay(recorded.bundles[mission], run, network="live")
        return LiveReplay(outcome, (run / "replay_summary.txt").read_text(encoding="utf-8"))

    return replayed


@pytest.mark.parametrize("mission", ["banana", "order"])
def test_an_unchanged_site_is_faithful(on_site: Callable[..., LiveReplay], mission: str) -> None:
    """A replay on the unchanged site has no findings."""
    outcome = on_site(mission).outcome

    assert [divergence.message for divergence in outcome.divergences] == []
    assert outcome.verdict == "faithful"


@pytest.mark.parametrize("mission", ["banana", "order"])
def test_an_unchanged_site_answers_as_recorded(on_site: Callable[..., LiveReplay], mission: str) -> None:
    """On the unchanged site every request has a recorded one, and no response changed."""
    network = on_site(mission).outcome.network

    assert (network.unmatched, network.unused, network.misses) == ((), (), ())
    assert [str(value) for change in network.response_changes for value in change.what] == []


@pytest.mark.parametrize(("change", "mission", "key", "value"), EXPLAINED, ids=[row[0] for row in EXPLAINED])
def test_a_divergence_names_the_response_behind_it(
    recorded: Recorded, on_site: Callable[..., LiveReplay], change: str, mission: str, key: str, value: str
) -> None:
    """The first divergence names the changed value and its response."""
    live = on_site(mission, change)

    because = live.outcome.divergences[0].because
    assert any(each.startswith(key.format(url=recorded.shop.url)) and value in each for each in because)
    assert f"Because      {because[0]}" in live.summary


@pytest.mark.parametrize(
    ("change", "mission", "subgoal", "sequence", "codes"), CHANGED, ids=[row[0] for row in CHANGED]
)
def test_a_changed_site_diverges_where_it_changed(
    on_site: Callable[..., LiveReplay], change: str, mission: str, subgoal: str, sequence: int, codes: set[str]
) -> None:
    """The first divergence is at the first action that the change affects."""
    outcome = on_site(mission, change).outcome

    assert outcome.verdict == "diverged"
    first = outcome.divergences[0]
    assert (first.subgoal_id, first.sequence) == (subgoal, sequence)
    assert first.code in codes


def test_a_slow_answer_is_no_divergence(on_site: Callable[..., LiveReplay]) -> None:
    """A list that arrives 300 ms later is still faithful."""
    assert on_site("banana", "slow-list").outcome.verdict == "faithful"
