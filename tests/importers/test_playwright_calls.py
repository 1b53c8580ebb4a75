"""Calls in Playwright traces."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.files.blobs import blob_ref
from tests.importers.playwright_zips import URL, Line, call, group, head, opened, read_zip, snapshot, write_zip

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.importers.imported_mission import ImportedMission

GOTO = call(1, "Frame.goto", url=URL, waitUntil="load")
MOCKS = "responses mocked by the test are part of the recorded network if it contains them"
TARGET: dict[str, Any] = {"selector": "#a", "strict": True}


def read(path: Path, *lines: Line) -> ImportedMission:
    """Read a trace of one page with these calls."""
    return read_zip(write_zip(path / "trace.zip", [head(), opened(), *GOTO, *lines]))


def actions(mission: ImportedMission) -> list[dict[str, Any]]:
    """Return all actions but the first as plain data."""
    return [each.model_dump(mode="json") for subgoal in mission.subgoals for each in subgoal.actions][1:]


def expected(expression: str, text: str | None = None, **params: object) -> dict[str, object]:
    """Return the parameters of an assertion."""
    texts = {} if text is None else {"expectedText": [{"string": text, "matchSubstring": False}]}
    return {**TARGET, "expression": expression, "isNot": False, **texts, **params}


@pytest.mark.parametrize(
    ("name", "params", "kind", "fields"),
    [
        ("Page.reload", {"waitUntil": "networkidle"}, "reload", {"wait_until": "load"}),
        ("Page.goBack", {}, "go_back", {}),
        ("Page.keyboardPress", {"key": "Control+a"}, "press", {"key": "Control+a", "target": None}),
        ("Page.keyboardType", {"text": "für"}, "insert_text", {"text": "für", "key_by_key": True}),
        ("Page.keyboardInsertText", {"text": "x"}, "insert_text", {"key_by_key": False}),
        ("Page.mouseClick", {"x": 1, "y": 2, "clickCount": 2}, "mouse", {"event": "click", "x": 1.0, "click_count": 2}),
        ("Frame.focus", TARGET, "focus", {}),
        ("Frame.blur", TARGET, "blur", {}),
        ("Frame.tap", {**TARGET, "force": True}, "tap", {"force": True}),
        ("Page.touchscreenTap", {"x": 1, "y": 2}, "touchscreen_tap", {"x": 1.0, "y": 2.0, "under": None}),
        ("Frame.dispatchEvent", {**TARGET, "type": "click", "eventInit": {}}, "dispatch_event", {"event": "click"}),
        ("Page.mouseWheel", {"deltaX": 0, "deltaY": 120}, "scroll", {"dy": 120.0}),
        ("Page.screenshot", {"fullPage": True}, "screenshot", {"full_page": True}),
        ("Page.close", {}, "close_page", {}),
        ("Frame.click", {**TARGET, "button": "right"}, "click", {"button": "right"}),
        ("Frame.click", {**TARGET, "modifiers": ["Shift"], "timeout": 900}, "click", {"timeout_ms": 900.0}),
        ("Frame.click", {**TARGET, "clickCount": 3, "force": True}, "click", {"click_count": 3, "force": True}),
        ("Frame.click", {**TARGET, "timeout": 0}, "click", {"timeout_ms": 300_000.0}),
        ("Frame.click", {**TARGET, "position": {"x": 1, "y": 2}}, "click", {"position": {"x": 1.0, "y": 2.0}}),
        ("Frame.dblclick", TARGET, "double_click", {}),
        ("Frame.dblclick", {**TARGET, "delay": 30, "steps": 4}, "double_click", {"delay_ms": 30.0, "steps": 4}),
        ("Frame.click", {**TARGET, "delay": 700, "steps": 4}, "click", {"delay_ms": 700.0, "steps": 4}),
        ("Frame.hover", {**TARGET, "force": True}, "hover", {"force": True}),
        ("Frame.check", TARGET, "check", {}),
        ("Frame.uncheck", TARGET, "uncheck", {}),
        ("Frame.fill", {**TARGET, "value": "x", "force": True}, "fill", {"text": "x", "force": True}),
        ("Frame.type", {**TARGET, "text": "x"}, "type", {"text": "x"}),
        ("Frame.press", {**TARGET, "key": "Enter"}, "press", {"key": "Enter"}),
        ("Frame.selectOption", {**TARGET, "options": [{"valueOrLabel": "a"}]}, "select_option", {"options": ["a"]}),
        ("Frame.selectOption", {**TARGET, "options": [{"index": 2}]}, "select_option", {"by": "index"}),
        ("Frame.selectOption", {**TARGET, "options": []}, "select_option", {"options": []}),
        ("Frame.dragAndDrop", {"source": "#a", "target": "#b", "strict": True}, "drag", {}),
        ("Frame.waitForSelector", {**TARGET, "state": "hidden"}, "wait_for", {}),
        ("Frame.waitForFunction", {"expression": "() => true", "arg": {"value": {"v": "undefined"}}}, "wait_for", {}),
        (
            "Frame.drop",
            {**TARGET, "data": [{"mimeType": "text/plain", "value": "x"}], "position": {"x": 1, "y": 2}},
            "drop",
            {"data": [{"mime_type": "text/plain", "value": "x"}], "position": {"x": 1.0, "y": 2.0}, "files": []},
        ),
        (
            "Frame.waitForFunction",
            {**TARGET, "expression": "(e, n) => e.size > n", "arg": {"value": {"n": 1}}},
            "wait_for",
            {
                "condition": {
                    "kind": "function",
                    "expression": "(e, n) => e.size > n",
                    "argument": 1,
                    "frames": [],
                    "target": {"selector": "#a", "frames": [], "identity": None, "alternatives": []},
                }
            },
        ),
    ],
)
def test_calls_become_actions(
    tmp_path: Path, name: str, params: dict[str, Any], kind: str, fields: dict[str, Any]
) -> None:
    """Each call becomes one action with all its relevant parameters."""
    mission = read(tmp_path, *call(2, name, **params))

    (only,) = actions(mission)
    assert only["type"] == kind
    assert {name: only[name] for name in fields} == fields
    assert mission.unsupported == ()


@pytest.mark.parametrize(
    ("name", "params", "why"),
    [
        ("ElementHandle.click", {}, "use locators"),
        ("Frame.evaluateExpression", {"expression": "1"}, "the trace does not contain what it returned"),
        ("Frame.evaluateExpression", {"expression": "1", "arg": {"handles": [1]}}, "a handle as its argument"),
        ("ElementHandle.evaluateExpression", {"expression": "1"}, "changes that scripts of the client make"),
        ("Frame.inventedYesterday", {}, "does not know the call"),
        ("BrowserContext.addCookies", {"cookies": []}, "the changed state is not replayed"),
        ("ElementHandle.scrollIntoViewIfNeeded", {}, "the trace does not say which element the call was made on"),
        ("Page.mouseDown", {}, "the pointer position is unknown"),
        ("Frame.click", {**TARGET, "trial": True}, "trial=True has no effect"),
        ("Frame.click", {}, "selector is missing"),
        ("Frame.click", {**TARGET, "button": "fourth"}, "button"),
        ("Frame.selectOption", {**TARGET, "elements": ["<ElementHandle>"]}, "by element handle;"),
        (
            "Frame.setInputFiles",
            {**TARGET, "localPaths": ["/home/ada/secret.txt"]},
            "contain the uploaded files secret.txt",
        ),
        ("Frame.setInputFiles", {**TARGET, "payloads": [{"name": "a", "buffer": "<Buffer>"}]}, "does not contain"),
        ("Frame.drop", {**TARGET, "localPaths": ["/home/ada/secret.txt"]}, "contain the uploaded files secret.txt"),
        ("Frame.drop", {**TARGET, "streams": ["<WritableStream>"]}, "the trace does not contain the uploaded files"),
        ("Frame.waitForFunction", {"expression": "x", "arg": {"value": {"d": "0"}}}, "JSON cannot represent"),
    ],
)
def test_what_cannot_be_converted_is_reported(tmp_path: Path, name: str, params: dict[str, Any], why: str) -> None:
    """A call without a corresponding action is reported by name, with the reason."""
    mission = read(tmp_path, *call(2, name, **params))

    assert actions(mission) == []
    assert [line for line in mission.unsupported if name in line] == list(mission.unsupported)
    assert why in mission.unsupported[0]


@pytest.mark.parametrize("name", ["Frame.highlight", "Page.pdf", "Page.__waitInfo__", "BrowserContext.close"])
def test_what_returns_nothing_of_a_page_is_no_action(tmp_path: Path, name: str) -> None:
    """A call that neither changes a page nor returns something of it is neither imported nor reported."""
    mission = read(tmp_path, *call(2, name))

    assert (actions(mission), mission.unsupported) == ([], ())


@pytest.mark.parametrize(
    ("name", "params", "result", "fields"),
    [
        ("Frame.textContent", TARGET, {"value": "x"}, {"what": "text_content", "value": {"value": "x", "long": None}}),
        ("Frame.getAttribute", {**TARGET, "name": "b"}, {}, {"name": "b", "value": {"value": None, "long": None}}),
        ("Frame.queryCount", {"selector": "li"}, {"value": 2}, {"what": "count", "value": {"value": 2, "long": None}}),
        (
            "Frame.evalOnSelectorAll",
            {
                "selector": "li",
                "expression": "(ee) => ee.map((e) => e.innerText)",
                "arg": {"value": {"v": "undefined"}},
            },
            {"value": {"a": [{"s": "x"}]}},
            {"what": "all_inner_texts", "value": {"value": ["x"], "long": None}},
        ),
        (
            "Frame.evaluateExpression",
            {"expression": "1"},
            {"value": {"d": "2026-01-01T00:00:00.000Z"}},
            {"expression": "1", "value": {"value": {"$date": "2026-01-01T00:00:00.000Z"}, "long": None}},
        ),
        (
            "Frame.evaluateExpression",
            {"expression": "1"},
            {"value": {"d": "no date"}},
            {"expression": "1", "value": None},
        ),
        (
            "Frame.expect",
            expected("to.have.text", expectedText=[{"regexSource": "x", "regexFlags": "i"}], isNot=True),
            None,
            {"expression": "to.have.text", "is_not": True, "received": None},
        ),
    ],
)
def test_what_a_call_returned_is_imported(
    tmp_path: Path, name: str, params: dict[str, Any], result: Line | None, fields: dict[str, Any]
) -> None:
    """A read, a script or an assertion is the action that a recording has, with the value of the trace."""
    mission = read(tmp_path, *call(2, name, result=result, **params))

    (only,) = actions(mission)
    assert {name: only[name] for name in fields} == fields
    assert (mission.unsupported, [note for note in mission.notes if "skipped" in note]) == ((), [])


@pytest.mark.parametrize(
    ("name", "params", "why"),
    [
        ("Frame.textContent", TARGET, "Frame.textContent skipped: the trace does not contain what it returned"),
        ("ElementHandle.innerText", {}, "ElementHandle.innerText skipped: the trace does not say which element"),
        ("Page.expectScreenshot", {}, "Page.expectScreenshot skipped: replays compare screenshots"),
        (
            "Frame.expect",
            expected("to.have.property", expectedValue={"value": {"d": "2026-01-01"}}),
            "Frame.expect to.have.property skipped: JSON cannot represent the value",
        ),
    ],
)
def test_a_read_that_is_not_imported_is_noted(tmp_path: Path, name: str, params: dict[str, Any], why: str) -> None:
    """It does nothing to a page, so the other steps can be imported without it."""
    mission = read(tmp_path, *call(2, name, **params))

    assert (actions(mission), mission.unsupported) == ([], ())
    assert any(why in note for note in mission.notes)


def test_a_read_during_another_call_has_no_position(tmp_path: Path) -> None:
    """Whether the page changed before or after it is unknown, so that no replay could read the same."""
    before, after = call(2, "Frame.click", **TARGET)
    after["endTime"] += 1_000
    during = call(3, "Frame.textContent", result={"value": "x"}, **TARGET)
    later = call(20, "Frame.textContent", result={"value": "y"}, **TARGET)

    mission = read(tmp_path, before, *during, after, *later)

    assert [each["type"] for each in actions(mission)] == ["click", "read"]
    assert any("step 3: Frame.textContent skipped: it was made during another call" in each for each in mission.notes)


def test_repeated_reads_are_one_step(tmp_path: Path) -> None:
    """A test that polls gets the last value after some time; a replay may wait as long."""
    polls = [call(number, "Frame.queryCount", selector="li", result={"value": number}) for number in (2, 3, 4)]
    other = call(5, "Frame.queryCount", selector="a", result={"value": 1})

    mission = read(tmp_path, *(line for each in (*polls, other) for line in each))

    assert [(each["value"]["value"], each["times"], each["timeout_ms"]) for each in actions(mission)] == [
        (4, 3, 5_200.0),
        (1, 1, 5_000.0),
    ]


def test_reads_of_different_groups_are_steps_of_their_own(tmp_path: Path) -> None:
    """Each subgoal has what it read."""
    reads = [
        *group(2, "first"),
        *call(3, "Frame.queryCount", selector="li", result={"value": 1}, parent="call@2"),
        *call(4, "Frame.queryCount", selector="li", result={"value": 1}),
    ]

    mission = read(tmp_path, *reads)

    assert [each["times"] for each in actions(mission)] == [1, 1]
    assert [len(each.actions) for each in mission.subgoals] == [1, 1, 1]


def test_the_page_of_a_read_must_be_known(tmp_path: Path) -> None:
    """A trace has no snapshots of some reads: with several pages, it does not say which one was read."""
    mission = read(
        tmp_path,
        *call(2, "Frame.title", result={"value": "first"}),
        opened("page@2", opener="page@1"),
        *call(3, "Frame.title", result={"value": "other"}),
        *call(4, "Frame.evaluateExpression", expression="1", result={"value": {"n": 1}}),
    )

    assert [(each["type"], each["page"], each["value"]["value"]) for each in actions(mission)] == [("read", 0, "first")]
    assert any("step 3: Frame.title skipped: the trace does not say on which" in each for each in mission.notes)
    assert "step 4, Frame.evaluateExpression: the trace does not say on which" in mission.unsupported[0]


@pytest.mark.parametrize(
    ("title", "kind"), [("Select text", "select_text"), ("Scroll into view", "scroll_into_view_if_needed")]
)
def test_a_call_of_a_locator_on_its_element_is_known_by_its_title(tmp_path: Path, title: str, kind: str) -> None:
    """The trace contains only the call that finds the element, with the title of the one that follows."""
    before, after = call(2, "Frame.waitForSelector", state="attached", **TARGET)

    mission = read(tmp_path, {**before, "title": title}, after)

    assert [(each["type"], each["target"]["selector"]) for each in actions(mission)] == [(kind, "#a")]


def test_a_script_of_a_locator_is_reported(tmp_path: Path) -> None:
    """The trace contains neither the script nor its result."""
    before, after = call(2, "Frame.waitForSelector", state="attached", **TARGET)

    mission = read(tmp_path, {**before, "title": "Evaluate"}, after)

    assert actions(mission) == []
    assert "the trace does not contain the script that the locator evaluated" in mission.unsupported[0]


def test_keys_that_go_down_and_up_stay_so(tmp_path: Path) -> None:
    """A held modifier applies to the keys and clicks that follow, until it is released."""
    mission = read(
        tmp_path,
        *call(2, "Page.keyboardDown", key="Shift"),
        *call(3, "Page.keyboardDown", key="A"),
        *call(4, "Page.keyboardUp", key="A"),
        *call(5, "Frame.click", **TARGET),
        *call(6, "Page.keyboardUp", key="Shift"),
    )

    assert [(each["type"], each.get("event"), each.get("key")) for each in actions(mission)] == [
        ("key", "down", "Shift"),
        ("key", "down", "A"),
        ("key", "up", "A"),
        ("click", None, None),
        ("key", "up", "Shift"),
    ]


def test_a_mouse_button_is_pressed_where_the_pointer_is(tmp_path: Path) -> None:
    """The trace contains the position of moves; a click on an element moves it to an unknown one, a tap does not."""
    mission = read(
        tmp_path,
        *call(2, "Page.mouseMove", x=10, y=20),
        *call(3, "Page.touchscreenTap", x=1, y=2),
        *call(4, "Page.mouseDown", button="left"),
        *call(5, "Frame.click", **TARGET),
        *call(6, "Page.mouseUp", button="left"),
    )

    assert [(each["type"], each.get("event"), each.get("x")) for each in actions(mission)] == [
        ("mouse", "move", 10.0),
        ("touchscreen_tap", None, 1.0),
        ("mouse", "down", 10.0),
        ("click", None, None),
    ]
    assert "step 6, Page.mouseUp: the pointer position is unknown" in mission.unsupported[0]


def test_requests_and_mocks_of_the_test_are_noted(tmp_path: Path) -> None:
    """They are not calls on a page: the recorded network has what the pages received."""
    mission = read(
        tmp_path,
        *call(2, "APIRequestContext.fetch", url=URL),
        *call(3, "BrowserContext.setNetworkInterceptionPatterns", patterns=[]),
    )

    assert (actions(mission), mission.unsupported) == ([], ())
    assert [note for note in mission.notes if "skipped" in note] == [
        "step 2: APIRequestContext.fetch skipped: requests that the client sends itself are not replayed",
        f"step 3: BrowserContext.setNetworkInterceptionPatterns skipped: {MOCKS}",
    ]


@pytest.mark.parametrize("name", ["Frame.setInputFiles", "Frame.drop"])
def test_files_that_the_trace_holds_are_kept(tmp_path: Path, name: str) -> None:
    """Their contents are stored in the bundle, and the action refers to them."""
    payload = {"name": "a.csv", "mimeType": "text/csv", "buffer": base64.b64encode(b"name,price").decode()}

    mission = read(tmp_path, *call(2, name, **TARGET, payloads=[payload]))

    assert mission.files == (b"name,price",)
    assert actions(mission)[0]["files"][0]["content"] == blob_ref(b"name,price").model_dump()


@pytest.mark.parametrize(
    ("selector", "own", "frames", "is_weak"),
    [
        ('internal:role=button[name="Save"i]', 'internal:role=button[name="Save"i]', [], False),
        ("#f >> internal:control=enter-frame >> #a", "#a", ["#f"], False),
        ("a >> internal:control=enter-frame >> b >> internal:control=enter-frame >> c", "c", ["a", "b"], False),
        ("li >> nth=2", "li >> nth=2", [], True),
    ],
)
def test_selectors_are_kept(tmp_path: Path, selector: str, own: str, frames: list[str], *, is_weak: bool) -> None:
    """Selectors have Playwright's syntax; frames become a frame path, and positional selectors are noted as weak."""
    mission = read(tmp_path, *call(2, "Frame.click", selector=selector, strict=True))

    target = actions(mission)[0]["target"]
    assert (target["selector"], target["frames"]) == (own, frames)
    assert any("weak" in note for note in mission.notes) == is_weak


