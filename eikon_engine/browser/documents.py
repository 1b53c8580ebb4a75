"""Documents that pages asked for, some of which were given up before they had come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.browser.frames import frame_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Request

_GIVEN_UP: Final = "net::ERR_ABORTED"


class AskedDocuments:
    """Some of the requests of one action, looked at again when they have ended."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Keep those for documents of pages."""
        self._requests = [each for each in requests if _is_document(each)]

    def given_up(self) -> tuple[str, ...]:
        """Return the addresses of those that another navigation took the place of."""
        return tuple(each.url for each in self._requests if _GIVEN_UP in (each.failure or ""))


def _is_document(request: Request) -> bool:
    frame = frame_of(request)
    return request.is_navigation_request() and frame is not None and frame.parent_frame is None
