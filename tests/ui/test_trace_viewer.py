"""A bundle in the trace viewer that comes with Playwright."""

from __future__ import annotations

import json
import shutil
import zipfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page, expect

from eikon_engine.cli.export import export_command
from eikon_engine.cli.shell import run_command
from eikon_engine.exporters.playwright_trace import export_trace
from eikon_engine.trace.bundle import open_bundle
from tests.replay.conftest import replay
from tests.ui.site import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

TRACES = Path(__file__).resolve().parents[2] / "tests/data/traces"


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Open a page; a request that leaves loopback is an error."""
    opened = chromium.new_page()
    left: list[str] = []
    opened.on("request", lambda each: None if "//127.0.0.1:" in each.url else left.append(each.url))
    yield opened
    opened.close()
    assert [url for url in left if url.startswith("http")] == []


def test_the_viewer_shows_actions_pages_and_requests(page: Page) -> None:
    """Each subgoal is a group; a page has the style that the recorded network has."""
    with shown(TRACES / "shop_passing", "--viewer", "playwright") as url:
        page.goto(url)
        expect(page.get_by_text("Look at the cart")).to_be_visible()
        page.get_by_text("click #cart-link ('Cart 3')").click()
        page.get_by_text("After", exact=True).click()
        document = page.frame_locator("iframe.snapshot-visible")
        expect(document.get_by_role("heading", name="Cart")).to_be_visible()
        header = document.locator("header").first
        assert header.evaluate("each => getComputedStyle(each).display") == "flex"
        page.get_by_role("tab", name="Network").click()
        expect(page.get_by_text("shop.css").first).to_be_visible()
        page.goto("about:blank")


def test_what_a_replay_found_is_attached(tmp_path: Path, page: Page) -> None:
    """The action that diverged has an error, with what was expected and observed."""
    bundle = tmp_path / "b"
    shutil.copytree(TRACES / "shop_failing", bundle)
    changed = json.loads((bundle / "trace.json").read_text())
    changed["subgoal_traces"][0]["actions_taken"][0]["observation"]["pages"][0]["title"] = "Another title"
    (bundle / "trace.json").write_text(json.dumps(changed))
    replay(bundle, tmp_path / "run")

    with shown(bundle, "--viewer", "playwright", "--outcome", tmp_path / "run") as url:
        page.goto(url)
        page.get_by_role("tab", name="Errors").click()
        expect(page.get_by_text("Another title").first).to_be_visible()
        page.get_by_role("tab", name="Attachments").click()
        expect(page.get_by_text("title-changed").first).to_be_visible()
        page.goto("about:blank")


def test_the_same_bundle_is_the_same_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Byte by byte; a secret is replaced as in the bundle, and an outcome of another bundle is refused."""
    bundle = TRACES / "shop_passing"
    first = export_trace(open_bundle(bundle))

    assert run_command(export_command, ["trace", str(bundle), "-o", str(tmp_path / "t.zip")], "eikon export") == 0
    assert (tmp_path / "t.zip").read_bytes() == first
    with zipfile.ZipFile(BytesIO(first)) as archive:
        events = [json.loads(line) for line in archive.read("trace.trace").splitlines()]
        stored = set(archive.namelist())
        network = [json.loads(line)["snapshot"] for line in archive.read("trace.network").splitlines()]
    begun = [event["callId"] for event in events if event["type"] == "before"]
    assert sorted(begun) == sorted(event["callId"] for event in events if event["type"] == "after")
    contents = [each["response"]["content"] for each in network]
    assert {f"resources/{each['_sha1']}" for each in contents if "_sha1" in each} <= stored

    (tmp_path / "outcome.json").write_text("{")
    arguments = ["trace", str(bundle), "-o", str(tmp_path / "u.zip"), "--outcome", str(tmp_path / "outcome.json")]
    assert run_command(export_command, arguments, "eikon export") == 65
    assert not (tmp_path / "u.zip").exists()
