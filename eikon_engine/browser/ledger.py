"""Everything that happens in the pages of a session, kept until the next observation asks for it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.trace.observation import DialogSeen, DownloadSeen

if TYPE_CHECKING:
    from playwright.async_api import (
        BrowserContext,
        ConsoleMessage,
        Dialog,
        Download,
        Page,
        Request,
        Response,
        WebError,
    )

LONG_LIVED: Final = frozenset({"eventsource", "websocket", "ping"})
"""Resource types that are open for as long as a page lives, and never keep it from being at rest."""
NOT_NETWORK: Final = ("data:", "blob:", "about:", "javascript:")


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogAnswer:
    """How the next dialog is answered."""

    accept: bool
    text: str | None = None


@dataclass(slots=True, kw_only=True)
class Happenings:
    """What happened since the last observation."""

    opened: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    dialogs: list[DialogSeen] = field(default_factory=list)
    downloads: list[tuple[int, Download]] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)
    page_errors: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)


class PageLedger:
    """Number the pages of a context in the order of opening, and note what they do."""

    def __init__(self, context: BrowserContext) -> None:
        """Listen to the context; call it before the first page opens."""
        self.pages: list[Page] = []
        self.answers: list[DialogAnswer] = []
        self.in_flight: set[Request] = set()
        self.crashed: bool = False
        self.changed = asyncio.Event()
        """Set whenever a request begins or ends."""
        self._now = Happenings()
        context.on("page", self._on_page)
        context.on("dialog", self._on_dialog)
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfinished", self._on_request_end)
        context.on("requestfailed", self._on_request_end)

    def open_pages(self) -> tuple[tuple[int, Page], ...]:
        """Return the pages that are open, with their ordinals."""
        return tuple((ordinal, page) for ordinal, page in enumerate(self.pages) if not page.is_closed())

    def take(self) -> Happenings:
        """Return what happened since the last call, and begin anew."""
        happened, self._now = self._now, Happenings()
        return happened

    @property
    def downloads_begun(self) -> int:
        """Return how many downloads began since the last observation."""
        return len(self._now.downloads)

    def forget(self, request: Request) -> None:
        """Stop waiting for a request that will never end."""
        self.in_flight.discard(request)
        self.changed.set()

    def mark_dead(self) -> None:
        """Note that the browser went away."""
        self.crashed = True
        self.changed.set()

    def _ordinal(self, page: Page | None) -> int:
        return self.pages.index(page) if page in self.pages else -1

    def _on_page(self, page: Page) -> None:
        self._now.opened.append(len(self.pages))
        self.pages.append(page)
        page.on("close", self._on_close)
        page.on("crash", self._on_crash)
        page.on("download", lambda download: self._now.downloads.append((self._ordinal(page), download)))

    def _on_close(self, page: Page) -> None:
        self._now.closed.append(self._ordinal(page))
        for request in tuple(self.in_flight):
            if _page_of(request) is page:
                self.forget(request)

    def _on_crash(self, _page: Page) -> None:
        self.crashed = True

    async def _on_dialog(self, dialog: Dialog) -> None:
        from playwright.async_api import Error

        armed = self.answers.pop(0) if self.answers and dialog.type != "beforeunload" else None
        accept = armed.accept if armed else dialog.type in {"alert", "beforeunload"}
        answer: Literal["accepted", "dismissed"] = "accepted" if accept else "dismissed"
        kind = dialog.type
        if kind in {"alert", "beforeunload", "confirm", "prompt"}:
            self._now.dialogs.append(
                DialogSeen(page=self._ordinal(dialog.page), kind=kind, message=dialog.message, answer=answer)  # type: ignore[arg-type] # the set above is the literal
            )
        try:
            if not accept:
                await dialog.dismiss()
            elif armed and armed.text is not None:
                await dialog.accept(armed.text)
            else:
                await dialog.accept()
        except Error:
            self.changed.set()  # the page went away with its dialog: there is nothing left to answer

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._now.console_errors.append(message.text)

    def _on_error(self, error: WebError) -> None:
        self._now.page_errors.append(f"{error.error.name or 'Error'}: {error.error.message}")

    def _on_request(self, request: Request) -> None:
        if request.url.startswith(NOT_NETWORK):
            return
        self._now.requests.append(request)
        if request.resource_type not in LONG_LIVED:
            self.in_flight.add(request)
            self.changed.set()

    def _on_response(self, response: Response) -> None:
        if response.request.is_navigation_request():
            self._now.responses.append(response)

    def _on_request_end(self, request: Request) -> None:
        self.forget(request)


def _page_of(request: Request) -> Page | None:
    from playwright.async_api import Error

    try:
        return request.frame.page
    except Error:
        return None


async def describe_download(page: int, download: Download) -> tuple[DownloadSeen, bytes | None]:
    """Wait for a download to end; give what is observed of it, and its content."""
    failure = await download.failure()
    if failure is not None:
        return DownloadSeen(page=page, name=download.suggested_filename, sha256=None, size=None, failure=failure), None
    content = Path(await download.path()).read_bytes()  # noqa: ASYNC240 - a local file that is complete
    seen = DownloadSeen(
        page=page,
        name=download.suggested_filename,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
    )
    return seen, content
