from __future__ import annotations

from typing import Final

import pytest

from eikon_engine.browser.inspection import MAX_DESCRIBED, find_matches, find_matches_everywhere
from eikon_engine.debug.selector_watch import find_changes, read_selectors, require_selector
from eikon_engine.errors import ActionRejectedError, PageMissingError, UsageError
from eikon_engine.trace.actions import Click, ClosePage, Fill
from tests.browser.desk import Desk, at
from tests.error_codes import has_code

pytestmark = pytest.mark.browser

LIST = '<ul id=list><li>One</li><li hidden>Two</li></ul><button onclick="{}">Go</button>'


def show(desk: Desk, deed: str = "") -> None:
    """Load a list, and a button with a click handler."""
    desk.show(LIST.format(deed))


def changed_by(desk: Desk, selector: str, click: str = "button") -> list[str]:
    """Return how a click changes the matches of a selector."""
    session = desk.worker.session
    before = desk.portal.call(read_selectors, session, (selector,))
    desk.ok(Click(target=at(click)))
    now = desk.portal.call(read_selectors, session, (selector,))
    return [str(each) for each in find_changes(before, now).values()]


def test_every_match_is_described_with_its_visibility(desk: Desk) -> None:
    """Descriptions are those of messages about targets."""
    show(desk)

    seen = desk.portal.call(find_matches, desk.worker.session, "#list li", 0)

    assert seen.count == 2
    assert [(each.description, each.is_visible) for each in seen.shown] == [('<li> "One"', True), ('<li> "Two"', False)]
    assert seen.shown[0].box[2] > 0


def test_selectors_of_every_engine_match(desk: Desk) -> None:
    """Any recorded selector works: by text, and through open shadow roots."""
    desk.show(
        "<p>Find me</p><div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<b>in</b>'</script>"
    )

    counts = [
        desk.portal.call(find_matches, desk.worker.session, each, 0).count
        for each in ("text=Find me", "b", "#host b", "i")
    ]

    assert counts == [1, 1, 1, 0]


def test_many_matches_are_counted_and_the_first_ones_described(desk: Desk) -> None:
    """`*` does not fill the terminal."""
    desk.show("<i>x</i>" * (MAX_DESCRIBED + 7))

    seen = desk.portal.call(find_matches, desk.worker.session, "i", 0)

    assert (seen.count, len(seen.shown)) == (MAX_DESCRIBED + 7, MAX_DESCRIBED)


def test_frames_are_queried_by_path(desk: Desk) -> None:
    """Without a path, all frames are queried."""
    desk.show("<p>out</p><iframe srcdoc='<p>in</p><p>in</p>'></iframe>")

    inside = desk.portal.call(find_matches, desk.worker.session, "p", 0, "0")
    everywhere = desk.portal.call(find_matches_everywhere, desk.worker.session, "p")

    assert inside.count == 2
    assert [(each.page, each.frame, each.count) for each in everywhere] == [(0, "", 1), (0, "0", 2)]


def test_a_query_does_not_change_the_page(desk: Desk) -> None:
    """It causes no event, no focus and no scrolling."""
    desk.show("<div style='height:5000px'></div><input id=a value=x>")

    desk.portal.call(find_matches, desk.worker.session, "#a", 0)

    assert desk.trail() == []
    assert desk.js("[scrollY, document.activeElement.localName]") == [0, "body"]


def test_an_invalid_query_is_refused(desk: Desk) -> None:
    """The message names the invalid selector, or the missing page or frame."""
    show(desk)
    session = desk.worker.session

    with pytest.raises(ActionRejectedError, match=r"looking for li\["):
        desk.portal.call(find_matches, session, "li[", 0)
    with pytest.raises(PageMissingError, match=r"page 3 .* is not open; open pages: 0"):
        desk.portal.call(find_matches, session, "li", 3)
    with pytest.raises(PageMissingError, match=r"no frame '0.1' on page 0; its frames: ''"):
        desk.portal.call(find_matches, session, "li", 0, "0.1")


CHANGES: Final[tuple[tuple[str, str, list[str]], ...]] = (
    ("b", "list.innerHTML += '<b>x</b>'", ["appeared: 1 element"]),
    ("li", "list.innerHTML += '<li>Three'", ["changed: 2 elements before, 3 now"]),
    ("li", "list.remove()", ["changed: 2 elements before, none now"]),
    ("li", "list.firstChild.textContent = 'Uno'", ["changed: still 2 elements, but different"]),
    ("li", "list.lastChild.hidden = false", ["changed: still 2 elements, but different"]),
    ("li", "document.title = 'else'", []),
    ("b", "", []),
)


def test_a_step_that_changes_the_matches_is_noticed(desk: Desk) -> None:
    """A step is reported if it adds, removes or alters matches, and only then."""
    reported = []
    for selector, script, _ in CHANGES:
        show(desk, script)
        reported.append((selector, script, changed_by(desk, selector)))

    assert tuple(reported) == CHANGES


def test_typed_text_changes_a_field(desk: Desk) -> None:
    """The value counts, though the markup stays the same."""
    desk.show("<input id=a>")
    session = desk.worker.session
    before = desk.portal.call(read_selectors, session, ("#a",))

    desk.ok(Fill(target=at("#a"), text="x"))

    assert find_changes(before, desk.portal.call(read_selectors, session, ("#a",))).keys() == {"#a"}


def test_a_new_page_is_queried_too(desk: Desk) -> None:
    """A match on a page that closes disappears."""
    show(desk, f"window.open('{desk.site.put('<b>new</b>')}')")

    assert changed_by(desk, "b") == ["appeared: 1 element"]
    desk.ok(ClosePage(page=1))
    assert desk.portal.call(read_selectors, desk.worker.session, ("b",))["b"].count == 0


def test_a_selector_that_the_browser_rejects_makes_no_breakpoint(desk: Desk) -> None:
    """The message quotes the browser."""
    show(desk)

    with pytest.raises(UsageError, match=r"selector: the browser rejects 'li\[\['", check=has_code("breakpoint")):
        desk.portal.call(require_selector, desk.worker.session, "li[[")
    assert desk.portal.call(require_selector, desk.worker.session, "li").count == 2
