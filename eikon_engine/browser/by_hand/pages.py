"""Hear over the DevTools protocol what a person does beside the document: the address bar, the history, dialogs.

Domain Page: https://chromedevtools.github.io/devtools-protocol/tot/Page/. A navigation that a document asks for is told
by `frameRequestedNavigation` before it starts; one that starts without was asked for by the person.
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
"""Wall time after which a page that changes its document all the time is asked for its history no longer."""
ARRIVE_S: Final = 10.0
"""Wall time after which a journey through the history that has not ended is waited for no longer."""
LEAVE_S: Final = 1.0
"""Wall time within which a journey begins that a script asked for; later ones are the person's."""
_PAUSE_S: Final = 0.05
_DIALOGS: Final = frozenset({"alert", "beforeunload", "confirm", "prompt"})


class PageListener(Protocol):
    """Somebody who wants to know what a person does to a page from outside of it."""

    def navigated(self, page: int, way: Way, url: str) -> None:
        """Hear that a person goes somewhere."""

    def travelled(self, page: int, url: str, way: Awaitable[Way | None]) -> None:
        """Hear that a person goes through the history, at once: which way is found out, or never, and then None.

        A way that is neither one step back nor one forward is a navigation.
        """

    def dialog_opened(self) -> None:
        """Hear that a dialog waits for its answer."""

    def dialog_closed(self, seen: DialogSeen, text: str) -> None:
        """Hear how it was answered."""

    def is_busy(self, page: int) -> bool:
        """Say whether an action is under way in a page that may have caused what happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialog:
    kind: str
    message: str
    default: str


def in_turn(tell: Callable[..., None], *told: object) -> None:
    """Tell something after what came before it.

    Playwright gives what the script of a document tells to a task, which begins in the next turn of the event loop, and
    an event of the browser at once: of two that are read together, the later one would be heard first.
    """
    asyncio.get_running_loop().call_soon(tell, *told)


class HeardPage:
    """Listen to one page."""

    def __init__(self, ordinal: int, listener: PageListener, *, is_popup: bool) -> None:
        """Begin with nothing heard; the first document of a popup is asked for by whoever opened it."""
        self.ordinal = ordinal
        self._listener = listener
        self._page: Page | None = None
        self._devtools: CDPSession | None = None
        self._main = ""
        self._is_asked = is_popup
        """Whether the next navigation is one that its opener asked for."""
        self._asked_for = ""
        """Address, from its host on, that a document has asked for last."""
        self._dialog: _Dialog | None = None
        self._script_leaves_by = 0.0
        self._place: int | None = 0
        """Where in its history the page is; None while that is not known."""
        self._begun = 0
        """How many navigations have begun."""
        self._is_travelling = False
        """Whether the next document is one of the history: the place is known by the way to it."""
        self._asking = asyncio.Lock()
        """Held while the history is asked for, so that answers are taken in the order of what happened."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self, page: Page) -> None:
        """Begin to listen; a page that is gone says nothing."""
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
        if self._is_travelling:  # of which no document tells
            in_turn(self._tell_travel, url, self._spawn(self._way_to(url, self._begun)))
            return
        asked = self._is_asked or self._asked_for == _from_host(url)
        self._forget_asked()
        if not asked:
            in_turn(self._tell_navigation, kind, url)

    def _tell_navigation(self, kind: str, url: str) -> None:
        if kind.startswith("reload"):
            self._listener.navigated(self.ordinal, "reload", url)
        elif kind == "differentDocument" or not self._listener.is_busy(self.ordinal):
            self._listener.navigated(self.ordinal, "navigate", url)

    def expect_travel(self) -> None:
        """Let the next journey through the history be a script's."""
        self._script_leaves_by = time.monotonic() + LEAVE_S

    def _tell_travel(self, url: str, way: Awaitable[Way | None]) -> None:
        is_script, self._script_leaves_by = time.monotonic() < self._script_leaves_by, 0.0
        if not is_script:
            self._listener.travelled(self.ordinal, url, way)

    async def _way_to(self, url: str, begun: int) -> Way | None:
        """Find out which way a journey to `url` goes, the navigation with the number `begun`.

        It ends where the history has that address. Where it has it more than once, the end is waited for, and the page
        is where the journey led, unless it has gone on meanwhile.
        """
        async with self._asking:
            before, self._place = self._place, None
            until = time.monotonic() + ARRIVE_S
            while True:
                is_last = begun == self._begun
                has_arrived = is_last and not self._is_travelling
                if (history := await self._history()) is None:
                    return None
                now = history["currentIndex"]
                places = ({now} if has_arrived else _places(history, url)) - {before}
                if len(places) == 1:
                    self._place = places.pop()
                    return None if before is None else _way(self._place - before)
                if has_arrived or not is_last or not places or time.monotonic() > until:
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
        """Find out where the history has the document of `url`, which may have been left again."""
        async with self._asking:
            if (history := await self._history()) is None:
                return
            places = _places(history, url)
            if begun == self._begun:
                self._place = history["currentIndex"]
            else:
                self._place = places.pop() if len(places) == 1 else None

    async def _history(self) -> dict[str, Any] | None:
        """Return the history as Chromium tells it; None of a page that is gone.

        While a document takes the place of another one, there is no page to ask: that is a matter of milliseconds.
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
    """Return where a history has an address."""
    return {place for place, each in enumerate(history["entries"]) if each["url"] == url}


def _from_host(url: str) -> str:
    """Leave out whether an address is secure: the browser may choose that between the wish and the way."""
    scheme, mark, rest = url.partition("://")
    return rest if mark and scheme in {"http", "https"} else url
