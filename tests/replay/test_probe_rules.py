"""Trace rules in a live replay: an ignored value causes no divergence, and its recorded response is compared."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.rules import QueryKeyRule
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

PAGE = "<!doctype html><title>t</title><p>Bread</p><script src='/token.js'></script>"


def test_a_value_that_a_rule_frees_is_met_live(tmp_path: Path) -> None:
    """A site that issues a new token each time diverges without the rule and is faithful with it."""
    tokens = itertools.count()
    with serve_pages() as site:
        site.answers |= {
            "/": Answer(body=PAGE),
            "/token.js": lambda _: Answer(body=f"fetch('/price?_={next(tokens)}')", content_type="text/javascript"),
            "/price": Answer(body="310", content_type="text/plain"),
        }

        async def record() -> None:
            async with open_recorder(tmp_path / "b", mission_text="Look") as mission, mission.subgoal("Look"):
                await mission.perform(Navigate(url=f"{site.url}/"))

        SHARED.run(record())
        without = replay(tmp_path / "b", tmp_path / "run", network="live")
        trace = read_trace(tmp_path / "b")
        assert trace.network is not None
        rules = (QueryKeyRule(name="_", url=f"{site.url}/price", reason="a token"),)
        write_trace(
            trace.model_copy(update={"network": trace.network.model_copy(update={"rules": rules})}), tmp_path / "b"
        )

        outcome = replay(tmp_path / "b", tmp_path / "run", network="live")

    assert without.verdict == "diverged"
    assert (outcome.verdict, outcome.network.unmatched, outcome.network.unused) == ("faithful", (), ())
    assert [(each.reason, each.times) for each in outcome.network.rules_applied] == [("a token", 1)]
