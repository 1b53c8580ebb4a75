"""The page of a triage, in a real browser."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from eikon_engine.report.triage_report import render_triage_page, render_triage_text
from eikon_engine.triage.groups import triage
from eikon_engine.triage.known_causes import KnownCauseRule, KnownCauses
from tests.triage.test_groups import NIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

KNOWN = KnownCauses((KnownCauseRule(name="Prices", subject="GET /api/items/*", owner="Ann", ticket="SHOP-7"),))


@pytest.fixture
def shown(chromium: Browser, tmp_path: Path) -> Iterator[Page]:
    """Open the page from disk; whatever it requests is an error."""
    (tmp_path / "triage.html").write_text(render_triage_page(triage(NIGHT.items(), KNOWN)))
    page = chromium.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto((tmp_path / "triage.html").as_uri())
    yield page
    page.close()
    assert [each.partition("#")[0] for each in requested] == [(tmp_path / "triage.html").as_uri()]


def test_each_cause_has_an_address(shown: Page) -> None:
    """The table leads to it; its runs are folded."""
    shown.get_by_role("link", name="POST /orders: status 500").click()

    expect(shown).to_have_url(shown.url.partition("#")[0] + "#group-2")
    expect(shown.locator("#group-2")).to_be_in_viewport()
    shown.locator("#group-2 summary").click()
    expect(shown.locator("#group-2").get_by_role("cell", name="b/2")).to_be_visible()
    expect(shown.locator("#group-1")).to_contain_text("Known: Prices, Ann, SHOP-7")
    expect(shown.locator("#group-2")).to_contain_text("Next: look for the error in the log of the server")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_it_is_accessible_and_fits(shown: Page, scheme: str, width: int) -> None:
    """Axe finds nothing serious; nothing is wider than a narrow window."""
    shown.set_viewport_size({"width": width, "height": 800})
    shown.emulate_media(color_scheme=scheme)  # type: ignore[arg-type] # one of the two
    shown.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")

    found = Axe().run(shown).response["violations"]

    serious = [each for each in found if each["impact"] in {"serious", "critical"}]
    assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_of_one_cause_has_the_id_to_ask_for_it(shown: Page) -> None:
    """`eikon triage --cause` takes it."""
    for number, group in enumerate(triage(NIGHT.items()).groups, start=1):
        expect(shown.locator(f"#name-{number} code")).to_have_text(group.id)


def test_the_text_says_what_to_look_at_and_what_to_do() -> None:
    """As a command that may be copied; a cause that is still to be found has no next step."""
    text = render_triage_text(triage([("my runs/outcome.json", NIGHT["b/1"]), ("c/outcome.json", NIGHT["c/1"])]))

    assert (
        "   look at: eikon report 'my runs/outcome.json'\n   next: look for the error in the log of the server\n"
        in text
    )
    assert text.count("   next: ") == 1


def test_a_triage_without_failures_says_so() -> None:
    """Nothing else is on the page."""
    faithful = NIGHT["d/1"]

    page = render_triage_page(triage([("a", faithful)], KnownCauses((), date(2026, 1, 2))))

    assert "1 outcome of 1 mission: all faithful" in page
    assert "<section" not in page
