from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from eikon_engine.errors import ActionError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.trace.actions import (
    Check,
    Click,
    DoubleClick,
    Drag,
    Drop,
    DropData,
    FileInput,
    Hover,
    Key,
    Modifier,
    Mouse,
    MouseButton,
    Point,
    Scroll,
    ScrollIntoViewIfNeeded,
    SecretRef,
    Tap,
    Uncheck,
    is_forced,
)
from eikon_engine.trace.observation import TargetState
from eikon_engine.trace.variables import SecretValues
from tests.browser.desk import Desk, Room, at
from tests.browser.pages import PageSite

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

BUTTON = "<button id=b>Go</button><p id=p></p>"


def test_click_presses_and_releases_once(desk: Desk) -> None:
    """Each event fires once, in order."""
    desk.show(BUTTON)

    desk.ok(Click(target=at("#b")))

    noted = [kind for kind in desk.trail() if kind not in {"mouseover", "focusin"}]
    assert noted == ["pointerdown", "mousedown", "mouseup", "click"]


@pytest.mark.parametrize(("button", "event"), [("right", "contextmenu"), ("middle", "auxclick")])
def test_click_uses_the_given_button(desk: Desk, button: MouseButton, event: str) -> None:
    """The other buttons have their own events, and no click."""
    desk.show(BUTTON)

    desk.ok(Click(target=at("#b"), button=button))

    noted = desk.trail()
    assert event in noted
    assert "click" not in noted


@pytest.mark.parametrize(("modifier", "key"), [("Shift", "shiftKey"), ("Alt", "altKey"), ("Control", "ctrlKey")])
def test_click_holds_the_modifiers(desk: Desk, modifier: Modifier, key: str) -> None:
    """Modifiers are down during the click and up after it."""
    desk.show(BUTTON + "<script>b.onclick = e => p.textContent = [e.shiftKey, e.altKey, e.ctrlKey]</script>")

    desk.ok(Click(target=at("#b"), modifiers=(modifier,)))
    held = desk.js("p.textContent")
    desk.ok(Click(target=at("#b")))

    assert held == ",".join(str(name == key).lower() for name in ("shiftKey", "altKey", "ctrlKey"))
    assert desk.js("p.textContent") == "false,false,false"


@pytest.mark.parametrize("action", [DoubleClick(target=at("#b")), Click(target=at("#b"), click_count=2)])
def test_page_time_passes_between_two_clicks(desk: Desk, action: DoubleClick | Click) -> None:
    """A page that recognizes double clicks by their distance in time sees one, although its clock stands still."""
    desk.show(
        BUTTON
        + """<script>let last = null; b.onclick = e => {
          if (last !== null && performance.now() > last) p.textContent = `double ${e.detail}`;
          last = performance.now();
        }</script>"""
    )

    desk.ok(action)

    assert desk.js("p.textContent") == "double 2"


def test_click_hits_the_given_position(desk: Desk) -> None:
    """A position counts from the top left corner of the element."""
    desk.show(
        "<div id=d style='width:200px;height:100px;background:#eee'></div><p id=p></p>"
        "<script>d.onclick = e => p.textContent = [e.offsetX, e.offsetY]</script>"
    )

    desk.ok(Click(target=at("#d"), position=Point(x=10, y=90)))

    assert desk.js("p.textContent") == "10,90"


def test_a_click_position_beside_a_covered_centre_is_clicked(desk: Desk) -> None:
    """Only the clicked point must be free."""
    desk.show(
        "<button id=b style='position:absolute;left:0;top:0;width:200px;height:40px'>Go</button>"
        "<div style='position:absolute;left:60px;top:0;width:80px;height:40px;background:red'></div>"
    )

    desk.ok(Click(target=at("#b"), position=Point(x=5, y=5)))

    assert desk.trail().count("click") == 1


def test_click_holds_the_button_for_its_delay(desk: Desk) -> None:
    """The delay passes between press and release."""
    desk.show(BUTTON)

    desk.ok(Click(target=at("#b"), delay_ms=30))

    assert desk.trail().count("click") == 1


def test_double_click_is_two_clicks_and_one_dblclick(desk: Desk) -> None:
    """The browser's `dblclick` event fires once."""
    desk.show(BUTTON)

    desk.ok(DoubleClick(target=at("#b")))

    noted = desk.trail()
    assert (noted.count("click"), noted.count("dblclick")) == (2, 1)


