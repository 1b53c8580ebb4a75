"""Document requests of pages, some of which were cancelled before their response arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.browser.frames import frame_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Request

_CANCELLED: Final = "net::ERR_ABORTED"


class DocumentRequests:
    """The document requests of one action, evaluated once they have ended."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Keep the document requests of main frames."""
        self._requests = [each for each in requests if _is_main_frame_document(each)]

    def cancelled_urls(self) -> tuple[str, ...]:
        """Return the URLs of those that another navigation cancelled."""
        return tuple(each.url for each in self._requests if _CANCELLED in (each.failure or ""))


def _is_main_frame_document(request: Request) -> bool:
    frame = frame_of(request)
    return request.is_navigation_request() and frame is not None and frame.parent_frame is None
