"""Controllers, which decide before each step whether the run proceeds."""

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
    """Decide before each step whether the run proceeds."""

    async def decide(self, step: PlannedStep) -> Decision:
        """Return the decision on the next step; the run waits for it."""


class ProceedAlways:
    """Perform every step."""

    async def decide(self, step: PlannedStep) -> Decision:  # noqa: ARG002 - same for every step
        """Return `Proceed`."""
        return Proceed()
