"""Bodies of requests with files, which an attached context sends unobserved.

Playwright reports such a body only if requests are routed, and then without the content of files chosen by their path.
Documents report it through `init_attached_uploads.js`; the content of a file that its document could not read any more
is that of a file which the agent chose.
"""

from __future__ import annotations

import asyncio
import base64
from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.request_bodies import RequestBodies, content_boundary
from eikon_engine.files.text import read_digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from playwright.async_api import Page, Request

    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import FileInput

CONTENT_TIMEOUT_S: Final = 2.0
"""Wall time for a document to report a body, and the content of its files, after its request ended."""
DEFAULT_TYPE: Final = "application/octet-stream"


@dataclass(slots=True, eq=False)
class _ReportedBody:
    """A body as its document reports it."""

    parts: Sequence[Mapping[str, Any]] | None
    """The entries of the form; None if a file is the whole body."""
    raw: Mapping[str, Any] | None
    contents: dict[int, bytes] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def files(self) -> dict[int, Mapping[str, Any]]:
        """Return the files with their positions."""
        if self.raw is not None:
            return {0: self.raw}
        return {place: part for place, part in enumerate(self.parts or ()) if "size" in part}

    def is_whole(self) -> bool:
        """Whether the content of every file is known."""
        return all(place in self.contents for place in self.files())

    def encode(self, boundary: str) -> bytes:
        """Return the body as the browser sends it."""
        if self.raw is not None:
            return self.contents[0]
        lines = []
        for place, part in enumerate(self.parts or ()):
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_escape(part["name"])}"'
            if "size" in part:
                filename = _escape(part["filename"])
                head += f'; filename="{filename}"\r\nContent-Type: {part["type"] or DEFAULT_TYPE}'
                content = self.contents[place]
            else:
                content = _with_crlf(part["value"]).encode("utf-8", "replace")
            lines.append(f"{head}\r\n\r\n".encode("utf-8", "replace") + content + b"\r\n")
        return b"".join(lines) + f"--{boundary}--\r\n".encode()


class AttachedUploads(RequestBodies):
    """Complete the bodies of requests with files; requests and reports are paired in order, by method and URL."""

    def __init__(self, session: Session) -> None:
        """Start without bodies."""
        super().__init__()
        self._session = session
        self._reported: defaultdict[tuple[str, str], deque[_ReportedBody]] = defaultdict(deque)
        self._waiting: defaultdict[tuple[str, str], deque[Request]] = defaultdict(deque)
        self._pairs: dict[Request, _ReportedBody] = {}
        self._paired = asyncio.Event()
        self._completing: dict[Request, asyncio.Task[None]] = {}
        self._by_document: dict[tuple[object, ...], _ReportedBody] = {}
        self._files: defaultdict[tuple[str, int], set[bytes]] = defaultdict(set)
        """Contents of the files that the agent chose, by name and size."""
        self._types: dict[tuple[str, int], str] = {}
        session.context.on("request", self._on_request)

    def add_file(self, name: str, content: bytes) -> None:
        """Note a file that the agent chose."""
        self._files[name, len(content)].add(content)

    def with_browser_types(self, files: tuple[FileInput, ...]) -> tuple[FileInput, ...]:
        """Return chosen files with the media types that their page read."""
        types = [self._types.get((each.name, each.content.size), each.mime_type) for each in files]
        return tuple(
            each.model_copy(update={"mime_type": kind or DEFAULT_TYPE}) for each, kind in zip(files, types, strict=True)
        )

    async def complete(self, request: Request) -> None:
        """Wait for the body of a request with files, and keep it; note in `lost` why it is unknown."""
        if not self.is_awaited(request):
            return
        if request not in self._completing:
            self._completing[request] = asyncio.ensure_future(self._complete(request))
        await self._completing[request]

    async def _complete(self, request: Request) -> None:
        if request not in self._pairs:
            length = await _content_length(request)
            if request not in self._pairs and (length == 0 or (length is None and not content_boundary(request))):
                self._discard(request)
                self.note_body(request, None)
                return
        with suppress(TimeoutError):
            async with asyncio.timeout(CONTENT_TIMEOUT_S):
                await self._wait_for_contents(request)
        reported = self._pairs.pop(request, None)
        if reported is None:
            self._discard(request)
            self.note_lost(request, "no document reported it; a worker may have sent it")
            return
        self._fill_from_chosen_files(reported)
        if not reported.is_whole():
            names = ", ".join(repr(each["filename"]) for each in reported.files().values())
            self.note_lost(request, f"its document was gone before its files could be read: {names}")
            return
        self.note_body(request, reported.encode(content_boundary(request)))
        self._session.detect_in_request(request)

    async def _wait_for_contents(self, request: Request) -> None:
        """Wait for the report and the content of its files."""
        while request not in self._pairs:
            self._paired.clear()
            await self._paired.wait()
        reported = self._pairs[request]
        while not reported.is_whole():
            reported.changed.clear()
            await reported.changed.wait()

    def _fill_from_chosen_files(self, reported: _ReportedBody) -> None:
        for place, part in reported.files().items():
            if place in reported.contents:
                continue
            found = {b""} if not part["size"] else self._files.get((part["filename"], part["size"]), set())
            if len(found) == 1:
                (reported.contents[place],) = found

    def _on_request(self, request: Request) -> None:
        if not self.may_have_files(request) or request.redirected_from is not None:
            return
        self.await_body(request)
        name = (request.method, request.url.partition("#")[0])
        if self._reported[name]:
            self._pairs[request] = self._reported[name].popleft()
        else:
            self._waiting[name].append(request)

    def _discard(self, request: Request) -> None:
        waiting = self._waiting[request.method, request.url.partition("#")[0]]
        if request in waiting:
            waiting.remove(request)

    def on_report(self, _page: Page, document: tuple[object, ...], report: dict[str, Any]) -> None:
        """Process the report of a document about a body."""
        if report["subject"] != "upload":
            return
        if report["kind"] == "chosen":
            self._types |= {(each["filename"], each["size"]): each["type"] for each in report["files"]}
            return
        place = (*document, report["body"])
        if report["kind"] == "content":
            reported = self._by_document.get(place)
            if reported is not None and report["content"] is not None:
                reported.contents[report["part"]] = base64.b64decode(report["content"])
                reported.changed.set()
            return
        reported = self._by_document[place] = _ReportedBody(report["parts"], report["raw"])
        name = (report["method"], report["url"])
        if self._waiting[name]:
            self._pairs[self._waiting[name].popleft()] = reported
            self._paired.set()
        else:
            self._reported[name].append(reported)


async def _content_length(request: Request) -> int | None:
    """Return the length of a body; None if it was not sent, as without a body, or if its page is gone."""
    from playwright.async_api import Error

    with suppress(Error, TimeoutError):
        async with asyncio.timeout(CONTENT_TIMEOUT_S):
            length = (await request.all_headers()).get("content-length", "")
            return read_digits(length) if length.isdecimal() else None
    return None


def _escape(name: str) -> str:
    """Escape a name: https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data."""
    return name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def _with_crlf(value: str) -> str:
    return value.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
