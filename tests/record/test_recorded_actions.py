"""Every Playwright call of an agent is recorded with its action, target and result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from eikon_engine.redact.scan import find_in_files
from eikon_engine.trace.actions import Click, Drag, FileInput, Fill, Mouse, SelectOption, SetInputFiles
from eikon_engine.trace.execution import Succeeded
from tests.browser.pages import Answer, PageSite
from tests.record.forms import FORM
from tests.record.recorded_page import kinds, recorded_actions, recorded_page, steps, warnings

pytestmark = pytest.mark.browser


def fill_and_clear(page: Page) -> None:
    """Type into a field in four ways."""
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
    """Check a box and uncheck it again."""
    page.check("#box")
    page.locator("#box").set_checked(checked=False)


def use_the_keyboard(page: Page) -> None:
    """Type into the focused element."""
    page.focus("#text")
    page.keyboard.type("a")
    page.keyboard.insert_text("b")
    page.keyboard.down("Shift")
    page.keyboard.press("c")
    page.keyboard.up("Shift")


def use_the_mouse(page: Page) -> None:
    """Use the mouse at coordinates."""
    page.mouse.move(5, 5, steps=2)
    page.mouse.down()
    page.mouse.up()
    page.mouse.click(5, 5)
    page.mouse.wheel(0, 10)


def travel(page: Page) -> None:
    """Navigate back and forward."""
    page.reload()
    page.goto(page.url + "?again")
    page.go_back()
    page.go_forward()


def look_and_wait(page: Page) -> None:
    """Perform actions that do not change a document."""
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
        (use_the_mouse, ["mouse", "mouse", "mouse", "mouse", "mouse"]),
        (travel, ["reload", "navigate", "go_back", "go_forward"]),
        (look_and_wait, ["wait_for", "wait_for", "screenshot", "set_viewport", "switch_page"]),
    ],
)
def test_each_call_is_an_action(
    chromium: Browser, site: PageSite, tmp_path: Path, do: Callable[[Page], None], wanted: list[str]
) -> None:
    """Calls on pages, locators, keyboard and mouse are recorded in order, with their results."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(FORM))
        do(agent.page)

    assert kinds(tmp_path / "b") == wanted
    assert [step.result for step in steps(tmp_path / "b")] == [Succeeded()] * (len(wanted) + 1)
    assert "the recorder failed" not in warnings(tmp_path / "b")


