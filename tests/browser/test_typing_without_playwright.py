"""Keys are pressed and boxes are checked as Playwright does it, without its code in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Locator

from eikon_engine.trace.actions import Check, Press, TypeText, Uncheck
from tests.browser.desk import Desk, at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.browser

EVENTS = """<script>
window.seen = [];
// Not those of selections, which come with frames.
const kinds = ['focus', 'focusin', 'blur', 'focusout', 'beforeinput', 'input', 'change',
  'invalid', 'keydown', 'keypress', 'keyup', 'mousemove', 'mousedown', 'mouseup', 'click', 'submit'];
for (const kind of kinds) {
  addEventListener(kind, event => {
    const { target, relatedTarget, isTrusted, detail, data, inputType, key } = event;
    let caret = null;
    try { caret = [target.selectionStart, target.selectionEnd]; } catch {}
    seen.push([kind, target.id ?? '', relatedTarget?.id ?? '', isTrusted, detail ?? '', data ?? '', inputType ?? '',
      key ?? '', target.value ?? '', target.checked ?? '', caret, navigator.userActivation.isActive]);
  }, true);
}
</script>
"""
HTML = """<form onsubmit="event.preventDefault()"><input id=text value=old><input id=email type=email value=a@b>
<input id=number type=number value=7><input id=search type=search value=x><textarea id=area>two
lines</textarea><input id=box type=checkbox><input id=on type=checkbox checked><input id=radio type=radio>
<button id=button>Send</button><div id=plain tabindex=0>plain</div><select id=list><option>1<option>2</select></form>"""
FRAME = """new Promise(painted => {
  const frame = new Animation(new KeyframeEffect(null, [], 1));
  frame.onfinish = painted;
  frame.play();
  frame.finish();
})"""
Act = Press | TypeText | Check | Uncheck
FIELDS = ("text", "email", "number", "search", "area")
ACTIONS: tuple[Act, ...] = (
    *(Press(target=at(f"#{name}"), key="Enter") for name in (*FIELDS, "button", "plain", "list")),
    Press(target=at("#list"), key="ArrowDown"),
    Press(target=at("#area"), key="Control+a"),
    *(TypeText(target=at(f"#{name}"), text="aB3") for name in (*FIELDS, "plain")),
    Check(target=at("#box")),
    Check(target=at("#on")),
    Check(target=at("#radio")),
    Uncheck(target=at("#on")),
)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: f"{action.type} {action.target}")
def test_a_page_gets_the_same_events(desk: Desk, monkeypatch: pytest.MonkeyPatch, action: Act) -> None:
    """For a focused element or a box, order, targets, keys, carets and user activation are as with Playwright."""
    expected = _events_of(desk, action, lambda: desk.portal.call(_by_playwright, desk, action))
    for name in ("press_sequentially", "press", "set_checked"):
        monkeypatch.setattr(Locator, name, None)

    observed = _events_of(desk, action, lambda: desk.ok(action))

    assert observed == expected
    assert expected or action == Check(target=at("#on"))


def test_an_element_without_the_focus_gets_it_from_playwright(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between focus and key nothing may happen, and the driver is nearer to the page."""
    desk.show("<input id=t>")
    press = Press(target=at("#t"), key="a")
    desk.ok(press)
    monkeypatch.setattr(Locator, "press", None)

    desk.ok(press)
    desk.js("t.blur()")
    with pytest.raises(TypeError):
        desk.do(press)

    assert desk.js("t.value") == "aa"


@pytest.mark.parametrize("selector", ["#t", "internal:role=checkbox", "form >> #t"])
def test_a_box_that_a_click_does_not_check_is_rejected(desk: Desk, selector: str) -> None:
    """The message is that of Playwright, whoever evaluates the selector."""
    desk.show("<form><input id=t type=checkbox onclick='event.preventDefault()'></form>")

    assert "Clicking the checkbox did not change its state" in desk.fails(Check(target=at(selector)), "action-rejected")


def test_a_box_that_its_own_click_replaces_is_checked(desk: Desk) -> None:
    """What has its selector then is another element."""
    desk.show("<input id=t type=checkbox onclick='outerHTML = `<b id=t>done</b>`'>")

    desk.ok(Check(target=at("#t")))

    assert desk.js("t.textContent") == "done"


def test_a_radio_button_is_not_unchecked(desk: Desk) -> None:
    """Playwright refuses it before it clicks."""
    desk.show("<input id=t type=radio checked>")

    assert "Cannot uncheck radio button" in desk.fails(Uncheck(target=at("#t")), "action-rejected")
    assert "click" not in desk.trail()


async def _by_playwright(desk: Desk, action: Act) -> None:
    page = desk.worker.session.page(0)
    assert page is not None
    found = page.locator(action.target.selector if action.target else "")
    perform: dict[str, Callable[[], Awaitable[None]]] = {
        "press": lambda: found.press(action.key if isinstance(action, Press) else ""),
        "type": lambda: found.press_sequentially(str(action.text) if isinstance(action, TypeText) else ""),
        "check": found.check,
        "uncheck": found.uncheck,
    }
    await perform[action.type]()


def _events_of(desk: Desk, action: Act, perform: Callable[[], object]) -> list[list[object]]:
    """Return the events of an action on the form and of the next frame; its target has the focus if it is no box."""
    desk.show(EVENTS + HTML)
    assert action.target is not None
    desk.js(f"it = document.querySelector('{action.target.selector}'), /box|radio/.test(it.type) || it.focus()")
    desk.js(FRAME)
    desk.js("seen.splice(0)")
    perform()
    desk.js(FRAME)
    events: list[list[object]] = desk.js("seen")
    return events
