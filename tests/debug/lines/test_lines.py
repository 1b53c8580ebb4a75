"""Lines of one browser, brought to places where the mission has been."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.context_pool import ContextOptions, PoolSlot, open_context_pool
from eikon_engine.debug.history import History
from eikon_engine.debug.state_digest import STATE_LAYERS
from eikon_engine.errors import BrowserDiedError, RecordedNetworkMissingError, RewindDivergedError, UsageError
from eikon_engine.outcome.events import verdict_of
from eikon_engine.trace.bundle import open_bundle
from tests.debug.lines.desk import Desk

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.trace.bundle import Bundle

SHOP = Path(__file__).resolve().parents[2] / "data" / "traces" / "shop_passing"
FOUND = 8
"""Steps until its second skill was run; `benchmarks.rewinds` goes back over twenty, and takes the time."""


def with_title(bundle: Bundle, position: int, title: str) -> Bundle:
    """Return a bundle that remembers another title after an action."""
    subgoals = list(bundle.trace.subgoal_traces)
    actions = list(subgoals[0].actions_taken)
    action = actions[position - 1]
    assert action.observation is not None
    pages = tuple(page.model_copy(update={"title": title}) for page in action.observation.pages)
    seen = action.observation.model_copy(update={"pages": pages})
    actions[position - 1] = action.model_copy(update={"observation": seen})
    subgoals[0] = subgoals[0].model_copy(update={"actions_taken": tuple(actions)})
    return replace(bundle, trace=bundle.trace.model_copy(update={"subgoal_traces": tuple(subgoals)}))


@pytest.fixture
def done(desk: Desk) -> tuple[Desk, ReplayContext, dict[int, object]]:
    """Do the mission to its end; give what the closure said after each step but the first."""
    line = desk.open()
    said: dict[int, object] = {}
    for _ in range(line.step_count):
        desk.step(line)
        said[line.iteration] = desk.asked(line)
    return desk, line, said


def test_going_back_restores_what_no_document_shows(done: tuple[Desk, ReplayContext, dict[int, object]]) -> None:
    """From nothing and from a parked page, in any order: the counter in the closure, the timers, what chance gave."""
    desk, line, said = done
    ways = []

    for iteration in (9, 2, 12, 5, 6):
        desk.park(
            PoolSlot(history=line.history.until(4), iteration=4), PoolSlot(history=line.history.until(8), iteration=8)
        )
        arrived = desk.at(line.history.until(iteration), iteration)

        assert desk.asked(arrived.context) == said[iteration]
        assert arrived.context.iteration == iteration
        assert [verdict_of(each) for each in arrived.context.outcomes] == ["faithful"] * iteration
        assert arrived.verified >= arrived.reexecuted * len(STATE_LAYERS)
        ways.append((arrived.method, arrived.reexecuted))
        desk.portal.call(arrived.context.close)

    assert ways == [("parked", 1), ("reexecuted", 2), ("parked", 4), ("parked", 1), ("parked", 2)]


def test_a_line_goes_on_from_where_it_was_brought(done: tuple[Desk, ReplayContext, dict[int, object]]) -> None:
    """To the end, which is the same again."""
    desk, line, said = done

    again = desk.at(line.history.until(3), 3).context
    desk.step(again, again.step_count)

    assert desk.asked(again) == said[12]
    assert again.digests == line.digests


def test_a_mission_that_diverges_is_rewound_as_well(desk: Desk) -> None:
    """What counts is what the session saw, not only what was recorded."""
    line = desk.open(with_title(desk.bundle, 3, "Another title"))
    desk.step(line, 6)
    assert [verdict_of(each) for each in line.outcomes] == ["faithful"] * 2 + ["diverged"] + ["faithful"] * 3

    arrived = desk.at(line.history.until(4), 4)

    assert arrived.verified == 5 * len(STATE_LAYERS)
    assert arrived.context.outcomes[2].outcome.model_dump(exclude={"duration_ms"}) == line.outcomes[
        2
    ].outcome.model_dump(exclude={"duration_ms"})


def test_what_was_run_by_hand_is_run_again(desk: Desk) -> None:
    """At its place, and only as far as the way goes."""
    line = desk.open()
    desk.step(line, 2)
    desk.evaluate(line, "more.onclick()")
    desk.step(line, 4)
    changed = desk.asked(line)
    desk.evaluate(line, "shown.textContent = 'by hand'")

    arrived = desk.at(line.history.until(3), 3)
    assert [each.iteration for each in arrived.context.evaluations] == [2]
    desk.step(arrived.context)

    assert desk.asked(arrived.context) == changed
    assert changed[0] == 4


def test_a_parked_line_of_another_way_is_not_taken(desk: Desk) -> None:
    """One where something was run by hand is none of a way where nothing was; the other way round, it is run there."""
    line = desk.open()
    desk.step(line, 2)
    clean = line.history
    desk.evaluate(line, "more.onclick()")
    touched = line.history
    desk.park(PoolSlot(history=touched, iteration=2))

    to_clean, to_touched = desk.at(clean, 2), desk.at(touched, 2)
    desk.park(PoolSlot(history=clean, iteration=2))
    to_touched_again = desk.at(touched, 2)

    assert (to_clean.method, to_touched.method, to_touched_again.method) == ("reexecuted", "parked", "parked")
    assert [desk.asked(each.context)[0] for each in (to_clean, to_touched, to_touched_again)] == [1, 2, 2]


def test_a_rewind_that_shows_something_else_is_none(done: tuple[Desk, ReplayContext, dict[int, object]]) -> None:
    """The layer is named, and the line that stood there is not touched."""
    desk, line, said = done
    other = line.history.until(5)
    states = {**other.digests, 3: other.digests[3].model_copy(update={"storage": "0" * 64})}

    with pytest.raises(RewindDivergedError, match=r"step 3 .* differences in storage;"):
        desk.at(replace(other, digests=states), 5)

    assert line.is_usable
    assert desk.asked(line) == said[12]


@pytest.mark.parametrize("iteration", [-1, 13])
def test_no_place_is_out_of_reach_in_silence(desk: Desk, iteration: int) -> None:
    """Neither before the start nor after the end."""
    with pytest.raises(UsageError, match=f"from 0 to 12, got {iteration}"):
        desk.at(desk.open().history, iteration)


def test_nothing_is_left_open(portal: BlockingPortal, counter: Bundle, options: ContextOptions) -> None:
    """Neither lines that stand nor parked ones nor one being made, also where an error ends the session."""

    async def fail() -> None:
        async with open_context_pool(counter, options) as lines:
            contexts = lines.launched.browser.contexts
            line = await lines.open(counter)
            async for _ in line.advance():
                pass
            lines.start_parking([PoolSlot(history=line.history, iteration=1)])
            await lines.wait_until_parked()
            lines.start_parking([PoolSlot(history=line.history, iteration=0)])
            assert len(lines.launched.browser.contexts) >= 2
            try:
                raise KeyError("of the session")
            finally:
                await lines.close()
                assert not lines.launched.browser.contexts, contexts

    with pytest.raises(KeyError):
        portal.call(fail)


def test_a_browser_that_dies_takes_all_lines_with_it(
    portal: BlockingPortal, counter: Bundle, options: ContextOptions
) -> None:
    """Whatever is asked for then, the answer is that the browser went away."""

    async def kill() -> list[str]:
        async with open_context_pool(counter, options) as lines:
            line = await lines.open(counter)
            async for _ in line.advance():
                pass
            lines.start_parking([PoolSlot(history=line.history, iteration=1)])
            await lines.wait_until_parked()
            session = await lines.launched.browser.new_browser_cdp_session()
            told = await session.send("SystemInfo.getProcessInfo")
            os.kill(next(int(each["id"]) for each in told["processInfo"] if each["type"] == "browser"), signal.SIGKILL)
            said = []
            for ask in (
                line.observe,
                lambda: lines.open(counter),
                lambda: lines.restore(line.history, 1),
                lambda: _step(line),
            ):
                with pytest.raises(BrowserDiedError) as died:
                    await ask()
                said.append(died.value.message)
            assert line.iteration == 1
            return said

    said = portal.call(kill)

    assert all("browser" in each for each in said)


async def _step(line: ReplayContext) -> None:
    async for _ in line.advance():
        pass


def test_a_bundle_without_network_is_none_for_a_session(portal: BlockingPortal, counter: Bundle) -> None:
    """There is nothing that would answer the same way again."""
    bundle = replace(counter, trace=counter.trace.model_copy(update={"network": None}))

    with (
        pytest.raises(RecordedNetworkMissingError),
        portal.wrap_async_context_manager(open_context_pool(bundle, ContextOptions())),
    ):
        pass


def test_a_mission_in_a_shop_is_done_again(portal: BlockingPortal) -> None:
    """Its documents, fetches, downloads and skills are all there once more; where a page is parked, at once."""
    bundle = open_bundle(SHOP)
    with portal.wrap_async_context_manager(open_context_pool(bundle, ContextOptions())) as lines:
        desk = Desk(portal, lines, bundle)
        again = desk.at(History(bundle=bundle), FOUND)
        desk.park(PoolSlot(history=again.context.history, iteration=FOUND))
        parked = desk.at(again.context.history, FOUND)
        faults = lines.parking.take_errors()

    assert (again.method, again.reexecuted) == ("reexecuted", FOUND)
    assert (parked.method, parked.reexecuted) == ("parked", 0)
    assert faults == ()
