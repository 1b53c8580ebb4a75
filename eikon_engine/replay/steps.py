"""Replay a plan as one stream of events."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.outcome.events import (
    ActionStart,
    ActionTaken,
    DivergenceFound,
    Event,
    Note,
    ObservationMade,
    RunEnd,
    RunStart,
    SkillUsed,
    SubgoalEnd,
    SubgoalStart,
    action_taken,
    skill_used,
    verdict_of,
)
from eikon_engine.outcome.verdict import worst
from eikon_engine.replay.control import Halt
from eikon_engine.replay.label import label
from eikon_engine.replay.plan_digest import plan_digest
from eikon_engine.replay.second_part import told_of
from eikon_engine.trace.execution import SkillUsage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from eikon_engine.browser.worker import Agrees
    from eikon_engine.outcome.events import Ending
    from eikon_engine.outcome.outcomes import SecondPart, Verdict
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan, PlannedStep, PlannedSubgoal
    from eikon_engine.replay.step import StepRunner
    from eikon_engine.trace.environment import Environment


def _nothing() -> None:
    pass


async def replay(
    plan: Plan,
    runner: StepRunner,
    options: ReplayOptions,
    surroundings: tuple[str, Environment],
    go_on: Callable[[], None] = _nothing,
) -> AsyncGenerator[Event]:
    """Yield the events of a replay; it proceeds when the consumer asks for the next one.

    `surroundings` is the browser name and the environment of the replay. `go_on` is called before the step to resume
    at. A divergence before that step ends the run, even with `on_divergence="continue"`.
    """
    yield _run_start(plan, options, surroundings)
    ended_early = None
    walk = _Walk(runner=runner, options=options, second=plan.second_part, go_on=go_on)
    for subgoal in plan.subgoals:
        async with aclosing(_subgoal(subgoal, walk)) as events:
            async for event in events:
                yield event
                if isinstance(event, SubgoalEnd):
                    ended_early = _reason(event.verdict, options)
                elif isinstance(event, RunEnd):
                    yield event.model_copy(update={"network": runner.network()})
                    return
        if ended_early is not None:
            break
    how: Ending = "complete" if ended_early is None else "stopped"
    yield RunEnd(how=how, ended_early=ended_early, network=runner.network())


def _run_start(plan: Plan, options: ReplayOptions, surroundings: tuple[str, Environment]) -> RunStart:
    browser, environment = surroundings
    return RunStart(
        kind="bundle_replay",
        mission_id=plan.trace.mission_id,
        mission_text=plan.trace.mission_text,
        network_mode=plan.network,
        headless=options.headless,
        browser=browser,
        environment=environment,
        subgoals=len(plan.subgoals),
        steps=plan.step_count,
        plan_digest=plan_digest(plan),
        second_part=plan.second_part,
    )


def _reason(verdict: Verdict | None, options: ReplayOptions) -> str | None:
    return "stopped at the first divergence" if verdict == "diverged" and options.on_divergence == "stop" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """State shared by the steps of one replay."""

    runner: StepRunner
    options: ReplayOptions
    second: SecondPart | None
    go_on: Callable[[], None]

    def begins_second(self, planned: PlannedStep) -> bool:
        return self.second is not None and planned.position == self.second.step

    def leads(self, planned: PlannedStep) -> bool:
        """Return whether a step precedes the one to resume at."""
        return self.second is not None and planned.position < self.second.step

    def told(self) -> tuple[Note, ...]:
        """Return the notes to emit when the replay resumes."""
        return () if self.second is None else tuple(Note(text=text) for text in told_of(self.second))


async def _subgoal(subgoal: PlannedSubgoal, walk: _Walk) -> AsyncGenerator[Event]:
    yield subgoal_start(subgoal)
    verdicts: list[Verdict] = []
    for planned in subgoal.steps:
        decision = await walk.options.controller.decide(planned)
        if isinstance(decision, Halt):
            yield RunEnd(how="stopped", ended_early=decision.reason)
            return
        if walk.begins_second(planned):
            for note in walk.told():
                yield note
            walk.go_on()
        async with aclosing(replay_step(planned, walk.runner)) as events:
            async for event in events:
                yield event
                if isinstance(event, ActionTaken | SkillUsed):
                    verdicts.append(verdict_of(event))
        if verdicts[-1] == "diverged" and walk.leads(planned):
            yield subgoal_end(subgoal, verdicts)
            yield RunEnd(how="stopped", ended_early=_cannot_go_on(planned, walk.second))
            return
        if verdicts[-1] == "diverged" and walk.options.on_divergence == "stop":
            break
    yield subgoal_end(subgoal, verdicts)


def _cannot_go_on(planned: PlannedStep, second: SecondPart | None) -> str:
    number = second.step if second is not None else 0
    return f"cannot resume at step {number}: step {planned.position}, which leads there, diverged"


def subgoal_start(subgoal: PlannedSubgoal) -> SubgoalStart:
    """Return the event that starts a subgoal attempt."""
    trace = subgoal.subgoal
    return SubgoalStart(
        number=subgoal.number,
        id=trace.id,
        subgoal_id=trace.subgoal_id,
        description=trace.description,
        steps=len(subgoal.steps),
    )


def subgoal_end(subgoal: PlannedSubgoal, verdicts: Iterable[Verdict]) -> SubgoalEnd:
    """Return the event that ends a subgoal attempt; `verdicts` are those of its steps."""
    return SubgoalEnd(number=subgoal.number, id=subgoal.subgoal.id, verdict=worst(verdicts))


async def replay_step(planned: PlannedStep, runner: StepRunner, agrees: Agrees | None = None) -> AsyncGenerator[Event]:
    """Replay one step and yield its events; for `agrees` see `StepRunner.action`."""
    attempt = planned.subgoal.id
    if isinstance(planned.step, SkillUsage):
        skill = runner.skill(planned, planned.step)
        yield skill_used(attempt, skill)
        found = skill.divergences
    else:
        action = planned.step.action
        yield ActionStart(subgoal=attempt, sequence=planned.step.sequence, action=action.type, label=label(action))
        performed = await runner.action(planned, planned.step, agrees)
        if performed.observation is not None:
            yield ObservationMade(
                subgoal=attempt,
                sequence=performed.sequence,
                observation=performed.observation,
                failed=runner.newly_failed(),
            )
        yield action_taken(attempt, performed)
        found = performed.divergences
    for divergence in found:
        yield DivergenceFound(divergence=divergence)
