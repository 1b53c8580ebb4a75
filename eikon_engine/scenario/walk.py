"""Run the steps of a scenario, identically in recordings and replays."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from eikon_engine.completions import CompletionRequest, Message
from eikon_engine.errors import (
    ActionError,
    CompletionError,
    EikonError,
    InternalError,
    ScenarioError,
    SkillError,
    ToolError,
)
from eikon_engine.scenario.aside import run_aside
from eikon_engine.scenario.model import ActionStep, CompletionStep, NoteStep, SkillStep, ToolStep
from eikon_engine.scenario.references import filled
from eikon_engine.scenario.stored_result import store_result
from eikon_engine.scenario.tools.browser import NAME as BROWSER
from eikon_engine.scenario.tools.browser import pages_of, read_action
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.blobs import ref_of
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.completions import CompletionClient
    from eikon_engine.scenario.model import Scenario, Step, Subgoal
    from eikon_engine.scenario.pages import Pages
    from eikon_engine.scenario.run_events import RunEvents
    from eikon_engine.scenario.tool_box import ToolBox
    from eikon_engine.trace.execution import MissionStatus
    from eikon_engine.trace.redaction import Redactor

Expected = (ActionError, SkillError, ToolError, CompletionError)
"""Errors that a step may expect; all others end the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The services that the steps of a scenario use."""

    box: ToolBox
    models: CompletionClient | None
    """None if no step calls a model."""
    pages: Pages
    events: RunEvents
    redactor: Redactor
    """Restores the values of secrets, and redacts them."""


class Walk:
    """One run of the steps of a scenario."""

    def __init__(self, scenario: Scenario, variables: Mapping[str, str], around: Surroundings) -> None:
        """Start with the variables."""
        self._scenario = scenario
        self._box = around.box
        self._models = around.models
        self._pages = around.pages
        self._events = around.events
        self._redactor = around.redactor
        self._known: dict[str, JsonValue] = dict(variables)
        self.outputs: dict[str, JsonValue] = {}
        """Outputs of steps, by name."""

    async def go(self) -> None:
        """Run all steps.

        Raises:
            EikonError: a step failed unexpectedly, or did not fail as expected.
        """
        for number, subgoal in enumerate(self._scenario.subgoals, start=1):
            attempt = f"{subgoal.id}__attempt_1"  # the naming of the recorder
            steps = len(subgoal.steps) + (number == 1 and self._scenario.start_url is not None)
            self._events.begin_subgoal(number, attempt, subgoal.id, subgoal.description, steps)
            status: MissionStatus = "failed"
            try:
                await self._subgoal(subgoal, is_first=number == 1)
                status = "complete"
            except asyncio.CancelledError:
                status = "aborted"
                raise
            finally:
                self._events.end_subgoal(number, status)
            self._events.demand_within_limits()
        await self._pages.finish()

    async def _subgoal(self, subgoal: Subgoal, *, is_first: bool) -> None:
        url = self._scenario.start_url if is_first else None
        touches_pages = url is not None or any(_touches_pages(step) for step in subgoal.steps)
        if not touches_pages:
            await self._steps(subgoal)
            return
        async with self._pages.subgoal(subgoal.description, subgoal.id):
            if url is not None:
                self._events.sequence += 1
                await self._pages.perform(Navigate(url=_as_text(self._filled(url))))
            await self._steps(subgoal)

    async def _steps(self, subgoal: Subgoal) -> None:
        for place, step in enumerate(subgoal.steps, start=1):
            self._events.demand_within_limits()
            if isinstance(step, NoteStep):
                self._events.note(self._redactor.text(_as_text(filled(step.note, self._known))))
                continue
            self._events.sequence += 1
            output = await self._tried(step, f"{subgoal.id}, step {place}")
            if step.save_as is not None:
                self._known[step.save_as] = self.outputs[step.save_as] = output

    async def _tried(self, step: ActionStep | ToolStep | SkillStep | CompletionStep, where: str) -> JsonValue:
        """Run a step; if it fails as expected, return the error as its output."""
        try:
            output = await self._done(step, where)
        except Expected as error:
            if not _is_expected(step, error):
                raise
            return {"error": {"code": error.code, "message": self._redactor.text(error.message)}}
        if step.expect_error is not False:
            wanted = "an error" if step.expect_error is True else f"the error {step.expect_error}"
            raise ScenarioError(
                f"{where}: expected {wanted} (expect_error), got success. Fix the step or expect_error."
            )
        return output

    async def _done(self, step: ActionStep | ToolStep | SkillStep | CompletionStep, where: str) -> JsonValue:
        match step:
            case ActionStep():
                action = self._object(step.action)
                try:
                    return pages_of(await self._pages.perform(read_action(action)))
                except ValidationError as error:
                    fault = error.errors(include_url=False)[0]
                    place = ".".join(map(str, fault["loc"]))
                    message = f"{where}: invalid action after resolving references: {place}: {fault['msg']}"
                    raise ScenarioError(message) from error
            case ToolStep():
                return await self._called(step)
            case SkillStep():
                return await self._pages.skill(step, self._object(step.parameters))
            case CompletionStep():
                return await self._asked(step, where)

    async def _called(self, step: ToolStep) -> JsonValue:
        args = self._object(step.args)
        if step.tool == BROWSER:
            await self._pages.repeat(read_action(cast("dict[str, JsonValue]", args["action"])))
        return store_result(await self._box.acall(step.tool, args), ref_of)

    async def _asked(self, step: CompletionStep, where: str) -> JsonValue:
        asked = step.completion
        request = CompletionRequest(
            metric_id=step.metric_id or where.replace(", step ", "."),
            messages=tuple(
                Message(role=each.role, content=_as_text(self._filled(each.content)))
                for each in (asked.messages or (Message(role="user", content=asked.prompt or ""),))
            ),
            model=asked.model,
            parameters=self._object(asked.parameters),
        )
        if self._models is None:
            raise InternalError(f"{where}: the step calls a model, but the scenario runs without one")
        completion = await run_aside(partial(self._models.complete, request))
        return completion.text

    def _filled(self, value: JsonValue) -> JsonValue:
        return self._redactor.restore_texts(filled(value, self._known))

    def _object(self, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return cast("dict[str, JsonValue]", self._filled(value))


def _touches_pages(step: Step) -> bool:
    return isinstance(step, ActionStep | SkillStep) or (isinstance(step, ToolStep) and step.tool == BROWSER)


def _is_expected(step: ActionStep | ToolStep | SkillStep | CompletionStep, error: EikonError) -> bool:
    match step.expect_error:
        case bool():
            return step.expect_error
        case str(name):
            names = {error.code}
            if isinstance(error, ToolError):
                names |= {error.error_type, error.error_code or error.code}
            return name in names


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)
