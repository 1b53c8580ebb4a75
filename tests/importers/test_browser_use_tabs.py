"""Tabs in histories of browser-use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.importers.reading import read_content

URL = "http://shop.test/"


def step(*actions: dict[str, Any], tabs: tuple[str, ...] = (), url: str = URL) -> dict[str, Any]:
    """Return a step of a history in which all actions succeeded; `tabs` are open before it."""
    return {
        "model_output": {"next_goal": "shop", "action": actions},
        "result": [{"extracted_content": ""} for _ in actions],
        "state": {"url": url, "tabs": [{"target_id": tab} for tab in tabs], "interacted_element": []},
    }


def imported(*steps: dict[str, Any]) -> list[tuple[str, int, str]]:
    """Return type, page and URL of each action."""
    mission = read_content(json.dumps({"history": steps}).encode())
    assert mission.unsupported == ()
    plain = [each.model_dump() for subgoal in mission.subgoals for each in subgoal.actions]
    return [(each["type"], each["page"], each.get("url", "")) for each in plain]


NEW: dict[str, Any] = {"navigate": {"url": f"{URL}cart", "new_tab": True}}
DONE: dict[str, Any] = {"go_back": {}}


@pytest.mark.parametrize("action", [NEW, {"open_tab": {"url": f"{URL}cart"}}], ids=["navigate", "open_tab"])
def test_a_tab_that_the_agent_opens_is_a_page_of_its_own(action: dict[str, Any]) -> None:
    """The current page keeps its document; later actions are on the new page."""
    actions = imported(step(action, tabs=("aaaa",)), step(DONE, tabs=("aaaa", "bbbb")))

    assert actions == [("open_page", 1, ""), ("navigate", 1, f"{URL}cart"), ("go_back", 1, "")]


def test_tabs_of_one_step_are_numbered_in_the_order_of_opening() -> None:
    """Their names are first known at the next step."""
    actions = imported(
        step(NEW, NEW, tabs=("aaaa",)),
        step({"switch": {"tab_id": "bbbb"}}, {"close": {"tab_id": "cccc"}}, tabs=("aaaa", "bbbb", "cccc")),
    )

    assert [each[:2] for each in actions] == [
        *[("open_page", 1), ("navigate", 1), ("open_page", 2), ("navigate", 2)],
        *[("switch_page", 1), ("close_page", 2)],
    ]


def test_a_blank_tab_is_used_instead_of_a_new_one() -> None:
    """As browser-use does; the next step has no new tab."""
    actions = imported(step(NEW, tabs=("aaaa",), url="about:blank"), step(DONE, tabs=("aaaa",)))

    assert actions == [("navigate", 0, f"{URL}cart"), ("go_back", 0, "")]


@pytest.mark.parametrize(("url", "opened"), [("about:blank", False), ("chrome://newtab/", False), (URL, True)])
def test_the_last_step_opens_a_tab_unless_the_page_is_blank(url: str, *, opened: bool) -> None:
    """No later step names the tabs."""
    actions = imported(step(NEW, tabs=("aaaa",), url=url))

    assert [each[0] for each in actions] == (["open_page"] if opened else []) + ["navigate"]


def test_a_second_new_tab_is_opened_though_the_first_page_was_blank() -> None:
    """The first navigation used the blank page."""
    actions = imported(step(NEW, NEW, url="about:blank"))

    assert [each[:2] for each in actions] == [("navigate", 0), ("open_page", 1), ("navigate", 1)]