def test_hover_opens_a_menu_that_can_then_be_clicked(desk: Desk) -> None:
    """The pointer stays where it is, so the menu stays open."""
    desk.show(
        "<style>ul{display:none;margin:0}li:hover ul{display:block}</style>"
        "<li id=menu style='width:100px'>Menu<ul><li><button id=item>Item</button></ul></li>"
        "<p id=p></p><script>item.onclick = () => p.textContent = 'clicked';"
        "menu.onmouseenter = () => p.textContent = 'entered'</script>"
    )

    desk.ok(Hover(target=at("#menu"), position=Point(x=3, y=3)))
    entered = desk.js("p.textContent")
    desk.ok(Click(target=at("#item")))

    assert (entered, desk.js("p.textContent")) == ("entered", "clicked")


@pytest.mark.parametrize("kind", ["checkbox", "radio"])
def test_check_checks_once_and_leaves_a_checked_box_alone(desk: Desk, kind: str) -> None:
    """A checked box gets no event."""
    desk.show(f"<input type={kind} id=c>")

    first = desk.ok(Check(target=at("#c")))
    changes = desk.trail().count("change")
    second = desk.ok(Check(target=at("#c")))

    assert first.target == second.target == TargetState(value="on", checked=True)
    assert (changes, desk.trail().count("change")) == (1, 0)


def test_uncheck_unchecks_once_and_leaves_an_empty_box_alone(desk: Desk) -> None:
    """An unchecked box gets no event."""
    desk.show("<input type=checkbox id=c checked>")

    first = desk.ok(Uncheck(target=at("#c")))
    changes = desk.trail().count("change")
    second = desk.ok(Uncheck(target=at("#c")))

    assert first.target == second.target == TargetState(value="on", checked=False)
    assert (changes, desk.trail().count("change")) == (1, 0)


def test_check_of_another_element_is_rejected(desk: Desk) -> None:
    """A text field cannot be checked, and a radio button cannot be unchecked."""
    desk.show("<input id=t><input type=radio id=r checked>")

    assert "checkbox" in desk.fails(Check(target=at("#t")), "action-rejected")
    desk.fails(Uncheck(target=at("#r")), "action-rejected")


def test_check_of_a_box_that_refuses_is_rejected(desk: Desk) -> None:
    """A box whose page reverts the check is not checked, and the message says so."""
    desk.show("<input type=checkbox id=c onclick='event.preventDefault()'>")

    assert "did not change" in desk.fails(Check(target=at("#c")), "action-rejected")


def test_a_box_covered_by_its_own_label_is_not_checked(desk: Desk) -> None:
    """A styled box cannot be hit by a pointer; a mission clicks its label."""
    desk.show(
        "<label id=l style='position:relative;display:block;width:80px;height:30px'>"
        "<input type=checkbox id=c style='position:absolute;left:0;top:0;width:30px;height:30px;margin:0'>"
        "<span id=s style='position:absolute;left:0;top:0;width:30px;height:30px;background:#ddd'></span></label>"
    )

    message = desk.fails(Check(target=at("#c"), timeout_ms=100), "target-not-actionable")
    desk.ok(Click(target=at("#l")))

    assert "covered by <span#s>" in message
    assert desk.js("c.checked")


def test_drag_carries_data_from_one_element_to_another(desk: Desk) -> None:
    """The events and data of HTML drag and drop arrive."""
    desk.show(
        "<div id=a draggable=true style='width:60px;height:40px;background:#aaf'>A</div>"
        "<div id=z style='width:200px;height:100px;background:#afa;margin-top:50px'>Z</div>"
        "<script>a.ondragstart = e => e.dataTransfer.setData('text/plain', 'cargo');"
        "z.ondragover = e => e.preventDefault();"
        "z.ondrop = e => { e.preventDefault(); z.textContent = e.dataTransfer.getData('text/plain') }</script>"
    )

    performed = desk.do(Drag(target=at("#a"), to=at("#z")))

    assert performed.error is None
    assert desk.js("z.textContent") == "cargo"
    assert performed.identity is not None
    assert performed.identity_second is not None
    assert dict(performed.identity_second.attributes)["id"] == "z"


