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

from eikon_engine.trace.observation import DialogSeen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from playwright.async_api import CDPSession, Page

Way: TypeAlias = Literal["navigate", "reload", "back", "forward"]
T = TypeVar("T")
LOOK_S: Final = 2.0
"""Wall time after which a page that keeps navigating is not asked for its history any longer."""
ARRIVE_S: Final = 10.0
"""Wall time after which a history navigation that has not ended is not waited for any longer."""
LEAVE_S: Final = 1.0
"""Wall time within which a history navigation requested by a script starts; later ones are the person's."""
_PAUSE_S: Final = 0.05
_DIALOGS: Final = frozenset({"alert", "beforeunload", "confirm", "prompt"})


class PageListener(Protocol):
    """Receives what a person does to a page from outside the document."""

    def navigated(self, page: int, way: Way, url: str) -> None:
        """Handle a navigation."""

    def travelled(self, page: int, url: str, way: Awaitable[Way | None]) -> None:
        """Handle a history navigation when it starts; `way` resolves later, to None if it stays unknown.

        A step of more than one entry is a navigation.
        """

    def dialog_opened(self) -> None:
        """Handle a dialog that waits for its answer."""

    def dialog_closed(self, seen: DialogSeen, text: str) -> None:
        """Handle the answer to a dialog."""

    def is_busy(self, page: int) -> bool:
        """Return whether an action is pending in a page that may have caused an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialog:
    kind: str
    message: str
    default: str


def in_turn(tell: Callable[..., None], *told: object) -> None:
    """Call `tell` in the next iteration of the event loop, to preserve the order of events.

    Playwright delivers binding calls in a task, which starts in the next iteration, and browser events immediately: of
    two that are read together, the later one would arrive first.
    """
    asyncio.get_running_loop().call_soon(tell, *told)


class HeardPage:
    """Observe one page."""

    def __init__(self, ordinal: int, listener: PageListener, *, is_popup: bool) -> None:
        """Start without events; the first document of a popup is requested by its opener."""
        self.ordinal = ordinal
        self._listener = listener
        self._page: Page | None = None
        self._devtools: CDPSession | None = None
        self._main = ""
        self._is_asked = is_popup
        """Whether the opener requested the next navigation."""
        self._asked_for = ""
        """URL, without its scheme, that a document requested last."""
        self._dialog: _Dialog | None = None
        self._script_leaves_by = 0.0
        self._place: int | None = 0
        """Index in the history; None while unknown."""
        self._begun = 0
        """Number of navigations started."""
        self._is_travelling = False
        """Whether the next document is one of the history, whose index is known from the step."""
        self._asking = asyncio.Lock()
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
            devtools.on("Page.navigatedWithinDocument", self._on_within)
            devtools.on("Page.javascriptDialogOpening", self._on_dialog)
            devtools.on("Page.javascriptDialogClosed", self._on_answer)
            await devtools.send("Page.enable")
            main = (await devtools.send("Page.getFrameTree"))["frameTree"]["frame"]
            self._main = main["id"]
            self._is_asked = self._is_asked and main.get("url", "") in {"", "about:blank"}
            await self._read_place(main.get("url", ""), self._begun)

    def _on_requested(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._main and event.get("disposition", "currentTab") == "currentTab":
            self._asked_for = _from_host(event["url"])

    def _on_started(self, event: dict[str, Any]) -> None:
        if event["frameId"] != self._main:
            return
        kind, url = event["navigationType"], event["url"]
        self._begun += 1
        self._is_travelling = kind.startswith("history")
        if self._is_travelling:  # not announced by a document
            in_turn(self._tell_travel, url, self._spawn(self._way_to(url, self._begun)))
            return
        is_announced = self._is_asked or self._asked_for == _from_host(url)
        self._forget_asked()
        if not is_announced:
            in_turn(self._tell_navigation, kind, url)

    def _tell_navigation(self, kind: str, url: str) -> None:
        if kind.startswith("reload"):
            self._listener.navigated(self.ordinal, "reload", url)
        elif kind == "differentDocument" or not self._listener.is_busy(self.ordinal):
            self._listener.navigated(self.ordinal, "navigate", url)

    def expect_travel(self) -> None:
        """Attribute the next history navigation to a script."""
        self._script_leaves_by = time.monotonic() + LEAVE_S

    def _tell_travel(self, url: str, way: Awaitable[Way | None]) -> None:
        is_script, self._script_leaves_by = time.monotonic() < self._script_leaves_by, 0.0
        if not is_script:
            self._listener.travelled(self.ordinal, url, way)

    async def _way_to(self, url: str, begun: int) -> Way | None:
        """Determine the direction of history navigation number `begun` to `url`.

        It ends at the entry with that URL. If several entries have it, wait for the navigation to end and read the
        index, unless another navigation has started.
        """
        async with self._asking:
            previous, self._place = self._place, None
            deadline = time.monotonic() + ARRIVE_S
            while True:
                is_last = begun == self._begun
                has_arrived = is_last and not self._is_travelling
                if (history := await self._history()) is None:
                    return None
                current = history["currentIndex"]
                indexes = ({current} if has_arrived else _places(history, url)) - {previous}
                if len(indexes) == 1:
                    self._place = indexes.pop()
                    return None if previous is None else _way(self._place - previous)
                if has_arrived or not is_last or not indexes or time.monotonic() > deadline:
                    return None
                await asyncio.sleep(_PAUSE_S)

    def _on_navigated(self, event: dict[str, Any]) -> None:
        if event["frame"]["id"] == self._main:
            self._arrive(event["frame"]["url"] + event["frame"].get("urlFragment", ""))

    def _on_within(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._main:
            self._arrive(event["url"])

    def _arrive(self, url: str) -> None:
        self._forget_asked()
        if not self._is_travelling:
            self._spawn(self._read_place(url, self._begun))
        self._is_travelling = False

    def _forget_asked(self) -> None:
        self._is_asked, self._asked_for = False, ""

    async def _read_place(self, url: str, begun: int) -> None:
        """Read the history index of the document at `url`, which may have been left again."""
        async with self._asking:
            if (history := await self._history()) is None:
                return
            indexes = _places(history, url)
            if begun == self._begun:
                self._place = history["currentIndex"]
            else:
                self._place = indexes.pop() if len(indexes) == 1 else None

    async def _history(self) -> dict[str, Any] | None:
        """Return Chromium's navigation history; None if the page is closed.

        While one document replaces another, there are milliseconds without a page to ask.
        """
        from playwright.async_api import Error

        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                while self._devtools is not None and self._page is not None and not self._page.is_closed():
                    with suppress(Error):
                        return await self._devtools.send("Page.getNavigationHistory")
                    await asyncio.sleep(_PAUSE_S)
        return None

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _on_dialog(self, event: dict[str, Any]) -> None:
        self._dialog = _Dialog(kind=event["type"], message=event["message"], default=event.get("defaultPrompt", ""))
        in_turn(self._listener.dialog_opened)

    def _on_answer(self, event: dict[str, Any]) -> None:
        dialog, self._dialog = self._dialog, None
        if dialog is None or dialog.kind not in _DIALOGS:
            return
        seen = DialogSeen(
            page=self.ordinal,
            kind=dialog.kind,  # type: ignore[arg-type] # the set above is the literal
            message=dialog.message,
            answer="accepted" if event["result"] else "dismissed",
        )
        typed = event.get("userInput", "") if dialog.kind == "prompt" else ""
        in_turn(self._listener.dialog_closed, seen, typed)


def _way(step: int) -> Way:
    if abs(step) > 1:
        return "navigate"
    return "back" if step < 0 else "forward"


def _places(history: dict[str, Any], url: str) -> set[int]:
    """Return the indexes of a URL in a history."""
    return {place for place, each in enumerate(history["entries"]) if each["url"] == url}


def _from_host(url: str) -> str:
    """Strip http or https: the browser may upgrade it between request and start."""
    scheme, mark, rest = url.partition("://")
    return rest if mark and scheme in {"http", "https"} else url
