"""Elements get unique selectors that Playwright resolves, even where the obvious one is ambiguous."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from eikon_engine.browser.executable import find_browser
from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.browser.session import SessionOptions, init_scripts
from tests.browser.desk import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.browser

Names = list[dict[str, str]]
ROW = "<button>Edit</button>"
CASES = (
    ("<button id=x data-testid=save>Save</button>", "button", '[data-testid="save"]'),
    ("<button>Save</button><button>Save all</button>", "button >> nth=0", 'role=button[name="Save"s]'),
    (f"<div id=first>{ROW}</div><div id=second>{ROW}</div>", "#second button", "#second button"),
    (f"<p>{ROW}</p><p>{ROW}</p>", "p:nth-of-type(2) button", "html > body > p:nth-of-type(2) > button"),
    ("""<button>Say "no" \\ 'yes'</button>""", "button", r'role=button[name="Say \"no\" \\ ' + "'yes'\"s]"),
    ("<label>Pass <input type=password></label>", "input", 'internal:label="Pass"s'),
    ("<span>Pick me</span>", "span", 'text="Pick me"'),
    ("<i id=ember1234 class=icon></i>", "i", "i.icon"),
    ("<input name=q><input name=r>", "input[name=q]", 'input[name="q"]'),
    ("<input type=radio name=a value=1><input type=radio name=a value=2>", "[value='2']", 'input[name="a"][value="2"]'),
)


@pytest.fixture(scope="module")
def name() -> Iterator[Callable[[str, str], Names]]:
    """Return the selectors of an element in a document; every one is verified."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find_browser(None, environ=os.environ).path))
        context = browser.new_context()
        naming = load_script("interactive_selectors.js").strip()
        for script in init_scripts(SessionOptions(environment=environment(), natural_clock=True)):
            context.add_init_script(script)
        context.add_init_script(f"({naming[naming.index(chr(10) + '(') :]})(window.recorder = {{}}, window.__eikon__)")
        page = context.new_page()

        def ask(html: str, css: str) -> Names:
            page.goto("about:blank")
            page.goto(f"data:text/html,<!doctype html>{html.replace('#', '%23')}")
            names: Names = page.locator(css).evaluate("e => (window.target = e, recorder.name(e))")
            for each in names:
                found = page.locator(each["selector"]).evaluate_all("all => all.length === 1 && all[0] === target")
                assert found, f"{each['selector']} in {html}"
            return names

        yield ask
        browser.close()


@pytest.mark.parametrize(("html", "css", "best"), CASES)
def test_the_best_selector_is_first(name: Callable[[str, str], Names], html: str, css: str, best: str) -> None:
    """It matches only the element, and so does every other suggested selector."""
    assert name(html, css)[0]["selector"] == best


def test_elements_in_open_shadow_roots_get_selectors(name: Callable[[str, str], Names]) -> None:
    """Elements in open shadow roots get selectors, but none that a similar element outside also matches."""
    host = "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<b class=in>x</b>'</script>"

    alone, rivalled = name(host, "b"), name(f"{host}<b class=in>x</b>", "#host b")

    assert alone[0]["selector"] == 'text="x"'
    assert [each["selector"] for each in rivalled] == ["#host >> b.in", "#host >> b"]


def test_a_positional_selector_is_marked_as_such(name: Callable[[str, str], Names]) -> None:
    """Two equal elements are distinguished only by position, which is the last resort for any element."""
    names = name(f"<p>{ROW}</p><p>{ROW}</p>", "p:nth-of-type(1) button")

    assert [each["kind"] for each in names] == ["place"]
