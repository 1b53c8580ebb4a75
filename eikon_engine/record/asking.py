"""Ask the pages of an agent which elements its calls are about, in the same breath: no call waits for an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.attached import element
from eikon_engine.browser.attached.client import frame_impl, frames_of, handle_of
from eikon_engine.record.agent_actions import is_action
from eikon_engine.trace.secret_names import is_password_name

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from eikon_engine.browser.attached.element import Element
    from eikon_engine.browser.attached.tap import Call, Tap
    from eikon_engine.browser.session import Session
    from eikon_engine.record.doing import Doing

_HANDLES: Final = {"Frame.querySelector": "element", "Frame.waitForSelector": "element"}
"""Calls that give a handle, and where it stands in their answer."""
_TYPED: Final = frozenset({"Page.keyboardType", "Page.keyboardInsertText"})
_PRESSED: Final = frozenset({"Page.mouseDown", "Page.mouseUp"})
_POINTS: Final = frozenset({"Page.mouseMove", "Page.mouseClick", *_PRESSED})
_POINTERS: Final = frozenset(
    {"Frame.click", "Frame.dblclick", "Frame.hover", "Frame.check", "Frame.uncheck", "Frame.dragAndDrop", *_POINTS}
)
"""Calls that leave the pointer somewhere."""


def is_press(name: str) -> bool:
    """Say whether a call presses or releases a button of the mouse where it is."""
    return name in _PRESSED


class Asking:
    """Ask, and put the answers where they belong."""

    def __init__(self, session: Session, taken: Callable[[Doing, Element | None], None]) -> None:
        """Call `taken` after each answer, with what was seen of the element that the action is about."""
        self._session = session
        self._taken = taken
        self.tap: Tap | None = None
        self._selectors: dict[Any, str] = {}
        """How the elements of handles were found."""
        self._pointers: dict[int, Doing] = {}
        """What the pointer of each page did last."""

    def on_frame(self, call: Call) -> tuple[str, Mapping[str, Any]]:
        """Say a call on a handle as one on its frame, by what the handle was found by."""
        kind, _, method = call.name.partition(".")
        if kind != "ElementHandle" or method == "waitForSelector" or not is_action(f"Frame.{method}"):
            return call.name, call.params
        return f"Frame.{method}", {**call.params, "selector": self._selectors.get(call.object) or "*"}

    def keep_handle(self, call: Call, answer: Mapping[str, Any] | None) -> None:
        """Remember by what a handle was found."""
        where = _HANDLES.get(call.name)
        handle = handle_of((answer or {}).get(where)) if where else None
        if handle is not None:
            self._selectors[handle] = str(call.params["selector"])

    def look(self, doing: Doing) -> None:
        """Ask which element it is about; the question comes to the browser before the call."""
        if is_press(doing.name):
            self._look_under_pointer(doing)
        elif doing.name == "Page.mouseClick":
            place = [doing.params["x"], doing.params["y"]]
            self._evaluate(doing, frame_impl(doing.call), element.AT_POINT, place)
        elif doing.name in _TYPED:
            for frame in frames_of(doing.call):
                self._evaluate(doing, frame, element.FOCUSED)
        elif doing.is_by_handle:
            self._evaluate(doing, doing.call.object, element.OF_HANDLE)
            if doing.call.object in self._selectors:
                self._evaluate_all(doing, str(doing.params["selector"]), element.OF_SELECTOR, into="found")
        else:
            for name, selector in zip(("element", "second"), doing.targets, strict=False):
                self._evaluate_all(doing, selector, element.OF_SELECTOR, into=name)
        if doing.name in _POINTERS:
            self._pointers[doing.page] = doing

    def _look_under_pointer(self, doing: Doing) -> None:
        """Ask where the pointer is, and what is there."""
        last = self._pointers.get(doing.page)
        if last is None:
            return
        if "x" in last.params:
            place = (float(last.params["x"]), float(last.params["y"]))
            doing.params = {**doing.params, "x": place[0], "y": place[1]}
            self._evaluate(doing, frame_impl(doing.call), element.AT_POINT, place)
            return
        dropped = last.name == "Frame.dragAndDrop"
        within = last.params.get("targetPosition" if dropped else "position")
        told = None if within is None else [within["x"], within["y"]]
        if last.is_by_handle:
            self._evaluate(doing, last.call.object, element.IN_MIDDLE, told)
        elif last.name in _POINTS:
            return  # a press whose own place is not known
        else:
            target, frame = last.targets[1 if dropped else 0], frame_impl(last.call)
            self._evaluate_all(doing, target, element.IN_MIDDLE, told=told, frame=frame)

    def _evaluate(self, doing: Doing, target: object, expression: str, told: object = None) -> None:
        asked = {"expression": expression, "isFunction": True, "arg": element.argument(told)}
        self._ask(doing, target, "evaluateExpression", asked, "element")

    def _evaluate_all(
        self,
        doing: Doing,
        selector: str,
        expression: str,
        *,
        into: str = "element",
        told: object = None,
        frame: object = None,
    ) -> None:
        asked = {"selector": selector, "expression": expression, "isFunction": True, "arg": element.argument(told)}
        self._ask(doing, frame or frame_impl(doing.call), "evalOnSelectorAll", asked, into)

    def _ask(self, doing: Doing, target: object, method: str, asked: dict[str, Any], into: str) -> None:
        answer = self.tap.send(target, method, asked) if self.tap is not None else None
        if answer is None:
            return
        doing.waits += 1
        answer.add_done_callback(lambda done: self._take(doing, done, into))

    def _take(self, doing: Doing, done: asyncio.Future[Any], into: str) -> None:
        doing.waits -= 1
        seen = None
        if not done.cancelled() and done.exception() is None:
            seen = element.read_element(done.result())
        if seen is not None:
            self._put(doing, seen, into)
        self._taken(doing, seen if into == "element" else None)

    def _put(self, doing: Doing, seen: Element, into: str) -> None:
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
                self._evaluate_all(doing, seen.path, element.OF_SELECTOR)
        if seen.place is not None:
            doing.params = {**doing.params, "x": seen.place[0], "y": seen.place[1]}

    def _keep_password(self, doing: Doing) -> None:
        """Keep what is typed into a password field out of everything from now on."""
        identity = doing.element.identity if doing.element is not None else None
        text = doing.params.get("value", doing.params.get("text"))
        if identity is not None and ("type", "password") in identity.attributes and isinstance(text, str):
            self._keep(text)

    def keep_named_password(self, doing: Doing) -> None:
        """Keep what a selector that speaks of a password is given, whether its element is ever seen or not."""
        text, selector = doing.params.get("value", doing.params.get("text")), doing.params.get("selector")
        if isinstance(text, str) and isinstance(selector, str) and is_password_name(selector):
            self._keep(text)

    def _keep(self, text: str) -> None:
        """Keep each line: a field takes no line breaks, and a break that is typed is Enter."""
        for line in text.splitlines():
            self._session.keep_secret(line)
