"""Editors, grids, calendars and maps of npm, each on a small page of ours."""

from __future__ import annotations

from playwright.async_api import Page as AsyncPage
from playwright.async_api import expect as async_expect
from playwright.sync_api import Page, expect

from benchmarks.field.application import widget


def write_a_letter(page: Page, url: str) -> None:
    """Write a letter with a heading and a list."""
    page.goto(url)
    editor = page.locator(".ql-editor")
    editor.click()
    page.keyboard.type("Dear Ada")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="bold").click()
    page.keyboard.type("see you soon")
    page.get_by_role("button", name="bold").click()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="list: bullet").click()
    page.keyboard.type("bread")
    page.keyboard.press("Enter")
    page.keyboard.type("wine")
    expect(page.locator("#words")).to_have_text("7")
    expect(editor.locator("strong")).to_have_text("see you soon")
    assert editor.locator("li").all_inner_texts() == ["bread", "wine"]


async def undo_a_word(page: AsyncPage, url: str) -> None:
    """Format a line, add a link, and undo."""
    await page.goto(url)
    editor = page.locator(".ql-editor")
    await editor.fill("A page about engines")
    await editor.press("Control+a")
    await page.get_by_role("button", name="italic").click()
    await async_expect(editor.locator("em")).to_have_text("A page about engines")
    await page.get_by_role("button", name="link").click()
    await page.get_by_placeholder("https://quilljs.com").fill("https://example.org/")
    await page.keyboard.press("Enter")
    await async_expect(editor.get_by_role("link")).to_have_attribute("href", "https://example.org/")
    await editor.press("Control+z")
    await async_expect(editor.get_by_role("link")).to_have_count(0)


def edit_a_script(page: Page, url: str) -> None:
    """Change a function and run it."""
    page.goto(url)
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#result")).to_have_text("Hello Ada")
    page.locator(".CodeMirror-lines").click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.type(' + "!";')
    page.get_by_role("button", name="Run").click()
    assert page.locator("#result").inner_text() == "Hello Ada!"


async def replace_a_word(page: AsyncPage, url: str) -> None:
    """Replace a word by the search dialog."""
    await page.goto(url)
    await page.locator(".CodeMirror-lines").click()
    await page.keyboard.press("Control+Home")
    await page.keyboard.press("Control+Shift+r")
    await page.keyboard.type("Hello")
    await page.keyboard.press("Enter")
    await page.keyboard.type("Welcome")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Run").click()
    await async_expect(page.locator("#result")).to_have_text("Welcome Ada")
    await async_expect(page.locator(".cm-string").first).to_contain_text("Welcome")


def change_settings(page: Page, url: str) -> None:
    """Change a value in the tree, and save."""
    page.goto(url)
    page.get_by_text("shop", exact=True).click()
    page.keyboard.press("Control+a")
    page.keyboard.type("market")
    page.get_by_role("checkbox").first.uncheck()
    page.get_by_title("Expand all fields").click()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text('{"name":"market","open":false,"hours":[9,17]}')


async def edit_as_code(page: AsyncPage, url: str) -> None:
    """Edit the settings as code, and search the tree."""
    await page.goto(url)
    await page.locator(".jsoneditor-search input").fill("hours")
    await async_expect(page.locator(".jsoneditor-results")).to_contain_text("1")
    await page.get_by_role("button", name="Tree").click()
    await page.get_by_role("button", name="Text", exact=True).click()
    await page.locator("textarea.jsoneditor-text").fill('{"name": "kiosk"}')
    await page.get_by_title("Compact JSON data").click()
    await page.get_by_role("button", name="Save").click()
    assert await page.locator("#saved").text_content() == '{"name":"kiosk"}'


def change_prices(page: Page, url: str) -> None:
    """Change a price, tick a box, and sort."""
    page.goto(url)
    page.get_by_role("gridcell", name="7", exact=True).dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    expect(page.locator("#sum")).to_have_text("14")
    page.get_by_role("checkbox").first.check()
    page.locator(".ht_clone_top").get_by_text("Fruit").click()
    page.locator(".ht_clone_top").get_by_text("Fruit").click()
    expect(page.locator(".ht_master tbody tr").first).to_contain_text("Cherry")