def test_options_are_recorded_as_they_were_chosen(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Options are recorded by value, label or index; an ambiguous text is recorded as the selected value."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM))
        page.select_option("#one", "Beta")
        page.select_option("#one", label="Alpha")
        page.select_option("#one", index=1)
        page.select_option("#many", ["a", "Beta"])

    chosen = [deed for deed in recorded_actions(tmp_path / "b") if isinstance(deed, SelectOption)]
    assert [(each.by, each.options) for each in chosen] == [
        ("value", ("b",)),
        ("label", ("Alpha",)),
        ("index", ("1",)),
        ("value", ("a", "b")),
    ]


def test_a_drag_is_recorded_however_it_is_done(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A drag is one call with two elements, or mouse buttons between two hovers."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(FORM))
        page.drag_and_drop("#here", "#there")
        page.hover("#here")
        page.mouse.down()
        page.hover("#there")
        page.mouse.up()
        middle = page.locator("#here").bounding_box()

    drag, _, down, _, up = recorded_actions(tmp_path / "b")
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


def test_dialogs_are_answered_before_they_open(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Accepting a dialog is an action before the one that opens it; dismissing needs no action."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put("<button onclick=\"window.said = prompt('Name?', 'x')\">Ask</button>"))
        page.once("dialog", lambda dialog: dialog.accept("Ada"))
        page.click("button")
        assert page.evaluate("said") == "Ada"
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.click("button")
        page.click("button")
        assert page.evaluate("said") is None

    answer, *others = recorded_actions(tmp_path / "b")
    assert answer.type == "answer_dialog"
    assert (answer.accept, answer.text) == (True, "Ada")
    assert [other.type for other in others] == ["click", "evaluate", "click", "click", "evaluate"]


def test_pages_are_waited_for_and_opened(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A popup is selected before it is used; the agent's own page is opened; both are closed."""
    other = site.put("<button id=other>Other</button>")
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(site.put(f"<button onclick=\"window.open('{other}')\">Open</button>"))
        with page.expect_popup() as opening:
            page.click("button")
        opening.value.click("#other")
        opening.value.close()
        own = page.context.new_page()
        own.goto(other)
        own.close()

    assert [(deed.type, deed.page) for deed in recorded_actions(tmp_path / "b")] == [
        ("click", 0),
        ("switch_page", 1),
        ("click", 1),
        ("close_page", 1),
        ("open_page", 2),
        ("navigate", 2),
        ("close_page", 2),
    ]


def test_a_download_belongs_to_the_click_that_started_it(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The agent gets its file, and the recording has its name and content."""
    site.answers["/file.bin"] = Answer(body=b"\0\1\2", content_type="application/octet-stream")
    with recorded_page(chromium, tmp_path / "b") as agent:
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


COVERED = """<button style="position: fixed; inset: 0 auto auto 0; width: 90px; height: 90px">Go</button><script>
const compute = () => { const end = Date.now() + 600; while (Date.now() < end); };
addEventListener('pointermove', () => setTimeout(compute), { once: true });
const cover = document.createElement('div');
cover.style = 'position: fixed; inset: 0';
addEventListener('mousedown', () => document.body.append(cover));
addEventListener('mouseup', () => { cover.remove(); });
</script>"""


@pytest.mark.parametrize(
    "move",
    [
        pytest.param(lambda page: page.mouse.move(45, 45), id="moved"),
        pytest.param(lambda page: page.hover("button"), id="hovered"),
        pytest.param(lambda page: page.query_selector("button").hover(), id="hovered by handle"),
    ],
)
def test_what_lay_under_the_pointer_when_a_busy_page_was_pressed_is_recorded(
    chromium: Browser, site: PageSite, tmp_path: Path, move: Callable[[Page], None]
) -> None:
    """Browsers hand input to a busy page before scripts that they were sent earlier; this one is covered by it."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(COVERED))
        move(agent.page)
        agent.page.mouse.down()
        agent.page.mouse.up()

    *_, down, up = (each for each in recorded_actions(tmp_path / "b") if isinstance(each, Mouse))
    assert down.under is not None
    assert down.under.tag == "button"
    assert up.under is None or up.under.tag == "div"  # unknown if the page removed it before its state was kept


SUGGESTING = """<input id=what aria-label=What onfocus="what.ariaLabel = 'What: Bread, Rent'">
<script>setInterval(() => { const end = Date.now() + 80; while (Date.now() < end); }, 5);</script>"""
"""A busy page, which an action reaches long after its target was probed."""


def test_a_field_is_recorded_as_it_was_before_it_got_the_focus(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """A page may show suggestions then; a replay verifies the field before it acts."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(SUGGESTING))
        agent.page.fill("#what", "Apples")

    fill = recorded_actions(tmp_path / "b")[-1]
    assert isinstance(fill, Fill)
    assert fill.target.identity is not None
    assert fill.target.identity.name == "What"


REPLACED = """<div id=line><span>const total = 1;</span></div><script>
addEventListener('pointermove', () => {
  const end = Date.now() + 300;
  while (Date.now() < end);
  line.innerHTML = '<span>const</span> <span>total =</span> <span>1;</span>';
}, { once: true });
line.onmousedown = () => { line.innerHTML = line.innerHTML; };
</script>"""


def test_what_a_busy_page_replaced_before_it_was_hit_is_recorded_as_it_was_then(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """An editor divides a line into words once it has read it, and draws it again when it is clicked."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(REPLACED))
        agent.page.get_by_text("total").click()

    click = recorded_actions(tmp_path / "b")[-1]
    assert isinstance(click, Click)
    assert click.target.identity is not None
    assert click.target.identity.text == "total ="


def choose_path(page: Page, file: Path) -> None:
    """Upload a file by its path."""
    page.set_input_files("#file", file)


def choose_content(page: Page, file: Path) -> None:
    """Upload a file by its content."""
    content = {"name": "list.csv", "mimeType": "text/csv", "buffer": file.read_bytes()}
    page.locator("#file").set_input_files(content)  # type: ignore[arg-type] # a FilePayload


def choose_by_chooser(page: Page, file: Path) -> None:
    """Upload a file by the page's file chooser."""
    with page.expect_file_chooser() as choosing:
        page.click("#choose")
    choosing.value.set_files(file)


@pytest.mark.parametrize("choose", [choose_path, choose_content, choose_by_chooser])
def test_an_upload_is_in_the_bundle(
    chromium: Browser, site: PageSite, tmp_path: Path, choose: Callable[[Page, Path], None]
) -> None:
    """Uploaded files are stored however they were passed, with the type that the page got."""
    file = tmp_path / "list.csv"
    file.write_bytes(b"name,price\n")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(UPLOAD))
        choose(agent.page, file)
        taken_for = agent.page.evaluate("said")

    upload = recorded_actions(tmp_path / "b")[-2]
    assert isinstance(upload, SetInputFiles)
    assert upload.target.selector == "#file"
    assert upload.target.identity is not None
    (kept,) = upload.files
    assert isinstance(kept, FileInput)
    assert (kept.name, kept.mime_type) == ("list.csv", taken_for)
    assert find_in_files(tmp_path / "b" / "files", {b"name,price\n"})