def test_drag_moves_a_slider_by_mouse_events(desk: Desk) -> None:
    """Custom dragging that listens to the mouse works as well."""
    desk.show(
        "<div id=a style='position:absolute;left:0;top:0;width:20px;height:20px;background:#aaf'></div>"
        "<div id=z style='position:absolute;left:200px;top:200px;width:20px;height:20px;background:#afa'></div>"
        "<script>let on = false; a.onmousedown = () => on = true;"
        "document.onmousemove = e => { if (on) a.style.translate = `${e.clientX - 10}px ${e.clientY - 10}px` };"
        "document.onmouseup = () => on = false</script>"
    )

    desk.ok(Drag(target=at("#a"), to=at("#z")))

    assert desk.js("a.style.translate") == "200px 200px"


def test_scroll_moves_the_page_or_an_element(desk: Desk) -> None:
    """Distances are CSS pixels, and scrolling is immediate."""
    desk.show(
        "<div id=box style='width:100px;height:100px;overflow:auto'><div style='width:900px;height:900px'></div></div>"
        "<div style='height:5000px'></div>"
    )

    desk.ok(Scroll(dy=700))
    page = desk.js("scrollY")
    desk.ok(Scroll(target=at("#box"), dx=30, dy=40))

    assert page == 700
    assert desk.js("[box.scrollLeft, box.scrollTop]") == [30, 40]


COVERED = (
    "<input id=b type=checkbox style='position:absolute;left:30px;top:30px;width:40px;height:40px'><p id=p></p>"
    "<div id=cover style='position:absolute;left:30px;top:30px;width:80px;height:80px'></div>"
    "<script>window.seen = []; for (const type of ['mouseover', 'dblclick', 'touchstart'])"
    " cover.addEventListener(type, () => seen.push(type))</script>"
)


