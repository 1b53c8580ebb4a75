"""The trace of a context: groups, pages, environment and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.errors import ForeignFormatError, UsageError
from tests.importers.playwright_zips import (
    BASE_MS,
    URL,
    WALL_MS,
    Line,
    call,
    entry,
    group,
    head,
    opened,
    read_zip,
    snapshot,
    write_zip,
)

if TYPE_CHECKING:
    from pathlib import Path

GOTO = call(1, "Frame.goto", url=URL)


def click(number: int, parent: str | None = None) -> list[Line]:
    """Return a click."""
    return call(number, "Frame.click", parent=parent, selector=f"#a{number}", strict=True)


def test_groups_are_subgoals(tmp_path: Path) -> None:
    """Calls outside of groups form a subgoal named after the trace; nested groups are named with their parents."""
    lines = [
        *(head(), opened(), *GOTO, *group(2, "Cart"), *click(3, "call@2")),
        *(*group(4, "Pay", "call@2"), *click(5, "call@4"), *click(6)),
    ]

    mission = read_zip(write_zip(tmp_path / "order.zip", lines))

    assert mission.text == "order"
    assert [(each.description, len(each.actions)) for each in mission.subgoals] == [
        ("order", 1),
        ("Cart", 1),
        ("Cart / Pay", 1),
        ("order", 1),
    ]


def test_steps_of_the_test_runner_are_subgoals(tmp_path: Path) -> None:
    """Steps are in a separate trace with one step per call; older versions number the two independently."""
    steps = [
        head(8, title="shop.spec.ts > orders"),
        {**call(1, "Test.test.step")[0], "callId": "test.step@1", "title": "Sign in"},
        {**call(2, "Test.pw:api", parent="test.step@1")[0], "callId": "pw:api@2"},
    ]
    own = click(2)
    own[0]["stepId"] = "pw:api@2"

    mission = read_zip(write_zip(tmp_path / "t.zip", [head(8), opened(), *GOTO, *own], others={"test.trace": steps}))

    assert mission.text == "shop.spec.ts > orders"
    assert [each.description for each in mission.subgoals] == ["shop.spec.ts > orders", "Sign in"]


def test_one_of_several_contexts_is_chosen(tmp_path: Path) -> None:
    """If several contexts have actions, --test chooses one; contexts without actions are ignored."""
    more = [head(), opened(), *GOTO, *click(2)]
    path = write_zip(tmp_path / "t.zip", [head()], others={"0-trace.trace": more, "1-trace.trace": more[:4]})

    with pytest.raises(UsageError, match=r"got 0-trace \(2 calls\), 1-trace \(1 calls\)\. Pass one with --test"):
        read_zip(path)
    with pytest.raises(UsageError, match="expected the context 2-trace, got trace, 0-trace, 1-trace"):
        read_zip(path, "2-trace")
    mission = read_zip(path, "0-trace")

    assert [len(each.actions) for each in mission.subgoals] == [2]


def test_surroundings_are_carried_over(tmp_path: Path) -> None:
    """Options of the context are imported if the trace has them; missing ones are noted."""
    options: dict[str, Any] = {
        "userAgent": "Agent",
        "isMobile": True,
        "deviceScaleFactor": 2,
        "colorScheme": "dark",
        "offline": True,
    }
    network = [entry(100, request={"headers": [{"name": "Accept-Language", "value": "de-DE,de;q=0.9"}]})]

    mission = read_zip(write_zip(tmp_path / "t.zip", [head(10, **options), opened(), *GOTO], network))

    screen = mission.environment
    assert screen is not None
    assert (screen.width, screen.height, screen.device_scale_factor, screen.is_mobile) == (1200, 800, 2.0, True)
    assert (screen.user_agent, screen.locale, screen.color_scheme) == ("Agent", "de-DE", "dark")
    assert screen.clock_start_ms == WALL_MS
    assert any("offline" in note for note in mission.notes)
    assert any("time zone" in note for note in mission.notes)


def test_a_size_set_before_anything_is_done_is_that_of_the_pages(tmp_path: Path) -> None:
    """A size set before the first call belongs to the environment."""
    size = call(0, "Page.setViewportSize", viewportSize={"width": 500, "height": 400})

    mission = read_zip(write_zip(tmp_path / "t.zip", [head(10, viewport=None), opened(), *size, *GOTO]))

    assert mission.environment is not None
    assert (mission.environment.width, mission.unsupported) == (500, ())


def test_a_size_set_after_a_page_was_read_is_a_step(tmp_path: Path) -> None:
    """A read is no step, but the page had its earlier size then, so setting the size is a step."""
    read = call(0, "Page.title")
    size = call(1, "Page.setViewportSize", viewportSize={"width": 500, "height": 400})

    mission = read_zip(write_zip(tmp_path / "t.zip", [head(), opened(), *read, *size]))

    assert mission.environment is not None
    assert mission.environment.width == 1200
    assert [each.type for each in mission.subgoals[0].actions] == ["set_viewport"]


@pytest.mark.parametrize(
    ("base_url", "given", "opened_url"),
    [
        ("http://shop.test/a/", "/cart", "http://shop.test/cart"),
        ("http://shop.test/a/", "cart?x=1", "http://shop.test/a/cart?x=1"),
        ("http://shop.test/a/", "./", "http://shop.test/a/"),
        ("http://shop.test/a/", "https://other.test/", "https://other.test/"),
        ("http://shop.test/a/", "about:blank", "about:blank"),
        ("http://[broken", "/cart", "/cart"),
    ],
)
def test_relative_urls_are_resolved_against_the_base_url(
    tmp_path: Path, base_url: str, given: str, opened_url: str
) -> None:
    """The trace has relative URLs as they were given, since Playwright resolves them in the browser context."""
    goto = call(1, "Frame.goto", url=given)

    mission = read_zip(write_zip(tmp_path / "t.zip", [head(10, baseURL=base_url), opened(), *goto]))

    (navigation,) = mission.subgoals[0].actions
    assert navigation.model_dump()["url"] == opened_url
    assert not any("baseURL" in note for note in mission.notes)


def test_recording_may_begin_in_the_middle(tmp_path: Path) -> None:
    """A navigation to the document of the first snapshot is added."""
    lines = [head(), opened(), click(2)[0], snapshot(2, "before"), click(2)[1]]

    mission = read_zip(write_zip(tmp_path / "t.zip", lines))

    assert [each.type for each in mission.subgoals[0].actions] == ["navigate", "click"]
    assert mission.subgoals[0].actions[0].model_dump()["url"] == URL
    assert any("the recording started" in note for note in mission.notes)


def test_older_versions_are_read(tmp_path: Path) -> None:
    """Version 4 has whole actions and times relative to the first call; version 8 encodes phases in snapshot names."""
    action = {**GOTO[0], **GOTO[1], "type": "action", "pageId": "page@1", "wallTime": WALL_MS + 100.0}
    old = {**head(4), "monotonicTime": 0}
    named = snapshot(2, "")
    named["snapshot"] = {"snapshotName": "input@call@2", **named["snapshot"]}
    del named["snapshot"]["phase"]

    four = read_zip(write_zip(tmp_path / "4.zip", [old, action]))
    eight = read_zip(write_zip(tmp_path / "8.zip", [head(8), *GOTO, click(2)[0], named, click(2)[1]]))

    assert [each.at_ms for each in four.action_times] == [WALL_MS + 100.0]
    assert [each.at_ms for each in eight.action_times] == [WALL_MS + 100.0, WALL_MS + 220.0]


def test_lines_of_unknown_types_are_reported(tmp_path: Path) -> None:
    """A supported version should have no unknown lines, so they are noted."""
    mission = read_zip(write_zip(tmp_path / "t.zip", [head(), opened(), *GOTO, {"type": "hologram"}]))

    assert any("1 lines of unknown type 'hologram'" in note for note in mission.notes)


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        (b"", "the trace is empty"),
        (b"{}\n", "line 1: expected context-options with a version, got no type"),
        (b'{"type":"context-options","version":3}\n', "version 4 to 10, got version 3. Record it with a newer"),
        (b'{"type":"context-options","version":11}\n', "got version 11. Update Eikon"),
        (b'{"type":"context-options","version":10}\n{"type":', "line 2: expected a JSON object, got"),
        (b'{"type":"context-options","version":10}\n[1]', "line 2: expected a JSON object, got list"),
        (b'{"type":"context-options","version":10}\n\xff\n', "line 2: expected a JSON object"),
    ],
    ids=range(7),
)
def test_broken_lines_are_refused(tmp_path: Path, lines: bytes, match: str) -> None:
    """The message has file, line and expected value."""
    path = write_zip(tmp_path / "t.zip", [head(), *GOTO], others={"0.trace": lines})

    with pytest.raises(ForeignFormatError, match=match) as caught:
        read_zip(path, "0")

    assert "\n" not in caught.value.message


def test_responses_belong_to_the_action_that_they_follow(tmp_path: Path) -> None:
    """An action starts when it acts on its element, not when it starts waiting for it; waits cause no responses."""
    lines = [
        *(head(), opened(), *GOTO, click(2)[0], snapshot(2, "action"), click(2)[1]),
        *(*call(3, "Frame.waitForSelector", selector="#b", strict=True), *click(4)),
    ]

    mission = read_zip(write_zip(tmp_path / "t.zip", lines))

    moments = [mission.phase_and_page_time(WALL_MS + at_ms) for at_ms in (50, 110, 210, 230, 390, 410)]
    assert moments == [(0, 0.0), (1, 0.0), (1, 0.0), (3, 500.0), (3, 500.0), (7, 1500.0)]
    assert BASE_MS > 0
