"""What a page tells of a person, and which of it is one action.

The text comes out of a page, so everything in it is checked before it is used.
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
    """A selector that matches the element alone, as far as its page could count."""

    kind: Literal["test-id", "role", "label", "placeholder", "text", "id", "name", "css", "place"]
    selector: Annotated[str, Field(min_length=1)]
    sure: bool
    """Whether the page counts exactly as Playwright does."""


class Seen(Record):
    """An element, as it was before it was acted upon."""

    key: str
    """Stands for it in its document."""
    names: tuple[Name, ...] = ()
    """Best first."""
    identity: Identity | None = None


class GivenFile(Record):
    """A file that was given to a page."""

    name: str
    mime_type: str = ""
    content: str
    """In base64."""


class Gesture(Record):
    """One thing that a person did, or a part of one."""

    kind: Kind
    target: Seen | None = None
    second: Seen | None = None
    """What something was dropped on."""
    position: Point | None = None
    second_position: Point | None = None
    text: str = ""
    key: str = ""
    button: MouseButton = "left"
    modifiers: tuple[Modifier, ...] = ()
    detail: int = 1
    """Which click in a row it is, as the browser counts."""
    values: tuple[str, ...] = ()
    files: tuple[GivenFile, ...] = ()
    dx: float = 0.0
    dy: float = 0.0
    is_changed: bool = False
    """Whether the document changed while it was scrolled."""
    is_checked: bool = False
    is_plain: bool = False
    """Whether a click into the field does nothing but let it be typed into."""
    is_secret: bool = False


BACK: Final = -1
FORWARD: Final = 1
UNKNOWN_WAY: Final = 0
"""What `Gesture.detail` says of one step through the history."""
HELD: Final = frozenset({"down", "cancel"})
"""Kinds that are no action by themselves."""
_PRESSES: Final = frozenset({"down", "click", "dblclick"})
_TAKEN_OVER: Final = frozenset({("down", "drag"), ("down", "check")})
"""Kinds of which the second says what the first was the beginning of, on whichever element."""
_TAKEN_OVER_BY_SAME: Final = frozenset(
    {("down", "click"), ("down", "input"), ("click", "check"), ("upload", "files"), ("select", "select")}
)
"""As above, on the same element."""


def go(way: Way, url: str) -> Gesture:
    """Return what it is to go somewhere from outside of a document."""
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
    """Return what it is to go through the history as long as nobody knows which way."""
    return Gesture(kind="travel", detail=UNKNOWN_WAY)


def is_lost(gesture: Gesture) -> bool:
    """Say whether someone went through the history, and nobody found out which way."""
    return gesture.kind == "travel" and gesture.detail == UNKNOWN_WAY


def join(first: Gesture, then: Gesture) -> Gesture | None:
    """Return the one action that two gestures in a row belong to; None if the second begins another one."""
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
    """Join clicks to a double one; a click into a plain field is the beginning of typing into it."""
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
        return first  # until it is clear whether it is the second half of a double click
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
