"""Replay contexts, which pause between the steps of a mission."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser import inspection as standing
from eikon_engine.debug.state_digest import PERSISTENT_LAYERS
from eikon_engine.errors import PageMissingError, UsageError
from eikon_engine.outcome.events import ActionPerformed, RunEnd, RunStart, SkillRun, verdict_of
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.trace.actions import Click, Fill
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.target import Target
from tests.debug.contexts.pool_driver import WHO, PoolDriver
from tests.missions.counter import SECRET

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.bundle import Bundle

pytestmark = pytest.mark.browser

LOADED = 4
"""Steps after which the page has been clicked three times."""


def event_names(events: Sequence[object]) -> list[tuple[str, object]]:
    """Return the types of events, with the verdicts of steps."""
    steps = (ActionPerformed, SkillRun)
    return [(type(each).__name__, verdict_of(each) if isinstance(each, steps) else None) for each in events]


def with_action(bundle: Bundle, position: int, action: Action) -> Bundle:
    """Return a bundle with another action at a position."""
    place = 0

    def changed(step: ActionTrace) -> ActionTrace:
        nonlocal place
        place += 1
        return step.model_copy(update={"action": action}) if place == position else step

    subgoals = tuple(
        subgoal.model_copy(update={"actions_taken": tuple(map(changed, subgoal.actions_taken))})
        for subgoal in bundle.trace.subgoal_traces
    )
    return replace(bundle, trace=bundle.trace.model_copy(update={"subgoal_traces": subgoals}))


def test_stepping_yields_the_events_of_a_replay(driver: PoolDriver, tmp_path: Path) -> None:
    """The events, their order and their verdicts are equal, subgoals included."""
    event_lines: list[EventLine] = []
    options = ReplayOptions(
        artifacts_dir=tmp_path / "run", readers=(event_lines.append,), secrets={SECRET: WHO}, reports=()
    )
    ReplayEngine(options).replay(driver.bundle.root)
    context = driver.open()

    stepped = driver.step(context, context.step_count)

    whole = [each.event for each in event_lines if not isinstance(each.event, RunStart | RunEnd)]
    assert event_names(stepped) == event_names(whole)
    assert context.next_step is None
    assert [verdict_of(each) for each in context.outcomes] == ["faithful"] * context.step_count


def test_observing_does_not_affect_the_mission(driver: PoolDriver) -> None:
    """Observing is allowed between any two steps, any number of times."""
    observed, left_alone = driver.open(), driver.open()

    for _ in range(observed.step_count):
        driver.portal.call(observed.browser.observe)
        assert driver.portal.call(observed.is_unchanged)
        driver.step(observed)
        driver.step(left_alone)

    assert observed.observed.digests == left_alone.observed.digests
    assert [verdict_of(each) for each in observed.outcomes] == ["faithful"] * observed.step_count


def test_events_during_a_pause_belong_to_the_next_step(driver: PoolDriver) -> None:
    """Observing consumes none of them."""
    context = driver.open()
    driver.step(context, 2)
    driver.evaluate(context, "console.error('by hand')")
    for _ in range(2):
        assert driver.portal.call(context.browser.observe).observation.console_errors == ("by hand",)

    driver.step(context)

    assert context.observed.last_observed.observation.console_errors == ("by hand",)
    assert verdict_of(context.outcomes[-1]) == "diverged"


def test_an_observation_shows_the_current_page(driver: PoolDriver) -> None:
    """Each position has its own digests, and snapshots with the documents."""
    context = driver.open()
    driver.step(context, LOADED)

    captured = driver.portal.call(context.browser.observe)

    assert captured.snapshots.keys() == context.observed.last_observed.snapshots.keys() == {0}
    assert captured.observation.pages == context.observed.last_observed.observation.pages
    assert len({state.clock for state in context.observed.digests.values()}) == LOADED + 1


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 1", 2),
        ("() => [1, NaN, undefined, 10n]", [1, "NaN", None, "10"]),
        ("document.querySelector('#who')", '<input id="who">'),
        ("document.querySelectorAll('output')", ['<output id="shown"></output>']),
        ("({ at: new Date(0), deep: { set: new Set([1]) } })", {"at": "1970-01-01T00:00:00.000Z", "deep": {"set": {}}}),
        ("(() => { const own = {}; own.own = own; return Object.keys(own) })()", ["own"]),
        ("new Promise(done => done('soon'))", "soon"),
        ("'a' + String.fromCharCode(0xd800)", "a\ufffd"),
    ],
)
def test_javascript_results_are_json_or_text(
    stepped: tuple[PoolDriver, ReplayContext], expression: str, result: object
) -> None:
    """A value that JSON cannot express is returned as text."""
    driver, context = stepped

    evaluation = driver.evaluate(context, expression)

    assert (evaluation.result, evaluation.error) == (result, None)
    assert context.is_modified


def test_failing_javascript_is_a_result(stepped: tuple[PoolDriver, ReplayContext]) -> None:
    """It counts as a modification, because it may have changed something before it failed."""
    driver, context = stepped

    evaluation = driver.evaluate(context, "(() => { document.title = 'half'; throw new TypeError('no') })()")

    assert evaluation.result is None
    assert evaluation.error is not None
    assert "no" in evaluation.error
    assert context.evaluations[-1] == evaluation
    changed = set(evaluation.state.differences(context.observed.digests[context.iteration]))
    assert changed & PERSISTENT_LAYERS == {"dom", "title"}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("(() => { document.title = 'turned'; for (;;); })()", "was terminated"),
        ("new Promise(done => setTimeout(done, 10))", "page time does not advance"),
    ],
)
def test_endless_javascript_times_out(
    driver: PoolDriver, monkeypatch: pytest.MonkeyPatch, expression: str, why: str
) -> None:
    """The mission continues from the modified state, and a rewind repeats the timeout."""
    monkeypatch.setattr(standing, "EVALUATION_TIMEOUT_S", 0.5)
    context = driver.open()
    driver.step(context, 2)

    evaluation = driver.evaluate(context, expression)
    driver.step(context, 4)
    again = driver.restore(context.history, 4).context

    assert why in str(evaluation.error)
    assert driver.page_state(again) == driver.page_state(context)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("document.title", "Counter"),
        ("[...document.querySelectorAll('button')].map(each => each.id)", ["more", "ask"]),
        (
            "({ shown, deep: { list: [1, '__proto__'] } })",
            {"shown": '<output id="shown"></output>', "deep": {"list": [1, "__proto__"]}},
        ),
        ("Object.keys(localStorage).length >= 0", True),
    ],
)
def test_reading_does_not_modify(driver: PoolDriver, expression: str, result: object) -> None:
    """An expression without an effect is read, and not part of the history."""
    context = driver.open()
    driver.step(context, 2)

    read = driver.portal.call(context.read, expression)

    assert read is not None
    assert (read.result, read.error) == (result, None)
    assert not context.is_modified
    driver.step(context)
    assert [verdict_of(each) for each in context.outcomes] == ["faithful"] * len(context.outcomes)


@pytest.mark.parametrize(
    "expression",
    [
        "window.changed = 1",
        "document.title = 'changed'",
        "(() => { try { window.changed = 1 } catch { } return 2 })()",
        "1)); window.changed = 1; ((2",
        "window.changed = 1; 2",
        "Math.random()",
        "fetch('/')",
        "() => { window.changed = 1 }",
        "(async () => { window.changed = 1 })()",
        "({ get then() { window.changed = 1 } })",
        "({ toJSON() { window.changed = 1; return 2 } })",
        "(() => { for (;;); })()",
    ],
)
def test_what_may_have_an_effect_is_not_read(driver: PoolDriver, expression: str) -> None:
    """Nothing of it has happened."""
    context = driver.open()
    driver.step(context, 2)
    before = driver.page_state(context)

    assert driver.portal.call(context.read, expression) is None

    assert driver.page_state(context) == before
    unchanged = driver.portal.call(context.read, "typeof window.changed")
    assert unchanged is not None
    assert unchanged.result == "undefined"


def test_an_error_is_read(driver: PoolDriver) -> None:
    """An expression that fails before any effect has changed nothing."""
    context = driver.open()
    driver.step(context, 2)

    read = driver.portal.call(context.read, "nothing.here")

    assert read is not None
    assert str(read.error).startswith("ReferenceError: nothing is not defined")


def test_javascript_needs_an_open_page(driver: PoolDriver) -> None:
    """The context does not count as modified."""
    context = driver.open()

    with pytest.raises(PageMissingError, match="page 3"):
        driver.evaluate(context, "1", page=3)
    with pytest.raises(PageMissingError, match=r"0\.1"):
        driver.evaluate(context, "1", frame="0.1")

    assert not context.is_modified
    driver.step(context)


def test_secrets_are_redacted_in_javascript_and_its_results(driver: PoolDriver) -> None:
    """A placeholder replaces them, and is resolved when the JavaScript is repeated."""
    context = driver.open()
    driver.step(context, 7)

    evaluation = driver.evaluate(context, f"localStorage.who + (localStorage.who === {WHO!r})")

    assert WHO not in evaluation.model_dump_json()
    assert str(evaluation.result).endswith("true")
    assert driver.evaluate(context, evaluation.expression).result == evaluation.result


def test_upcoming_steps_can_be_replaced(driver: PoolDriver) -> None:
    """The pages stay where they are, and all counts stay."""
    context = driver.open()
    driver.step(context, LOADED)
    before = driver.page_state(context)
    context.replan(with_action(driver.bundle, 8, Fill(target=Target(selector="#who"), text="Grace")))

    assert driver.page_state(context) == before
    driver.step(context, 8)

    verdicts = [verdict_of(each) for each in context.outcomes]
    assert verdicts[:7] == ["faithful"] * 7
    assert verdicts[7] == "diverged"


def test_done_steps_cannot_be_replaced(driver: PoolDriver) -> None:
    """The context continues unchanged."""
    context = driver.open()
    driver.step(context, LOADED)

    with pytest.raises(UsageError, match="differs in the 4 steps already done"):
        context.replan(with_action(driver.bundle, 2, Click(target=Target(selector="#ask"))))

    driver.step(context)
    assert verdict_of(context.outcomes[-1]) == "faithful"


def test_advancing_past_the_last_step_is_an_error(driver: PoolDriver) -> None:
    """The message says that no steps are left."""
    context = driver.open()
    driver.step(context, context.step_count)

    with pytest.raises(UsageError, match="all 12 of the mission are done"):
        driver.step(context)


def test_an_interrupted_step_makes_the_context_unusable(driver: PoolDriver) -> None:
    """The state of its pages is unknown."""
    context = driver.open()

    async def begin() -> None:
        events = context.advance()
        await anext(events)
        await events.aclose()

    driver.portal.call(begin)

    assert not context.is_usable
    with pytest.raises(UsageError, match="step 1 was interrupted"):
        driver.step(context)


@pytest.fixture(scope="module")
def stepped(shared: PoolDriver) -> tuple[PoolDriver, ReplayContext]:
    """Return a context on the loaded page, shared by tests that do not affect each other."""
    context = shared.open()
    shared.step(context, 1)
    return shared, context
