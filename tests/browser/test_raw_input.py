"""Raw input: mouse, keys, text, events and focus; pages that are opened, and their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from eikon_engine.trace.actions import (
    Blur,
    Click,
    ClosePage,
    DispatchEvent,
    Focus,
    InsertText,
    Key,
    Mouse,
    Navigate,
    OpenPage,
    Press,
    SecretRef,
    SelectText,
    SetViewport,
    TouchscreenTap,
)
from eikon_engine.trace.observation import TargetState
from eikon_engine.trace.variables import SecretValues
from tests.browser.desk import Desk, Room, at

if TYPE_CHECKING:
    from eikon_engine.trace.actions import MouseButton
    from eikon_engine.trace.target import Identity
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

BUTTON = """<style>body { margin: 0 } button { position: absolute; left: 0; top: 0; width: 100px; height: 40px }</style>
<button id=b>Go</button>"""
STOP = "<script>b.textContent = 'Stop'</script>"


def identity(desk: Desk, selector: str) -> Identity:
    """Return the identity of an element, as recorded."""
    bound = desk.do(Focus(target=at(selector)))
    assert bound.identity is not None
    desk.trail()
    return bound.identity


def test_a_mouse_click_reaches_the_element_at_its_point(desk: Desk) -> None:
    """Each event fires once, in order, at the given point."""
    desk.show(BUTTON + "<script>b.onclick = event => window.place = [event.clientX, event.clientY]</script>")
    button = identity(desk, "#b")

    desk.ok(Mouse(event="click", x=20.0, y=10.0, under=button))

    noted = [kind for kind in desk.trail() if kind not in {"mouseover", "focusin"}]
    assert noted == ["pointerdown", "mousedown", "mouseup", "click"]
    assert desk.js("place") == [20, 10]


@pytest.mark.parametrize(("button", "event"), [("right", "contextmenu"), ("middle", "auxclick")])
def test_the_mouse_uses_the_given_button(desk: Desk, button: MouseButton, event: str) -> None:
    """The other buttons have their own events, and no click."""
    desk.show(BUTTON)

    desk.ok(Mouse(event="click", x=20.0, y=10.0, button=button))

    noted = desk.trail()
    assert event in noted
    assert "click" not in noted


def test_two_clicks_of_the_mouse_are_a_double_click(desk: Desk) -> None:
    """`click_count` is the number of clicks."""
    desk.show(BUTTON)

    desk.ok(Mouse(event="click", x=20.0, y=10.0, click_count=2))

    noted = desk.trail()
    assert (noted.count("click"), noted.count("dblclick")) == (2, 1)


def test_the_mouse_drags_in_the_given_moves(desk: Desk) -> None:
    """A button stays down from one action to the next; each step is a move, and releasing the button is none."""
    desk.show(BUTTON + "<script>window.moves = []; onmousemove = e => moves.push([e.clientX, e.buttons])</script>")

    desk.ok(Mouse(event="down", x=20.0, y=10.0))
    pressed = desk.trail()
    desk.ok(Mouse(event="move", x=60.0, y=10.0, steps=4))
    desk.ok(Mouse(event="up", x=60.0, y=10.0))

    assert "mousedown" in pressed
    assert "mouseup" not in pressed
    assert desk.js("moves.filter(([x]) => x > 20)") == [[30, 1], [40, 1], [50, 1], [60, 1]]
    assert "mouseup" in desk.trail()


@pytest.mark.parametrize("event", ["click", "down"])
def test_the_mouse_presses_only_the_recorded_element(desk: Desk, event: Literal["click", "down"]) -> None:
    """Another element at the point gets no event, and the message names the differences."""
    desk.show(BUTTON)
    button = identity(desk, "#b")
    desk.show(BUTTON + STOP)

    message = desk.fails(Mouse(event=event, x=20.0, y=10.0, under=button, timeout_ms=200.0), "target-changed")

    assert "at 20, 10" in message
    assert "Stop" in message
    assert "mousedown" not in desk.trail()


def test_the_mouse_presses_nothing_that_covers_the_recorded_element(desk: Desk) -> None:
    """A banner over the button is not pressed."""
    desk.show(BUTTON)
    button = identity(desk, "#b")
    desk.js("document.body.insertAdjacentHTML('beforeend', '<div style=\"position: fixed; inset: 0\">Cookies?</div>')")

    desk.fails(Mouse(event="click", x=20.0, y=10.0, under=button, timeout_ms=200.0), "target-changed")

    assert "click" not in desk.trail()


def test_the_mouse_waits_for_the_recorded_element(desk: Desk) -> None:
    """Page time advances until the element is there, and no longer."""
    desk.show(BUTTON)
    button = identity(desk, "#b")
    desk.show(BUTTON + STOP + "<script>setTimeout(() => b.textContent = 'Go', 1000)</script>")

    seen = desk.ok(Mouse(event="click", x=20.0, y=10.0, under=button))

    assert 900 <= seen.virtual_ms <= 1200
    assert "click" in desk.trail()


@pytest.mark.parametrize("is_known", [True, False])
def test_the_mouse_presses_nothing_outside_the_viewport(desk: Desk, *, is_known: bool) -> None:
    """There is no element, whether or not one was recorded."""
    desk.show(BUTTON)
    button = identity(desk, "#b") if is_known else None

    message = desk.fails(Mouse(event="click", x=20.0, y=5_000.0, under=button, timeout_ms=200.0), "target-missing")

    assert "outside the viewport" in message


def test_the_mouse_finds_elements_in_shadow_roots(desk: Desk) -> None:
    """The innermost element is verified, not the host."""
    desk.show("<div id=h></div><script>h.attachShadow({mode: 'open'}).innerHTML = `" + BUTTON + "`</script>")
    button = identity(desk, "#b")

    desk.ok(Mouse(event="click", x=20.0, y=10.0, under=button))

    assert button.text == "Go"
    assert "click" in desk.trail()


def test_a_key_is_held_until_it_is_released(desk: Desk) -> None:
    """Actions in between happen with the key down."""
    desk.show(BUTTON + "<script>window.held = []; b.onclick = event => held.push(event.shiftKey)</script>")

    desk.ok(Key(event="down", key="Shift"))
    desk.ok(Mouse(event="click", x=20.0, y=10.0))
    desk.ok(Key(event="up", key="Shift"))
    desk.ok(Mouse(event="click", x=20.0, y=10.0))

    assert desk.js("held") == [True, False]


@pytest.mark.parametrize("event", ["down", "up"])
def test_an_unknown_key_is_rejected(desk: Desk, event: Literal["down", "up"]) -> None:
    """The message names the key."""
    desk.show("<input id=t>")

    assert 'Unknown key: "NoSuchKey"' in desk.fails(Key(event=event, key="NoSuchKey"), "action-rejected")


@pytest.mark.parametrize(("key_by_key", "keys", "inputs"), [(False, 0, 1), (True, 3, 3)])
def test_a_text_is_inserted_at_once_or_by_keys(desk: Desk, *, key_by_key: bool, keys: int, inputs: int) -> None:
    """The focused element gets it after its existing text."""
    desk.show("<input id=t>")
    desk.ok(Focus(target=at("#t")))
    desk.trail()

    desk.ok(InsertText(text="aB3", key_by_key=key_by_key))

    noted = desk.trail()
    assert desk.js("t.value") == "aB3"
    assert (noted.count("keydown"), noted.count("input")) == (keys, inputs)


@pytest.mark.parametrize("key_by_key", [False, True])
def test_an_inserted_secret_is_redacted(desk: Desk, *, key_by_key: bool) -> None:
    """The page gets the value; the observation, including its DOM, has its name."""
    desk.worker.session.secrets = SecretValues({"CODE": "hunter2"})
    desk.show("<input id=t><p id=p></p><script>t.oninput = () => document.title = p.textContent = t.value</script>")
    desk.ok(Focus(target=at("#t")))

    performed = desk.do(InsertText(text=SecretRef(secret="CODE"), key_by_key=key_by_key))

    assert desk.js("t.value") == "hunter2"
    assert performed.observation is not None
    assert performed.captured is not None
    assert performed.observation.pages[0].title == "{{eikon-secret:CODE}}"
    assert "hunter2" not in repr(performed.observation) + repr(performed.captured.snapshots)


PASSWORD = "<input type=password id=t>"
FRAME = """<iframe id=f srcdoc="<input type=password id=t autofocus>"></iframe>"""
SHADOW = "<div id=h></div><script>h.attachShadow({mode: 'open'}).innerHTML = '<input type=password id=t>'</script>"


@pytest.mark.parametrize(
    ("html", "frames"), [(PASSWORD, ()), (FRAME, ("#f",)), (SHADOW, ())], ids=["page", "frame", "shadow root"]
)
def test_a_text_inserted_into_a_password_field_becomes_a_secret(desk: Desk, html: str, frames: tuple[str, ...]) -> None:
    """The focused element is checked first, in frames and shadow roots too."""
    desk.show(html)
    desk.ok(Focus(target=at("#t", *frames)))

    desk.ok(InsertText(text="hunter2"))

    assert desk.worker.session.secret_name("hunter2") == "PASSWORD"


def test_a_text_inserted_into_another_field_is_no_secret(desk: Desk) -> None:
    """A password field beside it does not count, nor does a page without focus."""
    desk.show(PASSWORD + "<input id=a>")
    desk.ok(InsertText(text="nowhere"))
    desk.ok(Focus(target=at("#a")))

    desk.ok(InsertText(text="pear"))

    assert desk.js("a.value") == "pear"
    assert desk.worker.session.secrets.values == {}


def test_focus_moves_to_the_target(desk: Desk) -> None:
    """Keys reach it, and nothing is pressed."""
    desk.show("<input id=a><input id=b>")

    seen = desk.ok(Focus(target=at("#b")))

    assert desk.trail() == ["focusin"]
    assert seen.target == TargetState(value="")
    desk.ok(Press(key="x"))
    assert desk.js("[a.value, b.value]") == ["", "x"]


def test_focus_of_a_missing_target_fails(desk: Desk) -> None:
    """The target is bound like any other."""
    desk.show("<input class=a><input class=a>")

    desk.fails(Focus(target=at("#none"), timeout_ms=100.0), "target-missing")
    desk.fails(Focus(target=at(".a")), "target-ambiguous")


def test_an_event_is_dispatched_with_its_properties(desk: Desk) -> None:
    """It has the class of its type, is not trusted, and bubbles."""
    desk.show(
        "<div id=d><input id=t></div><script>d.addEventListener('keydown', event => "
        "window.got = [event.constructor.name, event.key, event.ctrlKey, event.isTrusted])</script>"
    )

    desk.ok(DispatchEvent(target=at("#t"), event="keydown", init={"key": "a", "ctrlKey": True}))

    assert desk.js("got") == ["KeyboardEvent", "a", True, False]


def test_an_event_reaches_a_hidden_element(desk: Desk) -> None:
    """A person cannot click it, but a script can, and its click is replayed."""
    desk.show("<input type=checkbox id=c style='display: none'>")

    seen = desk.ok(DispatchEvent(target=at("#c"), event="click"))

    assert desk.js("c.checked") is True
    assert seen.target is not None
    desk.fails(Click(target=at("#c"), timeout_ms=100.0), "target-not-actionable")


def test_a_page_is_opened_with_the_next_ordinal(desk: Desk) -> None:
    """It is empty and keeps its ordinal, also after another page was closed."""
    seen = desk.ok(OpenPage(page=1))
    desk.ok(Navigate(page=1, url=desk.site.put("<title>second</title>")))
    desk.ok(ClosePage(page=1))
    again = desk.ok(OpenPage(page=2))

    assert seen.opened == (1,)
    assert [(page.page, page.url) for page in again.pages] == [(0, "about:blank"), (2, "about:blank")]


@pytest.mark.parametrize("ordinal", [0, 2])
def test_a_page_with_another_ordinal_is_not_opened(desk: Desk, ordinal: int) -> None:
    """Pages are identified by the order of opening."""
    message = desk.fails(OpenPage(page=ordinal), "action-rejected")

    assert message.startswith(f"cannot open page {ordinal}: the next page in order of opening is 1")
    assert len(desk.worker.session.tracker.pages) == 1


def test_a_page_gets_another_size(desk: Desk) -> None:
    """The page gets its resize event once it has the new size."""
    desk.show("<script>window.sizes = []; onresize = () => sizes.push([innerWidth, innerHeight])</script>")

    desk.ok(SetViewport(width=640, height=480))

    assert desk.js("[innerWidth, innerHeight]") == [640, 480]
    assert desk.js("sizes.at(-1)") == [640, 480]


@pytest.mark.parametrize(
    "action",
    [
        Mouse(page=1, event="click", x=1.0, y=1.0),
        Key(page=1, event="down", key="a"),
        InsertText(page=1, text="a"),
        Focus(page=1, target=at("#b")),
        Blur(page=1, target=at("#b")),
        TouchscreenTap(page=1, x=1.0, y=1.0),
        DispatchEvent(page=1, target=at("#b"), event="click"),
        SetViewport(page=1, width=1, height=1),
    ],
    ids=lambda action: action.type,
)
def test_an_action_on_a_page_that_is_not_open_fails(
    desk: Desk, action: Mouse | Key | InsertText | Focus | Blur | TouchscreenTap | DispatchEvent | SetViewport
) -> None:
    """The message names the open pages."""
    assert "open pages: 0" in desk.fails(action, "page-missing")


def test_the_focus_is_taken_from_an_element(desk: Desk) -> None:
    """The field gets its events; an element that does not have the focus is left alone."""
    desk.show("<input id=a onblur='this.value += 1' onchange='this.value += 2'><input id=b>")
    desk.ok(Click(target=at("#a")))
    desk.ok(InsertText(text="x"))

    desk.ok(Blur(target=at("#b")))
    kept = desk.js("document.activeElement.id")
    desk.ok(Blur(target=at("#a")))

    assert kept == "a"
    assert desk.js("[a.value, document.activeElement.localName]") == ["x21", "body"]
    desk.fails(Blur(target=at("#none"), timeout_ms=100.0), "target-missing")


def test_the_text_of_a_field_or_element_is_selected(desk: Desk) -> None:
    """What is typed next replaces the text of the field."""
    desk.show("<input id=a value=old><p id=p>Some text</p><textarea id=hidden hidden>x</textarea>")

    desk.ok(SelectText(target=at("#p")))
    selected = desk.js("getSelection().toString()")
    desk.ok(SelectText(target=at("#a")))
    desk.ok(InsertText(text="new"))

    assert (selected, desk.js("a.value")) == ("Some text", "new")
    desk.fails(SelectText(target=at("#hidden"), timeout_ms=100.0), "target-not-actionable")


def test_a_tap_at_a_point_requires_the_recorded_element(live_browser: Room, site: PageSite) -> None:
    """The element there is checked before it is touched."""
    with live_browser.desk(has_touch=True) as desk:
        desk.show(BUTTON + "<script>b.onclick = event => window.place = [event.clientX, event.clientY]</script>")
        button = identity(desk, "#b")

        desk.ok(TouchscreenTap(x=20.0, y=10.0, under=button))
        assert desk.js("place") == [20, 10]
        desk.js("delete window.place")
        desk.js("b.textContent = 'Stop'")

        message = desk.fails(TouchscreenTap(x=20.0, y=10.0, under=button, timeout_ms=100.0), "target-changed")
        assert "Stop" in message
        assert desk.js("window.place ?? null") is None
        desk.fails(TouchscreenTap(x=-5.0, y=-5.0, timeout_ms=100.0), "target-missing")
