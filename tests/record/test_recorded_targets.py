"""A recorded target has its selector, its frames and the element that was hit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error

from eikon_engine.browser.attach.call_interceptor import CallInterceptor
from eikon_engine.trace.actions import Click, Fill, Hover, Mouse
from tests.browser.pages import Answer, PageSite
from tests.record.forms import FORM
from tests.record.recorded_page import TWICE, recorded_actions, recorded_page, warnings

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


SELECTORS = {
    "css": ("#save", "save"),
    "css with a comma": ("b.none, #save", "save"),
    "quoted text": ('text="Save >> it"', "save"),
    "role": ('internal:role=button[name="Save >> it"s]', "save"),
    "xpath": ("//main/button[2]", "save"),
    "parent": ("#inside >> ..", "save"),
    "position": ("button >> nth=1", "save"),
    "filter": ('button >> internal:has="#inside"', "save"),
    "either": ('#none >> internal:or="#save"', "save"),
    "both": ('button >> internal:and="#save"', "save"),
    "visible": ("main >> button >> visible=true >> nth=-1", "save"),
    "shadow root": ("#host >> #deep", "deep"),
    "captured": ("*css=button >> #inside", "save"),
    "one quote": ("id=o'brien", "o'brien"),
}
NOT_EXTENSIBLE = {"captured", "one quote"}
TARGETS = """<main><button>First</button><button id=save>Save &gt;&gt; it<b id=inside></b></button></main>
<div id=host></div><button id="o'brien">Brien</button><script>
document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = '<button id=deep>Deep</button>';
const notice = () => { document.title = 'noticed'; };
for (const name of ['eikon:match', 'eikon:probe', 'eikon:ask', 'focus', 'error'])
  window.addEventListener(name, notice, true);
new MutationObserver(notice).observe(document, { childList: true, subtree: true });
</script>"""


@pytest.mark.parametrize("form", SELECTORS)
def test_a_target_is_known_by_any_selector(
    chromium: Browser, site: PageSite, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its identity is recorded, its page notices nothing, and Playwright's scripts are not loaded once more for it."""
    selector, name = SELECTORS[form]
    probes = []
    send = CallInterceptor.send

    def note(interceptor: CallInterceptor, target: object, method: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401 - passed on
        probes.append(method)
        return send(interceptor, target, method, params)

    monkeypatch.setattr(CallInterceptor, "send", note)
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(TARGETS))
        agent.page.hover(selector)
        title = agent.page.title()

    hover, _ = recorded_actions(tmp_path / "b")
    assert isinstance(hover, Hover)
    assert hover.target.identity is not None
    assert hover.target.identity.attributes == (("id", name),)
    assert set(probes) == {"evalOnSelectorAll" if form in NOT_EXTENSIBLE else "queryCount"}
    assert title != "noticed"
    assert warnings(tmp_path / "b") == ""


WRITTEN = "document.open(); document.write('<input id=in type=password aria-label=In>'); document.close()"


def test_a_target_in_a_written_document_is_known(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """`document.open` removes all listeners from its document and window; a password typed there is still a secret."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put("<iframe name=inner></iframe>"))
        frame = agent.page.frame(name="inner")
        assert frame is not None
        frame.evaluate(WRITTEN)
        frame.fill("input", "hunter2-in-frame")
        agent.page.evaluate(WRITTEN)
        agent.page.fill("input", "hunter2-in-page")

    fills = [action for action in recorded_actions(tmp_path / "b") if isinstance(action, Fill)]
    assert [fill.target.identity and fill.target.identity.name for fill in fills] == ["In", "In"]
    assert "hunter2" not in (tmp_path / "b" / "trace.json").read_text()


def test_a_selector_that_no_document_can_match_disturbs_no_page(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """A probe that fails is no error of the page: here its selector matches a text, which has no identity."""
    errors: list[str] = []
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.on("pageerror", lambda error: errors.append(str(error)))
        agent.page.goto(site.put("<h1>Here</h1>"))
        with pytest.raises(Error):
            agent.page.click("//h1/text()", timeout=500)

    assert errors == []


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
        'iframe:is([name="inner"], [id="inner"]:not([name]), [id="inner"][name=""]) >> #in',
        'iframe:is([name="inner"], [id="inner"]:not([name]), [id="inner"][name=""]) >> #in',
    ]
    assert [target.identity and target.identity.name for target in targets] == ["In"] * 3


def test_a_frame_without_a_name_is_found_by_its_id(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The browser calls such a frame by its id, so that a replay must look for both."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<iframe id=inner srcdoc='<title>in</title><input id=in>'></iframe><iframe></iframe>"))
        frame = agent.page.frame(name="inner")
        assert frame is not None
        assert frame.title() == "in"
        frame.fill("#in", "b")

    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


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


def test_the_id_of_an_iframe_is_its_name_only_if_it_has_no_other(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The selector leads to the frame that the agent used, and not also to one whose id is the name of another."""
    site.answers["/in"] = Answer(body="<!doctype html><button onclick=\"this.textContent = 'Done'\">Go</button>")
    iframes = "<iframe name=x src=/in></iframe><iframe id=x name=y src=/in></iframe><iframe id=z src=/in></iframe>"
    url = site.put(iframes)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        for name in ("x", "y", "z"):
            frame = agent.page.frame(name)
            assert frame is not None
            frame.click("button")

    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
