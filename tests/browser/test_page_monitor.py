"""A person's actions on a page are reported in order."""

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
UNKNOWN = "http://shop.test/unknown"


class Devtools:
    """A DevTools session of a page that shows the second of three documents."""

    def __init__(self) -> None:
        """Start without listeners."""
        self._listeners: defaultdict[str, list[Callable[[Any], None]]] = defaultdict(list)
        self.place = 1
        self.urls = (FIRST, SECOND, THIRD)
        self.refusals = 0
        """How many times the history cannot be read, because a document is being replaced."""

    def on(self, name: str, listener: Callable[[Any], None]) -> None:
        """Keep a listener."""
        self._listeners[name].append(listener)

    def emit(self, name: str, **event: object) -> None:
        """Emit an event at once, as Playwright does."""
        for listener in self._listeners[name]:
            listener(event)

    def start(self, kind: str, url: str) -> None:
        """Start a navigation of the page."""
        self.emit("Page.frameStartedNavigating", frameId="main", navigationType=kind, url=url)

    def arrive(self, place: int) -> None:
        """Arrive at an entry of the history."""
        self.place = place
        self.emit("Page.navigatedWithinDocument", frameId="main", url=self.urls[place])

    async def send(self, method: str) -> object:
        """Return the result of a command."""
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
    """Records what a monitor reports, and knows whether an action is pending."""

    def __init__(self, *, is_busy: bool = False) -> None:
        """Start without reports."""
        self.busy = is_busy
        self.reports: list[NavigationKind | Awaitable[NavigationKind | None] | ObservedDialog | str] = []

    async def on_gesture(self, *, is_busy: bool) -> None:
        """Handle a gesture in a task, as Playwright delivers binding calls."""
        self.busy = is_busy
        self.reports.append("gesture")

    def has_recent_activity(self, page: int) -> bool:
        """Return whether a gesture is pending."""
        assert page == 0
        return self.busy

    def on_navigated(self, page: int, direction: NavigationKind, url: str) -> None:
        """Record a navigation."""
        assert page == 0
        assert url in {FIRST, SECOND, THIRD}
        self.reports.append(direction)

    def on_history_navigated(self, page: int, url: str, direction: Awaitable[NavigationKind | None]) -> None:
        """Record a history navigation."""
        assert page == 0
        assert url in {FIRST, SECOND, THIRD, UNKNOWN}
        self.reports.append(direction)

    def on_dialog_opened(self) -> None:
        """Record a dialog."""
        self.reports.append("opened")

    def on_dialog_closed(self, seen: ObservedDialog, text: str) -> None:
        """Record its answer."""
        self.reports.append(f"{seen.answer} {text}")


async def _listen(listener: Listener) -> tuple[Devtools, PageMonitor]:
    devtools = Devtools()

    async def session(_page: object) -> Devtools:
        return devtools

    page = SimpleNamespace(context=SimpleNamespace(new_cdp_session=session), is_closed=lambda: False)
    reports = PageMonitor(0, listener, is_popup=False)
    await reports.start(page)  # type: ignore[arg-type] # of it
    return devtools, reports


async def _all(listener: Listener) -> list[object]:
    """Return the reports in order, with resolved directions."""
    for _ in range(5):
        await asyncio.sleep(0)
    return [await each if isinstance(each, asyncio.Future) else each for each in listener.reports]


@pytest.mark.parametrize(("is_busy", "reports"), [(False, ["gesture", "navigate"]), (True, ["gesture"])])
def test_a_gesture_is_reported_before_the_navigation_after_it(
    is_busy: bool,  # noqa: FBT001 - of the test
    reports: list[NavigationKind],
) -> None:
    """A fragment navigation between two actions is the person's; during an action it is the page's."""

    async def go() -> list[object]:
        listener = Listener(is_busy=not is_busy)
        devtools, _ = await _listen(listener)
        gesture = asyncio.ensure_future(listener.on_gesture(is_busy=is_busy))
        devtools.start("sameDocument", FIRST)
        await gesture
        return await _all(listener)

    assert asyncio.run(go()) == reports


def test_going_back_during_an_action_is_the_persons_unless_a_script_announced_it() -> None:
    """A script announces its history navigation before it starts; a person does not."""

    async def go() -> list[object]:
        listener = Listener(is_busy=True)
        devtools, page = await _listen(listener)
        page.expect_script_navigation()
        devtools.start("historyDifferentDocument", FIRST)
        devtools.arrive(0)
        devtools.start("historyDifferentDocument", SECOND)
        return await _all(listener)

    assert asyncio.run(go()) == ["forward"]


