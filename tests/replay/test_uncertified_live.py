"""A live replay without certificate diverges at documents that end differently, and is never faithful."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.browser.pages import Answer, Asked, PageSite, redirect, serve_pages
from tests.record.order_shop import read_divergence
from tests.record.recorded_page import QUICK, recorded_page, steps
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

FORM = "<h1>{title}</h1><form method=post action=/save><input name=text><button>Save</button></form>"
FORBIDDEN = Answer(body="<h1>Forbidden</h1>", status=403)


@pytest.fixture
def notes() -> Iterator[PageSite]:
    """Serve a form, whose POST leads to the saved note."""
    with serve_pages() as site:
        site.answers |= {
            "/": Answer(body=FORM.format(title="New note")),
            "/save": redirect("/notes"),
            "/notes": Answer(body="<h1>Notes</h1><a href=/about>About</a>"),
            "/about": Answer(body="<h1>About</h1>"),
            "/login": Answer(body="<h1>Sign in</h1><input type=password>"),
        }
        yield site


def write(page: Page, url: str) -> None:
    """Save a note, and leave at once."""
    page.goto(url)
    page.fill("input", "Milk")
    page.click("button")
    page.click("a")
    page.get_by_role("heading", name="About").wait_for()


def test_an_unchanged_site_is_unverifiable(chromium: Browser, notes: PageSite, tmp_path: Path) -> None:
    """Nothing diverges without a baseline, and nothing is called faithful."""
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        write(agent.page, notes.url)

    seen = replay(tmp_path / "b", tmp_path / "live", network="live")

    assert (seen.verdict, seen.divergences) == ("unverifiable", ())


@pytest.mark.parametrize(
    ("path", "answer", "expected"),
    [
        pytest.param("/", FORBIDDEN, ("navigate", "status-changed"), id="the first document"),
        pytest.param("/save", FORBIDDEN, ("click", "status-changed"), id="the POST of a form"),
        pytest.param("/notes", Answer(status=500), ("click", "status-changed"), id="after a redirect"),
        pytest.param("/", redirect("/login"), ("navigate", "redirects-changed"), id="the start leads to a sign-in"),
        pytest.param("/notes", redirect("/login"), ("click", "redirects-changed"), id="the POST leads to a sign-in"),
        pytest.param("/about", Answer(status=410), ("click", "status-changed"), id="the last document"),
    ],
)
def test_a_document_that_ends_differently_is_a_divergence(
    chromium: Browser, notes: PageSite, tmp_path: Path, path: str, answer: Answer, expected: tuple[str, str]
) -> None:
    """It is found at the step that loads it, though the agent did not wait."""
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        write(agent.page, notes.url)
    notes.answers[path] = answer

    seen = replay(tmp_path / "b", tmp_path / "live", network="live")

    assert seen.verdict == "diverged"
    assert read_divergence(seen)[:2] == expected


def leave_early(page: Page, url: str) -> None:
    """Go to a slow page, but leave once it is requested, before it arrives; then visit more pages."""
    page.goto(url)
    with page.expect_request("**/slow"):
        page.evaluate("location.href = '/slow'")
    page.goto(f"{url}/notes")
    page.goto(f"{url}/about")
    page.get_by_role("heading", name="About").wait_for()


@pytest.fixture
def left_early(chromium: Browser, notes: PageSite, tmp_path: Path) -> PageSite:
    """Record a mission whose agent left a page before it arrived."""
    is_open = threading.Event()

    def answer(_: Asked) -> Answer:
        is_open.wait(20)
        return Answer(body="<h1>Slow</h1>")

    notes.answers["/slow"] = answer
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        leave_early(agent.page, notes.url)
        is_open.set()
    loads = [load.url for step in steps(tmp_path / "b") if step.observation for load in step.observation.documents]
    assert not any(url.endswith("/slow") for url in loads)
    return notes


def test_a_document_that_the_agent_did_not_wait_for_shifts_nothing(left_early: PageSite, tmp_path: Path) -> None:
    """A replay waits for it, and loads what the agent loaded after it."""
    seen = replay(tmp_path / "b", tmp_path / "live", network="live")

    assert left_early.paths().count("GET /slow") == 2
    assert [(each.code, each.expected, each.observed) for each in seen.divergences] == []
    assert seen.verdict == "unverifiable"


@pytest.mark.parametrize(("path", "answer"), [("/about", FORBIDDEN), ("/notes", redirect("/login"))])
def test_later_documents_are_still_compared(left_early: PageSite, tmp_path: Path, path: str, answer: Answer) -> None:
    """Each with that of the same URL."""
    left_early.answers[path] = answer

    seen = replay(tmp_path / "b", tmp_path / "live", network="live")

    kind, code, expected, _ = read_divergence(seen)
    assert (kind, code) == ("navigate", "status-changed" if path == "/about" else "redirects-changed")
    assert path in expected


@pytest.mark.parametrize("status", [200, 404])
def test_a_link_that_leads_elsewhere_is_a_divergence(
    chromium: Browser, notes: PageSite, tmp_path: Path, status: int
) -> None:
    """The page loads a document that the recording does not have in place of a recorded one."""
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        write(agent.page, notes.url)
    notes.answers["/notes"] = Answer(body="<h1>Notes</h1><a href=/about onclick=\"this.href = '/team'\">About</a>")
    notes.answers["/team"] = Answer(body="<h1>About</h1>", status=status)

    seen = replay(tmp_path / "b", tmp_path / "live", network="live")

    assert read_divergence(seen)[:2] == ("click", "document-changed" if status == 200 else "status-changed")
