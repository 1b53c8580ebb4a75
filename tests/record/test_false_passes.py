"""A recording with effects that no replay repeats is never certified, and our errors never reach the agent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AttachOptions, record_mission
from eikon_engine.redact.scan import find_in_files
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import certificate_state
from tests.browser.pages import Answer, PageSite

pytestmark = pytest.mark.browser

FORM = "<form method=post action=/sent><input name=a value=1><button>Send</button></form>"
UNRECORDED = AttachOptions(certify=None)


def submit_by_argument(page: Page) -> None:
    """Send the form by a script of the agent's own that is given the form."""
    page.evaluate("form => form.submit()", page.evaluate_handle("document.forms[0]"))
    page.wait_for_timeout(1000)


def submit_by_handle(page: Page) -> None:
    """Send the form by a script on a handle that no selector found."""
    page.evaluate_handle("document.forms[0]").evaluate("form => form.submit()")
    page.wait_for_timeout(1000)


def submit_and_wait(page: Page) -> None:
    """Do the same, and wait for the page that it leads to."""
    page.evaluate_handle("document.forms[0]").evaluate("form => form.submit()")
    page.wait_for_url("**/sent")


@pytest.mark.parametrize(
    ("send", "status", "found"),
    [
        (submit_by_argument, "unverifiable", "POST"),
        (submit_by_handle, "unverifiable", "POST"),
        (submit_and_wait, "diverged", "/sent"),
    ],
)
def test_an_effect_that_no_replay_repeats_prevents_certification(
    chromium: Browser, site: PageSite, tmp_path: Path, send: Callable[[Page], None], status: str, found: str
) -> None:
    """The form was submitted in the recording and in no replay, so agreement of the replays proves nothing."""
    site.answers["/sent"] = Answer(body="<h1>Thank you</h1>")
    url = site.put(FORM)
    page = chromium.new_page()
    options = AttachOptions(certify=CertifyOptions(runs=2))

    with record_mission(page, mission_text="Send it", directory=tmp_path / "b", options=options) as mission:
        page.goto(url)
        send(page)

    page.context.close()
    assert mission.report is not None
    assert mission.report.status == status
    assert found in mission.report.findings[0].message
    assert certificate_state(tmp_path / "b", open_bundle(tmp_path / "b").trace).status != "certified"


def test_an_error_of_the_agents_own_listener_reaches_the_agent(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Playwright raises it in the next call; our own calls do not consume it."""
    url = site.put("<input id=a><h1>Here</h1>")
    page = chromium.new_page()

    def check(_: object) -> None:
        raise AssertionError("an unexpected response")

    def look() -> None:
        with record_mission(page, mission_text="Look", directory=tmp_path / "b", options=UNRECORDED):
            page.goto(url)
            page.on("console", check)
            page.evaluate("console.log('x')")
            for _ in range(3):
                page.fill("#a", "x")

    with pytest.raises(AssertionError, match="an unexpected response"):
        look()

    page.context.close()
    assert open_bundle(tmp_path / "b").trace.status == "failed"


def test_a_password_typed_with_its_enter_is_in_no_file(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A line break typed with the password is a key press; the line before it is redacted as the password."""
    site.answers["/in"] = Answer(body="<h1>Signed in</h1>")
    url = site.put("<form method=post action=/in><input id=pw name=p type=password></form>")
    page = chromium.new_page()

    with record_mission(page, mission_text="Sign in", directory=tmp_path / "b", options=UNRECORDED):
        page.goto(url)
        page.locator("#pw").press_sequentially("plum-orchard-77\n")
        page.wait_for_url("**/in")

    page.context.close()
    assert find_in_files(tmp_path / "b", {b"plum-orchard-77"}) == set()


def test_a_password_for_a_missing_field_is_in_no_file(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The selector names the field, whether or not it matches an element."""
    url = site.put("<h1>No form here</h1>")
    page = chromium.new_page()

    with record_mission(page, mission_text="Sign in", directory=tmp_path / "b", options=UNRECORDED):
        page.goto(url)
        with pytest.raises(Exception, match="Timeout"):
            page.fill("#password", "plum-orchard-77", timeout=300)

    page.context.close()
    assert find_in_files(tmp_path / "b", {b"plum-orchard-77"}) == set()
