"""Bodies of requests, also of those that Playwright does not report."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from eikon_engine.network.keys import unpack_body

if TYPE_CHECKING:
    from playwright.async_api import Request

    from eikon_engine.trace.actions import FileInput

_BOUNDARY: Final = re.compile(r";\s*boundary=\"?([^;\s\"]+)", re.IGNORECASE)


class RequestBodies:
    """The bodies of the requests of a session: as Playwright reports them, or as they become known later."""

    def __init__(self) -> None:
        """Start without bodies that become known later."""
        self._known: dict[Request, bytes | None] = {}
        self._tokens: dict[Request, bytes] = {}
        self._alike: defaultdict[tuple[str, str], list[Request]] = defaultdict(list)
        self.late: dict[bytes, bytes | None] = {}
        """Bodies by the tokens that stood for them until they were known; None if they are lost."""
        self.lost: list[tuple[Request, str]] = []
        """Requests whose body is unknown, with the reason."""

    def of(self, request: Request) -> bytes | None:
        """Return the body of a request; a token that is unique to the request while its body is not known yet."""
        if request in self._known:
            return self._known[request]
        token = self._tokens.get(request)
        return unpack_body(request.post_data_buffer) if token is None else token

    def may_have_files(self, request: Request) -> bool:
        """Whether a request may have a body that Playwright does not report."""
        return request.method not in {"GET", "HEAD"} and request.post_data_buffer is None

    def is_awaited(self, request: Request) -> bool:
        """Whether the body of a request is not known yet."""
        return request in self._tokens and request not in self._known

    def was_awaited(self, request: Request) -> bool:
        """Whether the body of a request was not known when it was sent."""
        return request in self._tokens

    def awaited_before(self, request: Request) -> tuple[Request, ...]:
        """Return earlier requests with the same method and URL whose bodies were not known either."""
        alike = self._alike[_name(request)]
        return tuple(alike[: alike.index(request)])

    def await_body(self, request: Request) -> None:
        """Use a token for the body of a request until it is known."""
        self._alike[_name(request)].append(request)
        self._tokens[request] = f"\0eikon-body-{len(self._tokens)}".encode()

    def note_body(self, request: Request, body: bytes | None) -> None:
        """Note the body of a request; None if it has none."""
        self._known[request] = self.late[self._tokens[request]] = unpack_body(body)

    def note_lost(self, request: Request, why: str) -> None:
        """Note that the body of a request is lost."""
        self.note_body(request, None)
        self.lost.append((request, why))

    def add_file(self, name: str, content: bytes) -> None:
        """Note a file that the agent chose."""

    def with_browser_types(self, files: tuple[FileInput, ...]) -> tuple[FileInput, ...]:
        """Return chosen files with the media types that their page read."""
        return files

    async def complete(self, request: Request) -> None:
        """Wait for the body of a request that has ended."""


def _name(request: Request) -> tuple[str, str]:
    return request.method, request.url.partition("#")[0]


def content_boundary(request: Request) -> str:
    """Return the boundary of a multipart request; empty for any other."""
    found = _BOUNDARY.search(request.headers.get("content-type", ""))
    return found[1] if found else ""
