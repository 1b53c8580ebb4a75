"""Checkpoints of one number on different ways: what is gone back to is what the branch has been through."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import start_blocking_portal

from eikon_engine.debug.session_folder import SessionFolder
from eikon_engine.debug.session_host import SessionOptions, run_session
from eikon_engine.errors import BranchError, RewindDivergedError, SessionError, UsageError
from tests.debug.conftest import PASSING
from tests.debug.in_process import Outside, browser_for_lines, driven

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

    from eikon_engine.debug.context_pool import ContextPool

TOUCH = "localStorage.k = '7'; window.k = 7"
TOUCHED = "[window.k ?? null, localStorage.k ?? null]"


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """Run one event loop beside the tests."""
    with start_blocking_portal() as running:
        yield running


@pytest.fixture(scope="module")
def lines(portal: BlockingPortal) -> Iterator[ContextPool]:
    """Run one browser for all sessions."""
    with portal.wrap_async_context_manager(browser_for_lines(PASSING)) as opened:
        yield opened


@pytest.fixture
def shop(portal: BlockingPortal, lines: ContextPool, tmp_path: Path) -> Iterator[Outside]:
    """Begin a session on the passing shop mission."""
    with portal.wrap_async_context_manager(driven(tmp_path, PASSING, lines=lines)) as inside:
        yield Outside(portal, inside)


def test_a_place_that_was_touched_on_the_way_is_none_of_the_way_before(shop: Outside) -> None:
    """Neither for a new branch, nor for going back by number."""
    shop("run_to", iteration=3)
    shop("branch_create", name="c")
    shop("branch_switch", name="main")
    shop("rewind", iteration=2, force=True)
    shop("evaluate", expression=TOUCH)
    shop("step")

    again = shop("rewind", iteration=3)
    said = shop.says(TOUCHED)
    made = shop("branch_create", name="e")

    assert (again["iteration"], said) == (3, [7, "7"])
    assert (made["branch"], shop.says(TOUCHED)) == ("e", [7, "7"])
    assert shop.branch("e").fork_point != shop.branch("c").fork_point
    drawn = shop.drawn.splitlines()
    assert next(n for n, line in enumerate(drawn) if "○ c" in line) < next(
        n for n, line in enumerate(drawn) if " 3 " in line
    )


def edited_behind_a_fork(shop: Outside) -> None:
    """Begin c on b, then change a step of b before that place; end on b, one step before it."""
    shop("run_to", iteration=2)
    shop("branch_create", name="b")
    shop("run_to", iteration=4)
    shop("checkpoint_create", label="four")
    shop("branch_create", name="c", checkpoint="four")
    shop("branch_switch", name="b")
    shop("rewind", iteration=2, force=True)
    shop("branch_insert", action={"type": "note", "text": "another way"})
    shop("step")
    shop("checkpoint_create", label="new three")


def test_a_branch_has_its_own_steps_where_its_parent_was_changed(shop: Outside) -> None:
    """It goes back to them, to any of their checkpoints, and further branches of it have them as well."""
    edited_behind_a_fork(shop)
    with pytest.raises(BranchError, match="whose steps were changed since; switch to c first"):
        shop("rewind", checkpoint="four", force=True)

    shop("branch_switch", name="c")
    places = [shop("rewind", checkpoint="four"), shop("rewind", iteration=3, force=True)]
    with pytest.raises(BranchError, match="not in the history of c; switch to b first"):
        shop("rewind", checkpoint="new three", force=True)
    places += [shop("branch_create", name="g"), shop("branch_create", name="h", checkpoint="four")]

    assert [(each["branch"], each["iteration"]) for each in places] == [("c", 4), ("c", 3), ("g", 3), ("h", 4)]
    assert {each["verdict"] for each in places} == {"faithful"}
    assert [shop.branch(name).parent_branch for name in "gh"] == ["c", "c"]


def test_the_timeline_shows_where_the_ways_parted(shop: Outside) -> None:
    """A branch does not stand behind steps that it never did."""
    edited_behind_a_fork(shop)

    drawn = shop.drawn.splitlines()

    fork = next(number for number, line in enumerate(drawn) if "○ c" in line)
    assert "four" in drawn[fork - 1]
    assert "at 4, on steps that were changed since" in drawn[fork - 1]
    assert fork < next(number for number, line in enumerate(drawn) if "note: another way" in line)
    assert shop.checkpoint("four").parted_after == 2


def test_a_branch_is_found_where_it_was_left(shop: Outside) -> None:
    """Not at a later place, which belongs to the parent."""
    shop("run_to", iteration=2)
    shop("checkpoint_create", label="two")
    shop("run_to", iteration=4)
    shop("checkpoint_create", label="four")
    shop("branch_create", name="k", checkpoint="four")
    shop("rewind", checkpoint="two", force=True)
    shop("branch_switch", name="main")

    back = shop("branch_switch", name="k")

    assert (back["branch"], back["iteration"]) == ("k", 2)
    assert set(shop.inside.journey.history.digests) == {0, 1, 2}


def test_javascript_that_would_be_lost_is_asked_for(shop: Outside) -> None:
    """It is a change of state like a step."""
    shop("step")
    shop("checkpoint_create", label="plain")
    shop("evaluate", expression="document.title = 'GONE'")
    shop("checkpoint_create", label="touched")

    with pytest.raises(UsageError, match="this would discard 1 evaluation and 1 checkpoint of main"):
        shop("rewind", checkpoint="plain")
    shop("rewind", iteration=1)
    kept = shop.says("document.title")
    shop("rewind", checkpoint="plain", force=True)

    assert kept == "GONE"
    assert shop.says("document.title") != "GONE"
    assert [each.label for each in shop.branch("main").checkpoints] == ["plain"]
    assert shop.branch("main").evaluations == ()


def test_what_fails_by_hand_is_run_again_where_a_page_waits(portal: BlockingPortal, tmp_path: Path) -> None:
    """Its error in the console belongs to what was run, not to the start, of which it was none."""
    with (
        portal.wrap_async_context_manager(browser_for_lines(PASSING, parked=1)) as lines,
        portal.wrap_async_context_manager(driven(tmp_path, PASSING, lines=lines)) as inside,
    ):
        shop = Outside(portal, inside)
        assert "SecurityError" in shop("evaluate", expression="indexedDB.databases()")["error"]
        shop("checkpoint_create")
        shop("step")
        portal.call(lines.wait_until_parked)
        back = [shop("rewind", iteration=1), shop("rewind", iteration=0, force=True)]

    assert [each["iteration"] for each in back] == [1, 0]


def test_javascript_that_gives_something_else_ends_the_way_back(shop: Outside) -> None:
    """What it gives is all that shows what scripts keep to themselves."""
    shop("evaluate", expression="document.title")
    shop("step")
    line = shop.inside.journey.context
    changed = line.evaluations[0].model_copy(update={"result": "something else"})
    line.evaluations = (changed,)
    shop.inside.journey.update_branch()

    with pytest.raises(RewindDivergedError, match='expected its earlier result "something else"'):
        shop("rewind", iteration=0, force=True)

    assert shop.inside.journey.context is line


def test_a_session_with_ways_that_parted_is_taken_over(
    shop: Outside, portal: BlockingPortal, lines: ContextPool, tmp_path: Path
) -> None:
    """Each branch stands at its own last checkpoint, and is gone back to there."""
    edited_behind_a_fork(shop)
    before = shop.inside.journey.folder

    with portal.wrap_async_context_manager(driven(tmp_path / "next", PASSING, lines=lines, before=before)) as inside:
        again = Outside(portal, inside)
        stands = [again("branch_switch", name=name) for name in "bc"]
        drawn = again.drawn

    assert [(each["branch"], each["iteration"]) for each in stands] == [("b", 3), ("c", 4)]
    assert "at 4, on steps that were changed since" in drawn


def test_nothing_is_begun_on_a_session_of_another_mission(shop: Outside, tmp_path: Path) -> None:
    """No empty session is left in the list."""
    before = SessionFolder(tmp_path / "before")
    before.write_timeline(shop.timeline.model_copy(update={"mission_id": "another"}))
    options = SessionOptions(trace=PASSING, parent=tmp_path / "next", from_session=before)

    with pytest.raises(SessionError, match="got another"):
        asyncio.run(run_session(options, lambda _folder: None))

    assert not (tmp_path / "next").exists()
