"""Calls of Playwright's protocol, as they stand in its traces, as actions of ours.

Names of methods and parameters: https://github.com/microsoft/playwright, packages/protocol/src/protocol.yml
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eikon_engine.importers.selectors import Converted, positional
from eikon_engine.importers.target import target_of
from eikon_engine.trace.actions import AssertCount, AssertText, AssertVisible, Point, SelectorCondition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.importers.mission import Gathering
    from eikon_engine.trace.target import Target

ENTER_FRAME: Final = " >> internal:control=enter-frame >> "
LOOKING: Final = frozenset(
    (
        *("content", "title", "textContent", "innerText", "innerHTML", "inputValue", "getAttribute", "isVisible"),
        *(
            "isHidden",
            "isEnabled",
            "isDisabled",
            "isEditable",
            "isChecked",
            "queryCount",
            "querySelector",
            "ariaSnapshot",
        ),
        *("querySelectorAll", "__waitInfo__", "waitForEventInfo", "frameElement", "ownerFrame", "contentFrame"),
        *("waitForTimeout", "waitForLoadState", "resolveSelector", "accessibilitySnapshot", "pdf", "requests"),
        *("setNetworkInterceptionPatterns", "addInitScript", "exposeBinding", "updateSubscription", "highlight"),
        *(
            "setDefaultTimeoutNoReply",
            "setDefaultNavigationTimeoutNoReply",
            "consoleMessages",
            "pageErrors",
            "storageState",
        ),
    )
)
"""Methods that do nothing to a page, or prepare what our replays do by themselves."""
_STATES: Final = frozenset({"attached", "detached", "visible", "hidden"})


class Calls:
    """Carries calls over, one after the other."""

    def __init__(self, gathered: Gathering) -> None:
        """Add to `gathered`."""
        self._gathered = gathered
        self._step = 0
        self._page = 0
        self._params: Mapping[str, Any] = {}
        self._carriers: Mapping[str, Callable[[], None]] = {
            "Frame.goto": lambda: self._navigate(
                "navigate", url=self._params.get("url"), referer=self._params.get("referer")
            ),
            "Page.reload": lambda: self._navigate("reload"),
            "Page.goBack": lambda: self._navigate("go_back"),
            "Page.goForward": lambda: self._navigate("go_forward"),
            "Page.close": lambda: self._add("close_page"),
            "Page.bringToFront": lambda: self._add("switch_page"),
            "Page.screenshot": lambda: self._add("screenshot", full_page=self._params.get("fullPage", False)),
            "Page.keyboardPress": lambda: self._add("press", key=self._params.get("key")),
            "Page.keyboardType": self._keyboard_type,
            "Page.mouseWheel": self._wheel,
            "Frame.click": lambda: self._point(
                "click", button=self._params.get("button"), delay_ms=self._params.get("delay")
            ),
            "Frame.dblclick": lambda: self._point("double_click", button=self._params.get("button")),
            "Frame.hover": lambda: self._point("hover"),
            "Frame.check": lambda: self._act("check", position=self._position()),
            "Frame.uncheck": lambda: self._act("uncheck", position=self._position()),
            "Frame.fill": lambda: self._act("fill", text=self._params.get("value")),
            "Frame.type": lambda: self._act("type", text=self._params.get("text")),
            "Frame.press": lambda: self._act("press", key=self._params.get("key")),
            "Frame.selectOption": self._select,
            "Frame.dragAndDrop": self._drag,
            "Frame.waitForSelector": self._wait,
            "Frame.expect": self._expect,
        }

    def carry(self, step: int, name: str, params: Mapping[str, Any], page: int) -> None:
        """Carry over one call, `Class.method`, on a page."""
        self._step, self._params, self._page = step, params, page
        kind, _, method = name.partition(".")
        carrier = self._carriers.get(name)
        if carrier is not None:
            carrier()
        elif kind == "ElementHandle":
            self._gathered.lose(step, name, "a handle says nothing of how its element was found; use locators")
        elif method not in LOOKING and kind in {"Frame", "Page", "JSHandle", "Worker"}:
            self._gathered.lose(step, name, "a call of this name cannot be carried over")

    def answer(self, step: int, *, accept: bool, text: str | None, page: int) -> None:
        """Say how the next dialog is answered."""
        self._gathered.add(step, "answer_dialog", page=page, accept=accept, text=text)

    def _navigate(self, kind: str, **fields: Any) -> None:
        wait = self._params.get("waitUntil", "load")
        if wait == "networkidle":
            self._gathered.note(self._step, f"{kind}: a replay waits for rest anyway; `networkidle` became `load`")
        self._add(kind, wait_until="load" if wait == "networkidle" else wait, timeout_ms=self._timeout(), **fields)

    def _keyboard_type(self) -> None:
        text = str(self._params.get("text", ""))
        if not (text.isascii() and text.isprintable()):
            self._gathered.lose(self._step, "Page.keyboardType", f"there are no keys for all of {text!r}")
            return
        for key in text:
            self._add("press", key="Space" if key == " " else key)

    def _wheel(self) -> None:
        self._gathered.note(self._step, "mouseWheel: the page is scrolled, wherever the pointer was")
        self._add("scroll", dx=float(self._params.get("deltaX", 0)), dy=float(self._params.get("deltaY", 0)))

    def _point(self, kind: str, **fields: Any) -> None:
        if self._params.get("clickCount", 1) not in {0, 1} or self._params.get("trial"):
            self._gathered.lose(self._step, kind, "a trial, or another number of clicks than one, cannot be repeated")
            return
        if self._params.get("force"):
            self._gathered.note(self._step, f"{kind}: `force` was left out, as a replay touches what a person could")
        self._act(kind, position=self._position(), modifiers=self._params.get("modifiers", []), **fields)

    def _select(self) -> None:
        """Choose by what the call names options by: value, label or index; one that may be either is taken for a value."""
        options = self._params.get("options") or []
        kinds = {frozenset(each) & {"value", "label", "index", "valueOrLabel"} for each in options}
        names = {name for kind in kinds for name in kind}
        if len(names) != 1:
            self._gathered.lose(
                self._step, "Frame.selectOption", "options are chosen by handles, or in several ways at once"
            )
            return
        name = names.pop()
        by = "value" if name == "valueOrLabel" else name
        self._act("select_option", by=by, options=[str(each[name]) for each in options])

    def _drag(self) -> None:
        source, to = self._target("source"), self._target("target")
        positions = {"position": self._position("sourcePosition"), "to_position": self._position("targetPosition")}
        self._add("drag", target=source, to=to, timeout_ms=self._timeout(), **positions)

    def _wait(self) -> None:
        state = self._params.get("state", "visible")
        if state not in _STATES:
            self._gathered.lose(self._step, "Frame.waitForSelector", f"the state {state!r} is not known")
            return
        condition = SelectorCondition(target=self._target(), state=state)
        self._add("wait_for", condition=condition, timeout_ms=self._timeout())

    def _expect(self) -> None:
        """Carry over what can be demanded of a page; a baseline compares the rest."""
        expression, negated = self._params.get("expression"), bool(self._params.get("isNot"))
        texts = self._params.get("expectedText") or []
        if "selector" not in self._params or negated:
            self._note_assertion(expression)
        elif expression == "to.be.visible":
            self._add("assert", expectation=AssertVisible(target=self._target()))
        elif expression == "to.have.text" and len(texts) == 1 and "string" in texts[0]:
            contains = bool(texts[0].get("matchSubstring"))
            expectation = AssertText(target=self._target(), text=texts[0]["string"], contains=contains)
            self._add("assert", expectation=expectation)
        elif expression == "to.have.count":
            count = int(self._params.get("expectedNumber", 0))
            self._add("assert", expectation=AssertCount(target=self._target(), count=count))
        else:
            self._note_assertion(expression)

    def _note_assertion(self, expression: object) -> None:
        self._gathered.note(
            self._step, f"the assertion {expression} was left out: a baseline compares what it asks for"
        )

    def _act(self, kind: str, **fields: Any) -> None:
        self._add(kind, target=self._target(), timeout_ms=self._timeout(), **fields)

    def _target(self, name: str = "selector") -> Target:
        *frames, own = str(self._params.get(name, "")).split(ENTER_FRAME)
        chosen = Converted(text=own, rank=positional(own))
        return target_of(chosen, (), self._gathered, self._step, tuple(frames))

    def _position(self, name: str = "position") -> Point | None:
        given = self._params.get(name)
        return Point(x=given["x"], y=given["y"]) if given else None

    def _timeout(self) -> float | None:
        timeout = self._params.get("timeout")
        return float(timeout) if timeout else None

    def _add(self, kind: str, **fields: Any) -> None:
        self._gathered.add(self._step, kind, page=self._page, **fields)