@pytest.mark.parametrize("natural", [False, True])
@pytest.mark.parametrize(
    ("action", "seen"),
    [
        (Hover(target=at("#b"), timeout_ms=100), "mouseover"),
        (DoubleClick(target=at("#b"), timeout_ms=100), "dblclick"),
        (Tap(target=at("#b"), timeout_ms=100), "touchstart"),
    ],
    ids=lambda each: getattr(each, "type", ""),
)
def test_a_forced_action_hits_what_covers_its_target(
    live_browser: Room,
    site: PageSite,
    action: Hover | DoubleClick | Tap,
    seen: str,
    natural: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Without `force`, a covered target is not actionable."""
    with live_browser.desk(natural=natural, has_touch=True) as desk:
        desk.show(COVERED)

        desk.fails(action, "target-not-actionable")
        assert desk.js("seen") == []
        forced = action.model_copy(update={"force": True})
        desk.ok(forced)

        assert is_forced(forced)
        assert seen in desk.js("seen")


def test_a_disabled_control_is_tapped_only_by_force(live_browser: Room, site: PageSite) -> None:
    """A forced target must be visible, no more."""
    with live_browser.desk(has_touch=True) as desk:
        desk.show("<button id=b disabled>Go</button><button id=hidden hidden>Go</button>")

        desk.fails(Tap(target=at("#b"), timeout_ms=100), "target-not-actionable")
        desk.ok(Tap(target=at("#b"), force=True))
        desk.fails(Tap(target=at("#hidden"), force=True, timeout_ms=100), "target-not-actionable")


@pytest.mark.parametrize("natural", [False, True])
def test_a_tap_touches_and_clicks(
    live_browser: Room,
    site: PageSite,
    natural: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """The browser makes a click of a tap, and the effect of the click is observed."""
    with live_browser.desk(natural=natural, has_touch=True) as desk:
        desk.show(
            f"{BUTTON}<script>for (const type of ['touchstart', 'touchend', 'click'])"
            " b.addEventListener(type, event => { p.textContent += event.type + event.shiftKey })</script>"
        )

        desk.ok(Tap(target=at("#b")))
        desk.ok(Tap(target=at("#b"), modifiers=("Shift",), position=Point(x=3, y=3)))

        assert desk.js("p.textContent") == "".join(
            f"{kind}{shift}" for shift in ("false", "true") for kind in ("touchstart", "touchend", "click")
        )


def test_nothing_is_tapped_without_touch(desk: Desk) -> None:
    """The message names the missing option of the context."""
    desk.show(BUTTON)

    assert "hasTouch" in desk.fails(Tap(target=at("#b")), "action-rejected")


def test_a_forced_check_needs_no_free_box(desk: Desk) -> None:
    """A covered box is checked through its cover only if the cover lets the click pass, so its state must change."""
    desk.show(COVERED.replace("<div", "<div hidden"))

    desk.ok(Check(target=at("#b"), force=True))
    checked = desk.js("b.checked")
    desk.ok(Uncheck(target=at("#b"), force=True))

    assert (checked, desk.js("b.checked")) == (True, False)


def test_an_element_is_scrolled_into_view_if_it_is_not(desk: Desk) -> None:
    """An empty element can be scrolled to; one that is not rendered cannot."""
    desk.show("<p id=p>Top</p><div style='height:3000px'></div><p id=end></p><b id=gone hidden>x</b>")

    desk.ok(ScrollIntoViewIfNeeded(target=at("#p")))
    before = desk.js("scrollY")
    desk.ok(ScrollIntoViewIfNeeded(target=at("#end")))
    after = desk.js("scrollY")

    assert before == 0
    assert after > 1000
    message = desk.fails(ScrollIntoViewIfNeeded(target=at("#gone"), timeout_ms=100), "target-not-actionable")
    assert "not rendered" in message


HELD = """<button id=b>Go</button><i id=cover></i><p id=p></p><script>
let pressed, opened;
const note = text => { p.textContent += text + ' '; };
for (const each of [b, cover]) {
  each.onpointerdown = event => {
    pressed = performance.now();
    opened = setTimeout(() => note('menu'), 500);
  };
  each.onpointerup = event => {
    clearTimeout(opened);
    note(`${event.target.id}${event.shiftKey ? ' shift' : ''} ${Math.round((performance.now() - pressed) / 100)}`);
  };
}
b.ondblclick = () => note('double');
</script>"""


@pytest.mark.parametrize(
    ("action", "noted"),
    [
        (Click(target=at("#b"), delay_ms=300), "b 3"),
        (Click(target=at("#b"), delay_ms=700), "menu b 7"),
        (Click(target=at("#b"), delay_ms=200, click_count=2), "b 2 b 2 double"),
        (DoubleClick(target=at("#b"), delay_ms=200), "b 2 b 2 double"),
        (Click(target=at("#b"), delay_ms=600, modifiers=("Shift",)), "menu b shift 6"),
        (Mouse(event="click", x=20, y=20, delay_ms=600), "menu b 6"),
    ],
)
def test_the_button_is_held_for_page_time(desk: Desk, action: Click | DoubleClick | Mouse, noted: str) -> None:
    """A page measures the time, and its timers run meanwhile."""
    desk.show(HELD)

    desk.ok(action)

    assert desk.js("p.textContent.trim()") == noted


def test_a_hold_that_fails_leaves_nothing_pressed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Button and keys are released: the next click has no modifier, and a move is no drag."""
    desk.show(HELD + "<script>onmousemove = e => { p.title = `${e.buttons} ${e.shiftKey}`; }</script>")

    async def fail(_: float) -> None:
        raise ActionError("the page stopped", code="wait-timeout")

    with monkeypatch.context() as patched:
        patched.setattr(desk.worker.session.stabilizer, "pass_time_waiting", fail)
        desk.fails(Click(target=at("#b"), delay_ms=600, modifiers=("Shift",)), "wait-timeout")
    desk.ok(Mouse(event="move", x=200, y=200))

    assert desk.js("p.title") == "0 false"


@pytest.mark.parametrize("kind", [Click, DoubleClick])
def test_a_delay_is_not_negative(kind: type[Click | DoubleClick]) -> None:
    """As with the delays of keys."""
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        kind(target=at("#b"), delay_ms=-1.0)
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Mouse(event="click", x=1, y=1, delay_ms=-1.0)


def test_a_forced_press_is_held_on_what_covers_the_target(desk: Desk) -> None:
    """The pointer is where Playwright puts it."""
    desk.show(HELD + "<style>#cover { position: fixed; inset: 0 }</style>")

    desk.ok(Click(target=at("#b"), delay_ms=600, force=True))

    assert desk.js("p.textContent.trim()") == "menu cover 6"


def test_a_held_key_is_released_and_pressed_again_around_other_modifiers(desk: Desk) -> None:
    """Playwright holds exactly the modifiers of the call, also if the button is held."""
    desk.show(HELD + "<script>onkeydown = onkeyup = event => note(`${event.type} ${event.key}`)</script>")

    desk.ok(Key(event="down", key="ShiftLeft"))
    desk.ok(Click(target=at("#b"), delay_ms=200, modifiers=("Alt",)))
    desk.ok(Key(event="up", key="ShiftLeft"))

    noted = "keydown Shift keydown Alt keyup Shift b 2 keyup Alt keydown Shift keyup Shift"
    assert desk.js("p.textContent.trim()") == noted


@pytest.mark.parametrize(
    "action",
    [
        Click(target=at("#b"), steps=7),
        Click(target=at("#b"), steps=7, force=True),
        Click(target=at("#b"), steps=7, delay_ms=50),
        DoubleClick(target=at("#b"), steps=7),
        DoubleClick(target=at("#b"), steps=7, modifiers=("Alt",)),
    ],
)
def test_the_pointer_moves_in_steps_to_what_it_clicks(desk: Desk, action: Click | DoubleClick) -> None:
    """A page sees as many moves as the agent made."""
    desk.show(BUTTON + "<script>let moves = 0; onmousemove = () => { moves += 1; }</script>")
    desk.ok(Mouse(event="move", x=300, y=300))
    desk.js("moves = 0")

    desk.ok(action)

    assert desk.js("moves") == 7


DROP_ZONE = """<div id=zone style='width:200px;height:100px;background:#eee'>drop</div><p id=p></p><script>
zone.ondragover = event => event.preventDefault();
zone.ondrop = async event => {
  const { files, types } = event.dataTransfer, text = event.dataTransfer.getData('text/plain');
  const read = await Promise.all(Array.from(files, async each => `${each.name} ${each.type} ${await each.text()}`));
  p.textContent = [...read, types.includes('text/plain') && text, event.offsetX, event.offsetY].join('|');
};
</script>"""


DROP_TIMES = """<div id=zone style='width:200px;height:100px;background:#eee'>drop</div><p id=p></p><script>
zone.ondragover = event => event.preventDefault();
zone.ondrop = async event => {
  const describe = async each => `${each.name} ${await each.text()} ${each.lastModified}`;
  p.textContent = (await Promise.all(Array.from(event.dataTransfer.files, describe))).join(', ');
};
</script>"""


def test_data_is_dropped_at_a_position(desk: Desk) -> None:
    """The page gets the data by their types."""
    desk.show(DROP_ZONE)

    data = (DropData(mime_type="text/plain", value="seven pears"), DropData(mime_type="text/html", value="<b>7</b>"))
    desk.ok(Drop(target=at("#zone"), data=data, position=Point(x=20, y=10)))

    assert desk.js("p.textContent") == "seven pears|20|10"


def test_a_dropped_secret_reaches_the_page_and_is_redacted(desk: Desk) -> None:
    """As one that is typed: the page gets the value, whatever is recorded of the page has the name."""
    desk.show(DROP_ZONE)
    desk.worker.session.secrets = SecretValues({"CODE": "hunter2"})

    data = (DropData(mime_type="text/plain", value=SecretRef(secret="CODE")),)
    desk.ok(Drop(target=at("#zone"), data=data, position=Point(x=20, y=10)))

    assert desk.js("p.textContent") == "hunter2|20|10"
    assert desk.worker.session.redacted_names == {"CODE"}


def test_a_dropped_file_keeps_the_time_of_its_last_change(live_browser: Room, tmp_path: Path) -> None:
    """A page that resumes uploads knows a file by it, and two files may have one name."""
    content = BlobStore(tmp_path).put(b"pears")
    first = FileInput(name="a.txt", mime_type="text/plain", content=content, last_modified_ms=981_173_106_789)
    second = first.model_copy(update={"last_modified_ms": 981_173_106_790})

    with live_browser.desk(uploads=tmp_path) as desk:
        desk.show(DROP_TIMES)
        desk.ok(Drop(target=at("#zone"), files=(first, second)))

        assert desk.js("p.textContent") == "a.txt pears 981173106789, a.txt pears 981173106790"


def test_what_accepts_no_drop_rejects_the_action(desk: Desk) -> None:
    """The browser says why."""
    desk.show(BUTTON)

    message = desk.fails(Drop(target=at("#b"), data=(DropData(mime_type="text/plain", value="x"),)), "action-rejected")

    assert "did not accept the drop" in message
