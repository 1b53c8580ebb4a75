"""A live replay quotes what an error of the site says, whatever the recorded response was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.target import Target
from tests.browser.pages import Answer, redirect, serve_pages
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

JSON = "application/json"
PAGE = """<!doctype html><title>Notes</title><button id=save>Save</button> <output id=state></output>
<script>
save.onclick = async () => {
  const answer = await fetch('/api/notes', { method: 'POST' })
  state.textContent = answer.ok ? 'Saved' : 'Not saved'
}
</script>"""
RECORDED = {
    "created, no content": Answer(status=201, content_type=JSON),
    "204": Answer(status=204),
    "a list": Answer(body='["a note"]', content_type=JSON),
    "plain text": Answer(body="done", content_type="text/plain"),
}
ERRORS = {
    "JSON": Answer(body='{"error": "disk full"}', status=500, content_type=JSON),
    "page": Answer(body="<title>Error</title><h1>disk full</h1>", status=500),
    "not to be stored": Answer(
        body='{"error": "disk full"}', status=500, content_type=JSON, headers=(("Cache-Control", "no-store"),)
    ),
}
"""Chromium ends a response that is not to be stored only when its body is read, which the page does not do."""


async def record(site: PageSite, folder: Path) -> None:
    """Record saving a note."""
    recorder = open_recorder(folder, mission_text="Save a note", mission_id="notes")
    async with recorder as mission, mission.subgoal("Save", subgoal_id="save"):
        await mission.perform(Navigate(url=f"{site.url}/"))
        await mission.perform(Click(target=Target(selector="#save")))


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("before", RECORDED)
def test_an_error_is_quoted_whatever_was_recorded(tmp_path: Path, before: str, error: str) -> None:
    """The recorded response had another body, or none; the error says what went wrong all the same."""
    with serve_pages() as site:
        site.answers |= {"/": Answer(body=PAGE), "/api/notes": RECORDED[before]}
        SHARED.run(record(site, tmp_path / "bundle"))
        site.answers["/api/notes"] = ERRORS[error]
        outcome = replay(tmp_path / "bundle", tmp_path / "run", network="live", secrets={})

    assert outcome.explanation is not None
    assert outcome.explanation.cause == "site-error"
    status = RECORDED[before].status
    assert outcome.explanation.why == (
        f"POST {site.url}/api/notes returned status 500 instead of {status}: 'disk full'"
    )


SIGN_IN = """<!doctype html><title>Help desk</title>{}<form method=post action=/login>
<label>Password <input type=password name=password></label><button id=save>Sign in</button></form>"""
REFUSED = SIGN_IN.format("<p role=alert>Wrong password</p>")
LOCKED = Answer(body="<h1>Internal Server Error</h1><p>database is locked</p>", status=500)


@pytest.mark.parametrize(
    ("change", "reason", "refusal"),
    [
        ({"/login": Answer(body=REFUSED)}, "(the sign-in was refused): 'Wrong password'", "sign-in"),
        ({"/login": Answer(body=REFUSED, status=401)}, "(the sign-in was refused): 'Wrong password'", "sign-in"),
        ({"/tickets": LOCKED}, "/tickets returned status 500: 'database is locked'", None),
        ({"/tickets": Answer(body="Queue is down", status=500)}, "/tickets returned status 500: 'Queue is down'", None),
    ],
)
def test_the_words_of_the_page_that_a_form_leads_to_are_the_reason(
    tmp_path: Path, change: dict[str, Answer], reason: str, refusal: str | None
) -> None:
    """Whether it answers the form itself, or is where that redirects to."""
    with serve_pages() as site:
        tickets = Answer(body="<!doctype html><title>Help desk</title><h1>Tickets</h1>")
        site.answers |= {"/": Answer(body=SIGN_IN.format("")), "/login": redirect("/tickets"), "/tickets": tickets}
        SHARED.run(record(site, tmp_path / "bundle"))
        site.answers |= change
        outcome = replay(tmp_path / "bundle", tmp_path / "run", network="live", secrets={})

    assert outcome.explanation is not None
    assert outcome.explanation.why.endswith(reason)
    assert outcome.explanation.refusal == refusal
