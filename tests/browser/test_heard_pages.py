"""What a person does to a page, in the order in which they did it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import Error

from eikon_engine.browser.interactive.page_monitor import PageMonitor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from eikon_engine.browser.interactive.page_monitor import NavigationKind
    from eikon_engine.trace.observation import ObservedDialog

FIRST, SECOND, THIRD = "http://shop.test/", "http://shop.test/cart", "http://shop.test/help"


class Devtools:
    """A protocol session of a page that stands on the second of three documents."""

    def __init__(self) -> None:
        """Have no listeners."""
        self._listeners: defaultdict[str, list[Callable[[Any], None]]] = defaultdict(list)
        self.place = 1
        self.urls = (FIRST, SECOND, THIRD)
        self.refusals = 0
        """How many times the history cannot be told, as one document takes the place of another one."""

    def on(self, name: str, listener: Callable[[Any], None]) -> None:
        """Keep a listener."""
        self._listeners[name].append(listener)

    def tell(self, name: str, **event: object) -> None:
        """Tell of an event, at once, as Playwright does."""
        for listener in self._listeners[name]:
            listener(event)

    def start(self, kind: str, url: str) -> None:
        """Begin a navigation of the page."""
        self.tell("Page.frameStartedNavigating", frameId="main", navigationType=kind, url=url)

    def arrive(self, place: int) -> None:
        """Be where it leads to, at a place of the history."""
        self.place = place
        self.tell("Page.navigatedWithinDocument", frameId="main", url=self.urls[place])

    async def send(self, method: str) -> object:
        """Answer what is asked for."""
        await asyncio.sleep(0)
        if method == "Page.getNavigationHistory" and self.refusals:
            self.refusals -= 1
            message = "Protocol error (Page.getNavigationHistory): Not attached to an active page"
            raise Error(message)
        return {
            "Page.enable": {},
            "Page.getFrameTree": {"frameTree": {"frame": {"id": "main", "url": SECOND}}},
            "Page.getNavigationHistory": {
                "currentIndex": self.place,
                "entries": [{"url": each} for each in self.urls],
            },
        }[method]


class Listener:
    """Somebody who hears what a person does, and knows whether an action is under way."""

    def __init__(self, *, is_busy: bool = False) -> None:
        """Have heard nothing."""
        self.busy = is_busy
        self.heard: list[NavigationKind | Awaitable[NavigationKind | None] | ObservedDialog | str] = []

    async def told(self, *, is_busy: bool) -> None:
        """Hear of a gesture in a task, as Playwright gives what a document tells."""
        self.busy = is_busy
        self.heard.append("told")

    def has_recent_activity(self, page: int) -> bool:
        """Say whether a gesture is under way."""
        assert page == 0
        return self.busy

    def on_navigated(self, page: int, way: NavigationKind, url: str) -> None:
        """Hear that they went somewhere."""
        assert page == 0
        assert url in {FIRST, SECOND, THIRD}
        self.heard.append(way)

    def on_history_navigated(self, page: int, url: str, way: Awaitable[NavigationKind | None]) -> None:
        """Hear that they go through the history."""
        assert page == 0
        assert url in {FIRST, SECOND, THIRD}
        self.heard.append(way)

    def on_dialog_opened(self) -> None:
        """Hear of a dialog."""
        self.heard.append("opened")

    def on_dialog_closed(self, seen: ObservedDialog, text: str) -> None:
        """Hear of its answer."""
        self.heard.append(f"{seen.answer} {text}")


async def _listen(listener: Listener) -> tuple[Devtools, PageMonitor]:
    devtools = Devtools()

    async def session(_page: object) -> Devtools:
        return devtools

    page = SimpleNamespace(context=SimpleNamespace(new_cdp_session=session), is_closed=lambda: False)
    heard = PageMonitor(0, listener, is_popup=False)
    await heard.start(page)  # type: ignore[arg-type] # of it
    return devtools, heard


async def _all(listener: Listener) -> list[object]:
    """Return what was heard, in that order, and which ways were found out."""
    for _ in range(5):
        await asyncio.sleep(0)
    return [await each if isinstance(each, asyncio.Future) else each for each in listener.heard]


@pytest.mark.parametrize(("is_busy", "heard"), [(False, ["told", "navigate"]), (True, ["told"])])
def test_the_end_and_the_beginning_of_an_action_are_heard_before_what_came_after(
    is_busy: bool,  # noqa: FBT001 - of the test
    heard: list[NavigationKind],
) -> None:
    """Whoever ends an action and goes to a part of the page went there; one that is clicked and goes did so itself."""

    async def go() -> list[object]:
        listener = Listener(is_busy=not is_busy)
        devtools, _ = await _listen(listener)
        gesture = asyncio.ensure_future(listener.told(is_busy=is_busy))
        devtools.start("sameDocument", FIRST)
        await gesture
        return await _all(listener)

    assert asyncio.run(go()) == heard


def test_whoever_goes_back_in_the_midst_of_an_action_went_back_unless_a_script_did() -> None:
    """A script tells of its journey before it begins; a person just goes."""

    async def go() -> list[object]:
        listener = Listener(is_busy=True)
        devtools, page = await _listen(listener)
        page.expect_script_navigation()
        devtools.start("historyDifferentDocument", FIRST)
        devtools.arrive(0)
        devtools.start("historyDifferentDocument", SECOND)
        return await _all(listener)

    assert asyncio.run(go()) == ["forward"]


def test_whoever_goes_back_and_reloads_at_once_did_both_in_that_order() -> None:
    """The history cannot be told while a document is replaced; the journey is heard, and its way found out later."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.refusals = 3
        devtools.start("historySameDocument", FIRST)
        devtools.arrive(0)
        devtools.start("reload", FIRST)
        return await _all(listener)

    assert asyncio.run(go()) == ["back", "reload"]


