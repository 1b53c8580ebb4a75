"""A mission that stands still between its steps."""

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
from tests.debug.lines.desk import WHO, Desk
from tests.missions.counter import SECRET

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.bundle import Bundle

LOADED = 4
"""Steps after which the page has been clicked three times."""


def told(events: Sequence[object]) -> list[tuple[str, object]]:
    """Name events, with the verdicts of steps."""
    steps = (ActionPerformed, SkillRun)
    return [(type(each).__name__, verdict_of(each) if isinstance(each, steps) else None) for each in events]


def with_action(bundle: Bundle, position: int, action: Action) -> Bundle:
    """Return a bundle with another action in a place."""
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


def test_stepping_tells_what_a_replay_tells(desk: Desk, tmp_path: Path) -> None:
    """The same events in the same order, subgoals included, with the same verdicts."""
    lines: list[EventLine] = []
    options = ReplayOptions(artifacts_dir=tmp_path / "run", readers=(lines.append,), secrets={SECRET: WHO}, reports=())
    ReplayEngine(options).replay(desk.bundle.root)
    line = desk.open()

    stepped = desk.step(line, line.step_count)

    whole = [each.event for each in lines if not isinstance(each.event, RunStart | RunEnd)]
    assert told(stepped) == told(whole)
    assert line.next_step is None
    assert [verdict_of(each) for each in line.outcomes] == ["faithful"] * line.step_count


def test_looking_changes_nothing(desk: Desk) -> None:
    """Between any two steps, however often."""
    looked, left_alone = desk.open(), desk.open()

    for _ in range(looked.step_count):
        desk.portal.call(looked.observe)
        assert desk.portal.call(looked.is_unchanged)
        desk.step(looked)
        desk.step(left_alone)

    assert looked.digests == left_alone.digests
    assert [verdict_of(each) for each in looked.outcomes] == ["faithful"] * looked.step_count


def test_what_came_while_it_stood_still_belongs_to_the_next_step(desk: Desk) -> None:
    """Looking takes nothing of it away, however often."""
    line = desk.open()
    desk.step(line, 2)
    desk.evaluate(line, "console.error('by hand')")
    for _ in range(2):
        assert desk.portal.call(line.observe).observation.console_errors == ("by hand",)

    desk.step(line)

    assert line.last_observed.observation.console_errors == ("by hand",)
    assert verdict_of(line.outcomes[-1]) == "diverged"


def test_what_is_looked_at_is_what_the_page_shows(desk: Desk) -> None:
    """Each moment has digests of its own, and a sight that leads to the documents."""
    line = desk.open()
    desk.step(line, LOADED)

    sight = desk.portal.call(line.observe)

    assert sight.snapshots.keys() == line.last_observed.snapshots.keys() == {0}
    assert sight.observation.pages == line.last_observed.observation.pages
    assert len({state.clock for state in line.digests.values()}) == LOADED + 1


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
def test_javascript_gives_what_json_can_say(
    stepped: tuple[Desk, ReplayContext], expression: str, result: object
) -> None:
    """What it cannot is given as text."""
    desk, line = stepped

    evaluation = desk.evaluate(line, expression)

    assert (evaluation.result, evaluation.error) == (result, None)
    assert line.is_modified


def test_javascript_that_fails_is_an_answer(stepped: tuple[Desk, ReplayContext]) -> None:
    """It may have changed something before, so that it counts."""
    desk, line = stepped

    evaluation = desk.evaluate(line, "(() => { document.title = 'half'; throw new TypeError('no') })()")

    assert evaluation.result is None
    assert evaluation.error is not None
    assert "no" in evaluation.error
    assert line.evaluations[-1] == evaluation
    changed = set(evaluation.state.differences(line.digests[line.iteration]))
    assert changed & PERSISTENT_LAYERS == {"dom", "title"}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("(() => { document.title = 'turned'; for (;;); })()", "was stopped"),
        ("new Promise(done => setTimeout(done, 10))", "page time does not advance"),
    ],
)
def test_javascript_that_never_ends_is_given_up(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, expression: str, why: str
) -> None:
    """The mission goes on from what it left behind, and it is given up again on the way there."""
    monkeypatch.setattr(standing, "EVALUATION_TIMEOUT_S", 0.5)
    line = desk.open()
    desk.step(line, 2)

    evaluation = desk.evaluate(line, expression)
    desk.step(line, 4)
    again = desk.at(line.history, 4).context

    assert why in str(evaluation.error)
    assert desk.asked(again) == desk.asked(line)


def test_javascript_is_not_run_where_there_is_no_page(desk: Desk) -> None:
    """Nothing was touched then."""
    line = desk.open()

    with pytest.raises(PageMissingError, match="page 3"):
        desk.evaluate(line, "1", page=3)
    with pytest.raises(PageMissingError, match=r"0\.1"):
        desk.evaluate(line, "1", frame="0.1")

    assert not line.is_modified
    desk.step(line)


def test_secrets_are_neither_in_what_was_run_nor_in_what_it_gave(desk: Desk) -> None:
    """A placeholder stands for them, and is understood where it is run again."""
    line = desk.open()
    desk.step(line, 7)

    evaluation = desk.evaluate(line, f"localStorage.who + (localStorage.who === {WHO!r})")

    assert WHO not in evaluation.model_dump_json()
    assert str(evaluation.result).endswith("true")
    assert desk.evaluate(line, evaluation.expression).result == evaluation.result


def test_other_steps_may_come_after_those_that_are_done(desk: Desk) -> None:
    """The page stays where it is, and everything that was counted stays counted."""
    line = desk.open()
    desk.step(line, LOADED)
    before = desk.asked(line)
    line.replan(with_action(desk.bundle, 8, Fill(target=Target(selector="#who"), text="Grace")))

    assert desk.asked(line) == before
    desk.step(line, 8)

    verdicts = [verdict_of(each) for each in line.outcomes]
    assert verdicts[:7] == ["faithful"] * 7
    assert verdicts[7] == "diverged"


def test_steps_that_are_done_cannot_be_others(desk: Desk) -> None:
    """The line goes on as it was."""
    line = desk.open()
    desk.step(line, LOADED)

    with pytest.raises(UsageError, match="the 4 steps that are done"):
        line.replan(with_action(desk.bundle, 2, Click(target=Target(selector="#ask"))))

    desk.step(line)
    assert verdict_of(line.outcomes[-1]) == "faithful"


def test_nothing_comes_after_the_last_step(desk: Desk) -> None:
    """One clear line says so."""
    line = desk.open()
    desk.step(line, line.step_count)

    with pytest.raises(UsageError, match="all 12 of the mission are done"):
        desk.step(line)


def test_a_step_that_was_cut_off_breaks_the_line(desk: Desk) -> None:
    """Nobody knows where its pages stand."""
    line = desk.open()

    async def begin() -> None:
        events = line.advance()
        await anext(events)
        await events.aclose()

    desk.portal.call(begin)

    assert not line.is_usable
    with pytest.raises(UsageError, match="step 1 was interrupted"):
        desk.step(line)


@pytest.fixture(scope="module")
def stepped(shared: Desk) -> tuple[Desk, ReplayContext]:
    """Give a line on the loaded page, for what does not mind the others."""
    line = shared.open()
    shared.step(line, 1)
    return shared, line
