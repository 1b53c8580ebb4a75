"""Gestures reported by a page, and how consecutive gestures merge into one action.

The input comes from a page, so it is validated before use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, assert_never

from pydantic import Field

from eikon_engine.trace.actions import Modifier, MouseButton, Point
from eikon_engine.trace.record import FileModel
from eikon_engine.trace.target import Identity

if TYPE_CHECKING:
    from eikon_engine.browser.by_hand.pages import NavigationKind

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
