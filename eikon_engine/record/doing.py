"""One action of an agent, from the call that asks for it to what is written of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from eikon_engine.record.agent_actions import UnspokenError, action_of
from eikon_engine.trace.actions import Drag, Mouse, Note
from eikon_engine.trace.execution import ActionTrace, Failed, Succeeded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from eikon_engine.browser.attached.element import Element
    from eikon_engine.browser.attached.tap import Call
    from eikon_engine.record.attempt import Attempt
    from eikon_engine.record.sightings import Sightings
    from eikon_engine.trace.actions import Action, FileInput
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.observation import Observation
    from eikon_engine.trace.target import Identity, Target

Slot: TypeAlias = Literal["element", "second"]
"""Where the targets of a call are kept, in their order."""
UNKNOWN: Final = "unknown"
"""Code of what is not known to have ended."""
NOT_ENDED: Final = "it had not ended when the recording did"


@dataclass(slots=True, kw_only=True, eq=False)
class Doing:
    """What is known of an action by now; mutable, because it grows with every answer."""

    call: Call
    name: str
    """What the call comes to: as if it had been made on a frame, by a selector."""
    params: Mapping[str, Any]
    page: int
    frames: tuple[str, ...]
    """Selectors of the iframes that lead to the frame it is made on."""
    base_url: str | None
    attempt: Attempt
    sequence: int
    started_at: datetime
    files: tuple[FileInput, ...] = ()
    ended_at: datetime | None = None
    element: Element | None = None
    second: Element | None = None
    """What a drag ends on."""
    found: Element | None = None
    """What the selector by which its handle was found matches now."""
    sought: dict[Slot, Sightings] = field(default_factory=dict)
    """What was seen of targets that were not ready when the call began."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    result: Result | None = None
    """None until it has ended."""
    observation: Observation | None = None
    """None until the time of the action is over."""
    waits: int = 0
    """Answers that are still to come."""
    warnings: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Return the id of the action."""
        return f"{self.attempt.id}_action_{self.sequence:03d}"

    @property
    def is_complete(self) -> bool:
        """Say whether everything is known."""
        return self.result is not None and self.observation is not None and not self.waits

    @property
    def is_under_way(self) -> bool:
        """Say whether its call may still act, and nothing else has been begun."""
        return self.result is None and self.observation is None

    @property
    def is_by_handle(self) -> bool:
        """Say whether the call was made on an element that the agent had found before."""
        return self.call.name.startswith("ElementHandle.")

    @property
    def targets(self) -> dict[Slot, str]:
        """Return the selectors of what it acts on, by where that is kept."""
        selectors = [str(self.params[name]) for name in ("selector", "source", "target") if name in self.params]
        slots: tuple[Slot, ...] = ("element", "second")
        return dict(zip(slots, selectors, strict=False))

    def action(self) -> Action:
        """Return the action, with what is known of its elements.

        Raises:
            UnspokenError: no action of ours says what the call does.
        """
        action = action_of(
            self.name,
            self.params,
            page=self.page,
            timeout_ms=self.call.timeout_ms,
            base_url=self.base_url,
            files=self.files,
        )
        if action is None:
            message = f"{self.name} is no action"
            raise UnspokenError(message)
        return self._known(self._as_answered(action))

    def give_up(self) -> tuple[str, ...]:
        """Wait for no more answers; what is lost by that stands in its result."""
        self.waits = 0
        self.result = self.result or Failed(code=UNKNOWN, message=NOT_ENDED)
        return ()

    def trace(self) -> ActionTrace:
        """Return what is written of it; what turned out not to be an action of ours becomes a note."""
        action: Action
        try:
            action = self.action()
        except UnspokenError as error:
            self.warnings.append(f"{self.id}: {self.name} is not repeated: {error}")
            action = Note(page=self.page, text=f"{self.name} was called, which a replay does not repeat: {error}")
        return ActionTrace(
            id=self.id,
            sequence=self.sequence,
            started_at=self.started_at,
            ended_at=self.ended_at,
            action=action,
            result=self.result or Failed(code=UNKNOWN, message=NOT_ENDED),
            observation=self.observation,
        )

    def _as_answered(self, action: Action) -> Action:
        """Take from the answer what the call left open: which options a text names."""
        values = self.answer.get("values")
        named = any("valueOrLabel" in each for each in self.params.get("options") or ())
        if action.type == "select_option" and named and values is not None and isinstance(self.result, Succeeded):
            return action.model_copy(update={"by": "value", "options": tuple(values)})
        return action

    def _known(self, action: Action) -> Action:
        """Write into its targets which elements they were, and that the first of several was meant."""
        if isinstance(action, Mouse):
            return action.model_copy(update={"under": self.element.identity if self.element else None})
        target = getattr(action, "target", None)
        if target is None:
            return action
        update = {"target": self._target(target, self.element)}
        if isinstance(action, Drag):
            update["to"] = self._target(action.to, self.second)
        return action.model_copy(update=update)

    def _target(self, target: Target, element: Element | None) -> Target:
        identity: Identity | None = element.identity if element is not None else None
        selector = self._of_handle(target.selector, element) if self.is_by_handle else target.selector
        if element is not None and element.count > 1 and not self.params.get("strict"):
            selector = f"{selector} >> nth=0"
            self.warnings.append(
                f"{self.id}: {target.selector} matched {element.count} elements, the first was taken; make it match one"
            )
        elif self.name == "Frame.waitForSelector" and not self.params.get("strict") and not self.is_by_handle:
            selector = f"{selector} >> nth=0"  # more may match once the page is at rest
        frames = (*self.frames, *target.frames)
        return target.model_copy(update={"selector": selector, "frames": frames, "identity": identity})

    def _of_handle(self, selector: str, element: Element | None) -> str:
        """Take the selector by which the element was found, if it finds that one alone, or else its place.

        Raises:
            UnspokenError: neither is known.
        """
        found = self.found
        if found is not None and element is not None and found.count == 1 and found.identity == element.identity:
            return selector
        if element is None or not element.path:
            message = "the element that it acts on could not be asked for; use a selector"
            raise UnspokenError(message)
        return element.path
