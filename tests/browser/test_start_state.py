"""A mission starts with its recorded state: signed in, in the sealed replay too."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.dom import render_plain_html
from eikon_engine.errors import TraceSyntaxError, UsageError
from eikon_engine.record import MissionRecorder, RecordOptions, open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.bundle import load_page, open_bundle
from tests.browser.pages import Answer, PageSite, serve_pages
from tests.missions.shop import css
from tests.record.test_recording import everything_in
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

pytestmark = pytest.mark.browser

ACCOUNT = """<!doctype html><title>Account</title><ul id=all></ul><button>Sign out of the tab</button>
<a href="/account?again">again</a><i id=open onclick="window.open('/account')">open</i><script>
const show = (name, value) => {
  const item = document.createElement('li');
  item.textContent = `${name}: ${value}`;
  document.querySelector('#all').append(item);
};
show('cookie', document.cookie);
show('local', localStorage.getItem('token'));
show('session', sessionStorage.getItem('tab'));
show('history', history.length);
document.querySelector('button').onclick = () => { sessionStorage.clear(); location.reload(); };
const opening = indexedDB.open('shop', 1);
opening.onupgradeneeded = () => opening.result.createObjectStore('basket');
opening.onsuccess = () => {
  const asked = opening.result.transaction('basket').objectStore('basket').get('fruit');
  asked.onsuccess = () => { show('database', asked.result); document.title = 'Read'; };
};
</script>"""
SIGN_IN = """<!doctype html><title>Sign in</title><script>
document.cookie = 'seat=17; max-age=86400; path=/';
localStorage.setItem('token', 'local-4711');
const opening = indexedDB.open('shop', 1);
opening.onupgradeneeded = () => opening.result.createObjectStore('basket');
opening.onsuccess = () => {
  opening.result.transaction('basket', 'readwrite').objectStore('basket').put('banana', 'fruit').transaction
    .oncomplete = () => { opening.result.close(); document.title = 'Signed in'; };
};
</script>"""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A site, and the storage files of a signed-in session."""

    url: str
    options: RecordOptions


async def keep_session(url: str, folder: Path) -> RecordOptions:
    """Sign in with a separate browser, and write its storage to files."""
    async with launch_browser(LaunchOptions()) as launched:
        page = await launched.browser.new_page()
        await page.goto(f"{url}/sign-in")
        await page.wait_for_function("document.title === 'Signed in'")
        state = await page.context.storage_state(indexed_db=True)
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "session.json").write_text(json.dumps({url: {"tab": "seven"}}), encoding="utf-8")
    return RecordOptions(storage_state=folder / "state.json", session_storage=folder / "session.json")


def record(directory: Path, url: str, options: RecordOptions, *steps: str) -> None:
    """Record opening the account page, then a click."""

    async def look(mission: MissionRecorder) -> None:
        async with mission.subgoal("Look"):
            await mission.perform(Navigate(url=f"{url}/account"))
            for step in steps:
                await mission.perform(Click(target=css(step)))

    async def recorded() -> None:
        async with open_recorder(directory, mission_text="Look", options=options) as mission:
            await look(mission)

    SHARED.run(recorded())


def shown(directory: Path, *, page: int = 0) -> str:
    """Return the last document of a page of a recording."""
    bundle = open_bundle(directory)
    observation = bundle.trace.subgoal_traces[-1].actions_taken[-1].observation
    assert observation is not None
    snapshot = load_page(bundle.dom, observation.pages[page])
    assert snapshot is not None
    return render_plain_html(snapshot.main)


def account(site: PageSite) -> None:
    """Serve the account and the sign-in page."""
    site.answers["/account"] = Answer(body=ACCOUNT)
    site.answers["/sign-in"] = Answer(body=SIGN_IN)


def test_a_signed_in_session_is_signed_in_when_replayed(tmp_path: Path) -> None:
    """The replay without the site shows cookies, local storage, IndexedDB and session storage."""
    with serve_pages() as site:
        account(site)
        options = SHARED.run(keep_session(site.url, tmp_path))
        record(tmp_path / "b", site.url, options)

    outcome = replay(tmp_path / "b", tmp_path / "run")

    page = shown(tmp_path / "b")
    for line in ("cookie: seat=17", "local: local-4711", "session: seven", "database: banana", "history: 2"):
        assert line in page
    assert outcome.divergences == ()
    assert outcome.verdict == "faithful"


