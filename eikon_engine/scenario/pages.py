"""What a scenario does to pages: for real while it is recorded, as recorded in a replay."""

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
        """Group what is done inside the block as one attempt."""

    async def perform(self, action: Action) -> Observation:
        """Do something to a page, tell its events, and return what was observed.

        Raises:
            ActionError: it failed.
            ReplayError: in a replay, something else was recorded.
        """

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:
        """Run a skill on a page, tell its events, and return its output.

        Raises:
            SkillError: it failed.
            ReplayError: in a replay, something else was recorded.
        """

    async def repeat(self, action: Action) -> None:
        """In a replay, do again what a tool did to a page when it was recorded.

        Raises:
            ReplayError: something else was recorded.
        """

    async def finish(self) -> None:
        """End the mission.

        Raises:
            ReplayError: in a replay, more was recorded, or something differs.
        """


class NoPages:
    """Stand where a scenario does nothing to pages."""

    def subgoal(self, description: str, subgoal_id: str) -> AbstractAsyncContextManager[None]:
        """Group nothing."""
        raise self._fault(f"subgoal {subgoal_id}: {description}")

    async def perform(self, action: Action) -> Observation:
        """Fail: the scenario was read as one without actions."""
        raise self._fault(action.type)

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:  # noqa: ARG002 - as Pages
        """Fail, as above."""
        raise self._fault(step.skill)

    async def repeat(self, action: Action) -> None:
        """Fail, as above."""
        raise self._fault(action.type)

    async def finish(self) -> None:
        """End nothing."""

    def _fault(self, what: str) -> InternalError:
        return InternalError(f"the scenario was run without a browser, and wants one for {what}")
