"""The agent cache of Stagehand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.imported_mission import ImportedMission
from tests.importers.reading import read_content


def cache(*steps: dict[str, Any], **more: object) -> bytes:
    """Return a cache entry."""
    entry = {"version": 1, "instruction": "Buy", "startUrl": "http://shop.test/", "options": {}, "steps": steps}
    return json.dumps({**entry, "configSignature": "", "timestamp": "2026-01-01", **more}).encode()


def act(method: str, *arguments: str, selector: str = "xpath=/html[1]/body[1]/a[2]") -> dict[str, Any]:
    """Return a step of the agent's `act`."""
    action = {"selector": selector, "description": "", "method": method, "arguments": arguments}
    return {"type": "act", "instruction": "do it", "actions": [action]}


def actions(mission: ImportedMission) -> list[dict[str, Any]]:
    """Return the actions as plain data, without the navigation to the start."""
    return [json.loads(each.model_dump_json()) for each in mission.subgoals[0].actions[1:]]


@pytest.mark.parametrize(
    ("step", "kind", "fields"),
    [
        (act("click"), "click", {}),
        (act("fill", "ada"), "fill", {"text": "ada"}),
        (act("type", "ada"), "type", {"text": "ada"}),
        (act("press", "Enter"), "press", {"key": "Enter"}),
        (act("selectOptionFromDropdown", "Large"), "select_option", {"by": "label", "options": ["Large"]}),
        (act("dragAndDrop", "xpath=//b"), "drag", {}),
        ({"type": "goto", "url": "http://shop.test/b", "waitUntil": "networkidle"}, "navigate", {"wait_until": "load"}),
        ({"type": "navback"}, "go_back", {}),
        ({"type": "scroll", "deltaY": 300}, "scroll", {"dy": 300.0}),
    ],
)
def test_steps_become_actions(step: dict[str, Any], kind: str, fields: dict[str, object]) -> None:
    """Each step becomes the corresponding action."""
    mission = read_content(cache(step))

    (action,) = actions(mission)
    assert mission.unsupported == ()
    assert action["type"] == kind
    assert {name: action[name] for name in fields} == fields


def test_places_are_weak_and_frames_are_followed() -> None:
    """A path from the root identifies an element by position only, and is noted as weak."""
    mission = read_content(cache(act("click", selector="xpath=/html/body/iframe[1] >> xpath=/html/body/a[2]")))

    (action,) = actions(mission)
    assert action["target"]["selector"] == "xpath=/html/body/a[2]"
    assert action["target"]["frames"] == ["xpath=/html/body/iframe[1]"]
    assert any("weak" in each for each in mission.notes)


def test_keys_go_to_what_has_the_focus() -> None:
    """A text is typed character by character, and a chord is pressed as often as recorded."""
    typed = {"type": "keys", "playwrightArguments": {"method": "type", "text": "a b"}}
    pressed = {"type": "keys", "playwrightArguments": {"method": "press", "keys": "Tab", "times": 2}}

    found = actions(read_content(cache(typed, pressed)))

    assert [each["key"] for each in found] == ["a", "Space", "b", "Tab", "Tab"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"type": "act", "instruction": "x"}, "contains no actions for"),
        (act("nextChunk"), "unknown method"),
        (act("fill", "%password%"), "variable password"),
        ({"type": "custom"}, "unknown step type"),
        ({"type": "keys", "playwrightArguments": {"method": "type", "text": "é"}}, "have a key"),
    ],
)
def test_what_cannot_be_converted_is_reported(step: dict[str, Any], why: str) -> None:
    """An omitted step is reported with the reason."""
    (lost,) = read_content(cache(step)).unsupported

    assert why in lost


@pytest.mark.parametrize("content", [cache(version=2), cache(steps=[{}])])
def test_others_are_refused(content: bytes) -> None:
    """Another version or an unknown format is an error."""
    with pytest.raises(ForeignFormatError, match="Stagehand agent cache"):
        read_content(content)
