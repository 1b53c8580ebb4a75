"""A recorded target has its selector, its frames and the element that was hit."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from eikon_engine.trace.actions import Click, Fill, Mouse
from tests.browser.pages import PageSite
from tests.record.forms import FORM
from tests.record.recorded_page import recorded_actions, recorded_page

pytestmark = pytest.mark.browser


def test_a_target_is_known_by_the_element_that_was_hit(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The agent's selector is kept, with role and name of its element, and the options of the call."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        agent.page.click("#go", button="right", modifiers=["Shift"], position={"x": 3, "y": 4}, timeout=19_000)

    (click,) = recorded_actions(tmp_path / "b")
    assert isinstance(click, Click)
    assert click.target.selector == "#go"
    assert click.target.identity is not None
    assert (click.target.identity.role, click.target.identity.name) == ("button", "Go")
    assert (click.button, click.modifiers, click.position and click.position.x) == ("right", ("Shift",), 3)
    assert click.timeout_ms == 19_000


def test_frames_lead_to_their_elements(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """An action in a frame has the frame's path, whether the agent used a locator, a frame or a handle."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put('<iframe name=inner srcdoc="<input id=in aria-label=In>"></iframe>'))
        page.frame_locator("iframe").locator("#in").fill("a")
        frame = page.frame(name="inner")
        assert frame is not None
        frame.fill("#in", "b")
        handle = frame.query_selector("#in")
        assert handle is not None
        handle.fill("c")

    targets = [deed.target for deed in recorded_actions(tmp_path / "b") if isinstance(deed, Fill)]
    assert [str(target) for target in targets] == [
        "iframe >> #in",
        'iframe[name="inner"] >> #in',
        'iframe[name="inner"] >> #in',
    ]
    assert [target.identity and target.identity.name for target in targets] == ["In"] * 3


def test_handles_are_recorded_with_the_selector_of_their_element(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """An element handle is recorded with its unique selector, or else with its position."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM))
        page.locator("#go").element_handle().click()
        page.query_selector_all(".item")[1].click()
        first, body = page.query_selector(".item"), page.query_selector("body")
        assert first is not None
        assert body is not None
        first.click()
        inner = body.query_selector("#go")
        assert inner is not None
        inner.click()
        found = page.evaluate_handle("document.querySelector('#text')").as_element()
        assert found is not None
        found.fill("a")

    targets = [deed.target for deed in recorded_actions(tmp_path / "b") if isinstance(deed, Click | Fill)]
    assert [target.selector for target in targets] == [
        "#go",
        "html > body > p:nth-of-type(2)",
        "html > body > p:nth-of-type(1)",
        "#go",
        "#text",
    ]
    assert [target.identity and target.identity.text for target in targets] == ["Go", "second", "first", "Go", ""]


def test_mouse_actions_record_the_element_under_the_pointer(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A click at coordinates has the element there, also inside a shadow root."""
    host = "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<button>Deep</button>'</script>"
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(host))
        box = agent.page.locator("button").bounding_box()
        assert box is not None
        agent.page.mouse.click(box["x"] + 2, box["y"] + 2)

    (click,) = recorded_actions(tmp_path / "b")
    assert isinstance(click, Mouse)
    assert click.under is not None
    assert (click.under.role, click.under.name) == ("button", "Deep")
