"""Whatever an agent does through Playwright stands in the recording: what, to which element, and how it went."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page

from eikon_engine.redact.files import held
from eikon_engine.trace.actions import Click, Drag, FileInput, Fill, Mouse, SelectOption, SetInputFiles
from eikon_engine.trace.execution import Failed, Succeeded
from tests.attach.watching import deeds, kinds, steps, warnings, watched
from tests.browser.pages import Answer, PageSite

FORM = """
<input id=text aria-label=Name> <input id=box type=checkbox aria-label=Box> <button id=go>Go</button>
<select id=one aria-label=One><option value=a>Alpha</option><option value=b>Beta</option></select>
<select id=many aria-label=Many multiple><option value=a>Alpha</option><option value=b>Beta</option></select>
<p class=item>first</p><p class=item>second</p>
<div id=here draggable=true>take me</div><div id=there ondragover="event.preventDefault()">put it here</div>
"""


def fill_and_clear(page: Page) -> None:
    """Write into a field in four ways."""
    page.fill("#text", "a")
    page.locator("#text").clear()
    page.get_by_label("Name").press_sequentially("b")
    page.press("#text", "Enter")


def click_around(page: Page) -> None:
    """Use the pointer on elements."""
    page.click("#go", button="right", modifiers=["Shift"], position={"x": 3, "y": 4})
    page.locator("#go").dblclick()
    page.get_by_role("button").hover()


def check_and_uncheck(page: Page) -> None:
    """Tick a box and leave it empty again."""
    page.check("#box")
    page.locator("#box").set_checked(checked=False)


def use_the_keyboard(page: Page) -> None:
    """Type into what has the focus."""
    page.focus("#text")
    page.keyboard.type("a")
    page.keyboard.insert_text("b")
    page.keyboard.down("Shift")
    page.keyboard.press("c")
    page.keyboard.up("Shift")


def use_the_mouse(page: Page) -> None:
    """Go by places."""
    page.mouse.move(5, 5, steps=2)
    page.mouse.down()
    page.mouse.up()
    page.mouse.click(5, 5)
    page.mouse.wheel(0, 10)


def travel(page: Page) -> None:
    """Go back and forth."""
    page.reload()
    page.goto(page.url + "?again")
    page.go_back()
    page.go_forward()


def look_and_wait(page: Page) -> None:
    """Do what changes no document."""
    page.wait_for_selector("#go")
    page.locator("#no").wait_for(state="hidden")
    page.screenshot()
    page.set_viewport_size({"width": 700, "height": 500})
    page.bring_to_front()


@pytest.mark.parametrize(
    ("do", "wanted"),
    [
        (fill_and_clear, ["fill", "fill", "type", "press"]),
        (click_around, ["click", "double_click", "hover"]),
        (check_and_uncheck, ["check", "uncheck"]),
        (use_the_keyboard, ["focus", "insert_text", "insert_text", "key", "press", "key"]),
        (use_the_mouse, ["mouse", "mouse", "mouse", "mouse", "scroll"]),
        (travel, ["reload", "navigate", "go_back", "go_forward"]),
        (look_and_wait, ["wait_for", "wait_for", "screenshot", "set_viewport", "switch_page"]),
    ],
)
def test_each_call_is_an_action(
    chromium: Browser, site: PageSite, tmp_path: Path, do: Callable[[Page], None], wanted: list[str]
) -> None:
    """Calls on pages, locators, keyboard and mouse are recorded in their order, and all of them as they went."""
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        do(agent.page)

    assert kinds(tmp_path / "b") == wanted
    assert [step.result for step in steps(tmp_path / "b")] == [Succeeded()] * (len(wanted) + 1)
    assert "the recorder failed" not in warnings(tmp_path / "b")


def test_a_target_is_known_by_the_element_that_was_hit(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The selector of the agent is kept, with role and name of what it found, and the options of the call."""
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        agent.page.click("#go", button="right", modifiers=["Shift"], position={"x": 3, "y": 4}, timeout=900)

    (click,) = deeds(tmp_path / "b")
    assert isinstance(click, Click)
    assert click.target.selector == "#go"
    assert click.target.identity is not None
    assert (click.target.identity.role, click.target.identity.name) == ("button", "Go")
    assert (click.button, click.modifiers, click.position and click.position.x) == ("right", ("Shift",), 3)
    assert click.timeout_ms == 900


def test_options_are_recorded_as_they_were_chosen(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """By value, label or place; a text that is either is recorded as the value that it chose."""
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM))
        page.select_option("#one", "Beta")
        page.select_option("#one", label="Alpha")
        page.select_option("#one", index=1)
        page.select_option("#many", ["a", "Beta"])

    chosen = [deed for deed in deeds(tmp_path / "b") if isinstance(deed, SelectOption)]
    assert [(each.by, each.options) for each in chosen] == [
        ("value", ("b",)),
        ("label", ("Alpha",)),
        ("index", ("1",)),
        ("value", ("a", "b")),
    ]


