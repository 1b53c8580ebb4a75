"""Reads and assertions of each kind are recorded, certified, and diverge on a page that shows something else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
from playwright._impl import _assertions
from playwright.sync_api import Browser, Page, expect

from eikon_engine.trace.actions import Expect, Read
from eikon_engine.trace.execution import Failed
from tests.browser.pages import Answer
from tests.record.order_shop import all_divergences
from tests.record.recorded_page import TWICE, recorded_actions, recorded_page, steps, warnings
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

BASKET: Final = """<!doctype html><title>basket</title><main><h1>Basket</h1>
<label><input type=checkbox id=gift checked> Gift</label><p id=code data-code=A7>Code</p>
<button id=pay disabled>Pay</button><p id=gone hidden>Sold out</p><ul id=items><li>pear</li> <li>plum</li></ul>
<p id=total><b>4</b> euros</p></main>"""
LATER: Final = (
    BASKET.replace("checked", "")
    .replace("A7", "B8")
    .replace("disabled", "")
    .replace("hidden", "")
    .replace("plum", "quince")
    .replace("<b>4", "<b>5")
)
"""The same basket, in which everything that the agent reads is different."""
SNAPSHOT: Final = """- list:
  - listitem: pear
  - listitem: plum"""


def look_at(page: Page, url: str) -> None:
    """Read from the basket in every way."""
    page.goto(url)
    assert page.locator("#code").get_attribute("data-code") == "A7"
    assert page.locator("#code").get_attribute("title") is None
    assert page.locator("#gift").is_checked()
    assert not page.locator("#pay").is_enabled()
    assert page.locator("#gone").is_hidden()
    assert page.locator("#items li").all_text_contents() == ["pear", "plum"]
    assert page.locator("#total").inner_html() == "<b>4</b> euros"
    assert page.locator("#items").aria_snapshot() == SNAPSHOT
    expect(page.locator("#items")).to_match_aria_snapshot("- list:\n  - listitem: pear\n  - listitem: plum")
    expect.soft(page.locator("#total")).to_have_text("4 euros")


READS: Final = {
    "attribute": ('"A7"', '"B8"'),
    "is_checked": ("true", "false"),
    "is_enabled": ("false", "true"),
    "is_hidden": ("true", "false"),
    "all_text_contents": ('["pear", "plum"]', '["pear", "quince"]'),
    "inner_html": ('"<b>4</b> euros"', '"<b>5</b> euros"'),
    "aria_snapshot": (json.dumps(SNAPSHOT), json.dumps(SNAPSHOT.replace("plum", "quince"))),
}
"""What each read returned, and returns from the later basket."""


def test_reads_of_every_kind_are_certified_and_compared(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Each of them diverges from a later basket, with what it returned and returns."""
    site.answers["/basket"] = Answer(body=BASKET)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        look_at(agent.page, f"{site.url}/basket")

    found = recorded_actions(tmp_path / "b")
    assert [action.what for action in found if isinstance(action, Read)] == ["attribute", *READS]
    assert [action.expression for action in found if isinstance(action, Expect)] == ["to.match.aria", "to.have.text"]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"
    site.answers["/basket"] = Answer(body=LATER)
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", on_divergence="continue")
    reads = [each for each in all_divergences(changed) if each.code == "read-changed"]
    failed = [each for each in all_divergences(changed) if each.code == "assertion-failed"]
    assert [(each.expected, each.observed) for each in reads] == list(READS.values())
    assert [(each.expected, each.observed) for each in failed] == [
        (f"to match aria {SNAPSHOT!r}", json.dumps(SNAPSHOT.replace("plum", "quince"))),
        ("to have text '4 euros'", '"5 euros"'),
    ]


def test_a_soft_assertion_that_failed_is_expected_to_fail_again(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The agent goes on after it, and so does each replay; one that holds then diverges."""
    failures: list[AssertionError] = []
    site.answers["/basket"] = Answer(body=BASKET)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent, pytest.MonkeyPatch.context() as patch:
        patch.setattr(_assertions, "_soft_errors", failures)  # as the plugin of pytest-playwright collects them
        agent.page.goto(f"{site.url}/basket")
        expect.soft(agent.page.locator("#total")).to_have_text("5 euros", timeout=300)
        agent.page.locator("#gift").uncheck()

    assert len(failures) == 1
    failed, unchecked = steps(tmp_path / "b")[1:]
    assert isinstance(failed.result, Failed)
    assert (failed.result.code, unchecked.action.type) == ("assertion-failed", "uncheck")
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    site.answers["/basket"] = Answer(body=LATER.replace("id=gift", "id=gift checked"))
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", on_divergence="continue")
    (found,) = (each for each in all_divergences(changed) if each.layer == "result")
    assert (found.sequence, found.code) == (2, "unexpected-success")
    assert found.expected.startswith("the condition does not hold within 0.3 s")
