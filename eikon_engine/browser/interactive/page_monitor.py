"""Observe what a person does outside the document over the DevTools protocol: address bar, history, dialogs.

Domain Page: https://chromedevtools.github.io/devtools-protocol/tot/Page/. Documents announce their navigations with
`frameRequestedNavigation`; a navigation that starts without it was requested by the person.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypeVar

from eikon_engine.trace.observation import ObservedDialog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from playwright.async_api import CDPSession, Page

NavigationKind: TypeAlias = Literal["navigate", "reload", "back", "forward"]
ResultT = TypeVar("ResultT")
HISTORY_READ_TIMEOUT_S: Final = 10.0
"""Wall time after which a page that keeps navigating is not asked for its history any longer."""
HISTORY_NAVIGATION_TIMEOUT_S: Final = 10.0
"""Wall time after which a history navigation that has not ended is not waited for any longer."""
SCRIPT_NAVIGATION_START_S: Final = 1.0
"""Wall time within which a history navigation requested by a script starts; later ones are the person's."""
_POLL_INTERVAL_S: Final = 0.05
_DIALOG_KINDS: Final = frozenset({"alert", "beforeunload", "confirm", "prompt"})


class PageListener(Protocol):
    """Receives what a person does to a page from outside the document."""

    def on_navigated(self, page: int, kind: NavigationKind, url: str) -> None:
        """Handle a navigation."""

    def on_history_navigated(self, page: int, url: str, direction: Awaitable[NavigationKind | None]) -> None:
        """Handle a history navigation when it starts; `direction` resolves later, to None if it stays unknown.

        A step of more than one entry is a navigation.
        """

    def on_dialog_opened(self) -> None:
        """Handle a dialog that waits for its answer."""

    def on_dialog_closed(self, seen: ObservedDialog, text: str) -> None:
        """Handle the answer to a dialog."""

    def has_recent_activity(self, page: int) -> bool:
        """Return whether an action is pending in a page that may have caused an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialog:
    kind: str
    message: str
    default: str


def call_soon(callback: Callable[..., None], *arguments: object) -> None:
    """Call `callback` in the next iteration of the event loop, to preserve the order of events.

    Playwright delivers binding calls in a task, which starts in the next iteration, and browser events immediately: of
    two that are read together, the later one would arrive first.
    """
    asyncio.get_running_loop().call_soon(callback, *arguments)


class PageMonitor:
    """Observe one page."""

    def __init__(self, ordinal: int, listener: PageListener, *, is_popup: bool) -> None:
        """Start without events; the first document of a popup is requested by its opener."""
        self.ordinal = ordinal
        self._listener = listener
        self._page: Page | None = None
        self._devtools: CDPSession | None = None
        self._main_frame_id = ""
        self._is_opener_navigation = is_popup
        """Whether the opener requested the next navigation."""
        self._announced_url = ""
        """URL, without its scheme, that a document requested last."""
        self._dialog: _Dialog | None = None
        self._script_navigation_deadline = 0.0
        self._history_index: int | None = 0
        """Index in the history; None while unknown."""
        self._navigation_count = 0
        """Number of navigations started."""
        self._is_history_navigation = False
        """Whether the next document is one of the history, whose index is known from the step."""
        self._history_lock = asyncio.Lock()
        """Held while the history is read, so that results are processed in event order."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self, page: Page) -> None:
        """Start observing; a closed page is ignored."""
        from playwright.async_api import Error

        self._page = page
        with suppress(Error):
            devtools = self._devtools = await page.context.new_cdp_session(page)
            devtools.on("Page.frameRequestedNavigation", self._on_requested)
            devtools.on("Page.frameStartedNavigating", self._on_started)
            devtools.on("Page.frameNavigated", self._on_navigated)
            devtools.on("Page.navigatedWithinDocument", self._on_same_document)
            devtools.on("Page.javascriptDialogOpening", self._on_dialog_opened)
            devtools.on("Page.javascriptDialogClosed", self._on_dialog_closed)
            await devtools.send("Page.enable")
            main = (await devtools.send("Page.getFrameTree"))["frameTree"]["frame"]
            self._main_frame_id = main["id"]
            self._is_opener_navigation = self._is_opener_navigation and main.get("url", "") in {"", "about:blank"}
            await self._read_history_index(main.get("url", ""), self._navigation_count)

    def _on_requested(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._main_frame_id and event.get("disposition", "currentTab") == "currentTab":
            self._announced_url = _without_scheme(event["url"])

    def _on_started(self, event: dict[str, Any]) -> None:
        if event["frameId"] != self._main_frame_id:
            return
        kind, url = event["navigationType"], event["url"]
        self._navigation_count += 1
        self._is_history_navigation = kind.startswith("history")
        if self._is_history_navigation:  # not announced by a document
            call_soon(
                self._report_history_navigation, url, self._spawn(self._resolve_direction(url, self._navigation_count))
            )
            return
        is_announced = self._is_opener_navigation or self._announced_url == _without_scheme(url)
        self._clear_announcement()
        if not is_announced:
            call_soon(self._report_navigation, kind, url)

    def _report_navigation(self, kind: str, url: str) -> None:
        if kind.startswith("reload"):
            self._listener.on_navigated(self.ordinal, "reload", url)
        elif kind == "differentDocument" or not self._listener.has_recent_activity(self.ordinal):
            self._listener.on_navigated(self.ordinal, "navigate", url)

    def expect_script_navigation(self) -> None:
        """Attribute the next history navigation to a script."""
        self._script_navigation_deadline = time.monotonic() + SCRIPT_NAVIGATION_START_S

    def _report_history_navigation(self, url: str, direction: Awaitable[NavigationKind | None]) -> None:
        is_script, self._script_navigation_deadline = time.monotonic() < self._script_navigation_deadline, 0.0
        if not is_script:
            self._listener.on_history_navigated(self.ordinal, url, direction)

    async def _resolve_direction(self, url: str, navigation: int) -> NavigationKind | None:
        """Determine the direction of history navigation number `navigation` to `url`.

        It ends at the entry with that URL. If several entries have it, wait for the navigation to end and read the
        index, unless another navigation has started. It starts at the current entry until it has ended, although the
        document of that entry may not have been reported yet. If it ends where the last reported document is, it left
        one that was not reported: a later entry, so that the direction is back.
        """
        async with self._history_lock:
            previous, self._history_index = self._history_index, None
            deadline = time.monotonic() + HISTORY_NAVIGATION_TIMEOUT_S
            while True:
                if (history := await self._read_history()) is None:
                    return None
                is_last = navigation == self._navigation_count
                current, entries = history["currentIndex"], _indexes_of(history, url)
                if is_last and entries and current not in entries:
                    previous = current
                has_arrived = is_last and not self._is_history_navigation and (current in entries or not entries)
                indexes = {current} if has_arrived else entries
                if indexes == {previous}:
                    self._history_index = previous
                    return "back"
                indexes -= {previous}
                if len(indexes) == 1:
                    self._history_index = indexes.pop()
                    return None if previous is None else _navigation_kind(self._history_index - previous)
                if has_arrived or not is_last or not indexes or time.monotonic() > deadline:
                    return None
                await asyncio.sleep(_POLL_INTERVAL_S)

    def _on_navigated(self, event: dict[str, Any]) -> None:
        if event["frame"]["id"] == self._main_frame_id:
            self._on_document(event["frame"]["url"] + event["frame"].get("urlFragment", ""))

    def _on_same_document(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._main_frame_id:
            self._on_document(event["url"])

    def _on_document(self, url: str) -> None:
        self._clear_announcement()
        if not self._is_history_navigation:
            self._spawn(self._read_history_index(url, self._navigation_count))
        self._is_history_navigation = False

    def _clear_announcement(self) -> None:
        self._is_opener_navigation, self._announced_url = False, ""

    async def _read_history_index(self, url: str, navigation: int) -> None:
        """Read the history index of the document at `url`, which may have been left again."""
        async with self._history_lock:
            if (history := await self._read_history()) is None:
                return
            indexes = _indexes_of(history, url)
            if navigation == self._navigation_count:
                self._history_index = history["currentIndex"]
            else:
                self._history_index = indexes.pop() if len(indexes) == 1 else None

    async def _read_history(self) -> dict[str, Any] | None:
        """Return Chromium's navigation history; None if the page is closed.

        While one document replaces another, there are milliseconds without a page to ask.
        """
        from playwright.async_api import Error

        with suppress(TimeoutError):
            async with asyncio.timeout(HISTORY_READ_TIMEOUT_S):
                while self._devtools is not None and self._page is not None and not self._page.is_closed():
                    with suppress(Error):
                        return await self._devtools.send("Page.getNavigationHistory")
                    await asyncio.sleep(_POLL_INTERVAL_S)
        return None

    def _spawn(self, work: Coroutine[Any, Any, ResultT]) -> asyncio.Task[ResultT]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _on_dialog_opened(self, event: dict[str, Any]) -> None:
        self._dialog = _Dialog(kind=event["type"], message=event["message"], default=event.get("defaultPrompt", ""))
        call_soon(self._listener.on_dialog_opened)

    def _on_dialog_closed(self, event: dict[str, Any]) -> None:
        dialog, self._dialog = self._dialog, None
        if dialog is None or dialog.kind not in _DIALOG_KINDS:
            return
        seen = ObservedDialog(
            page=self.ordinal,
            kind=dialog.kind,  # type: ignore[arg-type] # the set above is the literal
            message=dialog.message,
            answer="accepted" if event["result"] else "dismissed",
        )
        typed = event.get("userInput", "") if dialog.kind == "prompt" else ""
        call_soon(self._listener.on_dialog_closed, seen, typed)


def _navigation_kind(step: int) -> NavigationKind:
    if abs(step) > 1:
        return "navigate"
    return "back" if step < 0 else "forward"


def _indexes_of(history: dict[str, Any], url: str) -> set[int]:
    """Return the indexes of a URL in a history."""
    return {place for place, each in enumerate(history["entries"]) if each["url"] == url}


def _without_scheme(url: str) -> str:
    """Strip http or https: the browser may upgrade it between request and start."""
    scheme, mark, rest = url.partition("://")
    return rest if mark and scheme in {"http", "https"} else url
