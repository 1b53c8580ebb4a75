"""Document requests of pages, some of which were cancelled before their response arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.browser.frames import frame_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Request

_GIVEN_UP: Final = "net::ERR_ABORTED"


class AskedDocuments:
    """The document requests of one action, evaluated once they have ended."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Keep the document requests of main frames."""
        self._requests = [each for each in requests if _is_document(each)]

    def given_up(self) -> tuple[str, ...]:
        """Return the URLs of those that another navigation cancelled."""
        return tuple(each.url for each in self._requests if _GIVEN_UP in (each.failure or ""))


def _is_document(request: Request) -> bool:
    frame = frame_of(request)
    return request.is_navigation_request() and frame is not None and frame.parent_frame is None
