"""Gestures reported by a page, and how consecutive gestures merge into one action.

The input comes from a page, so it is validated before use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, assert_never

from pydantic import Field

from eikon_engine.trace.actions import Modifier, MouseButton, Point
from eikon_engine.trace.record import Record
from eikon_engine.trace.target import Identity

if TYPE_CHECKING:
    from eikon_engine.browser.by_hand.pages import Way

Kind: TypeAlias = Literal[
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


class Name(Record):
    """A selector that matches only this element, as far as its page can count."""

    kind: Literal["test-id", "role", "label", "placeholder", "text", "id", "name", "css", "place"]
    selector: Annotated[str, Field(min_length=1)]
    sure: bool
    """Whether the page counts exactly as Playwright does."""


class Seen(Record):
    """An element before it was acted on."""

    key: str
    """Identifies the element within its document."""
    names: tuple[Name, ...] = ()
    """Best first."""
    identity: Identity | None = None


class GivenFile(Record):
    """A file selected for upload."""

    name: str
    mime_type: str = ""
    content: str
    """Base64."""


class Gesture(Record):
    """One gesture of a person, or part of one."""

    kind: Kind
    target: Seen | None = None
    second: Seen | None = None
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
    files: tuple[GivenFile, ...] = ()
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
UNKNOWN_WAY: Final = 0
"""Values of `Gesture.detail` for one step through the history."""
HELD: Final = frozenset({"down", "cancel"})
"""Kinds that are not an action on their own."""
_PRESSES: Final = frozenset({"down", "click", "dblclick"})
_TAKEN_OVER: Final = frozenset({("down", "drag"), ("down", "check")})
"""Pairs in which the second gesture replaces the first, on any element."""
_TAKEN_OVER_BY_SAME: Final = frozenset(
    {("down", "click"), ("down", "input"), ("click", "check"), ("upload", "files"), ("select", "select")}
)
"""Pairs in which the second gesture replaces the first, on the same element."""


def go(way: Way, url: str) -> Gesture:
    """Return the gesture for a navigation that was started outside the document."""
    match way:
        case "navigate":
            return Gesture(kind="navigate", text=url)
        case "reload":
            return Gesture(kind="reload")
        case "back":
            return Gesture(kind="travel", detail=BACK)
        case "forward":
            return Gesture(kind="travel", detail=FORWARD)
        case _:
            assert_never(way)


def travel() -> Gesture:
    """Return the gesture for a step through the history whose direction is not known yet."""
    return Gesture(kind="travel", detail=UNKNOWN_WAY)


def is_lost(gesture: Gesture) -> bool:
    """Return whether the direction of a history step is still unknown."""
    return gesture.kind == "travel" and gesture.detail == UNKNOWN_WAY


def join(first: Gesture, then: Gesture) -> Gesture | None:
    """Merge two consecutive gestures of one action; None if the second starts another action."""
    if (first.kind, then.kind) in _TAKEN_OVER:
        return then
    if _key(first) != _key(then):
        return None
    if (first.kind, then.kind) in _TAKEN_OVER_BY_SAME:
        return then
    if first.kind == "input":
        return _typed_on(first, then)
    if first.kind == "scroll" and then.kind == "scroll":
        return _scrolled_on(first, then)
    return _clicked_on(first, then) if first.kind in _PRESSES else None


def _clicked_on(first: Gesture, then: Gesture) -> Gesture | None:
    """Merge clicks into a double click; a click into a plain field is the start of typing."""
    if then.kind == "dblclick":
        return first.model_copy(update={"kind": "dblclick", "is_plain": then.is_plain})
    if (
        first.kind == "click"
        and then.kind == "click"
        and then.detail % 2 == 0
        and first.button == then.button == "left"
    ):
        return first.model_copy(update={"detail": then.detail})
    if first.kind != "down" and then.kind == "down":
        return first  # it may be the second half of a double click
    if first.kind == "down" or not first.is_plain:
        return None
    if then.kind == "input":
        return then.model_copy(update={"target": first.target})
    return first if then.kind == "cancel" else None


def _typed_on(first: Gesture, then: Gesture) -> Gesture | None:
    if then.kind == "input":
        return then.model_copy(update={"target": first.target})
    return first if then.kind in _PRESSES and then.is_plain else None


def _scrolled_on(first: Gesture, then: Gesture) -> Gesture:
    whole = {"dx": first.dx + then.dx, "dy": first.dy + then.dy, "is_changed": first.is_changed or then.is_changed}
    return then.model_copy(update=whole)


def _key(gesture: Gesture) -> str | None:
    return gesture.target.key if gesture.target is not None else None
