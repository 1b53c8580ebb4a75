"""An action of a person while it is being recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.record.hand_actions import action_for_gesture, to_download
from eikon_engine.record.selector_choice import choose_target
from eikon_engine.trace.execution import ActionTrace, Succeeded

if TYPE_CHECKING:
    from datetime import datetime

    from eikon_engine.record.attempt import Attempt
    from eikon_engine.record.gesture import ElementDescription, Gesture
    from eikon_engine.record.selector_choice import ChosenTarget
    from eikon_engine.trace.actions import Action, FileInput
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakTarget:
    """A target that may match another element, and why."""

    action: str
    """Action id."""
    selector: str
    reason: str


@dataclass(slots=True, kw_only=True, eq=False)
class InteractiveAction:
    """An action of a person that is not written yet; mutable, every gesture and reply adds to it."""

    gesture: Gesture
    page: int
    attempt: Attempt
    started_at: datetime
    sequence: int = 0
    """0 until the gestures certainly form an action."""
    ended_at: datetime | None = None
    frames: tuple[str, ...] = ()
    verified: set[str] = field(default_factory=set)
    """Selectors that Playwright resolved to the element."""
    result: Result = field(default_factory=Succeeded)
    files: tuple[FileInput, ...] = ()
    observation: Observation | None = None
    """None until the action is closed."""
    pending_replies: int = 0
    """Number of pending replies."""

    @property
    def id(self) -> str:
        """Return the action id."""
        return f"{self.attempt.id}_action_{self.sequence:03d}"

    @property
    def is_complete(self) -> bool:
        """Return whether the action can be written."""
        return self.observation is not None and self.pending_replies <= 0

    def abandon(self) -> tuple[str, ...]:
        """Stop waiting for replies; return a warning for each loss."""
        self.pending_replies = 0
        if self.gesture.kind == "upload" and not self.files:
            return ("the uploaded files could not be read in time",)
        return ()

    def assign_sequence(self) -> None:
        """Assign the next sequence number of the attempt, once."""
        self.sequence = self.sequence or self.attempt.next_sequence()

    def build_trace(self) -> ActionTrace:
        """Return the `ActionTrace` to write."""
        return ActionTrace(
            id=self.id,
            sequence=self.sequence,
            started_at=self.started_at,
            ended_at=self.ended_at,
            action=self._build_action(),
            result=self.result,
            observation=self.observation,
        )

    def weak_targets(self) -> tuple[WeakTarget, ...]:
        """Return the weak targets of the action."""
        chosen = (self._choose_target(self.gesture.target), self._choose_target(self.gesture.second))
        return tuple(
            WeakTarget(action=self.id, selector=str(each.target), reason=each.weakness)
            for each in chosen
            if each is not None and each.weakness is not None and not self._acts_on_focus(each)
        )

    def _build_action(self) -> Action:
        first, second = self._choose_target(self.gesture.target), self._choose_target(self.gesture.second)
        target = None if first is None or self._acts_on_focus(first) else first.target
        action = action_for_gesture(
            self.gesture,
            page=self.page,
            target=target,
            second=second.target if second is not None else None,
            files=self.files,
        )
        if self.observation is not None and self.observation.downloads:
            return to_download(action)
        return action

    def _acts_on_focus(self, chosen: ChosenTarget) -> bool:
        """Return whether to press the key on the focused element because the target is weak."""
        return self.gesture.kind == "press" and chosen.weakness is not None

    def _choose_target(self, seen: ElementDescription | None) -> ChosenTarget | None:
        return choose_target(seen, self.verified, self.frames) if seen is not None else None
