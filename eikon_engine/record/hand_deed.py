"""One action of a person, from the gesture that begins it to what is written of it."""

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
    """A target that could be taken for another one, and why."""

    action: str
    """Id of the action."""
    selector: str
    why: str


@dataclass(slots=True, kw_only=True, eq=False)
class HandDeed:
    """What is known of an action by now; mutable, because it grows with every gesture and answer."""

    gesture: Gesture
    page: int
    attempt: Attempt
    started_at: datetime
    sequence: int = 0
    """0 until it is certain that it is an action."""
    ended_at: datetime | None = None
    frames: tuple[str, ...] = ()
    proven: set[str] = field(default_factory=set)
    """Selectors that Playwright found its elements by."""
    result: Result = field(default_factory=Succeeded)
    files: tuple[FileInput, ...] = ()
    observation: Observation | None = None
    """None until the time of the action is over."""
    waits: int = 0
    """Answers that are still to come."""

    @property
    def id(self) -> str:
        """Return the id of the action."""
        return f"{self.attempt.id}_action_{self.sequence:03d}"

    @property
    def is_complete(self) -> bool:
        """Say whether everything is known."""
        return self.observation is not None and self.waits <= 0

    def give_up(self) -> tuple[str, ...]:
        """Wait for no more answers; return what is lost by that."""
        self.waits = 0
        if self.gesture.kind == "upload" and not self.files:
            return ("the files that were given to the page could not be read in time",)
        return ()

    def number(self) -> None:
        """Take the next place in the attempt, if it has none."""
        self.sequence = self.sequence or self.attempt.next_sequence()

    def trace(self) -> ActionTrace:
        """Return what is written of it."""
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
        """Name its targets that could be taken for others."""
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
        """Say whether a key is better pressed on whatever has the focus: its element has no good name."""
        return self.gesture.kind == "press" and chosen.weak is not None

    def _chosen(self, seen: Seen | None) -> Chosen | None:
        return choose(seen, self.proven, self.frames) if seen is not None else None
