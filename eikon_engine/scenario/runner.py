"""Run the steps of a scenario, identically in recordings and replays."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from eikon_engine.errors import (
    ActionError,
    CompletionError,
    EikonError,
    InternalError,
    ScenarioError,
    SkillError,
    ToolError,
)
from eikon_engine.files.blobs import blob_ref
from eikon_engine.files.json_text import canonical_json
from eikon_engine.llm import CompletionRequest, Message
from eikon_engine.scenario.fixtures import store_result
from eikon_engine.scenario.model import ActionStep, CompletionStep, NoteStep, SkillStep, ToolStep
from eikon_engine.scenario.references import resolve_references
from eikon_engine.scenario.tool_box import run_in_daemon_thread
from eikon_engine.scenario.tools.browser import BROWSER_TOOL as BROWSER
from eikon_engine.scenario.tools.browser import describe_pages, read_action
from eikon_engine.trace.actions import Navigate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.llm import CompletionClient
    from eikon_engine.scenario.model import ScenarioFile, Step, Subgoal
    from eikon_engine.scenario.pages import Pages
    from eikon_engine.scenario.run_folder import RunEvents
    from eikon_engine.scenario.tool_box import ToolBox
    from eikon_engine.secrets.redaction import Redactor
    from eikon_engine.trace.execution import MissionStatus

EXPECTABLE_ERRORS = (ActionError, SkillError, ToolError, CompletionError)
"""Errors that a step may expect; all others end the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioServices:
    """The services that the steps of a scenario use."""

    box: ToolBox
    models: CompletionClient | None
    """None if no step calls a model."""
    pages: Pages
    events: RunEvents
    redactor: Redactor
    """Restores the values of secrets, and redacts them."""


class ScenarioRunner:
    """One run of the steps of a scenario."""

    def __init__(self, file: ScenarioFile, variables: Mapping[str, str], services: ScenarioServices) -> None:
        """Start with the variables."""
        self._scenario = file.scenario
        self._file_name = file.path.name
        self._box = services.box
        self._models = services.models
        self._pages = services.pages
        self._events = services.events
        self._redactor = services.redactor
        self._values: dict[str, JsonValue] = dict(variables)
        self.outputs: dict[str, JsonValue] = {}
        """Outputs of steps, by name."""

    async def run(self) -> None:
        """Run all steps.

        Raises:
            EikonError: a step failed unexpectedly, or did not fail as expected.
        """
        for number, subgoal in enumerate(self._scenario.subgoals, start=1):
            attempt = f"{subgoal.id}__attempt_1"  # the naming of the recorder
            steps = len(subgoal.steps) + (number == 1 and self._scenario.start_url is not None)
            self._events.start_subgoal(number, attempt, subgoal.id, subgoal.description, steps)
            status: MissionStatus = "failed"
            try:
                await self._run_subgoal(subgoal, is_first=number == 1)
                status = "complete"
            except asyncio.CancelledError:
                status = "aborted"
                raise
            finally:
                self._events.end_subgoal(number, status)
            self._events.require_within_limits()
        await self._pages.finish()

    async def _run_subgoal(self, subgoal: Subgoal, *, is_first: bool) -> None:
        url = self._scenario.start_url if is_first else None
        touches_pages = url is not None or any(_uses_pages(step) for step in subgoal.steps)
        if not touches_pages:
            await self._run_steps(subgoal)
            return
        async with self._pages.subgoal(subgoal.description, subgoal.id):
            if url is not None:
                self._events.sequence += 1
                await self._pages.run(Navigate(url=_as_text(self._resolve(url))))
            await self._run_steps(subgoal)

    async def _run_steps(self, subgoal: Subgoal) -> None:
        for place, step in enumerate(subgoal.steps, start=1):
            self._events.require_within_limits()
            if isinstance(step, NoteStep):
                self._events.note(self._redactor.redact_text(_as_text(resolve_references(step.note, self._values))))
                continue
            self._events.sequence += 1
            output = await self._run_expecting_error(step, f"{subgoal.id}, step {place}")
            if step.save_as is not None:
                self._values[step.save_as] = self.outputs[step.save_as] = output

    async def _run_expecting_error(
        self, step: ActionStep | ToolStep | SkillStep | CompletionStep, where: str
    ) -> JsonValue:
        """Run a step; if it fails as expected, return the error as its output."""
        try:
            output = await self._run_step(step, where)
        except EXPECTABLE_ERRORS as error:
            if not _is_expected(step, error):
                raise
            return {"error": {"code": error.code, "message": self._redactor.redact_text(error.message)}}
        if step.expect_error is not False:
            expected = "an error" if step.expect_error is True else f"the error {step.expect_error}"
            raise ScenarioError(
                f"{where}: expected {expected} (expect_error), got success. Fix the step or expect_error."
            )
        return output

    async def _run_step(self, step: ActionStep | ToolStep | SkillStep | CompletionStep, where: str) -> JsonValue:
        match step:
            case ActionStep():
                action = self._resolve_object(step.action)
                try:
                    return describe_pages(await self._pages.run(read_action(action)))
                except ValidationError as error:
                    fault = error.errors(include_url=False)[0]
                    place = ".".join(map(str, fault["loc"]))
                    message = f"{where}: invalid action after resolving references: {place}: {fault['msg']}"
                    raise ScenarioError(message) from error
            case ToolStep():
                return await self._call_tool(step)
            case SkillStep():
                return await self._pages.skill(step, self._resolve_object(step.parameters))
            case CompletionStep():
                return await self._call_model(step, where)

    async def _call_tool(self, step: ToolStep) -> JsonValue:
        args = self._resolve_object(step.args)
        if step.tool == BROWSER:
            await self._pages.replay_tool_action(read_action(cast("dict[str, JsonValue]", args["action"])))
        return store_result(await self._box.acall(step.tool, args), blob_ref)

    async def _call_model(self, step: CompletionStep, where: str) -> JsonValue:
        completion_step = step.completion
        request = CompletionRequest(
            metric_id=step.metric_id or where.replace(", step ", "."),
            messages=tuple(
                Message(role=each.role, content=_as_text(self._resolve(each.content)))
                for each in (completion_step.messages or (Message(role="user", content=completion_step.prompt or ""),))
            ),
            model=completion_step.model,
            parameters=self._resolve_object(completion_step.parameters),
            file_path=self._file_name,
        )
        if self._models is None:
            raise InternalError(f"{where}: the step calls a model, but the scenario runs without one")
        completion = await run_in_daemon_thread(partial(self._models.complete, request))
        return completion.text

    def _resolve(self, value: JsonValue) -> JsonValue:
        return self._redactor.restore_json(resolve_references(value, self._values))

    def _resolve_object(self, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return cast("dict[str, JsonValue]", self._resolve(value))


def _uses_pages(step: Step) -> bool:
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
