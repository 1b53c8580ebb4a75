"""An action of a person while it is being recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.record.hand_actions import action_of, as_download
from eikon_engine.record.selector_choice import choose
from eikon_engine.trace.execution import ActionTrace, Succeeded

if TYPE_CHECKING:
    from datetime import datetime

    from eikon_engine.record.attempt import Attempt
    from eikon_engine.record.gesture import Gesture, Seen
    from eikon_engine.record.selector_choice import Chosen
    from eikon_engine.trace.actions import Action, FileInput
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakTarget:
    """A target that may match another element, and why."""

    action: str
    """Action id."""
    selector: str
    why: str


@dataclass(slots=True, kw_only=True, eq=False)
class HandDeed:
    """An action of a person that is not written yet; mutable, every gesture and reply adds to it."""

    gesture: Gesture
    page: int
    attempt: Attempt
    started_at: datetime
    sequence: int = 0
    """0 until the gestures certainly form an action."""
    ended_at: datetime | None = None
    frames: tuple[str, ...] = ()
    proven: set[str] = field(default_factory=set)
    """Selectors that Playwright resolved to the element."""
    result: Result = field(default_factory=Succeeded)
    files: tuple[FileInput, ...] = ()
    observation: Observation | None = None
    """None until the action is closed."""
    waits: int = 0
    """Number of pending replies."""

    @property
    def id(self) -> str:
        """Return the action id."""
        return f"{self.attempt.id}_action_{self.sequence:03d}"

    @property
    def is_complete(self) -> bool:
        """Return whether the action can be written."""
        return self.observation is not None and self.waits <= 0

    def give_up(self) -> tuple[str, ...]:
        """Stop waiting for replies; return a warning for each loss."""
        self.waits = 0
        if self.gesture.kind == "upload" and not self.files:
            return ("the uploaded files could not be read in time",)
        return ()

    def number(self) -> None:
        """Assign the next sequence number of the attempt, once."""
        self.sequence = self.sequence or self.attempt.next_sequence()

    def trace(self) -> ActionTrace:
        """Return the `ActionTrace` to write."""
        return ActionTrace(
            id=self.id,
            sequence=self.sequence,
            started_at=self.started_at,
            ended_at=self.ended_at,
            action=self._action(),
            result=self.result,
            observation=self.observation,
        )

    def weak_targets(self) -> tuple[WeakTarget, ...]:
        """Return the weak targets of the action."""
        chosen = (self._chosen(self.gesture.target), self._chosen(self.gesture.second))
        return tuple(
            WeakTarget(action=self.id, selector=str(each.target), why=each.weak)
            for each in chosen
            if each is not None and each.weak is not None and not self._goes_by_focus(each)
        )

    def _action(self) -> Action:
        first, second = self._chosen(self.gesture.target), self._chosen(self.gesture.second)
        target = None if first is None or self._goes_by_focus(first) else first.target
        action = action_of(
            self.gesture,
            page=self.page,
            target=target,
            second=second.target if second is not None else None,
            files=self.files,
        )
        if self.observation is not None and self.observation.downloads:
            return as_download(action)
        return action

    def _goes_by_focus(self, chosen: Chosen) -> bool:
        """Return whether to press the key on the focused element because the target is weak."""
        return self.gesture.kind == "press" and chosen.weak is not None

    def _chosen(self, seen: Seen | None) -> Chosen | None:
        return choose(seen, self.proven, self.frames) if seen is not None else None
