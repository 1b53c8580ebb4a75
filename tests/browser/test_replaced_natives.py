"""Pages that replace what JavaScript and the browser offer are performed on and observed like all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import PageUnreadableError
from eikon_engine.trace.actions import Click, Fill, Navigate
from tests.browser.desk import at
from tests.browser.pages import Answer
from tests.sites.hostile import FAIL, REPLACED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.observation import Observation
    from tests.browser.desk import Desk, Room

pytestmark = pytest.mark.browser

PAGE = """<script src=/natives.js></script><button id=b>Go</button><p id=p><i>1</i></p><input id=i value=a>
<script>document.getElementById('b').onclick = () => {
  setTimeout(() => { document.getElementById('p').textContent = 'later'; }, 60);
};</script>"""


@pytest.fixture(scope="module")
def shared_desk(live_browser: Room) -> Iterator[Desk]:
    """Open one session for all tests."""
    with live_browser.desk() as desk:
        yield desk


@pytest.fixture(scope="module")
def expected(shared_desk: Desk) -> tuple[Observation, ...]:
    """Return what is observed of a page that replaces nothing."""
    return _observations(shared_desk, "")


def _observations(desk: Desk, script: str) -> tuple[Observation, ...]:
    desk.site.answers["/natives.js"] = Answer(body=script, content_type="text/javascript")
    desk.site.answers["/natives"] = Answer(body=f"<!doctype html><title>page</title>{PAGE}")
    first = desk.ok(Navigate(url=f"{desk.site.url}/natives"))
    return first, desk.ok(Click(target=at("#b"))), desk.ok(Fill(target=at("#i"), text="b"))


@pytest.mark.parametrize("replaced", REPLACED)
def test_a_page_that_replaces_natives_is_observed(
    shared_desk: Desk, expected: tuple[Observation, ...], replaced: str
) -> None:
    """Documents, timers and form state are the same as where nothing is replaced, and no error is caused."""
    seen = _observations(shared_desk, REPLACED[replaced])

    assert [each.pages for each in seen] == [each.pages for each in expected]
    assert [each.target for each in seen] == [each.target for each in expected]
    assert [each.page_errors for each in seen] == [(), (), ()]


def test_a_page_keeps_what_it_has_replaced(shared_desk: Desk) -> None:
    """Its own functions are there again when its scripts run, also in timers."""
    shared_desk.site.answers["/natives.js"] = Answer(content_type="text/javascript", body="""
        const { map } = Array.prototype, { then } = Promise.prototype;
        Array.prototype.map = function map2(...values) { return map.apply(this, values); };
        Promise.prototype.then = function then2(...values) { return then.apply(this, values); };
        Object.prototype.extra = 1;
        Object.defineProperty(Node.prototype, 'added', { get: () => 2, configurable: true });
    """)  # fmt: skip
    shown = "document.title = [[].map.name, Promise.prototype.then.name, {}.extra, document.added]"
    html = f"<script src=/natives.js></script><button id=b onclick='setTimeout(() => {{ {shown}; }}, 20)'>Go</button>"
    shared_desk.ok(Navigate(url=shared_desk.site.put(html)))

    seen = shared_desk.ok(Click(target=at("#b")))

    assert seen.pages[0].title == "map2,then2,1,2"


def test_a_page_cannot_show_us_another_document(live_browser: Room) -> None:
    """Playwright evaluates with `eval`, so that a replacement would know when we look; scripts still have it."""
    hide = """
        const own = window.eval;
        const show = text => { document.querySelector('i')?.replaceChildren(text); };
        const replacement = script => {
          const called = own(script);
          return typeof called !== 'function' ? called : (...values) => {
            show('0');
            try { return called(...values); } finally { show('1'); }
          };
        };
        window.eval = replacement;
        try { Object.defineProperty(window, 'eval', { value: replacement }); } catch {}
        if (eval('1 + 1') !== 2) throw new Error('no eval');
    """

    with live_browser.desk() as desk:  # whose documents have replaced nothing before
        expected, seen = _observations(desk, ""), _observations(desk, hide)

    assert [each.pages for each in seen] == [each.pages for each in expected]


def test_a_page_with_elements_named_like_properties_of_the_document_is_observed(shared_desk: Desk) -> None:
    """An image with a name is a property of the document, and hides the document's own."""
    names = "querySelectorAll readyState getElementsByTagName documentElement elementFromPoint body"
    images = "".join(f"<img name={name}>" for name in names.split())
    shared_desk.ok(Navigate(url=shared_desk.site.put(f"<button id=b onclick='this.id = 2'>Go</button>{images}")))

    shared_desk.ok(Click(target=at("#b")))


def test_a_page_that_cannot_be_observed_is_an_error_of_its_own(live_browser: Room) -> None:
    """It is not called a browser that died."""
    replaced = f"{{ value: {FAIL}, configurable: false, writable: false }}"
    page = f"<script>Object.defineProperty(Array.prototype, 'map', {replaced});</script>"
    with live_browser.desk() as desk, pytest.raises(PageUnreadableError, match=r"Array\.prototype\.map") as found:
        desk.do(Navigate(url=desk.site.put(page)))

    assert found.value.code == "page-unreadable"