def test_a_frame_that_the_call_does_not_name_is_found_in_the_snapshots(tmp_path: Path) -> None:
    """A call through `page.frame()` lacks the frame; snapshots have the element and its iframe."""
    iframe = ["IFRAME", {"__playwright_bounding_rect__": '{"left":1}', "src": "/snapshot/frame@2", "name": "reviews"}]
    marked = ["HTML", {}, ["INPUT", {"__playwright_target__": ""}]]

    mission = read(
        tmp_path,
        *call(2, "Frame.fill", **TARGET, value="x"),
        snapshot(2, "action", html=["HTML", {}, iframe]),
        snapshot(2, "action", frame="frame@2", html=marked),
        *call(3, "Frame.fill", **TARGET, value="y"),
        snapshot(3, "action", frame="frame@7", html=marked),
    )

    assert [each["target"]["frames"] for each in actions(mission)] == [['iframe[name="reviews"]']]
    assert "the trace does not identify the frame" in mission.unsupported[0]


def test_a_size_that_is_set_during_the_mission_is_an_action(tmp_path: Path) -> None:
    """The page is resized where the test resized it."""
    mission = read(
        tmp_path,
        *call(2, "Frame.click", **TARGET),
        *call(3, "Page.setViewportSize", viewportSize={"width": 320, "height": 640}),
    )

    assert [(each["type"], each.get("width"), each.get("height")) for each in actions(mission)] == [
        ("click", None, None),
        ("set_viewport", 320, 640),
    ]
    assert mission.unsupported == ()


