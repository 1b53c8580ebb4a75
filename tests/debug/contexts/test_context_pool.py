"""The contexts of one browser, restored to earlier positions."""

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
from eikon_engine.errors import BrowserDiedError, ReplayError, RequirementError, UsageError
from eikon_engine.outcome.events import verdict_of
from eikon_engine.trace.bundle import open_bundle
from tests.debug.contexts.pool_driver import PoolDriver
from tests.error_codes import has_code

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.trace.bundle import Bundle

pytestmark = pytest.mark.browser

SHOP = Path(__file__).resolve().parents[2] / "data" / "traces" / "shop_passing"
FOUND = 8
"""Steps up to its second skill; `benchmarks.rewinds` measures rewinds over twenty."""


def with_title(bundle: Bundle, position: int, title: str) -> Bundle:
    """Return a bundle with another recorded title after an action."""
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
def done(driver: PoolDriver) -> tuple[PoolDriver, ReplayContext, dict[int, object]]:
    """Run the mission to its end; return the page state after each step."""
    context = driver.open()
    page_states: dict[int, object] = {}
    for _ in range(context.step_count):
        driver.step(context)
        page_states[context.iteration] = driver.page_state(context)
    return driver, context, page_states


def test_a_rewind_restores_hidden_page_state(done: tuple[PoolDriver, ReplayContext, dict[int, object]]) -> None:
    """From a new or parked context, in any order: closures, timers and random values are restored."""
    driver, context, page_states = done
    methods = []

    for iteration in (9, 2, 12, 5, 6):
        driver.park(
            PoolSlot(history=context.history.until(4), iteration=4),
            PoolSlot(history=context.history.until(8), iteration=8),
        )
        restored = driver.restore(context.history.until(iteration), iteration)

        assert driver.page_state(restored.context) == page_states[iteration]
        assert restored.context.iteration == iteration
        assert [verdict_of(each) for each in restored.context.outcomes] == ["faithful"] * iteration
        assert restored.verified >= restored.reexecuted * len(STATE_LAYERS)
        methods.append((restored.method, restored.reexecuted))
        driver.portal.call(restored.context.close)

    assert methods == [("parked", 1), ("reexecuted", 2), ("parked", 4), ("parked", 1), ("parked", 2)]


def test_a_restored_context_continues_to_the_end(done: tuple[PoolDriver, ReplayContext, dict[int, object]]) -> None:
    """The remaining steps show the same states."""
    driver, context, page_states = done

    again = driver.restore(context.history.until(3), 3).context
    driver.step(again, again.step_count)

    assert driver.page_state(again) == page_states[12]
    assert again.observed.digests == context.observed.digests


def test_a_diverging_mission_can_be_rewound(driver: PoolDriver) -> None:
    """Rewinds compare with what the session observed, not with the recording."""
    context = driver.open(with_title(driver.bundle, 3, "Another title"))
    driver.step(context, 6)
    assert [verdict_of(each) for each in context.outcomes] == ["faithful"] * 2 + ["diverged"] + ["faithful"] * 3

    restored = driver.restore(context.history.until(4), 4)

    assert restored.verified == 5 * len(STATE_LAYERS)
    first, second = (each.outcomes[2].outcome for each in (context, restored.context))
    measured = {"duration_ms", "request_times"}
    assert second.model_dump(exclude=measured) == first.model_dump(exclude=measured)


def test_manual_javascript_is_repeated(driver: PoolDriver) -> None:
    """It runs at its position, and only as far as the history goes."""
    context = driver.open()
    driver.step(context, 2)
    driver.evaluate(context, "more.onclick()")
    driver.step(context, 4)
    changed = driver.page_state(context)
    driver.evaluate(context, "shown.textContent = 'by hand'")

    restored = driver.restore(context.history.until(3), 3)
    assert [each.iteration for each in restored.context.evaluations] == [2]
    driver.step(restored.context)

    assert driver.page_state(restored.context) == changed
    assert changed[0] == 4


def test_a_parked_context_of_another_history_is_not_used(driver: PoolDriver) -> None:
    """A modified context does not serve a clean history; a clean one runs its JavaScript first."""
    context = driver.open()
    driver.step(context, 2)
    clean = context.history
    driver.evaluate(context, "more.onclick()")
    touched = context.history
    driver.park(PoolSlot(history=touched, iteration=2))

    to_clean, to_touched = driver.restore(clean, 2), driver.restore(touched, 2)
    driver.park(PoolSlot(history=clean, iteration=2))
    to_touched_again = driver.restore(touched, 2)

    assert (to_clean.method, to_touched.method, to_touched_again.method) == ("reexecuted", "parked", "parked")
    assert [driver.page_state(each.context)[0] for each in (to_clean, to_touched, to_touched_again)] == [1, 2, 2]