@pytest.mark.parametrize(("place", "way"), [(0, "back"), (2, "forward")])
def test_a_journey_that_has_ended_before_it_is_asked_about_has_its_way(place: int, way: NavigationKind) -> None:
    """Its beginning and its end may be read together."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.start("historyDifferentDocument", (FIRST, SECOND, THIRD)[place])
        devtools.arrive(place)
        return await _all(listener)

    assert asyncio.run(go()) == [way]


def test_several_steps_through_the_history_are_a_navigation() -> None:
    """Nothing steps twice at once."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.arrive(2)
        devtools.start("historyDifferentDocument", FIRST)
        return await _all(listener)

    assert asyncio.run(go()) == ["navigate"]


def test_a_journey_to_nowhere_has_no_way() -> None:
    """A history that does not know the address says nothing."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.start("historyDifferentDocument", SECOND)
        return await _all(listener)

    assert asyncio.run(go()) == [None]


def test_a_wish_of_a_document_that_came_to_nothing_hides_no_person() -> None:
    """A link that opens a mail program asks for a navigation that never starts; the reload after it is the person's."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.tell("Page.frameRequestedNavigation", frameId="main", url="mailto:ada@shop.test")
        devtools.start("reload", SECOND)
        devtools.tell("Page.frameRequestedNavigation", frameId="main", url=THIRD.replace("http:", "https:"))
        devtools.start("differentDocument", THIRD)
        return await _all(listener)

    assert asyncio.run(go()) == ["reload"]


def test_a_dialog_is_heard_after_the_click_that_opened_it() -> None:
    """Though what the document tells comes in a task, and the dialog at once."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        gesture = asyncio.ensure_future(listener.told(is_busy=True))
        devtools.tell("Page.javascriptDialogOpening", type="prompt", message="Coupon code")
        devtools.tell("Page.javascriptDialogClosed", result=True, userInput="SAVE10")
        await gesture
        return await _all(listener)

    assert asyncio.run(go()) == ["told", "opened", "accepted SAVE10"]


def test_an_address_on_both_sides_is_asked_about_until_the_page_is_there() -> None:
    """From the second of two equal documents forward to the third: nearest says nothing, the end does."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.urls = (FIRST, SECOND, FIRST)
        devtools.start("historyDifferentDocument", FIRST)
        asyncio.get_running_loop().call_later(0.1, devtools.arrive, 2)
        return await _all(listener)

    assert asyncio.run(go()) == ["forward"]


def test_a_journey_is_told_by_where_the_one_before_led_though_the_page_has_gone_on() -> None:
    """The history is told after both: back to the first, forward to the second again."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.arrive(1)
        for place in (0, 1, 2):
            devtools.start("historyDifferentDocument", (FIRST, SECOND, THIRD)[place])
            devtools.arrive(place)
        return await _all(listener)

    assert asyncio.run(go()) == ["back", "forward", "forward"]


def test_a_journey_between_equal_addresses_that_went_on_at_once_is_not_guessed() -> None:
    """From the second of three equal documents forward, and back: nobody saw where it was in between."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.urls = (FIRST, FIRST, FIRST)
        for place in (2, 1):
            devtools.start("historyDifferentDocument", FIRST)
            devtools.arrive(place)
        ways = await _all(listener)
        devtools.start("historyDifferentDocument", FIRST)
        devtools.arrive(0)
        await asyncio.sleep(0.1)
        devtools.start("historyDifferentDocument", FIRST)
        devtools.arrive(1)
        return [*ways, *(await _all(listener))[2:]]

    assert asyncio.run(go()) == [None, None, "back", "forward"]
