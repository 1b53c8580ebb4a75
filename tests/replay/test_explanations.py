"""What a live replay says about each change of a site, in its own words."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypeAlias

import pytest

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.target import Target
from tests.browser.pages import Answer, redirect, serve_pages
from tests.replay.conftest import replay as replay_bundle
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

EXAMPLES = Path(__file__).parents[2] / "docs" / "divergences.md"
TIMEOUT_MS = 4_000
Change: TypeAlias = "dict[str, tuple[str, str] | Answer | Callable[[Asked], Answer]]"
"""What is replaced in an answer, or another answer, by path."""

JSON = "application/json"
SHOP = """<!doctype html><title>Shop</title>
<h1>Shop</h1>
<ul id=items></ul>
<button id=save>Save</button> <output id=state></output>
<form method=post action=/order><button id=order>Order</button></form>
<script src=/shop.js></script>"""
SCRIPT = """fetch('/items').then(answer => answer.json()).then(found => {
  for (const each of found) items.insertAdjacentHTML('beforeend', `<li>${each.name}: ${each.price} EUR</li>`)
})
save.onclick = async () => {
  const answer = await fetch('/save', {method: 'POST'})
  state.textContent = answer.ok ? 'Saved' : 'Not saved'
}"""
ITEMS = '[{"name": "tea", "price": 3}, {"name": "rice", "price": 2}, {"name": "salt", "price": 1}]'
ORDERED = "<!doctype html><title>Thanks</title><h1>Thank you</h1><p>Delivery tomorrow</p>"
SIGN_IN = "<!doctype html><title>Sign in</title><form><input type=password name=password></form>"
ANSWERS = {
    "/": Answer(body=SHOP),
    "/shop.js": Answer(body=SCRIPT, content_type="text/javascript"),
    "/items": Answer(body=ITEMS, content_type=JSON),
    "/save": Answer(body="{}", content_type=JSON),
    "/order": Answer(body=ORDERED),
    "/login": Answer(body=SIGN_IN),
}
OUT_OF_STOCK = Answer(body='{"error": "out of stock"}', status=500, content_type=JSON)
FORBIDDEN = Answer(body="<!doctype html><title>Forbidden</title><h1>No access to orders</h1>", status=403)
FAULT = Answer(
    body="<!doctype html><title>Shop</title><h1>Shop</h1><p class=error>No stock left. Call us.</p>", status=500
)
BUSY = Answer(body="The warehouse is being counted. Come back at noon.\n", status=503, content_type="text/plain")
RICE, SALT = '{"name": "rice", "price": 2}', '{"name": "salt", "price": 1}'


def slow(answer: Answer, seconds: float) -> Callable[[Asked], Answer]:
    """Return the same answer, later."""

    def wait(_asked: Asked) -> Answer:
        Event().wait(seconds)
        return answer

    return wait


CHANGES: dict[str, Change] = {
    "renamed button": {"/": (">Save<", ">Store<")},
    "other price": {"/items": ('"price": 2', '"price": 4')},
    "banner added": {"/": ("<h1>", "<aside>Sale!</aside><h1>")},
    "500 on save": {"/save": OUT_OF_STOCK},
    "error page on save": {"/save": FAULT},
    "plain text on save": {"/save": BUSY},
    "403": {"/order": FORBIDDEN},
    "plain text on order": {"/order": BUSY},
    "redirect to sign-in": {"/order": redirect("/login")},
    "item missing": {"/items": (f"{RICE}, ", "")},
    "list reordered": {"/items": (f"{RICE}, {SALT}", f"{SALT}, {RICE}")},
    "timeout": {"/": slow(ANSWERS["/"], 2 * TIMEOUT_MS / 1000)},
    "page script broken": {"/shop.js": ("const answer", "const answer = none; const _")},
    "page script missing": {"/shop.js": Answer(status=404)},
}
HARMLESS: dict[str, Change] = {
    "slower answer": {"/items": slow(ANSWERS["/items"], 0.7)},
    "white space": {"/": ("<h1>Shop</h1>", "\n\n  <h1>Shop</h1>   \n")},
}


@contextmanager
def serve(site: PageSite, change: Change) -> Iterator[None]:
    """Serve the shop with a change."""
    for path, each in change.items():
        if not isinstance(each, tuple):
            site.answers[path] = each
            continue
        before, (old, new) = ANSWERS[path], each
        assert old in str(before.body)
        site.answers[path] = replace(before, body=str(before.body).replace(old, new))
    yield
    site.answers |= ANSWERS


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageSite, Path]]:
    """Record an order in a shop that goes on."""
    folder = tmp_path_factory.mktemp("explained") / "bundle"
    with serve_pages() as site:
        site.answers |= ANSWERS
        SHARED.run(_record(site, folder))
        yield site, folder


async def _record(site: PageSite, folder: Path) -> None:
    recorder = open_recorder(folder, mission_text="Order", mission_id="order")
    async with recorder as mission, mission.subgoal("Order", subgoal_id="order"):
        await mission.perform(Navigate(url=f"{site.url}/"))
        await mission.perform(Click(target=Target(selector="#save")))
        await mission.perform(Click(target=Target(selector="#order")))


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_explained_as_documented(recorded: tuple[PageSite, Path], tmp_path: Path, name: str) -> None:
    """The sentence names the step and what it showed, the reason what the site did."""
    site, bundle = recorded
    with serve(site, CHANGES[name]):
        outcome = replay_bundle(bundle, tmp_path / "run", network="live", timeout_ms=TIMEOUT_MS)

    documented = EXAMPLES.read_text(encoding="utf-8").partition("## Examples\n")[2].partition("\n## ")[0]
    explained = outcome.explanation
    assert explained is not None
    written = f"{name}\n    {explained.sentence}\n    because {explained.why}\n"
    assert f"\n{written.replace(site.url, 'https://shop.example')}" in documented


@pytest.mark.parametrize("name", HARMLESS)
def test_what_changes_nothing_is_not_reported(recorded: tuple[PageSite, Path], tmp_path: Path, name: str) -> None:
    """A later response and other white space show the same page."""
    site, bundle = recorded
    with serve(site, HARMLESS[name]):
        outcome = replay_bundle(bundle, tmp_path / "run", network="live")

    assert [each.message for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"
