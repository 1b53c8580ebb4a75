from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from eikon_engine.files.blobs import BlobStore
from eikon_engine.trace.actions import (
    Click,
    FileInput,
    Fill,
    Focus,
    Mouse,
    Navigate,
    Press,
    Scroll,
    ScrollIntoViewIfNeeded,
    SecretRef,
    SelectOption,
    SetInputFiles,
    SetValue,
    TypeText,
)
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.observation import TargetState
from eikon_engine.trace.variables import SecretValues
from tests.browser.desk import Desk, at

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.actions import Action
    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser


def test_fill_sets_the_text_at_once(desk: Desk) -> None:
    """The old text is replaced, with one input event and no key event."""
    desk.show("<input id=t value=old>")

    seen = desk.ok(Fill(target=at("#t"), text="new täxt"))

    noted = desk.trail()
    assert seen.target == TargetState(value="new täxt")
    assert (noted.count("input"), noted.count("keydown")) == (1, 0)


@pytest.mark.parametrize("html", ["<textarea id=t>a</textarea>", "<div id=t contenteditable>a</div>"])
def test_fill_works_on_everything_editable(desk: Desk, html: str) -> None:
    """Text areas and editable elements are filled like fields."""
    desk.show(html)

    desk.ok(Fill(target=at("#t"), text="line 1\nline 2"))

    assert desk.js("(t.value ?? t.innerText).split(/\\n+/)") == ["line 1", "line 2"]


def test_fill_of_an_element_without_text_is_rejected(desk: Desk) -> None:
    """The message says that a button is the wrong kind of element."""
    desk.show("<button id=b>b</button><input type=checkbox id=c>")

    assert "Element is not an <input>" in desk.fails(Fill(target=at("#b"), text="x"), "action-rejected")
    assert "cannot be filled" in desk.fails(Fill(target=at("#c"), text="x"), "action-rejected")


def test_type_presses_one_key_for_each_character(desk: Desk) -> None:
    """Every character is a key pressed and released, after the existing text."""
    desk.show("<input id=t value=1>")

    seen = desk.ok(TypeText(target=at("#t"), text="aB3"))

    noted = desk.trail()
    assert [noted.count(kind) for kind in ("keydown", "keyup", "input")] == [3, 3, 3]
    assert seen.target == TargetState(value="1aB3") or seen.target == TargetState(value="aB31")


def test_a_text_typed_into_a_password_field_is_redacted(desk: Desk) -> None:
    """The observation, including its DOM, contains no trace of it."""
    desk.show(
        "<input type=password id=t><p id=p></p>"
        "<script>t.oninput = () => document.title = p.textContent = t.value</script>"
    )

    performed = desk.do(Fill(target=at("#t"), text="hunter2"))

    assert performed.error is None
    assert performed.captured is not None
    assert "hunter2" not in repr(performed.observation) + repr(performed.captured.snapshots)
    assert performed.observation is not None
    assert performed.observation.pages[0].title == "{{eikon-secret:PASSWORD}}"


def test_a_missing_secret_is_a_clear_error(desk: Desk) -> None:
    """It is not a result of the action: the mission cannot continue without the value."""
    desk.show("<input id=t>")

    with pytest.raises(Exception, match="--secret TOKEN=") as raised:
        desk.do(Fill(target=at("#t"), text=SecretRef(secret="TOKEN")))

    assert getattr(raised.value, "code", "") == "secret-missing"


def test_press_holds_a_chord(desk: Desk) -> None:
    """Control and A together select everything."""
    desk.show("<input id=t value=abc>")

    desk.ok(Press(target=at("#t"), key="Control+a"))
    desk.ok(Press(key="Delete"))

    assert desk.js("t.value") == ""


def test_press_of_enter_submits_the_form(desk: Desk) -> None:
    """The submitted form is a document load of this action."""
    site = desk.site
    site.answers["/sent"] = site.answers[site.put("sent").removeprefix(site.url)]
    desk.show("<form action=/sent><input id=t name=q value=1></form>")

    seen = desk.ok(Press(target=at("#t"), key="Enter"))

    assert [document.url for document in seen.documents] == [f"{site.url}/sent?q=1"]


