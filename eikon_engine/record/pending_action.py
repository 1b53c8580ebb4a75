"""An action of an agent from the start of its call until it is written, with the candidates for its targets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from eikon_engine.trace.actions import (
    DEFAULT_TIMEOUT_MS,
    Drag,
    Evaluate,
    Expect,
    Mouse,
    Note,
    Read,
    SelectorCondition,
    TouchscreenTap,
    WaitFor,
)
from eikon_engine.trace.execution import ActionTrace, Failed, Succeeded
from eikon_engine.trace.playwright_calls import (
    VALUE_OR_LABEL,
    CallContext,
    UnsupportedCallError,
    convert_call,
    convert_read,
    effect_of,
    is_read,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from eikon_engine.browser.attach.call_interceptor import PlaywrightCall
    from eikon_engine.browser.attach.element_probe import ElementSnapshot, TargetSnapshot
    from eikon_engine.record.bundle_writer import Attempt
    from eikon_engine.trace.actions import Action, FileInput, ReadValue
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.observation import Observation
    from eikon_engine.trace.playwright_calls import ConvertedCall
    from eikon_engine.trace.target import Identity, Target

ReadAction: TypeAlias = Read | Evaluate | Expect
"""Actions for calls that return something of a page to the agent."""
FOLLOWED_MS: Final = 100.0
"""Page time after a read within which the next step follows immediately."""
TargetSlot: TypeAlias = Literal["element", "second"]
"""Fields that hold the targets of a call, in order."""
UNKNOWN_RESULT: Final = "unknown"
"""Error code of a call without a known result."""
NOT_ENDED: Final = "the call was still running when the recording ended"


def read_for_call(name: str, params: Mapping[str, Any], context: CallContext) -> Read | Evaluate | Expect | None:
    """Return the action for a call that reads from a page; None if it does not.

    Raises:
        UnsupportedCallError: no action can express the call.
    """
    return convert_read(name, params, context) if is_read(name, params) else None


def converted_for_call(name: str, params: Mapping[str, Any], context: CallContext) -> ConvertedCall | None:
    """Return the action for a call with what it does not repeat; None for a call without an effect on a page.

    Raises:
        UnsupportedCallError: no action can express the call, or the call is unknown.
    """
    if effect_of(name) in {"read", "setup"} or name == "Frame.expect":
        return None
    return convert_call(name, params, context)


def action_for_call(name: str, params: Mapping[str, Any], context: CallContext) -> Action | None:
    """Return the action for a call by class and method; None for a call without an effect on a page.

    Raises:
        UnsupportedCallError: no action can express the call, or the call is unknown.
    """
    converted = converted_for_call(name, params, context)
    return None if converted is None else converted.action


@dataclass(slots=True, kw_only=True, eq=False)
class PendingAction:
    """An action that is not written yet; mutable, every reply adds to it."""

    call: PlaywrightCall
    method: str
    """Class and method as if called on a frame with a selector."""
    params: Mapping[str, Any] = field(default_factory=dict)
    page: int
    frames: tuple[str, ...]
    """Selectors of the iframes that lead to the frame of the call."""
    base_url: str | None
    attempt: Attempt
    sequence: int
    started_at: datetime
    files: tuple[FileInput, ...] = ()
    read: ReadAction | None = None
    """The action of a call that only reads; nothing is probed for it."""
    waited: WaitFor | Note | None = None
    """The action of a wait in the client; a note until it has ended."""
    value: ReadValue | None = None
    """What a read returned, the last time."""
    is_hit_reported: bool = False
    """Whether its page reported when it acted."""
    pointer_action: PendingAction | None = None
    """The action that moved the pointer, for a call at its position."""
    begun_unix_ms: float | None = None
    """Unix time, as pages see it, at which a call at a point began; None for other calls."""
    is_cancelled: bool = False
    """Whether the agent cancelled a read, so that it learned nothing."""
    times: int = 1
    """How often the agent read this in a row."""
    begun_ms: float = 0.0
    """Page time at which a read began."""
    last_read_ms: float = 0.0
    """Page time at which a read returned, the last time."""
    ended_at: datetime | None = None
    element: ElementSnapshot | None = None
    second: ElementSnapshot | None = None
    """Drop target of a drag."""
    selector_match: ElementSnapshot | None = None
    """What the selector of the element handle matches now."""
    candidates: dict[TargetSlot, TargetCandidates] = field(default_factory=dict)
    """Probes of targets that were not ready when the call started."""
    response: Mapping[str, Any] = field(default_factory=dict)
    result: Result | None = None
    """None until the call has ended."""
    observation: Observation | None = None
    """None until the action is closed."""
    pending_replies: int = 0
    """Number of pending replies."""
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """In which respects the action differs from its call, once it is built."""

    @property
    def id(self) -> str:
        """Return the action id."""
        return f"{self.attempt.id}_action_{self.sequence:03d}"

    @property
    def is_complete(self) -> bool:
        """Return whether the action can be written."""
        return self.result is not None and self.observation is not None and not self.pending_replies

    @property
    def is_in_progress(self) -> bool:
        """Return whether the call may still act and no other action has started."""
        return self.result is None and self.observation is None

    @property
    def is_on_handle(self) -> bool:
        """Return whether the call was made on an `ElementHandle`."""
        return self.call.name.startswith("ElementHandle.")

    @property
    def target_selectors(self) -> dict[TargetSlot, str]:
        """Return the selectors of the call by slot."""
        selectors = [str(self.params[name]) for name in ("selector", "source", "target") if name in self.params]
        slots: tuple[TargetSlot, ...] = ("element", "second")
        return dict(zip(slots, selectors, strict=False))

    def build_action(self) -> Action:
        """Return the action with the identities of its elements.

        Raises:
            UnsupportedCallError: the call has no equivalent action.
        """
        if self.is_cancelled:
            return Note(page=self.page, text=f"the agent cancelled {self.method}")
        if self.waited is not None:
            return self.waited
        if self.read is not None:
            return self._with_value(self.read)
        context = CallContext(
            page=self.page,
            timeout_ms=self.call.timeout_ms,
            base_url=self.base_url or "",
            frames=self.frames,
            files=self.files,
        )
        converted = converted_for_call(self.method, self.params, context)
        if converted is None or converted.action is None:
            message = f"{self.method} is not an action"
            raise UnsupportedCallError(message)
        are_values_known = self.response.get("values") is not None
        self.notes += [note for note in converted.notes if not (are_values_known and note.endswith(VALUE_OR_LABEL))]
        return self._with_identities(self._with_selected_values(converted.action))

    def abandon(self) -> tuple[str, ...]:
        """Stop waiting for replies; the result records what is missing."""
        self.pending_replies = 0
        ended = Succeeded() if self.waited is not None else Failed(code=UNKNOWN_RESULT, message=NOT_ENDED)
        self.result = self.result or ended
        return ()

    def build_trace(self) -> ActionTrace:
        """Return the `ActionTrace` to write; a call without an equivalent action becomes a `Note`."""
        action: Action
        try:
            action = self.build_action()
        except UnsupportedCallError as error:
            self.warnings.append(f"{self.id}: replays skip {self.method}: {error}")
            action = Note(page=self.page, text=f"{self.method} was called; replays skip it: {error}")
        return ActionTrace(
            id=self.id,
            sequence=self.sequence,
            started_at=self.started_at,
            ended_at=self.ended_at,
            action=action,
            result=self.result or Failed(code=UNKNOWN_RESULT, message=NOT_ENDED),
            observation=self._observation(),
        )

    def _observation(self) -> Observation | None:
        """Return the observation; a read that the next step followed immediately has none of its own."""
        seen = self.observation
        is_single = isinstance(self.read, Read) and self.times == 1
        if seen is None or not is_single or seen.virtual_ms >= FOLLOWED_MS:
            return seen
        return seen.model_copy(update={"repeats_pages": True})

    def _with_value(self, read: ReadAction) -> Action:
        """Add what a read returned. A repeated one may take as long as the agent did, and its own deadline."""
        if isinstance(read, Expect):
            return read.model_copy(update={"received": self.value})
        if isinstance(read, Evaluate) or self.times == 1:
            return read.model_copy(update={"value": self.value})
        waited = max(0.0, self.last_read_ms - self.begun_ms)
        deadline = min(read.timeout_ms, DEFAULT_TIMEOUT_MS) + waited
        return read.model_copy(update={"value": self.value, "times": self.times, "timeout_ms": deadline})

    def _with_selected_values(self, action: Action) -> Action:
        """Use the option values the browser reported where the call left open whether a text is value or label."""
        values = self.response.get("values")
        named = any("valueOrLabel" in each for each in self.params.get("options") or ())
        if action.type == "select_option" and named and values is not None and isinstance(self.result, Succeeded):
            return action.model_copy(update={"by": "value", "options": tuple(values)})
        return action

    def _with_identities(self, action: Action) -> Action:
        """Add element identities to the targets, and `nth=0` where the first of several matches was used."""
        if isinstance(action, Mouse | TouchscreenTap):
            return action.model_copy(update={"under": self.element.identity if self.element else None})
        if isinstance(action, WaitFor):
            return action if self.params.get("strict") else _wait_for_first_match(action)
        target = getattr(action, "target", None)
        if target is None:
            return action
        update = {"target": self._identified_target(target, self.element)}
        if isinstance(action, Drag):
            update["to"] = self._identified_target(action.to, self.second)
        return action.model_copy(update=update)

    def _identified_target(self, target: Target, element: ElementSnapshot | None) -> Target:
        identity: Identity | None = element.identity if element is not None else None
        selector = self._handle_selector(target.selector, element) if self.is_on_handle else target.selector
        if element is not None and element.count > 1 and not self.params.get("strict"):
            selector = f"{selector} >> nth=0"
            self.warnings.append(
                f"{self.id}: {target.selector} matched {element.count} elements; recorded the first. "
                "Use a selector that matches one"
            )
        return target.model_copy(update={"selector": selector, "identity": identity})

    def _handle_selector(self, selector: str, element: ElementSnapshot | None) -> str:
        """Return the selector that found the handle if it matches only that element, else its CSS path.

        Raises:
            UnsupportedCallError: neither is known.
        """
        found = self.selector_match
        if found is not None and element is not None and found.count == 1 and found.identity == element.identity:
            return selector
        if element is None or not element.path:
            message = "the element behind its handle could not be identified; use a selector"
            raise UnsupportedCallError(message)
        return element.path


def _wait_for_first_match(action: WaitFor) -> WaitFor:
    """Return the action for a call that is not strict: more elements may match once the page is idle."""
    condition = action.condition
    if not isinstance(condition, SelectorCondition):
        return action
    first = condition.target.model_copy(update={"selector": f"{condition.target.selector} >> nth=0"})
    return action.model_copy(update={"condition": condition.model_copy(update={"target": first})})


@dataclass(slots=True)
class TargetCandidates:
    """Collect what the probes saw of one target, by document; mutable, every probe adds to it."""

    _before_events: dict[float, ElementSnapshot] = field(default_factory=dict)
    """Last description before any event in the document."""
    _before_hit: dict[float, ElementSnapshot] = field(default_factory=dict)
    """Description before the element was hit, where its document remembers it."""
    _hit_documents: set[float] = field(default_factory=set)
    """Documents in which the target received an event."""

    is_unprobed: bool = True
    """Whether no document could be probed."""

    def add(self, snapshot: TargetSnapshot) -> None:
        """Add what a probe saw while the call was running."""
        self._add_hit(snapshot)
        if snapshot.element.count and snapshot.is_before_any_hit:
            self._before_events[snapshot.document] = snapshot.element

    def resolve(self, final: TargetSnapshot | None, *, must_be_hit: bool) -> ElementSnapshot | None:
        """Return the element the call acted on; None if that is ambiguous.

        `final` is the probe after the call, None if it failed. `must_be_hit` means that a successful call always
        dispatches an event to its element, so an element that is still there without one was not the target.
        """
        if final is not None:
            self._add_hit(final)
        found = self._hit_documents or set(self._before_events)
        if not self._hit_documents and must_be_hit and final is not None:
            found.discard(final.document)
        if len(found) != 1:
            return None
        document = found.pop()
        return self._before_events.get(document) or self._before_hit.get(document)

    def _add_hit(self, snapshot: TargetSnapshot) -> None:
        self.is_unprobed = False
        if snapshot.was_hit:
            self._hit_documents.add(snapshot.document)
        if snapshot.identity_before_hit is not None and snapshot.element.count == 1:
            self._before_hit[snapshot.document] = replace(snapshot.element, identity=snapshot.identity_before_hit)
