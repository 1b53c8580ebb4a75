"""A page that is read and asserted in each way that Playwright has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

HTML: Final = """<style>h1 { color: rgb(0, 0, 9) }</style>
<h1 id=a class="x y" data-n=1>Two   pears</h1><ul><li>one</li><li>two</li></ul>
<input id=i value=v aria-label=Amount><input type=checkbox id=c checked><p id=h hidden>hidden</p>
<button id=b onclick="this.textContent = 'Ordered'">Order</button>"""


def read_everything(page: Page) -> None:
    """Read in each way that a trace contains."""
    title = page.locator("#a")
    title.inner_text()
    title.text_content()
    title.inner_html()
    title.get_attribute("class")
    title.get_attribute("none")
    page.locator("#i").input_value()
    for name in ("is_visible", "is_hidden", "is_enabled", "is_disabled", "is_editable"):
        getattr(page.locator("#i"), name)()
    page.locator("#h").is_visible()
    page.locator("#c").is_checked()
    items = page.locator("li")
    items.count()
    items.all_inner_texts()
    items.all_text_contents()
    page.inner_text("li")
    page.title()
    page.locator("ul").aria_snapshot()
    page.aria_snapshot()
    page.evaluate("n => ({ n, rest: [null, undefined, 'a'] })", 3)
    page.evaluate("() => { b.title = 'Order now' }")
    page.evaluate("new Date(0)")
    page.evaluate_handle("document.body")
    page.eval_on_selector("li", "each => each.textContent")
    items.evaluate_all("(all, mark) => all.map(each => each.textContent + mark)", "!")


def expect_everything(page: Page) -> None:
    """Assert in each way that a trace contains."""
    title, items, field = expect(page.locator("#a")), expect(page.locator("li")), expect(page.locator("#i"))
    title.to_be_visible()
    expect(page.locator("#h")).not_to_be_visible()
    title.to_have_text("Two pears")
    title.to_have_text(re.compile("TWO", re.IGNORECASE))
    title.not_to_have_text("three", ignore_case=True)
    title.to_contain_text("pears", use_inner_text=True)
    items.to_have_text(["one", re.compile("t.o")])
    items.to_contain_text(["o"])
    items.to_have_count(2)
    title.to_have_attribute("data-n", "1")
    title.not_to_have_attribute("data-m", "1")
    title.to_have_class("x y")
    title.to_contain_class("x")
    title.to_have_css("color", "rgb(0, 0, 9)")
    title.to_have_id("a")
    title.to_have_role("heading")
    title.to_have_js_property("tagName", "H1")
    title.to_have_js_property("onclick", None)
    title.to_be_in_viewport(ratio=0.5)
    field.to_have_value("v")
    field.to_have_accessible_name("Amount")
    field.to_be_enabled()
    field.to_be_editable()
    expect(page.locator("#c")).to_be_checked()
    field.not_to_be_focused()
    expect(page.locator("ul")).to_match_aria_snapshot("- list:\n  - listitem: one\n  - listitem: two")
    expect(page).to_have_title("page")
    expect(page).to_have_url(re.compile("/page-"))