def test_press_without_target_reaches_the_focused_element(desk: Desk) -> None:
    """The focused element gets the key."""
    desk.show("<input id=a><input id=b autofocus>")
    desk.js("b.focus()")

    desk.ok(Press(key="x"))

    assert desk.js("[a.value, b.value]") == ["", "x"]


@pytest.mark.parametrize("target", [None, at("#t")])
def test_press_of_an_unknown_key_is_rejected(desk: Desk, target: object) -> None:
    """The message names the key."""
    desk.show("<input id=t>")

    action = Press(key="NoSuchKey", target=at("#t") if target else None)

    assert 'Unknown key: "NoSuchKey"' in desk.fails(action, "action-rejected")


SELECT = "<select id=s><option value=a>Alpha<option value=b>Beta<option value=c disabled>Gamma</select>"


@pytest.mark.parametrize(("by", "option"), [("value", "b"), ("label", "Beta"), ("index", "1")])
def test_select_chooses_an_option(desk: Desk, by: str, option: str) -> None:
    """Options are named by value, label or index."""
    desk.show(SELECT)

    seen = desk.ok(SelectOption.model_validate({"target": at("#s"), "by": by, "options": (option,)}))

    assert seen.target == TargetState(value="b")
    assert desk.trail().count("change") == 1


def test_select_chooses_several_options_and_deselects_the_others(desk: Desk) -> None:
    """The state of a multiple select names all selected options."""
    desk.show("<select id=s multiple><option selected>1<option>2<option>3</select>")

    seen = desk.ok(SelectOption(target=at("#s"), options=("2", "3")))

    assert seen.target == TargetState(value='["2","3"]')


def test_select_waits_for_late_options(desk: Desk) -> None:
    """Page time advances until the option exists, and no longer."""
    desk.show("<select id=s></select><script>setTimeout(() => s.innerHTML = '<option>x', 2000)</script>")

    seen = desk.ok(SelectOption(target=at("#s"), options=("x",)))

    assert seen.target == TargetState(value="x")
    assert 1900 <= seen.virtual_ms <= 2200


@pytest.mark.parametrize(("by", "option"), [("value", "z"), ("label", "a"), ("index", "7"), ("value", "c")])
def test_select_of_a_missing_option_fails(desk: Desk, by: str, option: str) -> None:
    """A disabled option cannot be chosen either; the message lists the options."""
    desk.show(SELECT)

    action = SelectOption.model_validate({"target": at("#s"), "by": by, "options": (option,), "timeout_ms": 300.0})

    assert repr(option) in desk.fails(action, "option-missing")
    assert desk.trail().count("change") == 0


def test_select_in_another_element_is_rejected(desk: Desk) -> None:
    """The message says that the element is the wrong kind; an index that is not a number is refused too."""
    desk.show("<input id=t>" + SELECT)

    desk.fails(SelectOption(target=at("#t"), options=("x",)), "action-rejected")
    desk.fails(SelectOption(target=at("#s"), by="index", options=("one",), timeout_ms=100), "option-missing")


UPLOAD = """<input type=file id=f multiple style='display:none'><p id=p></p><script>f.onchange = async () => {
  const texts = await Promise.all(Array.from(f.files, async file => `${file.name}|${file.type}|${await file.text()}`));
  p.textContent = texts.join(' ') }</script>"""