def test_a_rewind_to_a_different_state_fails(done: tuple[PoolDriver, ReplayContext, dict[int, object]]) -> None:
    """The error names the layer, and the current context is not affected."""
    driver, context, page_states = done
    other = context.history.until(5)
    states = {**other.digests, 3: other.digests[3].model_copy(update={"storage": "0" * 64})}

    with pytest.raises(ReplayError, match=r"step 3 .* differences in storage;", check=has_code("rewind-not-faithful")):
        driver.restore(replace(other, digests=states), 5)

    assert context.is_usable
    assert driver.page_state(context) == page_states[12]


@pytest.mark.parametrize("iteration", [-1, 13])
def test_an_iteration_out_of_range_is_rejected(driver: PoolDriver, iteration: int) -> None:
    """Neither before the start nor after the end."""
    with pytest.raises(UsageError, match=f"from 0 to 12, got {iteration}"):
        driver.restore(driver.open().history, iteration)


def test_closing_the_pool_closes_all_contexts(portal: BlockingPortal, counter: Bundle, options: ContextOptions) -> None:
    """Active, parked and half-created contexts are closed, also if an error ends the session."""

    async def fail() -> None:
        async with open_context_pool(counter, options) as pool:
            contexts = pool.launched.browser.contexts
            context = await pool.open(counter)
            async for _ in context.advance():
                pass
            pool.parking.start([PoolSlot(history=context.history, iteration=1)])
            await pool.parking.wait()
            pool.parking.start([PoolSlot(history=context.history, iteration=0)])
            assert len(pool.launched.browser.contexts) >= 2
            try:
                raise KeyError("of the session")
            finally:
                await pool.close()
                assert not pool.launched.browser.contexts, contexts

    with pytest.raises(KeyError):
        portal.call(fail)


def test_all_contexts_report_a_dead_browser(portal: BlockingPortal, counter: Bundle, options: ContextOptions) -> None:
    """Every operation reports that the browser is gone."""

    async def kill() -> list[str]:
        async with open_context_pool(counter, options) as pool:
            context = await pool.open(counter)
            async for _ in context.advance():
                pass
            pool.parking.start([PoolSlot(history=context.history, iteration=1)])
            await pool.parking.wait()
            session = await pool.launched.browser.new_browser_cdp_session()
            info = await session.send("SystemInfo.getProcessInfo")
            browser = next(int(each["id"]) for each in info["processInfo"] if each["type"] == "browser")
            os.kill(browser, signal.SIGKILL)
            messages = []
            for ask in (
                context.browser.observe,
                lambda: pool.open(counter),
                lambda: pool.restore(context.history, 1),
                lambda: _step(context),
            ):
                with pytest.raises(BrowserDiedError) as died:
                    await ask()
                messages.append(died.value.message)
            assert context.iteration == 1
            return messages

    messages = portal.call(kill)

    assert all("browser" in each for each in messages)


async def _step(context: ReplayContext) -> None:
    async for _ in context.advance():
        pass


def test_a_session_needs_a_recorded_network(portal: BlockingPortal, counter: Bundle) -> None:
    """Without one, nothing could serve the same responses again."""
    bundle = replace(counter, trace=counter.trace.model_copy(update={"network": None}))

    with (
        pytest.raises(RequirementError, check=has_code("network-part-missing")),
        portal.wrap_async_context_manager(open_context_pool(bundle, ContextOptions())),
    ):
        pass


def test_a_shop_mission_is_restored(portal: BlockingPortal) -> None:
    """Its documents, fetches, downloads and skills repeat; a parked context is there at once."""
    bundle = open_bundle(SHOP)
    with portal.wrap_async_context_manager(open_context_pool(bundle, ContextOptions())) as pool:
        driver = PoolDriver(portal, pool, bundle)
        again = driver.restore(History(bundle=bundle), FOUND)
        driver.park(PoolSlot(history=again.context.history, iteration=FOUND))
        parked = driver.restore(again.context.history, FOUND)

    assert (again.method, again.reexecuted) == ("reexecuted", FOUND)
    assert (parked.method, parked.reexecuted) == ("parked", 0)
