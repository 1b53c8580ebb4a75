"""What a rule or a mask covers varies from run to run, so it explains no divergence."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from eikon_engine.network.response_values import with_recorded_values
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.masks import ConsoleErrorPart, Mask
from eikon_engine.trace.rules import ResponseValueRule
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import Asked

import pytest

PAGE = """<!doctype html><title>Visits</title><p id=first></p><p id=second></p>
<script>
console.error(`trace ${Math.random()}`)
fetch('/visit').then(answer => answer.json()).then(found => {
  first.textContent = found.first
  second.textContent = found.second
})
</script>"""
PATTERN = r'"(?:first|second)":"([a-z]+-\d+)"'


@pytest.mark.browser
def test_a_value_that_a_rule_covers_is_no_cause(tmp_path: Path) -> None:
    """The server draws two ids where the recording has one twice, so that none can stand for it on the page."""
    numbers = itertools.count(2)

    def draw(_asked: Asked) -> Answer:
        body = f'{{"first": "visit-{next(numbers)}", "second": "visit-{next(numbers)}"}}'
        return Answer(body=body, content_type="application/json")

    with serve_pages() as site:
        once = Answer(body='{"first": "visit-1", "second": "visit-1"}', content_type="application/json")
        site.answers |= {"/": Answer(body=PAGE), "/visit": once}

        async def record() -> None:
            async with open_recorder(tmp_path / "b", mission_text="Look") as mission, mission.subgoal("Look"):
                await mission.perform(Navigate(url=f"{site.url}/"))

        SHARED.run(record())
        site.answers["/visit"] = draw
        without = replay(tmp_path / "b", tmp_path / "run", network="live")
        trace = read_trace(tmp_path / "b")
        assert trace.network is not None
        rule = ResponseValueRule(url=f"{site.url}/visit", pattern=PATTERN, reason="drawn")
        network = trace.network.model_copy(update={"rules": (rule,)})
        mask = Mask(name="traces", reason="random", part=ConsoleErrorPart(prefix="trace "))
        write_trace(trace.model_copy(update={"network": network, "masks": (mask,)}), tmp_path / "b")

        outcome = replay(tmp_path / "b", tmp_path / "run", network="live")

    assert without.explanation is not None
    assert "visit-1" in without.explanation.why
    assert outcome.explanation is not None
    assert outcome.network.response_changes == ()
    assert outcome.explanation.why == "the page, served by the live site, differs from the recorded one"
    assert [each.text for each in outcome.explanation.evidence if each.kind in {"answer", "console"}] == []


def test_covered_values_are_replaced_in_their_order() -> None:
    """What the rules do not cover stays different."""
    rule = ResponseValueRule(url="http://h/*", pattern=PATTERN, reason="drawn")
    recorded, live = '{"first":"a-1","n":1}', '{"first":"a-2","n":2}'

    assert with_recorded_values((rule,), "http://h/visit?x=1", recorded, live) == '{"first":"a-1","n":2}'
    assert with_recorded_values((rule,), "http://other/visit", recorded, live) == live
