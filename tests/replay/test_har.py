"""A replay can be served from a HAR file."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.importers.har_network import import_har
from eikon_engine.network.matching import Hit, Playback
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.record import RecordOptions, open_recorder
from tests.browser.pages import Answer, PageSite, redirect, serve_pages
from tests.missions.counter import ANSWER, COUNTER, COUNTER_PAGE, SECRET, count_up
from tests.replay.test_replay_command import TRACES, assert_one_line, copy_bundle, run_apart, run_replay
from tests.sites.static import serve_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Copy a bundle without its network part."""
    copied = copy_bundle("shop_failing", tmp_path)
    plain: dict[str, Any] = json.loads((copied / "trace.json").read_text())
    (copied / "trace.json").write_text(json.dumps(plain | {"network": None}))
    return copied


@pytest.fixture
def har(tmp_path: Path) -> Path:
    """Export the network part of that bundle."""
    path = tmp_path / "shop.har"
    assert run_command(eikon, ["export", "har", str(TRACES / "shop_failing"), "--output", str(path)], "eikon") == 0
    return path


def test_an_exported_har_answers_a_replay(bundle: Path, har: Path, tmp_path: Path) -> None:
    """A bundle without a network part is faithful with its HAR, and the import leaves no files behind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    done = run_apart(bundle, tmp_path / "run", "--har", str(har), TMPDIR=str(temporary))

    outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    assert done.returncode == 0, done.stderr
    assert outcome.network_mode == "sealed"
    assert outcome.network.served > 0
    assert outcome.warnings == ()
    assert list(temporary.iterdir()) == []


def test_what_a_har_lacks_is_a_divergence_and_a_warning(bundle: Path, har: Path, tmp_path: Path) -> None:
    """A response removed from the HAR is missed, and a WebSocket in it is named."""
    plain: dict[str, Any] = json.loads(har.read_text())
    first, *entries = plain["log"]["entries"]
    socket = {**first, "request": {"method": "GET", "url": "ws://127.0.0.1:8642/live", "headers": []}}
    for entry in (socket, *entries):
        del entry["_eikon"]
    plain["log"]["entries"] = [socket, *entries]
    har.write_text(json.dumps(plain))

    done = run_replay(bundle, tmp_path / "run", "--har", str(har))

    outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    assert done.returncode == 1
    assert outcome.network.misses[0].key == f"GET {first['request']['url']}"
    assert "log.entries[0] is the WebSocket ws://127.0.0.1:8642/live" in outcome.warnings[0]


def test_a_broken_har_ends_before_anything_starts(bundle: Path, tmp_path: Path) -> None:
    """An invalid HAR is reported in one line with exit status 65, and no artifacts are written."""
    (tmp_path / "bad.har").write_text('{"log": {"entries": [{}]}}')

    done = run_replay(bundle, tmp_path / "run", "--har", str(tmp_path / "bad.har"))

    assert_one_line(done, 65, "bad.har: log.entries[0].request: expected an object, got null", "code trace-field")
    assert not (tmp_path / "run").exists()


def test_a_missing_har_is_named_before_anything_else(bundle: Path, tmp_path: Path) -> None:
    """Nothing else is asked for, such as a secret."""
    done = run_replay(bundle, tmp_path / "run", "--har", str(tmp_path / "none.har"))

    assert_one_line(done, 65, "none.har: expected the file that --har names, got no such path", "code trace-missing")


def test_a_har_of_ours_needs_no_secret(tmp_path: Path) -> None:
    """It contains the stand-ins that the bundle contains."""
    bundle, site = tmp_path / "counter", tmp_path / "site"
    site.mkdir()
    (site / COUNTER).write_text(COUNTER_PAGE)
    (site / ANSWER[0]).write_text(ANSWER[1])
    asyncio.run(_record_counter(site, bundle))
    har = tmp_path / "counter.har"
    assert run_command(eikon, ["export", "har", str(bundle), "--output", str(har)], "eikon") == 0

    done = run_apart(bundle, tmp_path / "run", "--har", str(har))

    assert done.returncode == 0, done.stderr


async def _record_counter(site: Path, bundle: Path) -> None:
    """Record a mission that types a secret."""
    options = RecordOptions(secrets={SECRET: "Ada Lovelace"})
    recorder = open_recorder(bundle, mission_text="Count.", mission_id="count", options=options)
    with serve_folder(site) as url:
        async with recorder as mission:
            await count_up(mission, url)


def test_a_har_is_for_sealed_replays(bundle: Path, har: Path, tmp_path: Path) -> None:
    """A HAR with a live network is a usage error."""
    done = run_replay(bundle, tmp_path / "run", "--har", str(har), "--network", "live")

    assert_one_line(done, 2, "--har requires a sealed replay, got --network live")


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve a page with a redirect and fetches."""
    with serve_pages() as serving:
        serving.answers["/old"] = redirect("/new")
        serving.answers["/new"] = Answer(
            body="<p id=p></p><script>fetch('/data', {method: 'POST', body: '{\"a\": 1}', "
            "headers: {'content-type': 'application/json'}}).then(r => r.text()).then(t => p.textContent = t)</script>"
        )
        serving.answers["/data"] = Answer(body="caf\u00e9")
        yield serving


@pytest.mark.parametrize(("name", "content"), [("a.har", "embed"), ("a.har", "attach"), ("a.zip", "attach")])
def test_a_har_of_playwright_is_understood(site: PageSite, tmp_path: Path, name: str, content: str) -> None:
    """A HAR recorded by Playwright has its redirects, its bodies, and the keys that a replay requests."""
    asyncio.run(_record(f"{site.url}/old", tmp_path / name, content))

    imported = import_har(tmp_path / name, tmp_path / "network")

    recording = imported.recording
    playback = Playback(recording.exchanges, read_body=recording.body)
    page = playback.match("GET", f"{site.url}/old", None, None, ())
    data = playback.match("POST", f"{site.url}/data", b'{"a":1}', "application/json", ())
    assert isinstance(page, Hit)
    assert isinstance(data, Hit)
    assert (page.exchange.request.is_navigation, page.exchange.request.resource_type) == (True, "document")
    assert [(hop.url, hop.status) for hop in page.exchange.hops] == [(f"{site.url}/old", 302)]
    assert data.exchange.response is not None
    assert data.exchange.response.body is not None
    assert recording.body(data.exchange.response.body) == "caf\u00e9".encode()
    assert imported.warnings == ()


async def _record(url: str, har: Path, content: Any) -> None:  # noqa: ANN401 - Playwright wants one of its literals
    """Visit a page with Playwright alone."""
    import os

    from playwright.async_api import async_playwright

    from eikon_engine.browser.executable import find_browser

    path = find_browser(None, environ=os.environ, headless=True).path
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path)
        context = await browser.new_context(record_har_path=har, record_har_content=content)
        page = await context.new_page()
        await page.goto(url)
        await page.locator("#p", has_text="caf").wait_for()
        await context.close()
        await browser.close()
