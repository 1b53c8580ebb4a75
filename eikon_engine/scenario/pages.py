"""The pages of a scenario: driven while recording, replayed from the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eikon_engine.errors import InternalError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from pydantic import JsonValue

    from eikon_engine.scenario.model import SkillStep
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.observation import Observation


class Pages(Protocol):
    """The pages of a mission."""

    def subgoal(self, description: str, subgoal_id: str) -> AbstractAsyncContextManager[None]:
        """Group the steps inside the block as one attempt."""

    async def run(self, action: Action) -> Observation:
        """Perform an action, emit its events, and return the observation.

        Raises:
            ActionError: it failed.
            ReplayError: in a replay, the step differs from the recording.
        """

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:
        """Run a skill on a page, emit its events, and return its output.

        Raises:
            SkillError: it failed.
            ReplayError: in a replay, the step differs from the recording.
        """

    async def replay_tool_action(self, action: Action) -> None:
        """In a replay, replay the action that a tool performed in the recording.

        Raises:
            ReplayError: the action differs from the recording.
        """

    async def finish(self) -> None:
        """End the mission.

        Raises:
            ReplayError: in a replay, recorded steps are left over, or something differs.
        """


class NoPages:
    """The pages of a scenario without page steps; every use fails."""

    def subgoal(self, description: str, subgoal_id: str) -> AbstractAsyncContextManager[None]:
        """Fail: the scenario has no page steps."""
        raise self._error(f"subgoal {subgoal_id}: {description}")

    async def run(self, action: Action) -> Observation:
        """Fail: the scenario has no page steps."""
        raise self._error(action.type)

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:  # noqa: ARG002 - as Pages
        """Fail: the scenario has no page steps."""
        raise self._error(step.skill)

    async def replay_tool_action(self, action: Action) -> None:
        """Fail: the scenario has no page steps."""
        raise self._error(action.type)

    async def finish(self) -> None:
        """Do nothing."""

    def _error(self, what: str) -> InternalError:
        return InternalError(f"the scenario runs without a browser, but needs one for {what}")