def test_going_back_and_reloading_at_once_are_reported_in_that_order() -> None:
    """The history cannot be read while a document is replaced; the direction is resolved later."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.refusals = 3
        devtools.start("historySameDocument", FIRST)
        devtools.arrive(0)
        devtools.start("reload", FIRST)
        return await _all(listener)

    assert asyncio.run(go()) == ["back", "reload"]


@pytest.mark.parametrize(("place", "direction"), [(0, "back"), (2, "forward")])
def test_a_history_navigation_that_has_already_ended_has_its_direction(place: int, direction: NavigationKind) -> None:
    """Its start and its end may be read together."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.start("historyDifferentDocument", (FIRST, SECOND, THIRD)[place])
        devtools.arrive(place)
        return await _all(listener)

    assert asyncio.run(go()) == [direction]


def test_several_steps_through_the_history_are_a_navigation() -> None:
    """No action moves more than one step."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.arrive(2)
        devtools.start("historyDifferentDocument", FIRST)
        return await _all(listener)

    assert asyncio.run(go()) == ["navigate"]


def test_a_history_navigation_to_an_unknown_url_has_no_direction() -> None:
    """A history without that URL resolves to None."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.start("historyDifferentDocument", UNKNOWN)
        return await _all(listener)

    assert asyncio.run(go()) == [None]


@pytest.mark.parametrize("is_read_late", [False, True])
def test_a_step_back_may_be_reported_before_the_document_that_it_leaves(
    is_read_late: bool,  # noqa: FBT001 - of the test
) -> None:
    """The browser reports the start of a step itself, but its renderer the document: they can overtake each other."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.place = 2
        devtools.start("historyDifferentDocument", SECOND)
        if is_read_late:
            devtools.arrive(1)
        else:
            devtools.emit("Page.navigatedWithinDocument", frameId="main", url=THIRD)
        return await _all(listener)

    assert asyncio.run(go()) == ["back"]


def test_a_request_to_navigate_that_never_starts_hides_no_reload() -> None:
    """A mailto link requests a navigation that never starts; the reload after it is the person's."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.emit("Page.frameRequestedNavigation", frameId="main", url="mailto:ada@shop.test")
        devtools.start("reload", SECOND)
        devtools.emit("Page.frameRequestedNavigation", frameId="main", url=THIRD.replace("http:", "https:"))
        devtools.start("differentDocument", THIRD)
        return await _all(listener)

    assert asyncio.run(go()) == ["reload"]


def test_a_dialog_is_reported_after_the_click_that_opened_it() -> None:
    """The document reports the click in a task, the browser reports the dialog at once."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        gesture = asyncio.ensure_future(listener.on_gesture(is_busy=True))
        devtools.emit("Page.javascriptDialogOpening", type="prompt", message="Coupon code")
        devtools.emit("Page.javascriptDialogClosed", result=True, userInput="SAVE10")
        await gesture
        return await _all(listener)

    assert asyncio.run(go()) == ["gesture", "opened", "accepted SAVE10"]


def test_a_url_on_both_sides_is_resolved_when_the_page_arrives() -> None:
    """From the second of two equal documents forward to the third: only the final history index is conclusive."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.urls = (FIRST, SECOND, FIRST)
        devtools.start("historyDifferentDocument", FIRST)
        asyncio.get_running_loop().call_later(0.1, devtools.arrive, 2)
        return await _all(listener)

    assert asyncio.run(go()) == ["forward"]


def test_each_direction_is_measured_from_the_end_of_the_one_before() -> None:
    """The history is read after several navigations: back to the first, forward to the second and the third."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.arrive(1)
        for place in (0, 1, 2):
            devtools.start("historyDifferentDocument", (FIRST, SECOND, THIRD)[place])
            devtools.arrive(place)
        return await _all(listener)

    assert asyncio.run(go()) == ["back", "forward", "forward"]


def test_a_direction_between_equal_urls_is_not_guessed() -> None:
    """From the second of three equal documents forward and back at once: the index in between is unknown."""

    async def go() -> list[object]:
        listener = Listener()
        devtools, _ = await _listen(listener)
        devtools.urls = (FIRST, FIRST, FIRST)
        for place in (2, 1):
            devtools.start("historyDifferentDocument", FIRST)
            devtools.arrive(place)
        directions = await _all(listener)
        devtools.start("historyDifferentDocument", FIRST)
        devtools.arrive(0)
        await asyncio.sleep(0.1)
        devtools.start("historyDifferentDocument", FIRST)
        devtools.arrive(1)
        return [*directions, *(await _all(listener))[2:]]

    assert asyncio.run(go()) == [None, None, "back", "forward"]