@pytest.mark.parametrize("size", [None, 3, {}, {"width": 320}, {"width": 0, "height": 640}])
def test_a_size_that_is_incomplete_is_unsupported(tmp_path: Path, size: object) -> None:
    """It is reported instead of guessed."""
    mission = read(tmp_path, *call(2, "Frame.click", **TARGET), *call(3, "Page.setViewportSize", viewportSize=size))

    assert [each["type"] for each in actions(mission)] == ["click"]
    assert "Page.setViewportSize: " in mission.unsupported[0]


def test_a_call_that_is_not_strict_is_noted(tmp_path: Path) -> None:
    """Without strict mode the first match was used, but replays require exactly one."""
    mission = read(tmp_path, *call(2, "Frame.click", selector="#a"))

    assert any("was not strict" in note for note in mission.notes)


def test_a_call_that_failed_is_expected_to_fail(tmp_path: Path) -> None:
    """Its message is stored with its action."""
    mission = read(tmp_path, *call(2, "Frame.click", error="Timeout 30000ms exceeded.", **TARGET))

    assert mission.subgoals[0].errors == {1: "Timeout 30000ms exceeded."}


def test_dialogs_are_answered_before_what_opens_them(tmp_path: Path) -> None:
    """The trace has the answer within the call; the imported action to answer precedes it."""
    before, after = call(2, "Frame.click", **TARGET)
    prompt = call(3, "Dialog.accept", promptText="SAVE10")

    mission = read(tmp_path, before, *prompt, after)

    assert [each["type"] for each in actions(mission)] == ["answer_dialog", "click"]
    assert (actions(mission)[0]["accept"], actions(mission)[0]["text"]) == (True, "SAVE10")


