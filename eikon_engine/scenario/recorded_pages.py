"""Perform the page steps of a scenario and record them as a mission."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from eikon_engine.errors import CompletionError, SkillError
from eikon_engine.outcome.events import (
    ActionStart,
    ActionTaken,
    ObservationMade,
    RecordedAction,
    RecordedSkill,
    SkillUsed,
)
from eikon_engine.outcome.stored import InlineValue
from eikon_engine.replay.label import label
from eikon_engine.scenario.tools.browser import NAME as BROWSER
from eikon_engine.trace.execution import Failed, Succeeded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic import JsonValue

    from eikon_engine.completions import Answered
    from eikon_engine.record.recorder import MissionRecorder
    from eikon_engine.scenario.calls import CallAnswered, CallMade
    from eikon_engine.scenario.model import SkillStep
    from eikon_engine.scenario.run_events import RunEvents
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ActionTrace, Result
    from eikon_engine.trace.observation import Observation


class RecordedPages:
    """Drive a recorder and emit its events."""

    def __init__(self, recorder: MissionRecorder, events: RunEvents) -> None:
        """Record with `recorder`."""
        self._recorder = recorder
        self._events = events
        self._is_inside = False
        self._failed_seen = 0

    @asynccontextmanager
    async def subgoal(self, description: str, subgoal_id: str) -> AsyncIterator[None]:
        """Group the steps inside the block as one attempt."""
        async with self._recorder.subgoal(description, subgoal_id=subgoal_id):
            self._is_inside = True
            try:
                yield
            finally:
                self._is_inside = False

    def called(self, made: CallMade) -> None:
        """Do nothing: a tool call is noted with its result."""

    def answered(self, answered: CallAnswered) -> None:
        """Note a tool call among the actions of the mission; those of `browser` are actions themselves."""
        if self._is_inside and answered.made.tool != BROWSER:
            error = "" if answered.error is None else f"{answered.error.type}: {answered.error.message}"
            self._recorder.tool(answered.made.tool, answered.made.args, result=answered.result, error=error)

    def completed(self, answered: Answered) -> None:
        """Note a model response among the actions of the mission."""
        if self._is_inside:
            self._recorder.completion(answered.response)

    async def perform(self, action: Action) -> Observation:
        """Perform one action.

        Raises:
            ActionError: it failed.
            GateFailedError: it exceeds a limit.
        """
        events = self._events
        text = self._recorder.clean_text(label(action))
        events.take(ActionStart(subgoal=events.subgoal, sequence=events.sequence, action=action.type, label=text))
        events.demand_within_limits()
        before = self._recorder.last_action
        try:
            return await self._recorder.perform(action)
        finally:
            done = self._recorder.last_action
            if done is not None and done is not before:
                self._tell_action(done, text)

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:
        """Run a skill; its output is redacted, as in a replay.

        Raises:
            SkillError: it failed.
            CompletionError: the model it called failed.
        """
        began = time.perf_counter()
        try:
            output = await self._recorder.skill(step.skill, page=step.page, frame=step.frame, parameters=parameters)
        except (SkillError, CompletionError) as error:
            failed = Failed(code=error.code, message=self._recorder.clean_text(error.message))
            self._tell_skill(step, parameters, failed, None, began)
            raise
        clean = self._recorder.clean_value(output)
        self._tell_skill(step, parameters, Succeeded(), clean, began)
        return clean

    async def repeat(self, action: Action) -> None:
        """Do nothing: the tool performs it."""

    async def finish(self) -> None:
        """Do nothing: the recorder ends with its block."""

    def _tell_action(self, done: ActionTrace, text: str) -> None:
        events = self._events
        if done.observation is not None:
            failed = self._recorder.failed_requests
            begin, self._failed_seen = self._failed_seen, len(failed or ())
            events.take(
                ObservationMade(
                    subgoal=events.subgoal,
                    sequence=done.sequence,
                    observation=done.observation,
                    failed=None if failed is None else failed[begin:],
                )
            )
        began, ended = done.started_at, done.ended_at
        outcome = RecordedAction(
            id=done.id,
            sequence=done.sequence,
            type=done.action.type,
            label=text,
            result=done.result,
            duration_ms=None if began is None or ended is None else (ended - began).total_seconds() * 1000,
            artifacts=done.artifacts,
        )
        events.take(ActionTaken(subgoal=events.subgoal, outcome=outcome))

    def _tell_skill(
        self, step: SkillStep, parameters: dict[str, JsonValue], result: Result, output: JsonValue, began: float
    ) -> None:
        events = self._events
        outcome = RecordedSkill(
            id=f"{events.subgoal}_skill_{events.sequence:03d}",
            sequence=events.sequence,
            skill=step.skill,
            parameters={name: self._recorder.clean_value(each) for name, each in parameters.items()},
            result=result,
            duration_ms=(time.perf_counter() - began) * 1000,
        )
        events.take(SkillUsed(subgoal=events.subgoal, outcome=outcome, output=InlineValue(value=output)))
