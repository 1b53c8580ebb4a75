"""Probe the elements that agent calls act on, without delaying the calls."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from eikon_engine.browser.attached.client import frame_impl, frames_of, handle_of
from eikon_engine.browser.attached.element import (
    AT_POINT,
    FOCUSED,
    IN_MIDDLE,
    OF_HANDLE,
    OF_SELECTOR,
    SOUGHT,
    argument,
    read_element,
    read_sought,
)
from eikon_engine.record.agent_actions import is_action
from eikon_engine.record.sightings import Sightings
from eikon_engine.trace.execution import Succeeded
from eikon_engine.trace.secret_names import is_password_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.browser.attached.element import Element, Sought
    from eikon_engine.browser.attached.tap import Call, Tap
    from eikon_engine.browser.session import Session
    from eikon_engine.record.doing import Doing, Slot

AGAIN_S: Final = 0.02
"""Wall time between two probes of a target that is not actionable; longer if a probe takes longer."""
_Place: TypeAlias = Literal["element", "second", "found"]
_Answer = TypeVar("_Answer")
_HANDLES: Final = {"Frame.querySelector": "element", "Frame.waitForSelector": "element"}
"""Calls that return a handle, and its key in their result."""
_TYPED: Final = frozenset({"Page.keyboardType", "Page.keyboardInsertText"})
_PRESSED: Final = frozenset({"Page.mouseDown", "Page.mouseUp"})
_POINTS: Final = frozenset({"Page.mouseMove", "Page.mouseClick", *_PRESSED})
_POINTERS: Final = frozenset(
    {"Frame.click", "Frame.dblclick", "Frame.hover", "Frame.check", "Frame.uncheck", "Frame.dragAndDrop", *_POINTS}
)
"""Calls that move the pointer."""
_LOOKS: Final = frozenset({"Frame.waitForSelector"})
"""Calls without an effect on their element."""
_FELT: Final = frozenset(
    {
        "Frame.click",
        "Frame.dblclick",
        "Frame.dragAndDrop",
        "Frame.fill",
        "Frame.press",
        "Frame.selectOption",
        "Frame.setInputFiles",
        "Frame.type",
    }
)
"""Calls that always dispatch an event `init_hits.js` observes when they succeed; `check` on a checked box does not."""


def is_press(name: str) -> bool:
    """Return whether a call presses or releases a mouse button at the current pointer position."""
    return name in _PRESSED


class Asking:
    """Probe elements and store the results in their actions."""

    def __init__(self, session: Session, taken: Callable[[Doing, Element | None], None]) -> None:
        """Call `taken` after each reply with the element of the action, if it is known."""
        self._session = session
        self._taken = taken
        self.tap: Tap | None = None
        self._selectors: dict[Any, str] = {}
        """Selector that found each handle."""
        self._pointers: dict[int, Doing] = {}
        """Last pointer action by page."""

    def on_frame(self, call: Call) -> tuple[str, Mapping[str, Any]]:
        """Rewrite a call on a handle as a call on its frame with the selector that found the handle."""
        kind, _, method = call.name.partition(".")
        if kind != "ElementHandle" or method == "waitForSelector" or not is_action(f"Frame.{method}"):
            return call.name, call.params
        return f"Frame.{method}", {**call.params, "selector": self._selectors.get(call.object) or "*"}

    def keep_handle(self, call: Call, answer: Mapping[str, Any] | None) -> None:
        """Remember the selector that found a handle."""
        where = _HANDLES.get(call.name)
        handle = handle_of((answer or {}).get(where)) if where else None
        if handle is not None:
            self._selectors[handle] = str(call.params["selector"])

    def look(self, doing: Doing) -> None:
        """Probe the element of an action; the probe reaches the browser before the call does."""
        if is_press(doing.name):
            self._look_under_pointer(doing)
        elif doing.name == "Page.mouseClick":
            place = [doing.params["x"], doing.params["y"]]
            self._evaluate(doing, frame_impl(doing.call), AT_POINT, place)
        elif doing.name in _TYPED:
            for frame in frames_of(doing.call):
                self._evaluate(doing, frame, FOCUSED)
        elif doing.is_by_handle:
            self._evaluate(doing, doing.call.object, OF_HANDLE)
            if doing.call.object in self._selectors:
                self._evaluate_all(doing, str(doing.params["selector"]), OF_SELECTOR, into="found")
        else:
            for slot in doing.targets:
                self._seek(doing, slot, is_first=slot == "element")
        if doing.name in _POINTERS:
            self._pointers[doing.page] = doing

    def _look_under_pointer(self, doing: Doing) -> None:
        """Probe the pointer position and the element there."""
        previous = self._pointers.get(doing.page)
        if previous is None:
            return
        if "x" in previous.params:
            place = (float(previous.params["x"]), float(previous.params["y"]))
            doing.params = {**doing.params, "x": place[0], "y": place[1]}
            self._evaluate(doing, frame_impl(doing.call), AT_POINT, place)
            return
        is_drop = previous.name == "Frame.dragAndDrop"
        position = previous.params.get("targetPosition" if is_drop else "position")
        offset = None if position is None else [position["x"], position["y"]]
        if previous.is_by_handle:
            self._evaluate(doing, previous.call.object, IN_MIDDLE, offset)
        elif previous.name in _POINTS:
            return  # a press at an unknown position
        else:
            target, frame = previous.targets["second" if is_drop else "element"], frame_impl(previous.call)
            self._evaluate_all(doing, target, IN_MIDDLE, told=offset, frame=frame)

    def look_after(self, doing: Doing) -> None:
        """Probe once more after the call ended, for targets that were not actionable when it started."""
        for slot in doing.sought:
            self._seek_last(doing, slot)
        if doing.targets and not doing.is_by_handle:
            return
        if doing.observation is None and (doing.element is None or not doing.element.count):
            self.look(doing)

    def _seek(self, doing: Doing, slot: Slot, *, is_first: bool = False) -> None:
        """Probe a target; repeat until the call has ended while the target is not actionable."""
        loop = asyncio.get_running_loop()
        asked_at = loop.time()

        def take(seen: Sought | None) -> None:
            if is_first and seen is not None and seen.element.is_ready:
                self._put(doing, seen.element, slot)
                self._taken(doing, seen.element if slot == "element" else None)
                return
            if doing.is_under_way or is_first:
                self._add(doing, slot, seen)
            if doing.is_under_way:
                loop.call_later(max(AGAIN_S, loop.time() - asked_at), again)
            elif is_first:
                self._seek_last(doing, slot)
            self._taken(doing, None)

        def again() -> None:
            if doing.is_under_way:
                self._seek(doing, slot)

        self._send_sought(doing, slot, take, is_first=is_first)

    def _seek_last(self, doing: Doing, slot: Slot) -> None:
        """Probe a target after the call and decide what it was; skipped once another action has started."""

        def take(last: Sought | None) -> None:
            self._settle(doing, slot, last)
            self._taken(doing, None)

        if doing.observation is not None or not self._send_sought(doing, slot, take):
            self._settle(doing, slot, None)

    def _send_sought(
        self, doing: Doing, slot: Slot, take: Callable[[Sought | None], None], *, is_first: bool = False
    ) -> bool:
        is_new_call = is_first and slot == "element"
        params = _asked(SOUGHT, [slot, is_new_call], selector=doing.targets[slot])
        return self._send(doing, frame_impl(doing.call), "evalOnSelectorAll", params, read_sought, take)

    def _add(self, doing: Doing, slot: Slot, seen: Sought | None) -> None:
        sightings = doing.sought.setdefault(slot, Sightings())
        if seen is None:
            return
        sightings.add(seen)
        if seen.element.count and seen.is_early:
            self._put(doing, seen.element, slot)

    def _settle(self, doing: Doing, slot: Slot, last: Sought | None) -> None:
        """Store what a target was before the action; where that is ambiguous, store that it is unknown."""
        if doing.name in _LOOKS and last is not None and last.element.count:
            self._put(doing, last.element, slot)
            return
        has_acted = isinstance(doing.result, Succeeded) and doing.name not in _LOOKS
        sightings = doing.sought[slot]
        known = sightings.settle(last, is_felt=has_acted and slot == "element" and doing.name in _FELT)
        if known is not None:
            self._put(doing, known, slot)
        elif has_acted and not sightings.is_blind:
            setattr(doing, slot, None)
            doing.warnings.append(
                f"{doing.id}: the element of {doing.targets[slot]} could not be identified: it appeared late and was "
                "removed or changed at once. Replays act on whatever the selector matches"
            )

    def _evaluate(self, doing: Doing, target: object, expression: str, told: object = None) -> None:
        self._ask(doing, target, "evaluateExpression", _asked(expression, told), "element")

    def _evaluate_all(
        self,
        doing: Doing,
        selector: str,
        expression: str,
        *,
        into: _Place = "element",
        told: object = None,
        frame: object = None,
    ) -> None:
        params = _asked(expression, told, selector=selector)
        self._ask(doing, frame or frame_impl(doing.call), "evalOnSelectorAll", params, into)

    def _ask(self, doing: Doing, target: object, method: str, asked: dict[str, Any], into: _Place) -> None:
        def take(seen: Element | None) -> None:
            if seen is not None:
                self._put(doing, seen, into)
            self._taken(doing, seen if into == "element" else None)

        self._send(doing, target, method, asked, read_element, take)

    def _send(
        self,
        doing: Doing,
        target: object,
        method: str,
        asked: dict[str, Any],
        read: Callable[[Mapping[str, Any]], _Answer | None],
        take: Callable[[_Answer | None], None],
    ) -> bool:
        """Send a probe and pass on its reply, None if there is none; return whether it could be sent."""
        answer = self.tap.send(target, method, asked) if self.tap is not None else None
        if answer is None:
            return False

        def arrive(done: asyncio.Future[Any]) -> None:
            doing.waits -= 1
            take(None if done.cancelled() or done.exception() is not None else read(done.result()))

        doing.waits += 1
        answer.add_done_callback(arrive)
        return True

    def _put(self, doing: Doing, seen: Element, into: _Place) -> None:
        if into == "second":
            doing.second = seen
        elif into == "found":
            doing.found = seen
        elif doing.is_by_handle and not seen.path and doing.element is not None:
            doing.element = replace(seen, path=doing.element.path)
        elif doing.name not in _TYPED or seen.count:
            doing.element = seen
            self._keep_password(doing)
            if seen.path and seen.identity is None:
                self._evaluate_all(doing, seen.path, OF_SELECTOR)
        if seen.place is not None:
            doing.params = {**doing.params, "x": seen.place[0], "y": seen.place[1]}

    def _keep_password(self, doing: Doing) -> None:
        """Treat text typed into a password field as a secret from now on."""
        identity = doing.element.identity if doing.element is not None else None
        text = doing.params.get("value", doing.params.get("text"))
        if identity is not None and ("type", "password") in identity.attributes and isinstance(text, str):
            self._keep(text)

    def keep_named_password(self, doing: Doing) -> None:
        """Treat text typed into a target whose selector names a password as a secret."""
        text, selector = doing.params.get("value", doing.params.get("text")), doing.params.get("selector")
        if isinstance(text, str) and isinstance(selector, str) and is_password_name(selector):
            self._keep(text)

    def _keep(self, text: str) -> None:
        """Register each line as a secret: fields take no line breaks, and a typed one is Enter."""
        for line in text.splitlines():
            self._session.keep_secret(line)


def _asked(expression: str, told: object, **fields: str) -> dict[str, Any]:
    return {**fields, "expression": expression, "isFunction": True, "arg": argument(told)}