def test_session_storage_that_the_mission_removes_stays_removed(tmp_path: Path) -> None:
    """After signing out, loading the page again does not restore its storage."""
    with serve_pages() as site:
        account(site)
        options = SHARED.run(keep_session(site.url, tmp_path))
        record(tmp_path / "b", site.url, options, "button", "a")

    outcome = replay(tmp_path / "b", tmp_path / "run")

    assert "session: null" in shown(tmp_path / "b")
    assert outcome.verdict == "faithful"


def test_a_page_that_the_first_one_opens_has_its_session_storage(tmp_path: Path) -> None:
    """A second page is signed in like the first, in the replay too."""
    with serve_pages() as site:
        account(site)
        options = SHARED.run(keep_session(site.url, tmp_path))
        record(tmp_path / "b", site.url, options, "#open")

    outcome = replay(tmp_path / "b", tmp_path / "run")

    assert "session: seven" in shown(tmp_path / "b", page=1)
    assert outcome.verdict == "faithful"


def test_a_cookie_that_has_expired_since_is_there_in_the_replay(tmp_path: Path) -> None:
    """A mission with a cookie of one day is replayed two days later with that cookie."""
    with serve_pages() as site:
        account(site)
        options = SHARED.run(keep_session(site.url, tmp_path))
        record(tmp_path / "b", site.url, options)
    state = json.loads((tmp_path / "b" / "storage_state.json").read_text(encoding="utf-8"))
    yesterday = (datetime.now(UTC) - timedelta(days=1)).timestamp()  # noqa: TID251 - the browser's own clock counts here
    state["cookies"][0]["expires"] = yesterday
    (tmp_path / "b" / "storage_state.json").write_text(json.dumps(state), encoding="utf-8")

    outcome = replay(tmp_path / "b", tmp_path / "run")

    assert outcome.verdict == "faithful"


def test_secrets_of_the_start_state_are_in_no_file(tmp_path: Path) -> None:
    """The bundle has their names, and replays with other values."""
    secrets = {"TOKEN": "local-4711", "TAB": "seven", "FRUIT": "banana"}
    with serve_pages() as site:
        account(site)
        options = SHARED.run(keep_session(site.url, tmp_path))
        record(tmp_path / "b", site.url, replace(options, secrets=secrets))

    outcome = replay(tmp_path / "b", tmp_path / "run", secrets={"TOKEN": 'a"b\\c', "TAB": "<8>", "FRUIT": "plum"})

    written = everything_in(tmp_path / "b")
    assert [value for value in secrets.values() if value.encode() in written] == []
    assert outcome.verdict == "faithful"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("storage_state", "["),
        ("storage_state", "[1]"),
        ("storage_state", '{"cookies": 5}'),
        ("storage_state", '{"cookies": [{"name": 1}]}'),
        ("session_storage", "[" * 100_000),
        ("session_storage", '{"https://a.test/": {"a": "b"}}'),
        ("session_storage", '{"https://a.test": {"a": 1}}'),
        ("session_storage", '{"file://x": {}}'),
    ],
)
def test_an_unreadable_start_state_is_refused_in_one_line(tmp_path: Path, field: str, text: str) -> None:
    """A file with other content is a usage error, and there is no bundle."""
    (tmp_path / "odd.json").write_text(text, encoding="utf-8")
    options = replace(RecordOptions(), **{field: tmp_path / "odd.json"})  # type: ignore[arg-type] # the field varies

    with pytest.raises(UsageError) as caught:
        record(tmp_path / "b", "http://127.0.0.1:1", options)

    assert "\n" not in caught.value.message
    assert not (tmp_path / "b").exists()


def test_a_damaged_session_storage_of_a_bundle_is_named(tmp_path: Path) -> None:
    """The trace cannot be read, and the message names the file."""
    with serve_pages() as site:
        account(site)
        options = SHARED.run(keep_session(site.url, tmp_path))
        record(tmp_path / "b", site.url, options)
    (tmp_path / "b" / "session_storage.json").write_text("{", encoding="utf-8")

    with pytest.raises(TraceSyntaxError, match=r"session_storage\.json: expected a session storage"):
        replay(tmp_path / "b", tmp_path / "run")
