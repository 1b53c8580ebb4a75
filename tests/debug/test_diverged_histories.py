"""Checkpoints with the same number on different histories: a rewind follows the history of its branch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import start_blocking_portal

from eikon_engine.debug.session_folder import SessionFolder
from eikon_engine.debug.session_host import SessionOptions, run_session
from eikon_engine.errors import ReplayError, SessionError, UsageError
from tests.debug.conftest import PASSING
from tests.debug.in_process import SyncSession, in_process_session, shared_context_pool
from tests.error_codes import has_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

    from eikon_engine.debug.context_pool import ContextPool

pytestmark = pytest.mark.browser

TOUCH = "localStorage.k = '7'; window.k = 7"
TOUCHED = "[window.k ?? null, localStorage.k ?? null]"


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """Run an event loop in another thread."""
    with start_blocking_portal() as running:
        yield running


@pytest.fixture(scope="module")
def pool(portal: BlockingPortal) -> Iterator[ContextPool]:
    """Open one pool for all sessions."""
    with portal.wrap_async_context_manager(shared_context_pool(PASSING)) as opened:
        yield opened


@pytest.fixture
def shop(portal: BlockingPortal, pool: ContextPool, tmp_path: Path) -> Iterator[SyncSession]:
    """Run a session on the passing shop mission."""
    with portal.wrap_async_context_manager(in_process_session(tmp_path, PASSING, pool=pool)) as inner:
        yield SyncSession(portal, inner)


def test_a_modified_position_is_not_used_for_the_clean_history(shop: SyncSession) -> None:
    """Neither a new branch nor a rewind by number uses it."""
    shop("run_to", iteration=3)
    shop("branch_create", name="c")
    shop("branch_switch", name="main")
    shop("rewind", iteration=2, force=True)
    shop("evaluate", expression=TOUCH)
    shop("step")

    again = shop("rewind", iteration=3)
    result = shop.evaluate(TOUCHED)
    created = shop("branch_create", name="e")

    assert (again["iteration"], result) == (3, [7, "7"])
    assert (created["branch"], shop.evaluate(TOUCHED)) == ("e", [7, "7"])
    assert shop.branch("e").fork_point != shop.branch("c").fork_point
    drawn = shop.timeline_text.splitlines()
    assert next(n for n, context in enumerate(drawn) if "○ c" in context) < next(
        n for n, context in enumerate(drawn) if " 3 " in context
    )


def edited_behind_a_fork(shop: SyncSession) -> None:
    """Fork c from b, then change an earlier step of b; end on b, one step before the fork."""
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


def test_a_branch_keeps_its_steps_when_its_parent_changes(shop: SyncSession) -> None:
    """It rewinds to them and their checkpoints, and its own branches inherit them."""
    edited_behind_a_fork(shop)
    with pytest.raises(UsageError, match="whose steps were changed since; switch to c first", check=has_code("branch")):
        shop("rewind", checkpoint="four", force=True)

    shop("branch_switch", name="c")
    places = [shop("rewind", checkpoint="four"), shop("rewind", iteration=3, force=True)]
    with pytest.raises(UsageError, match="not in the history of c; switch to b first", check=has_code("branch")):
        shop("rewind", checkpoint="new three", force=True)
    places += [shop("branch_create", name="g"), shop("branch_create", name="h", checkpoint="four")]

    assert [(each["branch"], each["iteration"]) for each in places] == [("c", 4), ("c", 3), ("g", 3), ("h", 4)]
    assert {each["verdict"] for each in places} == {"faithful"}
    assert [shop.branch(name).parent_branch for name in "gh"] == ["c", "c"]


def test_the_timeline_shows_where_the_histories_diverged(shop: SyncSession) -> None:
    """A branch is not drawn behind steps that it never ran."""
    edited_behind_a_fork(shop)

    drawn = shop.timeline_text.splitlines()

    fork = next(number for number, context in enumerate(drawn) if "○ c" in context)
    assert "four" in drawn[fork - 1]
    assert "at 4, on steps that were changed since" in drawn[fork - 1]
    assert fork < next(number for number, row in enumerate(drawn) if "note: another way" in row)
    assert shop.checkpoint("four").parted_after == 2


def test_a_branch_resumes_at_its_own_position(shop: SyncSession) -> None:
    """A later position of its parent is not used."""
    shop("run_to", iteration=2)
    shop("checkpoint_create", label="two")
    shop("run_to", iteration=4)
    shop("checkpoint_create", label="four")
    shop("branch_create", name="k", checkpoint="four")
    shop("rewind", checkpoint="two", force=True)
    shop("branch_switch", name="main")

    back = shop("branch_switch", name="k")

    assert (back["branch"], back["iteration"]) == ("k", 2)
    assert set(shop.inner.debug_session.history.digests) == {0, 1, 2}


def test_a_rewind_that_loses_javascript_needs_force(shop: SyncSession) -> None:
    """JavaScript changes the state like a step."""
    shop("step")
    shop("checkpoint_create", label="plain")
    shop("evaluate", expression="document.title = 'GONE'")
    shop("checkpoint_create", label="touched")

    with pytest.raises(UsageError, match="this would discard 1 evaluation and 1 checkpoint of main"):
        shop("rewind", checkpoint="plain")
    shop("rewind", iteration=1)
    kept = shop.evaluate("document.title")
    shop("rewind", checkpoint="plain", force=True)

    assert kept == "GONE"
    assert shop.evaluate("document.title") != "GONE"
    assert [each.label for each in shop.branch("main").checkpoints] == ["plain"]
    assert shop.branch("main").evaluations == ()


def test_failing_javascript_is_repeated_in_a_parked_context(portal: BlockingPortal, tmp_path: Path) -> None:
    """Its console error belongs to the JavaScript, not to the start."""
    with (
        portal.wrap_async_context_manager(shared_context_pool(PASSING, parked=1)) as pool,
        portal.wrap_async_context_manager(in_process_session(tmp_path, PASSING, pool=pool)) as inner,
    ):
        shop = SyncSession(portal, inner)
        assert "SecurityError" in shop("evaluate", expression="indexedDB.databases()")["error"]
        shop("checkpoint_create")
        shop("step")
        portal.call(pool.parking.wait)
        back = [shop("rewind", iteration=1), shop("rewind", iteration=0, force=True)]

    assert [each["iteration"] for each in back] == [1, 0]


def test_javascript_with_a_different_result_fails_the_rewind(shop: SyncSession) -> None:
    """Its result is the only evidence of hidden script state."""
    shop("evaluate", expression="void (window.looked = 1), document.title")
    shop("step")
    context = shop.inner.debug_session.context
    changed = context.evaluations[0].model_copy(update={"result": "something else"})
    context.evaluations = (changed,)
    shop.inner.debug_session.update_branch()

    with pytest.raises(
        ReplayError, match='expected its earlier result "something else"', check=has_code("rewind-not-faithful")
    ):
        shop("rewind", iteration=0, force=True)

    assert shop.inner.debug_session.context is context


def test_a_session_with_diverged_histories_is_resumed(
    shop: SyncSession, portal: BlockingPortal, pool: ContextPool, tmp_path: Path
) -> None:
    """Each branch is positioned at its own last checkpoint, and rewinds there."""
    edited_behind_a_fork(shop)
    before = shop.inner.debug_session.folder

    with portal.wrap_async_context_manager(
        in_process_session(tmp_path / "next", PASSING, pool=pool, before=before)
    ) as inner:
        again = SyncSession(portal, inner)
        positions = [again("branch_switch", name=name) for name in "bc"]
        drawn = again.timeline_text

    assert [(each["branch"], each["iteration"]) for each in positions] == [("b", 3), ("c", 4)]
    assert "at 4, on steps that were changed since" in drawn


def test_a_session_of_another_mission_is_not_resumed(shop: SyncSession, tmp_path: Path) -> None:
    """No empty session remains in the list."""
    before = SessionFolder(tmp_path / "before")
    before.write_timeline(shop.timeline.model_copy(update={"mission_id": "another"}))
    options = SessionOptions(trace=PASSING, parent=tmp_path / "next", from_session=before)

    with pytest.raises(SessionError, match="got another"):
        asyncio.run(run_session(options, lambda _folder: None))

    assert not (tmp_path / "next").exists()