def test_upload_uses_the_files_of_the_bundle(live_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """Names, types and contents reach the page, also through a hidden field."""
    store = BlobStore(tmp_path)
    first = FileInput(name="a.txt", mime_type="text/plain", content=store.put(b"one"))
    second = FileInput(name="b.json", mime_type="application/json", content=store.put(b"{}"))
    with live_browser.desk(uploads=tmp_path) as desk:
        desk.ok(Navigate(url=site.put(UPLOAD)))

        desk.ok(SetInputFiles(target=at("#f"), files=(first, second)))

        assert desk.js("p.textContent") == "a.txt|text/plain|one b.json|application/json|{}"
        assert first.content.sha256 == hashlib.sha256(b"one").hexdigest()


def test_upload_to_another_field_is_rejected(live_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """A text field refuses a file, and a single-file field refuses two."""
    file = FileInput(name="a", mime_type="text/plain", content=BlobStore(tmp_path).put(b"one"))
    with live_browser.desk(uploads=tmp_path) as desk:
        desk.show("<input id=t><input type=file id=f>")

        desk.fails(SetInputFiles(target=at("#t"), files=(file,)), "action-rejected")
        desk.fails(SetInputFiles(target=at("#f"), files=(file, file)), "action-rejected")


def test_a_secret_that_is_no_option_is_not_in_the_message(desk: Desk) -> None:
    """Nor in the result, which is written."""
    desk.worker.session.secrets = SecretValues({"CODE": "hunter2"})
    desk.show("<select id=t><option>a</select>")

    performed = desk.do(SetValue(target=at("#t"), text=SecretRef(secret="CODE"), timeout_ms=100))

    assert isinstance(performed.result, Failed)
    assert "{{eikon-secret:CODE}}" in performed.result.message
    assert "hunter2" not in performed.result.message


@pytest.mark.parametrize(
    "action",
    [
        Scroll(dx=0, dy=500),
        Scroll(target=at("#t"), dx=0, dy=500),
        ScrollIntoViewIfNeeded(target=at("#end")),
        Mouse(event="wheel", x=50, y=400, dy=500),
    ],
    ids=["page", "target", "into view", "wheel"],
)
def test_what_scrolling_requests_is_not_driven_by_a_timer(desk: Desk, action: Action) -> None:
    """Though the clock moved after the action before it."""
    box = "<div id=t style='height: 99px; overflow: auto'><p style='height: 999px'></div>"
    long = "<p style='height: 5000px'></p><b id=end>end</b>"
    script = "addEventListener('scroll', () => fetch('/more'), {capture: true, once: true})"
    desk.show(f"{box}{long}<script>{script}</script>")
    desk.ok(Click(target=at("#t")))

    performed = desk.portal.call(desk.worker.execute, action)

    assert performed.observation is not None
    assert [each for each in performed.observation.requests if each.endswith("/more")]
    assert performed.observation.timer_requests == ()


TYPED = """<input id=t value=1><p id=log></p><script>
let pressed;
const note = text => { log.textContent += text + ' '; };
t.onkeydown = () => { pressed ??= performance.now(); };
t.onkeyup = event => { note(`${event.key} ${Math.round((performance.now() - pressed) / 100)}`); pressed = null; };
t.oninput = event => note(`input ${event.data}`);
</script>"""


@pytest.mark.parametrize("focused", [Focus(target=at("#t")), None])
def test_each_typed_key_is_held_for_its_delay(desk: Desk, focused: Focus | None) -> None:
    """A page sees each key for as long; a character without a key is inserted."""
    desk.show(TYPED)
    if focused is not None:
        desk.ok(focused)
    before = desk.js("performance.now()")

    desk.ok(TypeText(target=at("#t"), text="aß+", delay_ms=300))

    assert desk.js("log.textContent.trim()") == "input a a 3 input ß input + + 3"
    assert desk.js("performance.now()") - before >= 900


@pytest.mark.parametrize("action", [TypeText(target=at("#t"), text="x"), Press(target=at("#t"), key="x")])
def test_a_delay_does_not_move_the_caret(desk: Desk, action: TypeText | Press) -> None:
    """The text is where it is without a delay."""
    desk.show("<input id=t value=123><button id=b>b</button>")
    results = []
    for delay_ms in (0.0, 50.0):
        desk.js("t.value = '123', t.setSelectionRange(1, 1), b.focus()")
        desk.ok(action.model_copy(update={"delay_ms": delay_ms}))
        results.append(desk.js("t.value"))

    assert results[0] == results[1]
    assert results[0] != "123"
