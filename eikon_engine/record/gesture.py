"""What a page tells of a person, and which of it is one action.

The text comes out of a page, so everything in it is checked before it is used.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.actions import Modifier, MouseButton, Point
from eikon_engine.trace.record import Record
from eikon_engine.trace.target import Identity

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


HELD: Final = frozenset({"down", "cancel"})
"""Kinds that are no action by themselves."""
_PRESSES: Final = frozenset({"down", "click", "dblclick"})


def join(first: Gesture, then: Gesture) -> Gesture | None:  # noqa: PLR0911 - one case a line
    """Return the one action that two gestures in a row belong to; None if the second begins another one."""
    same = _key(first) == _key(then)
    match first.kind, then.kind:
        case "down", "drag":
            return then
        case "down", "check":
            return then
        case "down", "click" | "input" if same:
            return then
        case "click", "check" if same:
            return then
        case "click", "click" if same and then.detail % 2 == 0 and first.button == then.button == "left":
            return first.model_copy(update={"detail": then.detail})
        case ("click" | "down"), "dblclick" if same:
            return first.model_copy(update={"kind": "dblclick", "is_plain": then.is_plain})
        case ("click" | "dblclick"), "down" if same and first.is_plain:
            return first
        case ("click" | "dblclick"), "input" if same and first.is_plain:
            return then.model_copy(update={"target": first.target})
        case "input", "input" if same:
            return then.model_copy(update={"target": first.target})
        case "input", kind if same and kind in _PRESSES | {"cancel"} and then.is_plain:
            return first
        case "scroll", "scroll" if same:
            return then.model_copy(
                update={
                    "dx": first.dx + then.dx,
                    "dy": first.dy + then.dy,
                    "is_changed": first.is_changed or then.is_changed,
                }
            )
        case "upload", "files" if same:
            return then
        case "select", "select" if same:
            return then
    return None


def _key(gesture: Gesture) -> str | None:
    return gesture.target.key if gesture.target is not None else None
