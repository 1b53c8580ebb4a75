"""Derive the iteration of an event from the stream of events alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.outcome.debug_events import BranchSwitched, BreakpointHit, Paused, Resumed, Rewound
from eikon_engine.outcome.events import ActionPerformed, ActionStart, ObservationMade, SkillRun

if TYPE_CHECKING:
    from eikon_engine.outcome.events import Event


def has_iteration(event: Event) -> bool:
    """Return whether an event states how many steps are done."""
    return isinstance(event, Rewound | BranchSwitched | Paused | Resumed)


class IterationCounter:
    """Count the steps of a run while its events are read in order."""

    def __init__(self) -> None:
        """Start before the first step."""
        self._step: tuple[str, int] | None = None
        self._iteration = 0

    def advance(self, event: Event) -> int:
        """Return the iteration of an event: of its step, or the last one that started.

        A breakpoint hit belongs to the step before which it pauses.
        """
        match event:
            case Rewound() | BranchSwitched() | Paused() | Resumed():
                self._step, self._iteration = None, event.iteration
            case BreakpointHit(context=context):
                return context.iteration
            case ActionStart() | ObservationMade():
                self._start_step(event.subgoal, event.sequence)
            case ActionPerformed() | SkillRun():
                self._start_step(event.subgoal, event.outcome.sequence)
            case _:
                pass
        return self._iteration

    def _start_step(self, subgoal: str, sequence: int) -> None:
        if self._step != (subgoal, sequence):
            self._step = (subgoal, sequence)
            self._iteration += 1
