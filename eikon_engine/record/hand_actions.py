"""What a person did, as actions of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

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

STEPS_BACK = -1


def action_of(
    gesture: Gesture,
    *,
    page: int,
    target: Target | None,
    second: Target | None = None,
    files: tuple[FileInput, ...] = (),
) -> Action:
    """Return the action; a gesture that needs an element and has none becomes a note."""
    if target is not None:
        return _on_target(gesture, page, target, second or target, files)
    match gesture.kind:
        case "navigate":
            return Navigate(page=page, url=gesture.text)
        case "reload":
            return Reload(page=page)
        case "travel":
            return GoBack(page=page) if gesture.detail == STEPS_BACK else GoForward(page=page)
        case "close":
            return ClosePage(page=page)
        case "open":
            return OpenPage(page=page)
        case "press":
            return Press(page=page, key=gesture.key)
        case "scroll":
            return Scroll(page=page, dx=gesture.dx, dy=gesture.dy)
        case _:
            return Note(page=page, text=f"a {gesture.kind} on an element that could not be told was not recorded")


def _on_target(gesture: Gesture, page: int, target: Target, second: Target, files: tuple[FileInput, ...]) -> Action:  # noqa: C901, PLR0911 - one kind a line
    place = gesture.position
    match gesture.kind:
        case "click":
            return Click(
                page=page, target=target, position=place, button=gesture.button, modifiers=gesture.modifiers
            )
        case "dblclick":
            return DoubleClick(page=page, target=target, position=place, modifiers=gesture.modifiers)
        case "check" if gesture.is_checked:
            return Check(page=page, target=target)
        case "check":
            return Uncheck(page=page, target=target)
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
        case "drag":
            return Drag(
                page=page, target=target, to=second, position=place, to_position=gesture.second_position
            )
        case "down" | "cancel":
            return Hover(page=page, target=target)
        case "close" | "finish" | "hello" | "lost" | "navigate" | "open" | "reload" | "subgoal" | "travel":
            return Note(page=page, text=f"a {gesture.kind} of no element")
    assert_never(gesture.kind)


def as_download(action: Action) -> Action:
    """Say that a click was one on something that downloads a file."""
    if not isinstance(action, Click) or action.button != "left":
        return action
    return Download(page=action.page, target=action.target, position=action.position, modifiers=action.modifiers)