def test_frames_lead_to_their_elements(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What is done in a frame names the way to it, whether the agent went by locator, frame or handle."""
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put('<iframe name=inner srcdoc="<input id=in aria-label=In>"></iframe>'))
        page.frame_locator("iframe").locator("#in").fill("a")
        frame = page.frame(name="inner")
        assert frame is not None
        frame.fill("#in", "b")
        handle = frame.query_selector("#in")
        assert handle is not None
        handle.fill("c")

    targets = [deed.target for deed in deeds(tmp_path / "b") if isinstance(deed, Fill)]
    assert [str(target) for target in targets] == [
        "iframe >> #in",
        'iframe[name="inner"] >> #in',
        'iframe[name="inner"] >> #in',
    ]
    assert [target.identity and target.identity.name for target in targets] == ["In"] * 3


def test_handles_are_recorded_by_what_finds_their_element(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """An element that the agent holds is found by its own selector, if that finds it alone, or else by its place."""
    with watched(chromium, tmp_path / "b") as agent:
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

    targets = [deed.target for deed in deeds(tmp_path / "b") if isinstance(deed, Click | Fill)]
    assert [target.selector for target in targets] == [
        "#go",
        "html > body > p:nth-of-type(2)",
        "html > body > p:nth-of-type(1)",
        "#go",
        "#text",
    ]
    assert [target.identity and target.identity.text for target in targets] == ["Go", "second", "first", "Go", ""]


def test_the_first_of_several_is_said(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A selector that is not strict takes the first of its elements: so does the recording, with a warning."""
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        agent.page.click(".item")

    (click,) = deeds(tmp_path / "b")
    assert isinstance(click, Click)
    assert click.target.selector == ".item >> nth=0"
    assert ".item matched 2 elements, the first was taken" in warnings(tmp_path / "b")


def test_what_fails_is_recorded_and_fails_for_the_agent(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Clicks on nothing and on one of two raise for the agent as ever, and are recorded with their codes."""
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        for selector in ("#none", ".item"):
            with pytest.raises(Error):
                agent.page.locator(selector).click(timeout=200)

    failed = [step.result for step in steps(tmp_path / "b")][1:]
    assert [result.code for result in failed if isinstance(result, Failed)] == ["target-missing", "target-ambiguous"]


def test_a_drag_is_recorded_however_it_is_done(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """One call of two elements, or the buttons of the mouse between two hovers: pressed and released where they lie."""
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM))
        page.drag_and_drop("#here", "#there")
        page.hover("#here")
        page.mouse.down()
        page.hover("#there")
        page.mouse.up()
        middle = page.locator("#here").bounding_box()

    drag, _, down, _, up = deeds(tmp_path / "b")
    assert middle is not None
    assert isinstance(drag, Drag)
    assert (drag.target.selector, drag.to.selector) == ("#here", "#there")
    assert drag.to.identity is not None
    assert isinstance(down, Mouse)
    assert isinstance(up, Mouse)
    assert (down.event, up.event) == ("down", "up")
    assert (down.x, down.y) == (middle["x"] + middle["width"] / 2, middle["y"] + middle["height"] / 2)
    assert down.under is not None
    assert down.under.text == "take me"
    assert up.y > down.y


def test_the_mouse_says_what_lay_under_it(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A click at a place names the element there, inside of a shadow root too."""
    host = "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<button>Deep</button>'</script>"
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(host))
        box = agent.page.locator("button").bounding_box()
        assert box is not None
        agent.page.mouse.click(box["x"] + 2, box["y"] + 2)

    (click,) = deeds(tmp_path / "b")
    assert isinstance(click, Mouse)
    assert click.under is not None
    assert (click.under.role, click.under.name) == ("button", "Deep")


def test_dialogs_are_answered_before_they_open(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What an agent accepts is an action of its own before the one that asks; what it dismisses needs none."""
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put("<button onclick=\"window.said = prompt('Name?', 'x')\">Ask</button>"))
        page.once("dialog", lambda dialog: dialog.accept("Ada"))
        page.click("button")
        assert page.evaluate("said") == "Ada"
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.click("button")
        page.click("button")
        assert page.evaluate("said") is None

    answer, *clicks = deeds(tmp_path / "b")
    assert answer.type == "answer_dialog"
    assert (answer.accept, answer.text) == (True, "Ada")
    assert [click.type for click in clicks] == ["click"] * 3


def test_pages_are_waited_for_and_opened(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A popup is switched to before it is used; a page of the agent's own is opened; both are closed."""
    other = site.put("<button id=other>Other</button>")
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(f"<button onclick=\"window.open('{other}')\">Open</button>"))
        with page.expect_popup() as opening:
            page.click("button")
        opening.value.click("#other")
        opening.value.close()
        own = page.context.new_page()
        own.goto(other)
        own.close()

    assert [(deed.type, deed.page) for deed in deeds(tmp_path / "b")] == [
        ("click", 0),
        ("switch_page", 1),
        ("click", 1),
        ("close_page", 1),
        ("open_page", 2),
        ("navigate", 2),
        ("close_page", 2),
    ]


def test_a_download_belongs_to_the_click_that_began_it(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The agent gets its file, and the recording knows name and content."""
    site.answers["/file.bin"] = Answer(body=b"\0\1\2", content_type="application/octet-stream")
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put("<a href=/file.bin download>Load</a>"))
        with page.expect_download() as loading:
            page.click("a")
        assert loading.value.path().read_bytes() == b"\0\1\2"

    seen = steps(tmp_path / "b")[-1].observation
    assert seen is not None
    assert [download.name for download in seen.downloads] == ["file.bin"]


UPLOAD = """<input type=file id=file aria-label=File onchange="said = files[0].type">
<button id=choose onclick="file.click()">Choose</button>"""


def choose_path(page: Page, file: Path) -> None:
    """Name a file."""
    page.set_input_files("#file", file)


def choose_content(page: Page, file: Path) -> None:
    """Give a content."""
    content = {"name": "list.csv", "mimeType": "text/csv", "buffer": file.read_bytes()}
    page.locator("#file").set_input_files(content)  # type: ignore[arg-type] # a FilePayload


def choose_by_chooser(page: Page, file: Path) -> None:
    """Let the page ask for a file."""
    with page.expect_file_chooser() as choosing:
        page.click("#choose")
    choosing.value.set_files(file)


@pytest.mark.parametrize("choose", [choose_path, choose_content, choose_by_chooser])
def test_an_upload_is_in_the_bundle(
    chromium: Browser, site: PageSite, tmp_path: Path, choose: Callable[[Page, Path], None]
) -> None:
    """Files that an agent gives to a field are kept, by whichever way, as what the page took them for."""
    file = tmp_path / "list.csv"
    file.write_bytes(b"name,price\n")
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(UPLOAD))
        choose(agent.page, file)
        taken_for = agent.page.evaluate("said")

    upload = deeds(tmp_path / "b")[-1]
    assert isinstance(upload, SetInputFiles)
    assert upload.target.selector == "#file"
    assert upload.target.identity is not None
    (kept,) = upload.files
    assert isinstance(kept, FileInput)
    assert (kept.name, kept.mime_type) == ("list.csv", taken_for)
    assert held(tmp_path / "b" / "files", {b"name,price\n"})


def test_what_is_not_repeated_is_told(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Scripts, requests, state and taps of an agent are warnings, with how often they were used and what follows."""
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM))
        page.evaluate("1")
        page.evaluate("2")
        page.request.get(site.url)
        page.context.add_cookies([{"name": "a", "value": "b", "url": site.url}])
        page.locator("#text").select_text()
        page.locator("#go").click(force=True)
        page.locator("#go").blur()

    told = warnings(tmp_path / "b")
    assert kinds(tmp_path / "b") == []
    assert "Frame.evaluateExpression was called 2 times: what a script" in told
    assert "APIRequestContext.fetch was called once: requests of the agent itself" in told
    assert "BrowserContext.addCookies was called once" in told
    assert "ElementHandle.selectText was called once: a text that was selected" in told
    assert "Frame.click was called once: `force`" in told
    assert "Frame.blur was called once" in told


def test_a_call_without_a_deadline_is_told(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What an agent would wait for without end is waited for long in a replay, and the recording says so."""
    with watched(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM), timeout=0)
        page.wait_for_selector("#go", timeout=0)
        page.click("#go", timeout=0)
        page.click("#go")

    assert [step.action.timeout_ms for step in steps(tmp_path / "b")] == [300_000, 300_000, 300_000, 20_000]
    assert "calls without a deadline (timeout=0): 3; a replay gives up after 300 s" in warnings(tmp_path / "b")


def test_a_press_at_an_unknown_place_is_told(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The mouse is pressed before it was moved anywhere: a note stands there, and a warning."""
    with watched(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        agent.page.mouse.down()

    assert kinds(tmp_path / "b") == ["note"]
    assert "where the pointer was is not known" in warnings(tmp_path / "b")
