"""A live replay recognizes that a session ended by what the calls of a page are answered, too, not only navigations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from eikon_engine.certify.accept_outcome import Decision, accept_outcome
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Fill, Navigate
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.target import Target
from tests.browser.pages import Answer, redirect, serve_pages
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JSON = "application/json"
SIGN_IN = "<!doctype html><title>Sign in</title><form><input type=password name=password></form>"
NOTES = """<!doctype html><title>Notes</title><button id=save>Save</button> <output id=state></output>
<script>
save.onclick = async () => {
  const answer = await fetch('/api/notes', { method: 'POST' })
  state.textContent = (answer.headers.get('content-type') || '').includes('json') ? 'Saved' : 'Not saved'
}
</script>"""
LOGIN = """<!doctype html><title>Login</title><form method=post action=/login>
<input type=password id=password name=password><button id=enter>Enter</button></form>"""
ANSWERS = {
    "/": Answer(body=NOTES, headers=(("Set-Cookie", "csrftoken=abc; Path=/"),)),
    "/login": Answer(body=LOGIN, headers=(("Set-Cookie", "session=1; Path=/"),)),
    "/api/notes": Answer(body='{"ok": true}', content_type=JSON),
    "/users/sign_in": Answer(body=SIGN_IN),
}
FORBIDDEN = Answer(body='{"error": "not yours"}', status=403, content_type=JSON)


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve notes that a signed-in user saves."""
    with serve_pages() as pages:
        pages.answers |= ANSWERS
        yield pages


async def record(site: PageSite, folder: Path, *, signs_in: bool) -> None:
    """Record saving a note."""
    recorder = open_recorder(folder, mission_text="Save a note", mission_id="notes")
    async with recorder as mission, mission.subgoal("Save", subgoal_id="save"):
        if signs_in:
            await mission.perform(Navigate(url=f"{site.url}/login"))
            await mission.perform(Fill(target=Target(selector="#password"), text="correct-horse-battery"))
            await mission.perform(Click(target=Target(selector="#enter")))
        await mission.perform(Navigate(url=f"{site.url}/"))
        await mission.perform(Click(target=Target(selector="#save")))


def replayed(site: PageSite, tmp_path: Path, answer: Answer, *, signs_in: bool = True) -> ReplayOutcome:
    """Record the mission, and replay it on a site that answers the call differently."""
    SHARED.run(record(site, tmp_path / "bundle", signs_in=signs_in))
    site.answers["/api/notes"] = answer
    secrets = {"PASSWORD": "correct-horse-battery"} if signs_in else {}
    return replay(tmp_path / "bundle", tmp_path / "run", network="live", secrets=secrets)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(redirect("/users/sign_in", status=303), "redirected to a login page", id="redirected"),
        pytest.param(Answer(body=SIGN_IN), "returned a page with a sign-in form: 'Sign in'", id="a sign-in page"),
        pytest.param(Answer(body="{}", status=401, content_type=JSON), "returned status 401", id="401"),
        pytest.param(FORBIDDEN, "returned status 403 (access denied): 'not yours'", id="403"),
    ],
)
def test_a_call_that_needs_a_sign_in_is_an_ended_session(
    site: PageSite, tmp_path: Path, answer: Answer, why: str
) -> None:
    """The page itself stays; only its call is not answered any more, which no baseline should contain."""
    outcome = replayed(site, tmp_path, answer)

    assert outcome.explanation is not None
    assert outcome.explanation.cause == "session-expired", outcome.explanation
    assert f"POST {site.url}/api/notes" in outcome.explanation.why
    assert why in outcome.explanation.why
    decision = Decision(by="Ada", reason="new baseline")
    bundle = open_bundle(tmp_path / "bundle")
    report = accept_outcome(bundle, tmp_path / "run", decision, NOW, dry_run=False)
    assert report.status == "refused"
    assert "session-expired" in report.refusals[0]


CALLS = {
    "/users/sign_in?next=%2Fnotes": "fetch('/api/notes', { method: 'POST' })",
    "/oauth2/v2.0/authorize?client_id=notes&response_type=code&state=4711": (
        "fetch('/api/notes', { method: 'POST', headers: { 'X-Requested-With': 'fetch' } })"  # with a preflight
    ),
    "/idp/redirect?SAMLRequest=fZJ": """new Promise((resolve, reject) => {
      const call = new XMLHttpRequest()
      call.onload = () => resolve(new Response('', { headers: { 'Content-Type': 'application/json' } }))
      call.onerror = () => reject(new Error('no answer'))
      call.open('POST', '/api/notes')
      call.send()
    })""",
}
"""Calls by the login page that they are redirected to."""


def elsewhere_page(call: str) -> Answer:
    """Return the notes, which are saved by another call, and which report a call that failed."""
    script = NOTES.replace("await fetch('/api/notes', { method: 'POST' })", f"await {call}.catch(() => null)")
    return Answer(body=script.replace("(answer.headers", "(answer && answer.headers"), headers=ANSWERS["/"].headers)


@pytest.mark.parametrize("path", CALLS)
def test_a_call_that_is_redirected_to_the_sign_in_of_another_origin_is_an_ended_session(
    site: PageSite, tmp_path: Path, path: str
) -> None:
    """Single sign-on: the page may not read the login page of another origin, so its call fails without a response."""
    site.answers["/"] = elsewhere_page(CALLS[path])
    outcome = replayed(site, tmp_path, redirect(f"{site.elsewhere}{path}"))

    assert outcome.explanation is not None
    assert outcome.explanation.cause == "session-expired", outcome.explanation
    assert outcome.explanation.why == (
        f"POST {site.url}/api/notes was redirected to a login page, {site.elsewhere}{path}"
    )


@pytest.mark.parametrize(("path", "signs_in"), [("/users/sign_in", False), ("/maintenance", True)])
def test_a_call_that_is_redirected_to_another_origin_is_no_failure_of_the_network(
    site: PageSite, tmp_path: Path, path: str, *, signs_in: bool
) -> None:
    """Without a sign-in before, no session could end; a redirect to any other page shows that the site has changed."""
    site.answers["/"] = elsewhere_page("fetch('/api/notes', { method: 'POST' })")
    outcome = replayed(site, tmp_path, redirect(f"{site.elsewhere}{path}"), signs_in=signs_in)

    assert outcome.explanation is not None
    assert outcome.explanation.cause == "site-changed", outcome.explanation
    assert outcome.explanation.why == (
        f"POST {site.url}/api/notes was redirected to {site.elsewhere}{path}, whose origin does not let the page read "
        "the response"
    )


def test_a_403_before_any_sign_in_is_an_error_of_the_site(site: PageSite, tmp_path: Path) -> None:
    """A visitor who has a cookie and never signed in has no session that could end."""
    outcome = replayed(site, tmp_path, FORBIDDEN, signs_in=False)

    assert outcome.explanation is not None
    assert outcome.explanation.cause == "site-error"
    assert outcome.explanation.why.endswith("returned status 403 instead of 200: 'not yours'")
