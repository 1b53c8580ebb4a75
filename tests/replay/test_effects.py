"""Under the policy `effects`, everything that the mission needs diverges; the rest of a page is listed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import pytest

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate, Read, ReadValue
from eikon_engine.trace.target import Target
from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

Change: TypeAlias = "tuple[str, str | Answer]"

PICTURE = Answer(body=b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', content_type="image/svg+xml")
PAGE = """<!doctype html><title>Shop</title><link rel=stylesheet href=/style.css><h1>Shop</h1>
<section><button id=add onclick=add()>Add</button> <ul id=list><li>tea</li></ul></section>
<footer><img src=/logo.svg><p>Since 1999</p></footer>
<script>
async function add() {
  const done = await fetch('/add', {method: 'POST'})
  list.insertAdjacentHTML('beforeend', `<li>${await done.text()}</li>`)
  document.title = 'Shop (1)'
  navigator.sendBeacon('/seen')
}
</script>"""


def hide(selector: str) -> Answer:
    """Return a style sheet."""
    return Answer(body=f"{selector} {{ display: none }}", content_type="text/css")


BANNER = "<aside>Sale! <img src=/banner.svg></aside><h1>"
BESIDE: dict[str, tuple[Change, set[str]]] = {
    # what changed: old and new text of the page or the path of another answer; codes of the findings
    "banner": (("<h1>", BANNER), {"dom-changed", "request-unexpected"}),
    "banner beside the list": (("<ul", "<aside>Sale!</aside><ul"), {"dom-changed"}),
    "no picture": (("<img src=/logo.svg>", ""), {"dom-changed", "request-missing"}),
    "picture missing": (("/logo.svg", Answer(status=404)), {"resource-failed", "console-error-changed"}),
    "footer hidden": (
        ("/style.css", hide("p")),
        {"visibility-changed"},
    ),
}
AFFECTING: dict[str, tuple[Change, tuple[str, int]]] = {
    # what changed, the code of the first divergence, and its step
    "renamed button": ((">Add<", ">Buy<"), ("dom-changed", 1)),
    "another list": (("<li>tea", "<li>salt"), ("read-changed", 2)),
    "list hidden": (
        ("/style.css", hide("ul")),
        ("visibility-changed", 3),
    ),
    "nothing sent": (("await fetch('/add', {method: 'POST'})", "new Response('coffee')"), ("request-missing", 3)),
    "another answer": (("/add", Answer(body="bread")), ("dom-changed", 3)),
    "error": (("/add", Answer(body="coffee", status=500)), ("response-failed", 3)),
    "another title of the action": (("'Shop (1)'", "'Shop (2)'"), ("title-changed", 3)),
    "title of a document": (("<title>Shop", "<title>Big shop"), ("title-changed", 1)),
    "beacon refused": (("/seen", Answer(status=500)), ("resource-failed", 3)),
    "dialog": (("async function add() {", "async function add() { alert('Sure?');"), ("dialog-unexpected", 3)),
    "page error": (("list.insert", "list.none.insert"), ("page-error-changed", 3)),
}


@contextmanager
def shop() -> Iterator[PageSite]:
    """Serve a page on which something is added."""
    with serve_pages() as site:
        site.answers |= {"/": Answer(body=PAGE), "/add": Answer(body="coffee"), "/logo.svg": PICTURE}
        site.answers |= {"/banner.svg": PICTURE, "/style.css": Answer(content_type="text/css"), "/seen": Answer()}
        yield site


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageSite, Path]]:
    """Record a mission that adds something to a list, on a site that goes on."""
    folder = tmp_path_factory.mktemp("effects") / "bundle"
    with shop() as site:
        SHARED.run(_record(site, folder))
        yield site, folder


async def _record(site: PageSite, folder: Path) -> None:
    recorder = open_recorder(folder, mission_text="Add coffee", mission_id="add")
    items = Target(selector="#list")
    async with recorder as mission, mission.subgoal("Add", subgoal_id="add"):
        await mission.perform(Navigate(url=f"{site.url}/"))
        await mission.perform(Read(what="inner_text", target=items, value=ReadValue(value="tea")))
        await mission.perform(Click(target=Target(selector="#add")))


@contextmanager
def changed(site: PageSite, change: Change) -> Iterator[None]:
    """Change the page, or the answer to another path."""
    old, new = change
    before = dict(site.answers)
    assert isinstance(new, Answer) or old in PAGE
    site.answers |= {old: new} if isinstance(new, Answer) else {"/": Answer(body=PAGE.replace(old, new))}
    yield
    site.answers = before


@pytest.mark.parametrize("name", BESIDE)
def test_the_rest_of_a_page_is_also_changed(recorded: tuple[PageSite, Path], tmp_path: Path, name: str) -> None:
    """The replay is faithful and lists what is different; `strict` reports the same as divergences."""
    site, bundle = recorded
    change, codes = BESIDE[name]
    with changed(site, change):
        strict = replay(bundle, tmp_path / "strict", network="live", policy="strict")
        outcome = replay(bundle, tmp_path / "effects", network="live", policy="effects")

    steps = [step for subgoal in outcome.subgoals for step in subgoal.steps if step.kind == "action"]
    assert [each.message for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"
    assert {each.code for step in steps for each in step.findings} == codes
    assert strict.verdict == "diverged"
    assert {each.code for each in strict.divergences} <= codes
    summary = (tmp_path / "effects" / "replay_summary.txt").read_text(encoding="utf-8")
    listed = summary.partition("Also changed\n")[2].partition("\nSteps\n")[0]
    assert all(listed.count(code) == 1 for code in codes), listed


@pytest.mark.parametrize("name", AFFECTING)
def test_what_the_mission_needs_diverges(recorded: tuple[PageSite, Path], tmp_path: Path, name: str) -> None:
    """It diverges at the same step as with `strict` or, if only a later step needs it, there."""
    site, bundle = recorded
    change, expected = AFFECTING[name]
    with changed(site, change):
        outcome = replay(bundle, tmp_path / "run", network="live", policy="effects")

    assert outcome.verdict == "diverged"
    first = outcome.divergences[0]
    assert (first.code, first.sequence) == expected, first.message


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("new Image().src = '/rates?c=2'", ("request-changed", 1), id="sent for a picture"),
        pytest.param("new Image().src = '/logo?c=2'", ("request-missing", 1), id="not sent"),
    ],
)
def test_a_request_for_data_is_no_passive_one(
    chromium: Browser, tmp_path: Path, script: str, expected: tuple[str, int]
) -> None:
    """A picture with a similar URL does not replace the data that the page has no longer requested."""
    with serve_pages() as site:
        site.answers |= {
            "/": Answer(body="<!doctype html><title>Shop</title><script src=/rates.js></script>"),
            "/rates.js": Answer(body="fetch('/rates?c=1')", content_type="text/javascript"),
            "/rates": PICTURE,
            "/logo": PICTURE,
        }
        with recorded_page(chromium, tmp_path / "bundle", TWICE) as agent:
            agent.page.goto(site.url)
        site.answers["/rates.js"] = Answer(body=script, content_type="text/javascript")

        outcome = replay(tmp_path / "bundle", tmp_path / "run", network="live", policy="effects")

    assert outcome.verdict == "diverged"
    first = outcome.divergences[0]
    assert (first.code, first.sequence) == expected, first.message


def test_a_picture_with_another_query_is_also_changed(chromium: Browser, tmp_path: Path) -> None:
    """Nothing depends on either of them."""
    with serve_pages() as site:
        site.answers |= {
            "/": Answer(body="<!doctype html><title>Shop</title><script src=/logo.js></script>"),
            "/logo.js": Answer(body="new Image().src = '/logo?c=1'", content_type="text/javascript"),
            "/logo": PICTURE,
        }
        with recorded_page(chromium, tmp_path / "bundle", TWICE) as agent:
            agent.page.goto(site.url)
        site.answers["/logo.js"] = Answer(body="new Image().src = '/logo?c=2'", content_type="text/javascript")

        outcome = replay(tmp_path / "bundle", tmp_path / "run", network="live", policy="effects")

    (step,) = [step for subgoal in outcome.subgoals for step in subgoal.steps if step.kind == "action"]
    assert (outcome.verdict, [each.code for each in step.findings]) == ("faithful", ["request-changed"])
