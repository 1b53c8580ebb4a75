"""Convert gestures of a person into actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.record.gesture import FORWARD
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
    Navigate,
    Note,
    OpenPage,
    Press,
    Reload,
    Scroll,
    SelectOption,
    SetInputFiles,
    Uncheck,
)

if TYPE_CHECKING:
    from eikon_engine.record.gesture import Gesture
    from eikon_engine.trace.actions import Action, FileInput
    from eikon_engine.trace.target import Target

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
