"""Navigate the private objects of a Playwright client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eikon_engine.browser.playwright_errors import translate

if TYPE_CHECKING:
    from eikon_engine.browser.attached.tap import PlaywrightCall


def context_of_call(call: PlaywrightCall) -> Any:  # noqa: ANN401 - the objects of the client have no public types
    """Return the context of a call; None if it has none."""
    found = call.target
    while found is not None and found._type != "BrowserContext":  # noqa: SLF001 - this module wraps private objects
        found = found._parent  # noqa: SLF001 - as above
    return found


def page_of_call(call: PlaywrightCall) -> Any:  # noqa: ANN401 - as above
    """Return the page of a call; None if it has none."""
    found = call.target
    while found is not None and found._type != "Page":  # noqa: SLF001 - as above
        found = found.page if found._type in {"Dialog", "Frame"} else found._parent  # noqa: SLF001 - as above
    return found


def frame_of_call(call: PlaywrightCall) -> Any:  # noqa: ANN401 - as above
    """Return the frame in which a call resolves selectors: its own, or the main frame of its page."""
    found = call.target
    while found is not None and found._type != "Frame":  # noqa: SLF001 - as above
        found = found.main_frame if found._type == "Page" else found._parent  # noqa: SLF001 - as above
    return found


def frames_of_call(call: PlaywrightCall) -> tuple[Any, ...]:
    """Return all frames of the page of a call, the main frame first."""
    page = page_of_call(call)
    return () if page is None else tuple(page.frames)


def frame_path(frame: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
    """Return selectors of the iframes that lead from the page to a frame, outermost first."""
    selectors: list[str] = []
    while frame is not None and frame.parent_frame is not None:
        siblings = frame.parent_frame.child_frames
        named = [each for each in siblings if frame.name and each.name == frame.name]
        by_name = f'iframe[name="{frame.name}"]' if len(named) == 1 and '"' not in frame.name else ""
        selectors.append(by_name or f"iframe >> nth={siblings.index(frame) if frame in siblings else 0}")
        frame = frame.parent_frame
    return tuple(reversed(selectors))


def handle_in_result(result: Any) -> Any:  # noqa: ANN401 - as above
    """Return the object behind a channel in a result; None if there is none."""
    return getattr(result, "_object", None)


def failure_from_error(error: Exception, operation: str) -> tuple[str, str]:
    """Return code and message of a failed call; `wanted` describes the call."""
    from playwright.async_api import Error

    if not isinstance(error, Error):
        return "unknown", f"{operation}: {type(error).__name__}: {error}"
    translated = translate(error, operation)
    return translated.code, translated.message


def dialog_details(call: PlaywrightCall) -> tuple[str, str, str]:
    """Return type, message and default value of a dialog."""
    dialog = call.target
    return dialog.type, dialog.message, dialog.default_value
