"""Gestures reported by a page: validate them, merge them into actions, choose the selectors of their targets.

The input comes from a page, so it is validated before use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, assert_never

from pydantic import Field

from eikon_engine.files.models import FileModel
from eikon_engine.record.weak_targets import WeakTarget
from eikon_engine.trace.actions import (
    Check,
    Click,
    ClosePage,
    DoubleClick,
    Download,
    Drag,
    Fill,
    GoBack,
    GoForward,
    Hover,
    Modifier,
    MouseButton,
    Navigate,
    Note,
    OpenPage,
    Point,
    Press,
    Reload,
    Scroll,
    SelectOption,
    SetInputFiles,
    Uncheck,
)
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.target import Identity, Target, identity_weakness

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from eikon_engine.browser.interactive.page_monitor import NavigationKind
    from eikon_engine.record.bundle_writer import Attempt
    from eikon_engine.trace.actions import Action, FileInput
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.observation import Observation

GestureKind: TypeAlias = Literal[
    "cancel",
    "check",
    "click",
    "close",
    "dblclick",
    "down",
    "drag",
    "files",
    "finish",
    "hello",
    "input",
    "lost",
    "navigate",
    "open",
    "press",
    "reload",
    "script_travel",
    "scroll",
    "select",
    "subgoal",
    "travel",
    "upload",
]


class SelectorCandidate(FileModel):
    """A selector that matches only this element, as far as its page can count."""

    kind: Literal["test-id", "role", "label", "placeholder", "text", "id", "name", "css", "place"]
    selector: Annotated[str, Field(min_length=1)]
    sure: bool
    """Whether the page counts exactly as Playwright does."""


class ElementDescription(FileModel):
    """An element before it was acted on."""

    key: str
    """Identifies the element within its document."""
    names: tuple[SelectorCandidate, ...] = ()
    """Best first."""
    identity: Identity | None = None


class UploadedFile(FileModel):
    """A file selected for upload."""

    name: str
    mime_type: str = ""
    content: str
    """Base64."""


class Gesture(FileModel):
    """One gesture of a person, or part of one."""

    kind: GestureKind
    target: ElementDescription | None = None
    second: ElementDescription | None = None
    """Drop target of a drag."""
    position: Point | None = None
    second_position: Point | None = None
    text: str = ""
    key: str = ""
    button: MouseButton = "left"
    modifiers: tuple[Modifier, ...] = ()
    detail: int = 1
    """`UIEvent.detail`: the click count; for `travel` the direction."""
    values: tuple[str, ...] = ()
    files: tuple[UploadedFile, ...] = ()
    dx: float = 0.0
    dy: float = 0.0
    is_changed: bool = False
    """Whether the document changed while it was scrolled."""
    is_checked: bool = False
    is_plain: bool = False
    """Whether a click into the field only focuses it for typing."""
    is_secret: bool = False


BACK: Final = -1
FORWARD: Final = 1
UNKNOWN_DIRECTION: Final = 0
"""Values of `Gesture.detail` for one step through the history."""
INCOMPLETE_KINDS: Final = frozenset({"down", "cancel"})
"""Kinds that are not an action on their own."""
_PRESSES: Final = frozenset({"down", "click", "dblclick"})
_REPLACED_BY: Final = frozenset({("down", "drag"), ("down", "check")})
"""Pairs in which the second gesture replaces the first, on any element."""
_REPLACED_ON_SAME_ELEMENT: Final = frozenset(
    {("down", "click"), ("down", "input"), ("click", "check"), ("upload", "files"), ("select", "select")}
)
"""Pairs in which the second gesture replaces the first, on the same element."""


def navigation_gesture(kind: NavigationKind, url: str) -> Gesture:
    """Return the gesture for a navigation that was started outside the document."""
    match kind:
        case "navigate":
            return Gesture(kind="navigate", text=url)
        case "reload":
            return Gesture(kind="reload")
        case "back":
            return Gesture(kind="travel", detail=BACK)
        case "forward":
            return Gesture(kind="travel", detail=FORWARD)
        case _:
            assert_never(kind)


def history_gesture() -> Gesture:
    """Return the gesture for a step through the history whose direction is not known yet."""
    return Gesture(kind="travel", detail=UNKNOWN_DIRECTION)


def has_unknown_direction(gesture: Gesture) -> bool:
    """Return whether the direction of a history step is still unknown."""
    return gesture.kind == "travel" and gesture.detail == UNKNOWN_DIRECTION


def merge(first: Gesture, following: Gesture) -> Gesture | None:
    """Merge two consecutive gestures of one action; None if the second starts another action."""
    if (first.kind, following.kind) in _REPLACED_BY:
        return following
    if _target_key(first) != _target_key(following):
        return None
    if (first.kind, following.kind) in _REPLACED_ON_SAME_ELEMENT:
        return following
    if first.kind == "input":
        return _merge_typing(first, following)
    if first.kind == "scroll" and following.kind == "scroll":
        return _merge_scroll(first, following)
    return _merge_click(first, following) if first.kind in _PRESSES else None


def _merge_click(first: Gesture, following: Gesture) -> Gesture | None:
    """Merge clicks into a double click; a click into a plain field is the start of typing."""
    if following.kind == "dblclick":
        return first.model_copy(update={"kind": "dblclick", "is_plain": following.is_plain})
    if (
        first.kind == "click"
        and following.kind == "click"
        and following.detail % 2 == 0
        and first.button == following.button == "left"
    ):
        return first.model_copy(update={"detail": following.detail})
    if first.kind != "down" and following.kind == "down":
        return first  # it may be the second half of a double click
    if first.kind == "down" or not first.is_plain:
        return None
    if following.kind == "input":
        return following.model_copy(update={"target": first.target})
    return first if following.kind == "cancel" else None


def _merge_typing(first: Gesture, following: Gesture) -> Gesture | None:
    if following.kind == "input":
        return following.model_copy(update={"target": first.target})
    return first if following.kind in _PRESSES and following.is_plain else None


def _merge_scroll(first: Gesture, following: Gesture) -> Gesture:
    whole = {
        "dx": first.dx + following.dx,
        "dy": first.dy + following.dy,
        "is_changed": first.is_changed or following.is_changed,
    }
    return following.model_copy(update=whole)


def _target_key(gesture: Gesture) -> str | None:
    return gesture.target.key if gesture.target is not None else None


BLANK_URL: Final = "about:blank"


def action_for_gesture(
    gesture: Gesture,
    *,
    page: int,
    target: Target | None,
    second: Target | None = None,
    files: tuple[FileInput, ...] = (),
) -> Action:
    """Return the action for a gesture; a gesture that needs an element and has none becomes a `Note`."""
    if target is not None:
        return _target_action(gesture, page, target, second or target, files)
    whole: dict[str, Action] = {
        "close": ClosePage(page=page),
        "navigate": Navigate(page=page, url=gesture.text or BLANK_URL),
        "open": OpenPage(page=page),
        "reload": Reload(page=page),
        "scroll": Scroll(page=page, dx=gesture.dx, dy=gesture.dy),
        "travel": GoForward(page=page) if gesture.detail == FORWARD else GoBack(page=page),
    }
    if gesture.kind == "press":
        return Press(page=page, key=gesture.key)
    text = f"a {gesture.kind} was not recorded: its element could not be identified"
    return whole.get(gesture.kind) or Note(page=page, text=text)


def _target_action(gesture: Gesture, page: int, target: Target, second: Target, files: tuple[FileInput, ...]) -> Action:
    match gesture.kind:
        case "input":
            return Fill(page=page, target=target, text=gesture.text)
        case "select":
            return SelectOption(page=page, target=target, options=gesture.values)
        case "files" | "upload":
            return SetInputFiles(page=page, target=target, files=files)
        case "press":
            return Press(page=page, target=target, key=gesture.key)
        case "scroll":
            return Scroll(page=page, target=target, dx=gesture.dx, dy=gesture.dy)
        case _:
            return _pointer_action(gesture, page, target, second)


def _pointer_action(gesture: Gesture, page: int, target: Target, second: Target) -> Action:
    place, held = gesture.position, gesture.modifiers
    match gesture.kind:
        case "check":
            return Check(page=page, target=target) if gesture.is_checked else Uncheck(page=page, target=target)
        case "click":
            return Click(page=page, target=target, position=place, button=gesture.button, modifiers=held)
        case "dblclick":
            return DoubleClick(page=page, target=target, position=place, modifiers=held)
        case "drag":
            return Drag(page=page, target=target, to=second, position=place, to_position=gesture.second_position)
        case "down" | "cancel":
            return Hover(page=page, target=target)
        case _:
            return Note(page=page, text=f"a {gesture.kind} without an element")


def to_download(action: Action) -> Action:
    """Convert a left click that started a download into a `Download`."""
    if not isinstance(action, Click) or action.button != "left":
        return action
    return Download(page=action.page, target=action.target, position=action.position, modifiers=action.modifiers)


MAX_ALTERNATIVES: Final = 6
POSITION_ONLY: Final = "identified by position only: any change around it breaks the selector"
NO_UNIQUE_SELECTOR: Final = "no unique selector found"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTarget:
    """A target, and why it is weak if it is."""

    target: Target
    weakness: str | None = None


def choose_target(element: ElementDescription, verified: Collection[str], frames: tuple[str, ...] = ()) -> ChosenTarget:
    """Return the best selector that matches only this element; `verified` selectors were counted by Playwright.

    The other matching selectors become alternatives, which are displayed and never tried.
    """
    holding = [name for name in element.names if name.sure or name.selector in verified]
    if not holding:
        tag = element.identity.tag if element.identity is not None else "*"
        target = Target(selector=tag, frames=frames, identity=element.identity)
        return ChosenTarget(target=target, weakness=NO_UNIQUE_SELECTOR)
    best, *others = holding
    target = Target(
        selector=best.selector,
        frames=frames,
        alternatives=tuple(name.selector for name in others[:MAX_ALTERNATIVES]),
        identity=element.identity,
    )
    return ChosenTarget(target=target, weakness=_weakness_of(best, element))


def _weakness_of(best: SelectorCandidate, element: ElementDescription) -> str | None:
    if best.kind == "place":
        return POSITION_ONLY
    return identity_weakness(element.identity) if element.identity is not None else None


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
        """Stop waiting for replies; return what is lost with that."""
        self.pending_replies = 0
        if self.gesture.kind == "upload" and not self.files:
            return ("the content of the uploaded files",)
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
