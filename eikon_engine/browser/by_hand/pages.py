"""Hear over the DevTools protocol what a person does beside the document: the address bar, the history, dialogs.

Domain Page: https://chromedevtools.github.io/devtools-protocol/tot/Page/. A navigation that a document asks for is told
by `frameRequestedNavigation` before it starts; one that starts without was asked for by the person.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from eikon_engine.trace.observation import DialogSeen

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import CDPSession, Page

Way: TypeAlias = Literal["navigate", "reload", "back", "forward"]
_DIALOGS: Final = frozenset({"alert", "beforeunload", "confirm", "prompt"})


class PageListener(Protocol):
    """Somebody who wants to know what a person does to a page from outside of it."""

    def navigated(self, page: int, way: Way, url: str) -> None:
        """Hear that a person goes somewhere."""

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
        self._ordinal = ordinal
        self._listener = listener
        self._devtools: CDPSession | None = None
        self._main = ""
        self._is_asked = is_popup
        """Whether the next navigation is one that a document asked for."""
        self._dialog: _Dialog | None = None
        self._place = 0
        """Where in its history the page is."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, page: Page) -> None:
        """Begin to listen; a page that is gone says nothing."""
        from playwright.async_api import Error

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
            await self._read_place()

    def _on_requested(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._main and event.get("disposition", "currentTab") == "currentTab":
            self._is_asked = True

    def _on_started(self, event: dict[str, Any]) -> None:
        if event["frameId"] != self._main:
            return
        asked, self._is_asked = self._is_asked, False
        if not asked:
            in_turn(self._tell_navigation, event["navigationType"], event["url"])

    def _tell_navigation(self, kind: str, url: str) -> None:
        if kind.startswith("reload"):
            self._listener.navigated(self._ordinal, "reload", url)
        elif kind.startswith("history"):
            if not self._listener.is_busy(self._ordinal):  # else a script went back
                self._spawn_travel(url)
        elif kind == "differentDocument" or not self._listener.is_busy(self._ordinal):
            self._listener.navigated(self._ordinal, "navigate", url)

    def _spawn_travel(self, url: str) -> None:
        task = asyncio.ensure_future(self._travel(url))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _travel(self, url: str) -> None:
        """Find out which way through the history it goes: where it leads to lies on one side."""
        from playwright.async_api import Error

        if self._devtools is None:
            return
        with suppress(Error):
            history = await self._devtools.send("Page.getNavigationHistory")
            entries = [entry["url"] for entry in history["entries"]]
            steps = [place - self._place for place, each in enumerate(entries) if each == url and place != self._place]
            step = min(steps, key=abs, default=-1)
            if abs(step) == 1:
                self._listener.navigated(self._ordinal, "back" if step < 0 else "forward", url)
            else:
                self._listener.navigated(self._ordinal, "navigate", url)

    def _on_navigated(self, event: dict[str, Any]) -> None:
        if event["frame"]["id"] == self._main:
            self._is_asked = False
            self._spawn_read()

    def _on_within(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._main:
            self._is_asked = False
            self._spawn_read()

    def _spawn_read(self) -> None:
        task = asyncio.ensure_future(self._read_place())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_place(self) -> None:
        from playwright.async_api import Error

        if self._devtools is not None:
            with suppress(Error):
                self._place = (await self._devtools.send("Page.getNavigationHistory"))["currentIndex"]

    def _on_dialog(self, event: dict[str, Any]) -> None:
        self._dialog = _Dialog(kind=event["type"], message=event["message"], default=event.get("defaultPrompt", ""))
        self._listener.dialog_opened()

    def _on_answer(self, event: dict[str, Any]) -> None:
        dialog, self._dialog = self._dialog, None
        if dialog is None or dialog.kind not in _DIALOGS:
            return
        seen = DialogSeen(
            page=self._ordinal,
            kind=dialog.kind,  # type: ignore[arg-type] # the set above is the literal
            message=dialog.message,
            answer="accepted" if event["result"] else "dismissed",
        )
        self._listener.dialog_closed(seen, event.get("userInput", "") if dialog.kind == "prompt" else "")
