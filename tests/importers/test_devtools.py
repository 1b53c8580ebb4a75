"""Recordings of the Chrome DevTools Recorder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import ForeignFormatError
from eikon_engine.trace.actions import (
    Click,
    DoubleClick,
    Expect,
    FunctionCondition,
    Navigate,
    Press,
    Scroll,
    SelectorCondition,
    SetValue,
    SetViewport,
    UrlCondition,
    WaitFor,
)
from tests.browser.pages import Answer, serve_pages
from tests.importers.reading import read_content

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """<!doctype html><title>Shop</title><b id=a>1</b><i id=a>2</i><ul><li>one<li>two</ul>
<input id=b type=checkbox checked data-kind=x>"""


def flow(*steps: dict[str, Any], **more: object) -> bytes:
    """Return a user flow."""
    return json.dumps({"title": "Buy", "steps": steps, **more}).encode()


def click(*selectors: object, **more: object) -> dict[str, Any]:
    """Return a click."""
    return {"type": "click", "selectors": selectors, "offsetX": 3, "offsetY": 4, "target": "main", **more}


def wait(**more: object) -> dict[str, Any]:
    """Return a wait for an element."""
    return {"type": "waitForElement", "selectors": ["#a"], **more}


@pytest.mark.parametrize(
    ("step", "conditions"),
    [
        (wait(), [("#a >> nth=0", "attached")]),
        (wait(visible=True), [("#a >> nth=0", "visible")]),
        (wait(operator="==", visible=False), [("#a", "hidden")]),
        (wait(operator=">=", count=3), [("#a >> nth=2", "attached")]),
        (wait(operator="<=", count=2), [("#a >> nth=2", "detached")]),
        (wait(operator="<=", count=0), [("#a", "detached")]),
        (wait(operator="==", count=0), [("#a", "detached")]),
        (wait(operator="==", count=3), [("#a", 3.0)]),
        (wait(operator="==", count=3, visible=True), [("#a", 3.0), ("#a >> visible=true", 3.0)]),
    ],
)
def test_a_number_of_elements_is_waited_for(step: dict[str, Any], conditions: list[tuple[str, object]]) -> None:
    """At least, exactly or at most as many elements."""
    mission = read_content(flow({**step, "timeout": 700}))

    found: list[tuple[str, object]] = []
    for action in mission.subgoals[0].actions:
        assert action.timeout_ms == 700.0
        if isinstance(action, Expect):
            assert action.expression == "to.have.count"
            assert action.target is not None
            found.append((action.target.selector, action.number))
        else:
            assert isinstance(action, WaitFor)
            assert isinstance(action.condition, SelectorCondition)
            found.append((action.condition.target.selector, action.condition.state))
    assert found == conditions
    assert mission.unsupported == ()


def test_an_expression_is_waited_for_in_its_frame() -> None:
    """The frame is identified by its index, which is noted."""
    mission = read_content(flow({"type": "waitForExpression", "expression": "done", "frame": [1, 0]}))

    (action,) = mission.subgoals[0].actions
    assert isinstance(action, WaitFor)
    assert action.condition == FunctionCondition(expression="done", frames=("iframe >> nth=1", "iframe >> nth=0"))
    assert mission.notes == ("step 1: the frame is identified by its index only",)


def test_properties_and_attributes_are_expected() -> None:
    """Each plain value inside a property is, and each attribute, of each element."""
    described = wait(
        operator="==", count=2, properties={"checked": True, "style": {"color": "red"}}, attributes={"b": "c"}
    )

    actions = read_content(flow(described)).subgoals[0].actions

    expected = [each for each in actions if isinstance(each, Expect)]
    assert [(each.expression, each.argument, each.expected) for each in expected[:4]] == [
        ("to.have.count", None, None),
        ("to.have.attribute.value", "b", None),
        ("to.have.property", "checked", True),
        ("to.have.property", "style.color", "red"),
    ]
    assert [each.target and each.target.selector for each in expected[1::3]] == ["#a >> nth=0", "#a >> nth=1"]


def test_asserted_urls_and_titles_are_expected() -> None:
    """A navigation leads to the URL and the title that were recorded."""
    events = [{"type": "navigation", "url": "http://shop.test/", "title": "Shop"}]

    actions = read_content(flow({"type": "navigate", "url": "http://shop.test", "assertedEvents": events})).subgoals[0]

    _, url, title = actions.actions
    assert isinstance(url, WaitFor)
    assert url.condition == UrlCondition(url="http://shop.test/")
    assert isinstance(title, Expect)
    assert (title.expression, title.texts and title.texts[0].string) == ("to.have.title", "Shop")


@pytest.mark.browser
def test_waits_hold_on_the_recorded_page_only(tmp_path: Path) -> None:
    """The mission can be recorded where what it waits for is true, and only there."""
    events = [{"type": "navigation", "title": "Shop"}]
    with serve_pages() as site:
        steps = [
            {"type": "navigate", "url": f"{site.url}/", "assertedEvents": [{**events[0], "url": f"{site.url}/"}]},
            wait(operator=">=", count=2, visible=True),
            wait(selectors=["li"], operator="<=", count=2),
            wait(
                selectors=["#b"],
                properties={"checked": True, "dataset": {"kind": "x"}},
                attributes={"type": "checkbox"},
            ),
            wait(selectors=["#none"], operator="==", count=0),
        ]
        path = tmp_path / "flow.json"
        path.write_bytes(flow(*steps))
        assert run_command(eikon, ["import", str(path), "-o", str(tmp_path / "imported")], "eikon") == 0
        for number, (before, now) in enumerate([("", ""), ("<b id=a>", "<b>"), ("checked", ""), (">Shop<", ">Other<")]):
            site.answers["/"] = Answer(body=PAGE.replace(before, now))
            again = ["record", "--trace", str(tmp_path / "imported"), "-o", str(tmp_path / f"b{number}")]
            assert (run_command(eikon, again, "eikon") == 0) == (before == now), now


def test_a_double_click_holds_the_button_as_recorded() -> None:
    """Its duration is the time for which the button is held, as for a click."""
    (double,) = (
        read_content(flow({"type": "doubleClick", "selectors": [["#a"]], "offsetX": 1, "offsetY": 2, "duration": 70}))
        .subgoals[0]
        .actions
    )

    assert isinstance(double, DoubleClick)
    assert double.delay_ms == 70


def test_a_flow_becomes_actions() -> None:
    """Each step becomes one action with all its recorded properties."""
    mission = read_content(
        flow(
            {"type": "setViewport", "width": 800, "height": 600, "deviceScaleFactor": 1, "isMobile": False},
            {"type": "navigate", "url": "http://shop.test/"},
            click(['aria/Cart[role="link"]'], ["#cart"], duration=70, button="secondary"),
            {"type": "change", "selectors": [["#size"]], "value": "L"},
            click(["#go"], assertedEvents=[{"type": "navigation", "url": "http://shop.test/done", "title": ""}]),
        )
    )

    actions = mission.subgoals[0].actions
    assert (mission.source, mission.text, mission.unsupported, mission.notes) == ("devtools", "Buy", (), ())
    assert mission.environment is not None
    assert (mission.environment.width, mission.environment.height) == (800, 600)
    assert [each.type for each in actions] == ["navigate", "click", "set_value", "click", "wait_for"]
    first, cart, size, _, arrived = actions
    assert isinstance(first, Navigate)
    assert isinstance(cart, Click)
    assert (cart.target.selector, cart.target.alternatives) == ('role=link[name="Cart"]', ("#cart",))
    assert (cart.button, cart.delay_ms, cart.position and cart.position.x) == ("right", 70.0, 3.0)
    assert isinstance(size, SetValue)
    assert size.text == "L"
    assert isinstance(arrived, WaitFor)
    assert arrived.condition.kind == "url"


@pytest.mark.parametrize(
    ("selectors", "chosen"),
    [
        ([["xpath//html/body/div[2]/a"], ["body > div:nth-of-type(2) > a"], ["text/Cart"]], "text=Cart"),
        ([["#cart"], ["[data-testid=cart]"]], "[data-testid=cart]"),
        ([["pierce/#inner"]], "#inner"),
        ([["x-shop", 'aria/Buy[role="button"]']], 'x-shop >> role=button[name="Buy"]'),
        ([["aria/Buy"], ["main > a"]], "main > a"),
        (["#plain"], "#plain"),
    ],
)
def test_the_selector_that_names_best_is_taken(selectors: list[Any], chosen: str) -> None:
    """Test ids, roles, ids, texts, positions: in this order; selectors that Playwright does not support are skipped."""
    action = read_content(flow(click(*selectors))).subgoals[0].actions[0]

    assert isinstance(action, Click)
    assert action.target.selector == chosen


def test_keys_become_chords() -> None:
    """A modifier is combined with the keys and clicks during which it is held; alone, it is a key press itself."""
    keys = [("Down", "Control"), ("Down", "a"), ("Up", "a"), ("Up", "Control"), ("Down", "Shift"), ("Up", "Shift")]
    steps = [{"type": f"key{way}", "key": key} for way, key in keys]
    held = [{"type": "keyDown", "key": "Meta"}, click(["#a"]), {"type": "keyUp", "key": "Meta"}]

    actions = read_content(flow(*steps, *held)).subgoals[0].actions

    pressed = [each.key for each in actions if isinstance(each, Press)]
    assert pressed == ["Control+a", "Shift"]
    assert [each.modifiers for each in actions if isinstance(each, Click)] == [("Meta",)]


def test_places_become_distances() -> None:
    """Recorded scroll positions become distances; a new document starts at the top."""
    actions = (
        read_content(
            flow(
                {"type": "scroll", "x": 0, "y": 100},
                {"type": "scroll", "x": 5, "y": 40},
                {"type": "navigate", "url": "http://shop.test/"},
                {"type": "scroll", "y": 30},
            )
        )
        .subgoals[0]
        .actions
    )

    assert [(each.dx, each.dy) for each in actions if isinstance(each, Scroll)] == [(0, 100), (5, -60), (0, 30)]


def viewport(width: int, height: int, **more: object) -> dict[str, Any]:
    """Return a change of the viewport size."""
    return {"type": "setViewport", "width": width, "height": height, **more}


def test_a_size_that_changes_during_the_flow_is_an_action() -> None:
    """The first size belongs to the environment, an equal one is no action, and each page has its own size."""
    mission = read_content(
        flow(
            viewport(800, 600),
            click(["#a"]),
            viewport(800, 600),
            viewport(320, 640),
            viewport(320, 640, target="popup"),
            viewport(800, 600),
        )
    )

    assert mission.unsupported == ()
    assert mission.environment is not None
    assert (mission.environment.width, mission.environment.height) == (800, 600)
    assert [
        (each.page, each.width, each.height) for each in mission.subgoals[0].actions if isinstance(each, SetViewport)
    ] == [
        (0, 320, 640),
        (1, 320, 640),
        (0, 800, 600),
    ]


@pytest.mark.parametrize("before", [(), (viewport(800, 600),)], ids=["unknown", "known"])
@pytest.mark.parametrize("change", [{"deviceScaleFactor": 2}, {"isMobile": True}, {"hasTouch": True}])
def test_a_device_that_changes_during_the_flow_is_unsupported(
    before: tuple[dict[str, Any], ...], change: dict[str, object]
) -> None:
    """Device scale and device type of a browser context cannot change."""
    mission = read_content(flow(*before, click(["#a"]), viewport(320, 640, **change)))

    assert [each.type for each in mission.subgoals[0].actions] == ["click"]
    assert "only the size of a page can change" in mission.unsupported[0]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"type": "customStep", "name": "x", "parameters": {}}, "only its own extension"),
        ({"type": "teleport"}, "unknown step type"),
        (click(["aria/Buy"]), "no selector can be converted"),
        (click(["#a"], button="back"), "mouse button"),
        ({"type": "keyUp", "key": "a"}, "was not down"),
        ({"type": "keyDown", "key": "Shift"}, "never released"),
        (wait(operator="<=", count=3, attributes={"a": "b"}), "properties or attributes of <= 3 elements"),
        (wait(properties={"a.b": 1}), "properties or attributes of >= 1 elements"),
        (wait(properties={"a": None}), "properties or attributes of >= 1 elements"),
    ],
)
def test_what_cannot_be_converted_is_reported(step: dict[str, Any], why: str) -> None:
    """An omitted step is reported with the reason."""
    mission = read_content(flow(step))

    assert len(mission.unsupported) == 1
    assert why in mission.unsupported[0]


def test_weak_targets_and_unknown_properties_are_noted() -> None:
    """Anything whose conversion is uncertain is noted as well."""
    step = click(["body > :nth-child(2)"], frame=[1], deviceType="touch", force=0.5)

    mission = read_content(flow(step))

    assert mission.unsupported == ()
    assert ["weak" in each for each in mission.notes].count(True) == 1
    assert any("'force'" in each for each in mission.notes)
    assert any("touch" in each for each in mission.notes)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"title": "x"}', flow({"type": "click", "selectors": []})])
def test_other_files_are_refused(content: bytes) -> None:
    """Truncated, foreign and invalid files are one-line errors."""
    with pytest.raises(ForeignFormatError) as caught:
        read_content(content)

    assert "\n" not in caught.value.message
