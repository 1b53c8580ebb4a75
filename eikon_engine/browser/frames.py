"""Frame paths, the frame that sent a request, and document requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.dom import child_frame_path
from eikon_engine.network.exchange import ABORTED_ERROR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Frame, Request


def frame_of(request: Request) -> Frame | None:
    """Return the frame that sent a request, itself or by its worker; None for a popup before its first document."""
    from playwright.async_api import Error

    try:
        return request.frame
    except Error:
        return None


def frame_path(frame: Frame | None) -> str:
    """Return the path of a frame: empty for the main one, for None, and for a detached one."""
    places: list[int] = []
    while frame is not None and (above := frame.parent_frame) is not None:
        if frame not in above.child_frames:
            return ""
        places.append(above.child_frames.index(frame))
        frame = above
    path = ""
    for place in reversed(places):
        path = child_frame_path(path, place)
    return path


def frame_tree(main: Frame) -> list[tuple[str, Frame]]:
    """Return all frames with their paths, parents first."""
    found: list[tuple[str, Frame]] = []
    waiting = [("", main)]
    while waiting:
        path, frame = waiting.pop()
        found.append((path, frame))
        inner = [(child_frame_path(path, place), child) for place, child in enumerate(frame.child_frames)]
        waiting.extend(reversed(inner))
    return found


def is_main_document(request: Request) -> bool:
    """Whether a request loads the main document of a page; until that is shown, the page evaluates nothing."""
    from playwright.async_api import Error

    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except Error:
        return True  # the first document of a popup


class DocumentRequests:
    """The document requests of one action, evaluated once they have ended."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Keep the document requests of main frames."""
        self._requests = [each for each in requests if _is_main_frame_document(each)]

    def cancelled_urls(self) -> tuple[str, ...]:
        """Return the URLs of those that another navigation cancelled."""
        return tuple(each.url for each in self._requests if ABORTED_ERROR in (each.failure or ""))


def _is_main_frame_document(request: Request) -> bool:
    frame = frame_of(request)
    return request.is_navigation_request() and frame is not None and frame.parent_frame is None
