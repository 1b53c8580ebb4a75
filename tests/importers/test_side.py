"""Projects of Selenium IDE."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import ForeignFormatError, UsageError
from eikon_engine.importers.selenium_ide import parse_keys
from eikon_engine.trace.actions import Read, SetViewport
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, serve_pages
from tests.importers.reading import read_content
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://shop.test"
PAGE = """<!doctype html><title>Pears</title><p id=a>two</p><input id=b name=amount value=7>
<input type=checkbox id=c checked><input type=checkbox id=d>
<select id=e><option value=s>Small<option value=l selected>Large</select>"""


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
        (
            command("waitForElementEditable", "id=a", "900"),
            "expect",
            {"expression": "to.be.editable", "timeout_ms": 900.0},
        ),
        (command("waitForElementNotEditable", "id=a"), "expect", {"is_not": True, "timeout_ms": 30_000.0}),
        (command("waitForText", "id=a", "900"), "expect", {"expression": "to.have.text", "timeout_ms": 30_000.0}),
        (command("assertTitle", "Pears"), "expect", {"expression": "to.have.title", "target": None}),
        (command("verifyChecked", "id=a"), "expect", {"expression": "to.be.checked", "expected": {}, "is_not": False}),
        (command("assertNotChecked", "id=a"), "expect", {"expression": "to.be.checked", "is_not": True}),
        (command("verifyEditable", "id=a"), "expect", {"expression": "to.be.editable", "is_not": False}),
        (command("assertNotText", "id=a", "x"), "expect", {"expression": "to.have.text", "is_not": True}),
        (command("assertValue", "id=a", "x"), "expect", {"expression": "to.have.value", "is_not": False}),
        (command("assertSelectedValue", "id=a", "x"), "expect", {"expression": "to.have.value"}),
        (command("storeText", "id=a", "x"), "read", {"what": "inner_text", "value": None}),
        (command("storeTitle", "", "x"), "read", {"what": "title", "target": None}),
        (command("storeAttribute", "css=a[x='@']@href", "x"), "read", {"what": "attribute", "name": "href"}),
        (command("storeXpathCount", "xpath=//li", "x"), "read", {"what": "count"}),
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
        (command("storeAttribute", "id=a", "x"), "expected a locator and an attribute, got 'id=a'"),
        (command("storeText", "dom=a", "x"), "has no Playwright equivalent"),
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


def test_a_selected_option_is_found_by_its_label() -> None:
    """The option that is selected has the text."""
    (action,) = read(command("assertSelectedLabel", "id=size", "Large"))

    assert action["target"]["selector"] == '[id="size"] >> css=option:checked'
    assert [text["string"] for text in action["texts"]] == ["Large"]


def test_what_is_stored_from_a_page_is_unknown() -> None:
    """A project contains no values; a command that uses one cannot be imported."""
    mission = read_content(project(command("storeText", "id=a", "name"), command("type", "id=b", "${name}")))

    assert [each.type for each in mission.subgoals[0].actions] == ["read"]
    assert any("storeText: the project does not contain the value" in note for note in mission.notes)
    assert "only at run time" in mission.unsupported[0]


@pytest.mark.browser
def test_assertions_are_checked_and_reads_get_a_value(tmp_path: Path) -> None:
    """What the first recording reads is the value that replays compare; an assertion that does not hold ends it."""
    commands = [
        *(command("open", "/"), command("assertTitle", "Pears"), command("storeText", "id=a", "name")),
        *(command("assertValue", "id=b", "7"), command("assertChecked", "id=c"), command("assertNotChecked", "id=d")),
        *(command("verifyEditable", "id=b"), command("assertSelectedLabel", "id=e", "Large")),
        *(command("assertSelectedValue", "id=e", "l"), command("assertNotText", "id=a", "one"), command("storeTitle")),
        *(command("storeAttribute", "id=b@name", "n"), command("storeXpathCount", "xpath=//input", "n")),
    ]
    with serve_pages() as site:
        site.answers["/"] = Answer(body=PAGE)
        path = tmp_path / "pears.side"
        path.write_bytes(project(*commands).replace(URL.encode(), site.url.encode()))
        assert run_command(eikon, ["import", str(path), "-o", str(tmp_path / "imported")], "eikon") == 0
        again = ["record", "--trace", str(tmp_path / "imported"), "-o"]
        assert run_command(eikon, [*again, str(tmp_path / "b")], "eikon") == 0
        site.answers["/"] = Answer(body=PAGE.replace("id=d>", "id=d checked>"))
        assert run_command(eikon, [*again, str(tmp_path / "other")], "eikon") != 0

    steps = [step for subgoal in open_bundle(tmp_path / "b").trace.subgoal_traces for step in subgoal.actions_taken]
    values = [step.action.value for step in steps if isinstance(step.action, Read)]
    assert [None if each is None else each.value for each in values] == ["two", "Pears", "amount", 3]
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


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


def test_a_url_that_is_none_is_reported_with_its_step() -> None:
    """A broken base URL and a URL that no browser loads are steps that cannot be imported."""
    broken = {**json.loads(project(command("open", "/"))), "url": "http://[a"}
    too_long = project(command("open", "/" + "x" * 3_000_000))

    assert read_content(json.dumps(broken).encode()).unsupported == (
        "step 1, open: expected a URL, got '/': Invalid IPv6 URL",
    )
    assert "step 1, navigate: expected a URL of at most 2,097,152 characters" in read_content(too_long).unsupported[0]
