"""The one arrow back: a controller decides before each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from eikon_engine.replay.plan import PlannedStep


@dataclass(frozen=True, slots=True)
class Proceed:
    """Perform the step."""


@dataclass(frozen=True, slots=True)
class Halt:
    """End the run before the step."""

    reason: str


Decision: TypeAlias = Proceed | Halt


class Controller(Protocol):
    """Decide, before each step, whether the run goes on."""

    async def decide(self, step: PlannedStep) -> Decision:
        """Look at the next step; the run waits for the answer."""


class GoOn:
    """Let every step be performed."""

    async def decide(self, step: PlannedStep) -> Decision:  # noqa: ARG002 - every step alike
        """Proceed."""
        return Proceed()
