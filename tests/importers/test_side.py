"""Projects of Selenium IDE."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eikon_engine.errors import ForeignFormatError, UsageError
from eikon_engine.importers.selenium_ide import parse_keys
from eikon_engine.trace.actions import SetViewport
from tests.importers.reading import read_content

URL = "http://shop.test"


def command(name: str, target: str = "", value: str = "", **more: object) -> dict[str, object]:
    """Return a command."""
    return {"id": "1", "comment": "", "command": name, "target": target, "targets": [], "value": value, **more}


def project(*commands: dict[str, object], tests: dict[str, list[dict[str, object]]] | None = None) -> bytes:
    """Return a project whose first test is `main`."""
    listed = {"main": list(commands), **(tests or {})}
    shown = [{"id": name, "name": name, "commands": each} for name, each in listed.items()]
    return json.dumps({"id": "1", "name": "shop", "url": URL, "tests": shown, "suites": []}).encode()


def read(*commands: dict[str, object]) -> list[dict[str, Any]]:
    """Return the actions of a test as plain data."""
    mission = read_content(project(*commands))
    assert mission.unsupported == ()
    return [json.loads(each.model_dump_json()) for each in mission.subgoals[0].actions]


@pytest.mark.parametrize(
    ("given", "kind", "fields"),
    [
        (command("open", "/cart"), "navigate", {"url": f"{URL}/cart"}),
        (command("click", "linkText=Cart"), "click", {}),
        (command("clickAt", "id=a", "3,4"), "click", {"position": {"x": 3.0, "y": 4.0}}),
        (command("doubleClick", "id=a"), "double_click", {}),
        (command("mouseOver", "id=a"), "hover", {}),
        (command("type", "id=a", "x"), "fill", {"text": "x"}),
        (command("select", "id=a", "label=Large"), "select_option", {"by": "label", "options": ["Large"]}),
        (command("check", "id=a"), "check", {}),
        (command("close"), "close_page", {}),
        (command("dragAndDropToObject", "id=a", "id=b"), "drag", {}),
        (command("assertText", "id=a", "x"), "assert", {}),
        (command("waitForElementNotPresent", "id=a", "900"), "wait_for", {"timeout_ms": 900.0}),
    ],
)
def test_commands_become_actions(given: dict[str, object], kind: str, fields: dict[str, object]) -> None:
    """Each command becomes the corresponding action."""
    (action,) = read(given)

    assert action["type"] == kind
    assert {name: action[name] for name in fields} == fields


@pytest.mark.parametrize(
    ("locator", "selector"),
    [
        ("id=a.b", '[id="a.b"]'),
        ("name=q", '[name="q"]'),
        ("css=.x > a", ".x > a"),
        ("xpath=//a[@id='x']", "xpath=//a[@id='x']"),
        ("//a[2]", "xpath=//a[2]"),
        ("linkText=My cart", 'a:text-is("My cart")'),
        ("partialLinkText=cart", 'a:has-text("cart")'),
    ],
)
def test_locators_become_selectors(locator: str, selector: str) -> None:
    """The locator of the command is used; other known locators are kept as alternatives."""
    (action,) = read(command("click", locator, targets=[[locator, "x"], ["css=#other", "css"]]))

    assert action["target"]["selector"] == selector
    assert action["target"]["alternatives"] == ["#other"]


def test_frames_and_windows_are_followed() -> None:
    """A selected frame applies until it is left; windows are numbered in order of opening."""
    actions = read(
        command("selectFrame", "id=outer"),
        command("selectFrame", "index=1"),
        command("click", "id=a"),
        command("selectFrame", "relative=parent"),
        command("click", "id=a", opensWindow=True, windowHandleName="popup"),
        command("selectWindow", "handle=${popup}"),
        command("click", "id=a"),
        command("selectWindow", "handle=${root}"),
    )

    frames = [each["target"]["frames"] for each in actions if "target" in each]
    assert frames == [['[id="outer"]', "iframe >> nth=1"], ['[id="outer"]'], []]
    assert [(each["type"], each["page"]) for each in actions[2:]] == [
        ("switch_page", 1),
        ("click", 1),
        ("switch_page", 0),
    ]


def test_a_window_size_that_changes_during_the_test_is_an_action() -> None:
    """A size set no later than after the first document belongs to the environment; each window has its own size."""
    mission = read_content(
        project(
            command("open", "/"),
            command("setWindowSize", "800x600"),
            command("click", "id=a", opensWindow=True, windowHandleName="popup"),
            command("setWindowSize", "800x600"),
            command("setWindowSize", "320x640"),
            command("selectWindow", "handle=${popup}"),
            command("setWindowSize", "1024x768"),
        )
    )

    assert mission.unsupported == ()
    assert mission.environment is not None
    assert (mission.environment.width, mission.environment.height) == (800, 600)
    assert [
        (each.page, each.width, each.height) for each in mission.subgoals[0].actions if isinstance(each, SetViewport)
    ] == [(0, 320, 640), (1, 1024, 768)]


def test_a_first_window_size_in_the_middle_is_an_action() -> None:
    """The size before it is unknown."""
    actions = read(command("click", "id=a"), command("setWindowSize", "320x640"))

    assert [each["type"] for each in actions] == ["click", "set_viewport"]


def test_dialogs_are_answered_before_they_open() -> None:
    """Selenium answers an open dialog; the imported answer precedes the action that opens it."""
    actions = read(
        command("chooseOkOnNextConfirmation"),
        command("click", "id=a"),
        command("click", "id=b"),
        command("webdriverAnswerOnVisiblePrompt", "", "SAVE10"),
    )

    assert [each["type"] for each in actions] == ["answer_dialog", "click", "answer_dialog", "click"]
    assert (actions[2]["accept"], actions[2]["text"]) == (True, "SAVE10")


def test_stored_texts_and_other_tests_are_put_in_their_place() -> None:
    """`store` and `run` are evaluated during import; values read from a page are not."""
    content = project(
        command("store", "ada", "name"),
        command("run", "sign in"),
        tests={"sign in": [command("type", "id=user", "${name}")]},
    )

    mission = read_content(content, test="main")

    assert mission.unsupported == ()
    assert [each.text for each in mission.subgoals[0].actions if each.type == "fill"] == ["ada"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (command("executeScript", "return 1"), "unknown command"),
        (command("type", "id=a", "${unknown}"), "only at run time"),
        (command("click", "dom=document.forms[0]"), "has no Playwright equivalent"),
        (command("setWindowSize", "large"), "expected a size such as 1280x720, got 'large'"),
        (command("run", "nothing"), "unknown test"),
        (command("run", "main"), "recursively"),
        (command("selectWindow", "handle=${lost}"), "not opened by a command"),
        (command("sendKeys", "id=a", "${KEY_ANY}"), "unknown key ANY"),
    ],
)
def test_what_cannot_be_converted_is_reported(given: dict[str, object], why: str) -> None:
    """An omitted command is reported with the reason."""
    (lost,) = read_content(project(given)).unsupported

    assert why in lost


def test_what_does_nothing_is_noted() -> None:
    """Commands without effect, such as `echo`, are noted as omitted."""
    mission = read_content(project(command("echo", "hi"), command("//click", "id=a"), command("pause", "100")))

    assert mission.unsupported == ()
    assert [each.split(":")[0] for each in mission.notes] == ["step 1", "step 2", "step 3"]


def test_one_of_several_tests_is_chosen() -> None:
    """Each test of Selenium IDE starts in a new session, so it is a mission of its own."""
    content = project(command("open", "/"), tests={"other": [command("open", "/b")]})

    assert read_content(content, test="other").text == "other"
    with pytest.raises(UsageError, match="'main', 'other'"):
        read_content(content)


@pytest.mark.parametrize("data", [{"tests": [{"name": 1}], "suites": []}, {"tests": [{}], "suites": []}])
def test_other_shapes_are_refused(data: object) -> None:
    """An invalid project is a one-line error."""
    with pytest.raises(ForeignFormatError, match="Selenium IDE project: tests"):
        read_content(json.dumps(data).encode())


def test_keys_are_pressed_at_their_place_in_the_text() -> None:
    """Texts are typed and keys are pressed in order; a modifier is held for the rest of the text."""
    assert list(parse_keys("a b${KEY_ENTER}c")) == [("type", "a b"), ("press", "Enter"), ("type", "c")]
    assert list(parse_keys("${KEY_CTRL}a${KEY_DOWN}")) == [("press", "Control+a"), ("press", "Control+ArrowDown")]