@pytest.mark.parametrize("told", ["awaited", "heard"])
def test_a_click_that_downloads_is_a_download(tmp_path: Path, told: str) -> None:
    """A click is a download if the test waited for one, or if the trace has the event."""
    awaited = call(2, "Page.__waitInfo__", event="download")[:1]
    heard = [{"type": "event", "time": 9.0, "method": "download", "params": {"pageId": "page@1"}}]
    click = call(3, "Frame.click", **TARGET)

    mission = read(tmp_path, *(awaited if told == "awaited" else ()), *click, *(heard if told == "heard" else ()))

    assert [each["type"] for each in actions(mission)] == ["download"]


def test_pages_that_pages_open_are_waited_for(tmp_path: Path) -> None:
    """The page of a call is known from its snapshots; a page that no call opened is refused."""
    mission = read(
        tmp_path,
        opened("page@2", opener="page@1"),
        *call(2, "Frame.click", **TARGET),
        snapshot(2, "before", page="page@2"),
        *call(3, "BrowserContext.newPage"),
        *call(4, "BrowserContext.newPage"),
        opened("page@3"),
        *call(5, "Frame.click", **TARGET),
        snapshot(5, "before", page="page@3"),
    )

    assert [(each["type"], each["page"]) for each in actions(mission)] == [("switch_page", 1), ("click", 1)]
    assert "a page from new_page()" in mission.unsupported[0]


def test_pages_that_the_test_opens_are_opened(tmp_path: Path) -> None:
    """A page is opened by the call during which it appeared; the first one is open when a replay starts."""
    first, second, third = (call(number, "BrowserContext.newPage") for number in (1, 3, 4))
    lines = [
        *(first[0], opened("page@1"), first[1], *call(2, "Frame.goto", url=URL), snapshot(2, "before", page="page@1")),
        *(second[0], third[0], opened("page@2"), second[1], opened("page@3"), third[1]),
        *call(5, "Frame.goto", url=URL),
        snapshot(5, "before", page="page@3"),
        opened("page@4", opener="page@3"),
        *call(6, "Frame.click", **TARGET),
        snapshot(6, "before", page="page@4"),
    ]

    mission = read_zip(write_zip(tmp_path / "trace.zip", [head(), *lines]))

    assert mission.unsupported == ()
    assert [(each["type"], each["page"]) for each in actions(mission)] == [
        *(("open_page", 1), ("open_page", 2), ("navigate", 2), ("switch_page", 3), ("click", 3)),
    ]