async def insert_a_row(page: AsyncPage, url: str) -> None:
    """Insert a row by the context menu, and fill it by keyboard."""
    await page.goto(url)
    await page.get_by_role("gridcell", name="Banana").click(button="right")
    await page.get_by_role("menuitem", name="Insert row below").click()
    await page.get_by_role("gridcell", name="Banana").click()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.type("Blueberry")
    await page.keyboard.press("Tab")
    await page.keyboard.type("5")
    await page.keyboard.press("Enter")
    await async_expect(page.locator("#sum")).to_have_text("17")
    await async_expect(page.locator(".ht_master tbody tr")).to_have_count(4)


def plan_an_event(page: Page, url: str) -> None:
    """Answer the dialog for a new event, and look at it as a list."""
    page.on("dialog", lambda dialog: dialog.accept("Review"))
    page.goto(url)
    expect(page.get_by_text("Audit")).to_be_visible()
    page.get_by_role("gridcell").nth(10).click()
    expect(page.get_by_text("Review")).to_be_visible()
    page.get_by_text("Review").click()
    expect(page.locator("#chosen")).to_have_text("Chosen: Review")
    page.get_by_role("button", name="list").click()
    expect(page.get_by_role("row", name="Review")).to_be_visible()


async def browse_months(page: AsyncPage, url: str) -> None:
    """Go through months and weeks, and back to today."""
    await page.goto(url)
    today = await page.get_by_role("heading", level=2).inner_text()
    await page.get_by_role("button", name="Next month").click()
    await async_expect(page.get_by_role("heading", level=2)).not_to_have_text(today)
    await page.get_by_role("button", name="Next month").click()
    await page.get_by_role("button", name="week").click()
    await page.get_by_role("button", name="Previous week").click()
    await page.get_by_role("button", name="month", exact=True).click()
    await page.get_by_role("button", name="today").click()
    assert await page.get_by_role("heading", level=2).inner_text() == today


def walk_on_a_map(page: Page, url: str) -> None:
    """Zoom, drag, and open the popup of a marker."""
    page.goto(url)
    page.get_by_role("button", name="Zoom out").click()
    expect(page.locator("#zoom")).to_have_text("11")
    page.get_by_role("button", name="Zoom in").click()
    expect(page.locator("#zoom")).to_have_text("12")
    page.mouse.move(200, 300)
    page.mouse.down()
    page.mouse.move(260, 320, steps=5)
    page.mouse.up()
    page.get_by_title("Office").click()
    expect(page.get_by_text("The office")).to_be_visible()
    page.get_by_role("button", name="Close popup").click()
    expect(page.get_by_text("The office")).to_have_count(0)


async def mark_a_visit(page: AsyncPage, url: str) -> None:
    """Set a marker with the right button, and zoom with the wheel."""
    await page.goto(url)
    await page.locator("#map").click(button="right", position={"x": 200, "y": 120})
    await async_expect(page.get_by_text("A visit")).to_be_visible()
    await async_expect(page.locator("#markers")).to_have_text("2")
    await page.get_by_role("button", name="Close popup").click()
    await page.mouse.move(300, 300)
    await page.mouse.wheel(0, 60)
    await async_expect(page.locator("#zoom")).not_to_have_text("12")
    await page.get_by_title("Visit").click()
    assert await page.get_by_title("Visit").count() == 1


