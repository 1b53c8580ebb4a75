"""What a mission extracted is compared through what it was taken from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.outcome.outcomes import ExtractionOutcome
from eikon_engine.trace.masks import Mask, SelectorPart
from tests.browser.pages import Answer
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

OFFER = """<h1>Blue   chair</h1><p id=price>Only {price} EUR</p><p id=stock>{stock} left</p>
<p id=shop>Furniture of Lund</p>"""


def offer(price: str = "1,249.50", stock: int = 7) -> Answer:
    """Return the page of an offer."""
    return Answer(body="<!doctype html>" + OFFER.format(price=price, stock=stock))


def record(browser: Browser, site: PageSite, bundle: Path) -> None:
    """Read an offer, and extract it."""
    site.answers["/offer"] = offer()
    with recorded_page(browser, bundle, TWICE) as agent:
        page, mission = agent.page, agent.mission
        page.goto(f"{site.url}/offer")
        name = page.locator("h1").inner_text()
        price = page.locator("#price").text_content()
        assert price is not None
        in_stock = page.evaluate("parseInt(document.querySelector('#stock').textContent)")
        mission.extraction("offer", {"name": name, "price": float(price.split()[1].replace(",", "")), "new": True})
        mission.extraction("stock", in_stock)
        mission.extraction("shop", "Furniture of Lund")
        mission.extraction("advice", "Buy it")
        mission.extraction("nothing", [])


def verdicts(outcome: ReplayOutcome) -> dict[str, str]:
    """Return the verdict of each extraction."""
    return {each.name: each.verdict for each in outcome.extractions}


def extraction(outcome: ReplayOutcome, name: str) -> ExtractionOutcome:
    """Return the outcome of one extraction."""
    return next(each for each in outcome.extractions if each.name == name)


def test_an_extraction_is_compared_through_what_it_was_taken_from(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Texts and numbers are found in reads, results of scripts and pages; what the agent made up is unverifiable."""
    bundle = tmp_path / "bundle"
    record(chromium, site, bundle)

    sealed = replay(bundle, tmp_path / "sealed")

    assert sealed.verdict == "faithful"
    assert verdicts(sealed) == {
        "offer": "faithful",
        "stock": "faithful",
        "shop": "faithful",
        "advice": "unverifiable",
        "nothing": "unverifiable",
    }
    assert [each.split(" (")[0] for each in extraction(sealed, "offer").sources] == [
        "subgoal_1, sequence 2",
        "subgoal_1, sequence 3",
    ]
    assert extraction(sealed, "shop").sources[0].startswith("page after subgoal_1, sequence ")
    assert extraction(sealed, "advice").notes == ("neither a step nor a page of the recording has 'Buy it'",)
    summary = (tmp_path / "sealed" / "replay_summary.txt").read_text(encoding="utf-8")
    assert "faithful     offer\n    taken from subgoal_1, sequence 2 (read" in summary.partition("\nExtractions\n")[2]


def test_an_extraction_that_is_read_differently_diverged(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The outcome has what was read instead; what a mask hides is unverifiable."""
    bundle = tmp_path / "bundle"
    record(chromium, site, bundle)
    site.answers["/offer"] = offer(price="1,299.50")

    changed = replay(bundle, tmp_path / "changed", network="live", on_divergence="continue")
    mask = Mask(name="price", reason="it varies", part=SelectorPart(selector="#price"))
    masked = replay(bundle, tmp_path / "masked", network="live", masks=(mask,))

    found = extraction(changed, "offer")
    assert (found.verdict, verdicts(changed)["stock"]) == ("diverged", "faithful")
    assert found.notes[0].endswith('expected "Only 1,249.50 EUR", got "Only 1,299.50 EUR"')
    assert masked.verdict == "faithful"
    assert extraction(masked, "offer").verdict == "unverifiable"
    assert extraction(masked, "offer").notes[0].endswith("not compared, masked: price")


def test_a_number_is_no_part_of_a_longer_one(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Nothing is called compared because its digits occur somewhere."""
    bundle = tmp_path / "bundle"
    site.answers["/offer"] = offer(price="1,249.50", stock=70)
    with recorded_page(chromium, bundle, TWICE) as agent:
        agent.page.goto(f"{site.url}/offer")
        agent.page.locator("#stock").inner_text()
        agent.mission.extraction("stock", 7)
        agent.mission.extraction("name", "Blue chai")

    assert verdicts(replay(bundle, tmp_path / "sealed")) == {"stock": "unverifiable", "name": "unverifiable"}


def test_a_page_with_a_digit_is_no_source_of_a_number(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Digits are on every page; a number of three digits that no read returned is taken from the page that has it."""
    bundle = tmp_path / "bundle"
    site.answers["/offer"] = offer(price="950", stock=3)
    with recorded_page(chromium, bundle, TWICE) as agent:
        agent.page.goto(f"{site.url}/offer")
        agent.mission.extraction("stars", 3)
        agent.mission.extraction("price", 950)

    assert verdicts(replay(bundle, tmp_path / "sealed")) == {"stars": "unverifiable", "price": "faithful"}
