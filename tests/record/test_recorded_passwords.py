"""A password that an agent types is in no file, whichever way it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from eikon_engine.record import AttachOptions, record_mission
from eikon_engine.redact.scan import find_in_files
from eikon_engine.trace.actions import Fill, InsertText, SecretRef, TypeText
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, Asked, PageSite
from tests.record.recorded_page import recorded_actions, recorded_page

pytestmark = pytest.mark.browser

PASSWORD = "lime-grove-88"
CODE = "204916"
LOGIN = """<form method=post action=/in><input id=name name=name aria-label=Name>
<input id=password name=password type=password aria-label=Password><button>Sign in</button></form>"""


def fill(page: Page) -> None:
    """Fill the field in one call."""
    page.fill("#password", PASSWORD)


def type_on_locator(page: Page) -> None:
    """Type it into a locator."""
    page.get_by_label("Password").press_sequentially(PASSWORD)


def fill_handle(page: Page) -> None:
    """Fill the field through its handle."""
    handle = page.query_selector("input[type=password]")
    assert handle is not None
    handle.fill(PASSWORD)


def type_on_keyboard(page: Page) -> None:
    """Type it into the focused element."""
    page.click("#password")
    page.keyboard.type(PASSWORD)


def insert_text(page: Page) -> None:
    """Insert it into the focused element."""
    page.fill("#name", "ada")
    page.keyboard.press("Tab")
    page.keyboard.insert_text(PASSWORD)


def fill_code(page: Page) -> None:
    """Fill a field for a code."""
    page.fill("#otp", CODE)


def type_code(page: Page) -> None:
    """Type a code into the focused element."""
    page.click("#otp")
    page.keyboard.type(CODE)


def echo(asked: Asked) -> Answer:
    """Return a greeting with everything that was sent."""
    return Answer(body=f"<h1>Signed in</h1><p>{asked.body.decode()}")


@pytest.mark.parametrize("give", [fill, type_on_locator, fill_handle, type_on_keyboard, insert_text])
def test_a_password_is_in_no_file(
    chromium: Browser, site: PageSite, tmp_path: Path, give: Callable[[Page], None]
) -> None:
    """The trace, the request body and the page that echoes it have its name instead."""
    site.answers["/in"] = echo
    url = site.put(LOGIN)
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(url)
        give(agent.page)
        agent.page.click("button")
        agent.page.wait_for_selector("h1")

    texts = [deed.text for deed in recorded_actions(tmp_path / "b") if isinstance(deed, Fill | TypeText | InsertText)]
    assert SecretRef(secret="PASSWORD") in texts
    assert find_in_files(tmp_path / "b", {PASSWORD.encode()}) == set()
    assert any(PASSWORD.encode() in asked.body for asked in site.asked)


@pytest.mark.parametrize("give", [fill_code, type_code])
def test_a_code_is_in_no_file(chromium: Browser, site: PageSite, tmp_path: Path, give: Callable[[Page], None]) -> None:
    """What is typed into a field for codes is a secret, though it is shown."""
    url = site.put("<form><input id=card name=card><input id=otp name=otp autocomplete=one-time-code></form>")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(url)
        give(agent.page)

    texts = [each.text for each in recorded_actions(tmp_path / "b") if isinstance(each, Fill | InsertText)]
    assert texts == [SecretRef(secret="PASSWORD")]
    assert find_in_files(tmp_path / "b", {CODE.encode()}) == set()


@pytest.mark.parametrize("where", ["frame", "shadow"])
def test_a_password_typed_into_the_focused_element_is_found(
    chromium: Browser, site: PageSite, tmp_path: Path, where: str
) -> None:
    """Text typed into a password field in a cross-site frame or a shadow root is a secret."""
    inner = site.put(LOGIN).replace(site.url, site.elsewhere)
    shadow = f"<div id=host></div><script>host.attachShadow({{mode: 'open'}}).innerHTML = `{LOGIN}`</script>"
    url = site.put(f"<iframe src={inner}></iframe>" if where == "frame" else shadow)
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(url)
        (page.frame_locator("iframe") if where == "frame" else page).locator("#password").click()
        page.keyboard.type(PASSWORD)

    assert [deed.text for deed in recorded_actions(tmp_path / "b") if isinstance(deed, InsertText)] == [
        SecretRef(secret="PASSWORD")
    ]
    assert find_in_files(tmp_path / "b", {PASSWORD.encode()}) == set()


def test_other_typed_texts_are_not_secrets(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Text typed into a plain field is not a secret, even if a password field was used before."""
    url = site.put(LOGIN)
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(url)
        page.click("#password")
        page.click("#name")
        page.keyboard.type("ada")

    assert [deed.text for deed in recorded_actions(tmp_path / "b") if isinstance(deed, InsertText)] == ["ada"]


def test_declared_secrets_are_in_no_file(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A declared value is in no text of the agent: steps, calls or errors."""
    url = site.put(LOGIN)
    options = AttachOptions(certify=None, secrets={"CUSTOMER": PASSWORD})

    def work() -> None:
        with recorded_page(chromium, tmp_path / "b", options) as agent:
            page, mission = agent.page, agent.mission
            with mission.subgoal(f"Look for {PASSWORD}", subgoal_id=PASSWORD):
                page.goto(f"{url}?of={PASSWORD}")
                page.fill("#name", PASSWORD)
                mission.tool("find", {"who": PASSWORD}, result=[PASSWORD], error=f"no {PASSWORD}")
                mission.completion(prompt=PASSWORD, response={"who": PASSWORD}, error=PASSWORD)
                mission.extraction(PASSWORD, PASSWORD)
                mission.warn(PASSWORD)
                message = f"{PASSWORD} is gone"
                raise RuntimeError(message)

    with pytest.raises(RuntimeError):
        work()

    assert find_in_files(tmp_path / "b", {PASSWORD.encode()}) == set()
    assert open_bundle(tmp_path / "b").trace.subgoal_traces[0].description == "Look for {{eikon-secret:CUSTOMER}}"


def test_a_password_in_the_words_of_the_mission_is_in_no_id(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The id is derived from the mission text, and derived again once the text turns out to contain a secret."""
    page = chromium.new_page()
    text = f"Sign in with {PASSWORD}, please"
    with record_mission(page, mission_text=text, directory=tmp_path / "b", options=AttachOptions(certify=None)):
        page.goto(site.put(LOGIN))
        page.fill("#password", PASSWORD)
    page.context.close()

    trace = open_bundle(tmp_path / "b").trace
    assert trace.mission_text == "Sign in with {{eikon-secret:PASSWORD}}, please"
    assert trace.mission_id.partition("_")[2] == "sign_in_with_eikon_secret_password"


@pytest.mark.parametrize("mission_id", [None, "lime-grove"])
def test_other_ids_stay(chromium: Browser, site: PageSite, tmp_path: Path, mission_id: str | None) -> None:
    """An explicit id, and one without a secret, are kept."""
    page = chromium.new_page()
    options = AttachOptions(certify=None, mission_id=mission_id)
    with record_mission(page, mission_text="Sign in at the lime grove", directory=tmp_path / "b", options=options):
        page.goto(site.put(LOGIN))
        page.fill("#password", PASSWORD)
    page.context.close()

    known = open_bundle(tmp_path / "b").trace.mission_id
    assert known == mission_id or known.endswith("Z_sign_in_at_the_lime_grove")