def take_notes(page: Page, url: str) -> None:
    """Write notes as Markdown and count their lines."""
    page.goto(url)
    page.locator(".ace_content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("* call *Grace*")
    page.keyboard.press("Enter")
    page.keyboard.type("buy paper")
    page.get_by_label("Wrap").check()
    page.get_by_role("button", name="Count").click()
    expect(page.locator("#lines")).to_have_text("3 lines")
    assert "buy paper" in page.locator(".ace_text-layer").inner_text()


async def write_python(page: AsyncPage, url: str) -> None:
    """Change the language, whose mode is loaded then, and find a word."""
    await page.goto(url)
    await page.get_by_label("Mode").select_option("python")
    await page.locator(".ace_content").click()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("def total(a, b):")
    await page.keyboard.press("Enter")
    await page.keyboard.type("return a + b")
    await async_expect(page.locator(".ace_keyword").first).to_have_text("def")
    await page.keyboard.press("Control+f")
    await page.get_by_placeholder("Search for").fill("return")
    await async_expect(page.locator(".ace_search_counter")).to_contain_text("1")
    await page.keyboard.press("Escape")


def publish_an_article(page: Page, url: str) -> None:
    """Write in the frame of the editor, format, and publish."""
    page.goto(url)
    body = page.frame_locator("iframe").get_by_label("Rich Text Area")
    body.click()
    page.keyboard.press("Control+End")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Bold").click()
    page.keyboard.type("Second paragraph")
    page.get_by_role("button", name="Bold").click()
    page.get_by_role("button", name="Publish").click()
    expect(page.locator("#published strong")).to_have_text("Second paragraph")
    assert page.locator("#published p").count() == 2


async def insert_a_link(page: AsyncPage, url: str) -> None:
    """Make a heading by the menu, and link it in a dialog."""
    await page.goto(url)
    body = page.frame_locator("iframe").get_by_label("Rich Text Area")
    await body.click()
    await page.keyboard.press("Control+a")
    await page.get_by_role("button", name="Block Paragraph").click()
    await page.get_by_role("menuitemcheckbox", name="Heading 2").click()
    await async_expect(body.get_by_role("heading", level=2)).to_have_text("First paragraph.")
    await page.keyboard.press("Control+k")
    await page.get_by_label("URL").fill("https://example.org/")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_role("button", name="Publish").click()
    await async_expect(page.locator("#published a")).to_have_attribute("href", "https://example.org/")


def give_a_talk(page: Page, url: str) -> None:
    """Go through the slides by keyboard and controls."""
    page.goto(url)
    expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    page.get_by_role("button", name="next slide").click()
    expect(page.get_by_role("heading", name="Figures")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.locator("section p", has_text="Growth")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("heading", name="Details")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.get_by_role("link", name="Back to the start").click()
    expect(page.get_by_role("heading", name="Welcome")).to_be_visible()


async def look_at_the_overview(page: AsyncPage, url: str) -> None:
    """Open the overview, choose a slide, and pause."""
    await page.goto(url)
    await page.keyboard.press("Escape")
    await async_expect(page.locator(".reveal.overview")).to_be_visible()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Enter")
    await async_expect(page.get_by_role("heading", name="Questions")).to_be_visible()
    await page.keyboard.press("b")
    await async_expect(page.locator(".reveal.paused")).to_have_count(1)
    await page.keyboard.press("b")
    await async_expect(page.locator(".reveal.paused")).to_have_count(0)


def check_a_program(page: Page, url: str) -> None:
    """Type a program with an error, which a worker finds."""
    page.goto(url)
    page.locator(".view-lines").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("const wrong: string = total;")
    expect(page.locator(".squiggly-error").first).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#problems")).to_have_text("1 problems")


async def use_the_palette(page: AsyncPage, url: str) -> None:
    """Find a word, and transform the selection by the command palette."""
    await page.goto(url)
    await page.get_by_text("total").click()
    await page.keyboard.press("Control+f")
    await page.get_by_role("textbox", name="Find").fill("total")
    await async_expect(page.locator(".matchesCount")).to_have_text("1 of 1")
    await page.keyboard.press("Escape")
    await page.keyboard.press("F1")
    await page.keyboard.type("uppercase")
    await page.keyboard.press("Enter")
    await async_expect(page.locator(".view-lines")).to_contain_text("TOTAL")


def filter_orders(page: Page, url: str) -> None:
    """Search, sort, and select orders."""
    page.goto(url)
    page.get_by_label("Search").fill("grace")
    expect(page.get_by_text("1 to 20 of 50")).to_be_visible()
    page.get_by_role("columnheader", name="total").click()
    page.get_by_role("columnheader", name="total").click()
    first = page.locator(".ag-center-cols-container").get_by_role("row").first
    expect(first).to_contain_text("Grace")
    page.get_by_role("button", name="Next Page").click()
    page.get_by_role("checkbox").nth(1).check()
    page.get_by_role("checkbox").nth(2).check()
    expect(page.locator("#selected")).to_have_text("2")


async def edit_an_order(page: AsyncPage, url: str) -> None:
    """Edit a cell, and go to the last page."""
    await page.goto(url)
    cell = page.locator("[row-index='1'] [col-id='total']")
    await cell.dblclick()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("499")
    await page.keyboard.press("Enter")
    await async_expect(cell).to_have_text("499")
    await page.get_by_role("columnheader", name="order").click()
    await page.get_by_role("button", name="Last Page").click()
    await async_expect(page.get_by_text("181 to 200 of 200")).to_be_visible()
    await page.get_by_role("button", name="First Page").click()


def build_a_page(page: Page, url: str) -> None:
    """Select a heading in the canvas, style it, and look at the preview."""
    page.goto(url)
    canvas = page.frame_locator("iframe.gjs-frame")
    canvas.get_by_role("heading", name="Hello").click()
    page.get_by_text("Typography").click()
    page.locator(".gjs-sm-property__font-size input").fill("40")
    page.keyboard.press("Enter")
    expect(canvas.get_by_role("heading", name="Hello")).to_have_css("font-size", "40px")
    canvas.get_by_role("heading", name="Hello").dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("Welcome")
    canvas.get_by_text("Some text").click()
    expect(canvas.get_by_role("heading", name="Welcome")).to_be_visible()


def draw_a_box(page: Page, url: str) -> None:
    """Draw a rectangle with a text on the canvas."""
    page.goto(url)
    page.get_by_role("radio", name="Rectangle").check(force=True)
    page.mouse.move(300, 250)
    page.mouse.down()
    page.mouse.move(500, 350, steps=4)
    page.mouse.up()
    expect(page.get_by_text("Opacity")).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.type("Start")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Redo")).to_be_enabled()


async def choose_a_theme(page: AsyncPage, url: str) -> None:
    """Draw an arrow, open the menu, and choose the dark theme."""
    await page.goto(url)
    await page.keyboard.press("a")
    await page.mouse.move(300, 300)
    await page.mouse.down()
    await page.mouse.move(600, 320, steps=4)
    await page.mouse.up()
    await page.get_by_test_id("main-menu-trigger").click()
    await page.get_by_test_id("toggle-dark-mode").click()
    await async_expect(page.locator(".excalidraw.theme--dark").first).to_be_visible()
    await page.get_by_role("button", name="Zoom in").click()
    await async_expect(page.get_by_role("button", name="Reset zoom")).to_have_text("110%")


APPLICATIONS = (
    widget("quill", "quill@2.0.3", missions=(write_a_letter, undo_a_word)),
    widget("codemirror", "codemirror@5.65.16", missions=(edit_a_script, replace_a_word)),
    widget("jsoneditor", "jsoneditor@10.4.3", missions=(change_settings, edit_as_code)),
    widget("handsontable", "handsontable@14.6.1", missions=(change_prices, insert_a_row)),
    widget("fullcalendar", "fullcalendar@6.1.15", missions=(plan_an_event, browse_months)),
    widget("leaflet", "leaflet@1.9.4", missions=(walk_on_a_map, mark_a_visit)),
    widget("ace-builds", "ace-builds@1.43.0", missions=(take_notes, write_python)),
    widget("tinymce", "tinymce@7.9.1", missions=(publish_an_article, insert_a_link)),
    widget("reveal.js", "reveal.js@5.2.1", missions=(give_a_talk, look_at_the_overview)),
    widget("monaco-editor", "monaco-editor@0.52.2", missions=(check_a_program, use_the_palette)),
    widget("ag-grid-community", "ag-grid-community@33.3.2", missions=(filter_orders, edit_an_order)),
    widget("grapesjs", "grapesjs@0.22.5", missions=(build_a_page,)),
    widget(
        "excalidraw",
        "@excalidraw/excalidraw@0.17.6",
        "react@18.3.1",
        "react-dom@18.3.1",
        missions=(draw_a_box, choose_a_theme),
    ),
)
