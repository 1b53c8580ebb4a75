"""What a person does to a page, in the order in which they did it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.browser.by_hand.pages import HeardPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.browser.by_hand.pages import Way
    from eikon_engine.trace.observation import DialogSeen

FIRST, SECOND = "http://shop.test/", "http://shop.test/cart"


class Devtools:
    """A protocol session of a page that stands on the second of two documents."""

    def __init__(self) -> None:
        """Have no listeners."""
        self._listeners: defaultdict[str, list[Callable[[Any], None]]] = defaultdict(list)

    def on(self, name: str, listener: Callable[[Any], None]) -> None:
        """Keep a listener."""
        self._listeners[name].append(listener)

    def tell(self, name: str, **event: object) -> None:
        """Tell of an event, at once, as Playwright does."""
        for listener in self._listeners[name]:
            listener(event)

    async def send(self, method: str) -> object:
        """Answer what is asked for."""
        await asyncio.sleep(0)
        return {
            "Page.enable": {},
            "Page.getFrameTree": {"frameTree": {"frame": {"id": "main", "url": SECOND}}},
            "Page.getNavigationHistory": {"currentIndex": 1, "entries": [{"url": FIRST}, {"url": SECOND}]},
        }[method]


class Listener:
    """Somebody who hears what a person does, and knows whether an action is under way."""

    def __init__(self, *, is_busy: bool) -> None:
        """Have heard nothing."""
        self.busy = is_busy
        self.ways: list[Way] = []

    async def told(self, *, is_busy: bool) -> None:
        """Hear of a gesture in a task, as Playwright gives what a document tells."""
        self.busy = is_busy

    def is_busy(self, page: int) -> bool:
        """Say whether a gesture is under way."""
        assert page == 0
        return self.busy

    def navigated(self, page: int, way: Way, url: str) -> None:
        """Hear that they went somewhere."""
        assert (page, url) == (0, FIRST)
        self.ways.append(way)

    def dialog_opened(self) -> None:
        """Hear of no dialog."""

    def dialog_closed(self, seen: DialogSeen, text: str) -> None:
        """Hear of no dialog."""


@pytest.mark.parametrize(("is_busy", "heard"), [(False, ["back"]), (True, [])])
def test_the_end_and_the_beginning_of_an_action_are_heard_before_what_came_after(
    is_busy: bool,  # noqa: FBT001 - of the test
    heard: list[Way],
) -> None:
    """Whoever ends an action and goes back went back; a page that goes back when it is clicked did so itself."""

    async def go() -> list[Way]:
        devtools, listener = Devtools(), Listener(is_busy=not is_busy)
        page = HeardPage(0, listener, is_popup=False)

        async def session(_page: object) -> Devtools:
            return devtools

        await page.start(SimpleNamespace(context=SimpleNamespace(new_cdp_session=session)))  # type: ignore[arg-type] # of it
        gesture = asyncio.ensure_future(listener.told(is_busy=is_busy))
        devtools.tell("Page.frameStartedNavigating", frameId="main", navigationType="historySameDocument", url=FIRST)
        await gesture
        for _ in range(5):
            await asyncio.sleep(0)
        return listener.ways

    assert asyncio.run(go()) == heard
