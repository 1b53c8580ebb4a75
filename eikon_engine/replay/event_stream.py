"""Replay a plan as one stream of events."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.outcome.events import (
    ActionPerformed,
    ActionStart,
    DivergenceFound,
    Event,
    Note,
    ObservationMade,
    RunEnd,
    RunStart,
    SkillRun,
    SubgoalEnd,
    SubgoalStart,
    action_event,
    skill_event,
    verdict_of,
)
from eikon_engine.outcome.verdict import combine_verdicts
from eikon_engine.replay.options import Halt
from eikon_engine.replay.plan import plan_digest, resume_notes
from eikon_engine.trace.execution import SkillUsage
from eikon_engine.trace.labels import action_label

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from eikon_engine.outcome.events import RunEnding
    from eikon_engine.outcome.outcomes import ResumePoint, Verdict
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan, PlannedStep, PlannedSubgoal
    from eikon_engine.replay.step import IsExpected, StepRunner
    from eikon_engine.trace.environment import Environment


def _do_nothing() -> None:
    pass


async def replay_events(
    plan: Plan,
    runner: StepRunner,
    options: ReplayOptions,
    browser_and_environment: tuple[str, Environment],
    on_resume: Callable[[], None] = _do_nothing,
) -> AsyncGenerator[Event]:
    """Yield the events of a replay; it proceeds when the consumer asks for the next one.

    `browser_and_environment` is the browser name and the environment of the replay. `on_resume` is called before the
    step to resume at. A divergence before that step ends the run, even with `on_divergence="continue"`.
    """
    yield _run_start(plan, options, browser_and_environment)
    for text in plan.permissions.announcements:
        yield Note(text=text)
    ended_early = None
    walk = _ReplayState(runner=runner, options=options, resume_point=plan.resume_point, on_resume=on_resume)
    for subgoal in plan.subgoals:
        async with aclosing(_subgoal_events(subgoal, walk)) as events:
            async for event in events:
                yield event
                if isinstance(event, SubgoalEnd):
                    ended_early = _stop_reason(event.verdict, options)
                elif isinstance(event, RunEnd):
                    yield event.model_copy(update={"network": runner.network_outcome()})
                    return
        if ended_early is not None:
            break
    how: RunEnding = "complete" if ended_early is None else "stopped"
    yield RunEnd(how=how, ended_early=ended_early, network=runner.network_outcome(is_complete=ended_early is None))


def _run_start(plan: Plan, options: ReplayOptions, browser_info: tuple[str, Environment]) -> RunStart:
    browser, environment = browser_info
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
        resume_point=plan.resume_point,
    )


def _stop_reason(verdict: Verdict | None, options: ReplayOptions) -> str | None:
    return "stopped at the first divergence" if verdict == "diverged" and options.on_divergence == "stop" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReplayState:
    """State shared by the steps of one replay."""

    runner: StepRunner
    options: ReplayOptions
    resume_point: ResumePoint | None
    on_resume: Callable[[], None]

    def is_resume_step(self, planned: PlannedStep) -> bool:
        return self.resume_point is not None and planned.position == self.resume_point.step

    def precedes_resume_step(self, planned: PlannedStep) -> bool:
        """Return whether a step precedes the one to resume at."""
        return self.resume_point is not None and planned.position < self.resume_point.step

    def resume_notes(self) -> tuple[Note, ...]:
        """Return the notes to emit when the replay resumes."""
        return () if self.resume_point is None else tuple(Note(text=text) for text in resume_notes(self.resume_point))


async def _subgoal_events(subgoal: PlannedSubgoal, walk: _ReplayState) -> AsyncGenerator[Event]:
    yield subgoal_start(subgoal)
    verdicts: list[Verdict] = []
    for planned in subgoal.steps:
        decision = await walk.options.controller.decide(planned)
        if isinstance(decision, Halt):
            yield RunEnd(how="stopped", ended_early=decision.reason)
            return
        if walk.is_resume_step(planned):
            for note in walk.resume_notes():
                yield note
            walk.on_resume()
        async with aclosing(replay_step(planned, walk.runner)) as events:
            async for event in events:
                yield event
                if isinstance(event, ActionPerformed | SkillRun):
                    verdicts.append(verdict_of(event))
        if verdicts[-1] == "diverged" and walk.precedes_resume_step(planned):
            yield subgoal_end(subgoal, verdicts)
            yield RunEnd(how="stopped", ended_early=_cannot_resume(planned, walk.resume_point))
            return
        if verdicts[-1] == "diverged" and walk.options.on_divergence == "stop":
            break
    yield subgoal_end(subgoal, verdicts)


def _cannot_resume(planned: PlannedStep, resumed: ResumePoint | None) -> str:
    number = resumed.step if resumed is not None else 0
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
    return SubgoalEnd(number=subgoal.number, id=subgoal.subgoal.id, verdict=combine_verdicts(verdicts))


async def replay_step(
    planned: PlannedStep, runner: StepRunner, is_expected: IsExpected | None = None
) -> AsyncGenerator[Event]:
    """Replay one step and yield its events; for `is_expected` see `StepRunner.replay_action`."""
    attempt = planned.subgoal.id
    if isinstance(planned.step, SkillUsage):
        skill = runner.rerun_skill(planned, planned.step)
        yield skill_event(attempt, skill)
        found = skill.divergences
    else:
        action = planned.step.action
        yield ActionStart(
            subgoal=attempt, sequence=planned.step.sequence, action=action.type, label=action_label(action)
        )
        performed = await runner.replay_action(planned, planned.step, is_expected)
        if performed.observation is not None:
            yield ObservationMade(
                subgoal=attempt,
                sequence=performed.sequence,
                observation=performed.observation,
                failed=runner.take_failed_requests(),
            )
        yield action_event(attempt, performed)
        found = performed.divergences
    for divergence in found:
        yield DivergenceFound(divergence=divergence)
