"""Probe the elements that agent calls act on, without delaying the calls."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from eikon_engine.browser.attach.call_interceptor import frame_of_call, frames_of_call, handle_in_result
from eikon_engine.browser.attach.element_probe import (
    DESCRIBE_AT_CENTER,
    DESCRIBE_AT_POINT,
    DESCRIBE_FOCUSED,
    DESCRIBE_HANDLE,
    DESCRIBE_MATCHES,
    DESCRIBE_TARGET,
    EXPECT_RAW_INPUT,
    decode_result,
    parse_element,
    parse_target,
    probe_selector,
    serialize_argument,
)
from eikon_engine.browser.page_reports import add_report_listener, stop_listening
from eikon_engine.record.pending_action import TargetCandidates
from eikon_engine.secrets.names import is_password_name, is_secret_field
from eikon_engine.trace.execution import Succeeded
from eikon_engine.trace.playwright_calls import effect_of, is_read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.browser.attach.call_interceptor import CallInterceptor, PlaywrightCall
    from eikon_engine.browser.attach.element_probe import ElementSnapshot, TargetSnapshot
    from eikon_engine.browser.session import Session
    from eikon_engine.record.pending_action import PendingAction, TargetSlot

POLL_INTERVAL_S: Final = 0.02
"""Wall time between two probes of a target that is not actionable; longer if a probe takes longer."""
REPORT_TIMEOUT_S: Final = 0.5
"""Wall time for the report of a document that has sent it, or that was left."""
_ResultSlot: TypeAlias = Literal["element", "second", "found"]
_ReplyT = TypeVar("_ReplyT")
_QUERIES: Final = {"querySelector": "element", "querySelectorAll": "elements", "waitForSelector": "element"}
"""Methods of frames and handles that return handles of what a selector matches, and their key in the result."""
_CALLS_BELOW_HANDLES: Final = frozenset({"evalOnSelector", "evalOnSelectorAll", "waitForSelector"})
"""Methods of handles about what a selector matches within their element."""
_SCRIPTS_ON_HANDLES: Final = {"evaluateExpression": "Frame.evalOnSelector"}
"""Calls on a handle that have another name on a frame; `locator.evaluate` makes them."""
_ELEMENT_STATES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "visible": ("Frame.waitForSelector", {"state": "visible"}),
    "hidden": ("Frame.waitForSelector", {"state": "hidden"}),
    "stable": ("Frame.waitForSelector", {"state": "visible"}),
    **{state: ("Frame.expect", {"expression": f"to.be.{state}"}) for state in ("enabled", "disabled", "editable")},
}
"""The call that waits for the same state of an element; a replay waits for still elements anyway."""
_KEYBOARD_TEXT_CALLS: Final = frozenset({"Page.keyboardType", "Page.keyboardInsertText"})
_POINTER_EVENTS: Final = {
    "Page.mouseClick": "pointerdown",
    "Page.mouseDown": "pointerdown",
    "Page.mouseUp": "pointerup",
    "Page.mouseWheel": "wheel",
    "Page.touchscreenTap": "pointerdown",
}
"""Calls that act at a point, and the first event that each dispatches there."""
_CALLS_AT_POINTER: Final = frozenset({"Page.mouseDown", "Page.mouseUp", "Page.mouseWheel"})
MOUSE_MOVE: Final = "Page.mouseMove"
_MOUSE_CALLS: Final = frozenset({MOUSE_MOVE, "Page.mouseClick", *_CALLS_AT_POINTER})
_POINTER_CALLS: Final = frozenset(
    {"Frame.click", "Frame.dblclick", "Frame.hover", "Frame.check", "Frame.uncheck", "Frame.dragAndDrop", *_MOUSE_CALLS}
)
"""Calls that move the pointer."""
WAITS: Final = frozenset({"Frame.waitForFunction", "Frame.waitForSelector"})
"""Calls without an effect on a page."""
_CALLS_WITHOUT_IDENTITY: Final = frozenset({"Frame.waitForFunction"})
"""Calls whose element is not recorded."""
_CALLS_AT_POINT: Final = frozenset({"Page.mouseClick", "Page.touchscreenTap"})
_EVENT_CALLS: Final = frozenset(
    {
        "Frame.click",
        "Frame.dblclick",
        "Frame.dragAndDrop",
        "Frame.fill",
        "Frame.press",
        "Frame.selectOption",
        "Frame.setInputFiles",
        "Frame.tap",
        "Frame.type",
    }
)
"""Calls that always dispatch an event `init_hit_targets.js` observes when they succeed; `check` on a checked box
does not.
"""


def is_call_at_pointer(name: str) -> bool:
    """Return whether a call presses or releases a button, or turns the wheel, at the current pointer position."""
    return name in _CALLS_AT_POINTER


def dispatches_event(name: str) -> bool:
    """Return whether a call that succeeds always dispatches an event that its document observes."""
    return name in _EVENT_CALLS


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoundHandle:
    """How a handle was found."""

    selector: str
    is_strict: bool
    """Whether the selector had to match one element only, or names one of several by its number."""
    is_own_selector: bool
    """Whether the agent gave this selector; actions on other handles are recorded with the CSS path of the element."""
    deadline_ms: float | None
    """Deadline of the call that found it."""

    @property
    def exact_selector(self) -> str:
        """Return a selector that matches the element only."""
        return self.selector if self.is_strict else f"{self.selector} >> nth=0"

    def select_within(self, selector: object) -> str:
        """Return the selector for what another one matches within the element."""
        return f"{self.exact_selector} >> {selector}"


class TargetProbe:
    """Probe elements and store the results in their actions."""

    def __init__(
        self,
        session: Session,
        interceptor: CallInterceptor,
        on_result: Callable[[PendingAction, ElementSnapshot | None], None],
    ) -> None:
        """Call `on_result` after each reply with the element of the action, if it is known."""
        self._session = session
        add_report_listener(session.context, self._on_report)
        self._numbers = itertools.count()
        self._reports: dict[str, asyncio.Future[Any]] = {}
        """Awaited reports of documents, by probe."""
        self._on_result = on_result
        self._interceptor = interceptor
        self._handles: dict[Any, _FoundHandle] = {}
        """How the handles of the agent were found, where that is known."""
        self._last_pointer_actions: dict[int, PendingAction] = {}
        """Last pointer action by page."""

    def as_frame_call(self, call: PlaywrightCall) -> tuple[str, Mapping[str, Any]]:
        """Rewrite a call on a handle as a call on its frame with the selector that found the handle.

        A call that only handles have keeps its name and gets the selector.
        """
        kind, _, method = call.name.partition(".")
        if kind != "ElementHandle":
            return call.name, call.params
        handle, name = self._handles.get(call.target), _SCRIPTS_ON_HANDLES.get(method, f"Frame.{method}")
        if handle is not None and method in _CALLS_BELOW_HANDLES:
            return name, {**call.params, "selector": handle.select_within(call.params["selector"])}
        if handle is not None and method == "waitForElementState":
            name, params = _ELEMENT_STATES[call.params["state"]]
            return name, {**params, "selector": handle.exact_selector, "strict": True}
        if handle is not None and is_read(name, call.params):
            return name, {**call.params, "selector": handle.selector, "strict": handle.is_strict}
        known = (each for each in (f"Frame.{method}", call.name) if effect_of(each) == "action")
        name, selector = next(known, ""), handle.selector if handle is not None and handle.is_own_selector else "*"
        return (name, {**call.params, "selector": selector}) if name else (call.name, call.params)

    def deadline_of(self, call: PlaywrightCall) -> float | None:
        """Return the deadline of a call; a locator's call on its handle has only what is left of the locator's."""
        handle = self._handles.get(call.target) if call.is_nested else None
        return call.timeout_ms if handle is None else handle.deadline_ms

    def remember_handles(self, call: PlaywrightCall, response: Mapping[str, Any] | None) -> None:
        """Remember the selectors that found handles, until these are disposed."""
        kind, _, method = call.name.partition(".")
        if method == "dispose":
            self._handles.pop(call.target, None)
        if method not in _QUERIES or response is None:
            return
        selector, is_strict = str(call.params["selector"]), bool(call.params.get("strict"))
        if kind == "ElementHandle":
            outer = self._handles.get(call.target)
            if outer is None:
                return
            selector = outer.select_within(selector)
        found = response.get(_QUERIES[method])
        elements = found if isinstance(found, list) else [found]
        for place, element in enumerate(elements):
            handle = handle_in_result(element)
            if handle is not None:
                own = f"{selector} >> nth={place}" if method == "querySelectorAll" else selector
                self._handles[handle] = _FoundHandle(
                    selector=own,
                    is_strict=is_strict or method == "querySelectorAll",
                    is_own_selector=kind == "Frame" and own == selector,
                    deadline_ms=call.timeout_ms,
                )

    def probe(self, pending: PendingAction) -> None:
        """Probe the element of an action; the probe reaches the browser before the call does."""
        if pending.method in _CALLS_WITHOUT_IDENTITY:
            return
        self._probe_element_of(pending)
        if pending.method in _POINTER_CALLS:
            self._last_pointer_actions[pending.page] = pending

    def _probe_element_of(self, pending: PendingAction) -> None:
        if is_call_at_pointer(pending.method):
            self._probe_under_pointer(pending)
        elif pending.method in _CALLS_AT_POINT:
            self._probe_point(pending, pending.params["x"], pending.params["y"])
        elif pending.method == MOUSE_MOVE:
            self._expect_raw_input(pending)
        elif pending.method in _KEYBOARD_TEXT_CALLS:
            for frame in frames_of_call(pending.call):
                self._evaluate(pending, frame, DESCRIBE_FOCUSED)
        elif pending.is_on_handle:
            self._evaluate(pending, pending.call.target, DESCRIBE_HANDLE)
            handle = self._handles.get(pending.call.target)
            if handle is not None and handle.is_own_selector:
                self._evaluate_all(pending, str(pending.params["selector"]), DESCRIBE_MATCHES, slot="found")
        else:
            for slot in pending.target_selectors:
                self._poll_target(pending, slot, is_first=slot == "element")

    def _probe_under_pointer(self, pending: PendingAction) -> None:
        """Probe the pointer position and the element there."""
        previous = self._last_pointer_actions.get(pending.page)
        if previous is not None and previous.pointer_action is not None and "x" not in previous.params:
            previous = previous.pointer_action  # the reply that tells where that one was is not there yet
        if previous is None:  # Playwright's pointer begins there
            pending.params = {**pending.params, "x": 0.0, "y": 0.0}
            self._probe_point(pending, 0.0, 0.0)
            return
        pending.pointer_action = previous
        if "x" in previous.params:
            place = (float(previous.params["x"]), float(previous.params["y"]))
            pending.params = {**pending.params, "x": place[0], "y": place[1]}
            self._probe_point(pending, *place)
            return
        is_drop = previous.method == "Frame.dragAndDrop"
        position = previous.params.get("targetPosition" if is_drop else "position")
        offset = None if position is None else [position["x"], position["y"]]
        given = [offset, *self._event_of(pending)]
        if previous.is_on_handle:
            self._evaluate(pending, previous.call.target, DESCRIBE_AT_CENTER, given)
        elif previous.method in _MOUSE_CALLS:
            return  # a press at an unknown position
        else:
            target, frame = previous.target_selectors["second" if is_drop else "element"], frame_of_call(previous.call)
            self._evaluate_all(pending, target, DESCRIBE_AT_CENTER, value=given, frame=frame)

    def _probe_point(self, pending: PendingAction, x: float, y: float) -> None:
        """Probe the element at a point; a busy page may run the script after it has received the event."""
        self._evaluate(pending, frame_of_call(pending.call), DESCRIBE_AT_POINT, [x, y, *self._event_of(pending)])

    def _event_of(self, pending: PendingAction) -> tuple[str, float]:
        """Return the first event that a call dispatches, and the Unix time at which the call began."""
        if pending.begun_unix_ms is None:
            pending.begun_unix_ms = self._session.timeline.unix_ms
        return _POINTER_EVENTS[pending.method], pending.begun_unix_ms

    def _expect_raw_input(self, pending: PendingAction) -> None:
        """Have the document keep the state of what the next calls press."""
        params = _evaluate_params(EXPECT_RAW_INPUT, None)
        sent = self._interceptor.send(frame_of_call(pending.call), "evaluateExpression", params)
        if sent is not None:
            sent.add_done_callback(lambda done: done.cancelled() or done.exception())  # its page may be gone

    def probe_after_call(self, pending: PendingAction) -> None:
        """Probe once more after the call ended, for targets that were not actionable when it started."""
        for slot in pending.candidates:
            self._probe_finally(pending, slot)
        if pending.is_hit_reported and "element" in pending.target_selectors and "element" not in pending.candidates:
            self._probe_late_hit(pending)
        if pending.target_selectors and not pending.is_on_handle:
            return
        is_unknown = pending.element is None or not pending.element.count
        if pending.observation is None and is_unknown and not pending.pending_replies:
            self.probe(pending)

    def _probe_late_hit(self, pending: PendingAction) -> None:
        """Probe what was hit some time after the target was found: its page may have replaced it meanwhile."""

        def take(last: TargetSnapshot | None) -> None:
            if last is not None and last.identity_before_hit is not None and last.element.count == 1:
                self._store_result(pending, replace(last.element, identity=last.identity_before_hit), "element")
            self._on_result(pending, None)

        if pending.observation is None:
            self._send_target_probe(pending, "element", take)

    def _poll_target(self, pending: PendingAction, slot: TargetSlot, *, is_first: bool = False) -> None:
        """Probe a target; repeat until the call has ended while the target is not actionable."""
        loop = asyncio.get_running_loop()
        sent_at = loop.time()

        def take(seen: TargetSnapshot | None) -> None:
            if is_first and seen is not None and seen.element.is_actionable:
                self._store_result(pending, seen.element, slot)
                self._on_result(pending, seen.element if slot == "element" else None)
                return
            if pending.is_in_progress or is_first:
                self._add_candidate(pending, slot, seen)
            if pending.is_in_progress:
                loop.call_later(max(POLL_INTERVAL_S, loop.time() - sent_at), again)
            elif is_first:
                self._probe_finally(pending, slot)
            self._on_result(pending, None)

        def again() -> None:
            if pending.is_in_progress:
                self._poll_target(pending, slot)

        self._send_target_probe(pending, slot, take, is_first=is_first)

    def _probe_finally(self, pending: PendingAction, slot: TargetSlot) -> None:
        """Probe a target after the call and decide what it was; skipped once another action has started."""

        def take(last: TargetSnapshot | None) -> None:
            self._resolve_target(pending, slot, last)
            self._on_result(pending, None)

        if pending.observation is not None or not self._send_target_probe(pending, slot, take):
            self._resolve_target(pending, slot, None)

    def _send_target_probe(
        self,
        pending: PendingAction,
        slot: TargetSlot,
        on_reply: Callable[[TargetSnapshot | None], None],
        *,
        is_first: bool = False,
    ) -> bool:
        frame, selector = frame_of_call(pending.call), pending.target_selectors[slot]
        is_new_call, probe = is_first and slot == "element", f"{id(self)}-{next(self._numbers)}"
        reporting = probe_selector(selector, probe, slot, is_new_call=is_new_call)
        if reporting is None:
            params = _evaluate_params(DESCRIBE_TARGET, [slot, is_new_call], selector=selector)
            return self._send(pending, frame, "evalOnSelectorAll", params, parse_target, on_reply)
        count = self._interceptor.send(frame, "queryCount", {"selector": reporting})
        if count is None:
            return False
        self._await_reply(pending, self._report_of(probe, count), parse_target, on_reply)
        return True

    def _report_of(self, probe: str, count: asyncio.Future[Any]) -> asyncio.Future[Any]:
        """Return the report of a document on a probe; its result is None if the document sends none."""
        report = self._reports[probe] = asyncio.get_running_loop().create_future()

        def end(done: asyncio.Future[Any]) -> None:
            is_failed = done.cancelled() or done.exception() is not None
            if is_failed or done.result()["value"]:  # it is on its way, or may be: a document that is left fails, too
                report.get_loop().call_later(REPORT_TIMEOUT_S, self._take_report, probe, None)
            else:
                self._take_report(probe, None)

        count.add_done_callback(end)
        return report

    def _on_report(self, _page: object, _document: tuple[object, ...], report: dict[str, Any]) -> None:
        if report["subject"] == "target":
            self._take_report(report["probe"], report["seen"])

    def _take_report(self, probe: str, seen: dict[str, Any] | None) -> None:
        report = self._reports.pop(probe, None)
        if report is not None:
            report.set_result(seen)

    def stop(self) -> None:
        """Stop listening to the reports of documents."""
        stop_listening(self._session.context, self._on_report)
        for probe in tuple(self._reports):
            self._take_report(probe, None)

    def _add_candidate(self, pending: PendingAction, slot: TargetSlot, snapshot: TargetSnapshot | None) -> None:
        target_candidates = pending.candidates.setdefault(slot, TargetCandidates())
        if snapshot is None:
            return
        target_candidates.add(snapshot)
        if snapshot.element.count and snapshot.is_before_any_hit:
            self._store_result(pending, snapshot.element, slot)

    def _resolve_target(self, pending: PendingAction, slot: TargetSlot, final: TargetSnapshot | None) -> None:
        """Store what a target was before the action; where that is ambiguous, store that it is unknown."""
        if pending.method in WAITS and final is not None and final.element.count:
            self._store_result(pending, final.element, slot)
            return
        has_acted = isinstance(pending.result, Succeeded) and pending.method not in WAITS
        target_candidates = pending.candidates[slot]
        known = target_candidates.resolve(
            final, must_be_hit=has_acted and slot == "element" and pending.method in _EVENT_CALLS
        )
        if known is not None:
            self._store_result(pending, known, slot)
        elif has_acted and not target_candidates.is_unprobed:
            setattr(pending, slot, None)
            pending.warnings.append(
                f"{pending.id}: the element of {pending.target_selectors[slot]} could not be "
                "identified: it appeared late and was "
                "removed or changed at once. Replays act on whatever the selector matches"
            )

    def _evaluate(self, pending: PendingAction, target: object, expression: str, value: object = None) -> None:
        self._probe_element(pending, target, "evaluateExpression", _evaluate_params(expression, value), "element")

    def _evaluate_all(
        self,
        pending: PendingAction,
        selector: str,
        expression: str,
        *,
        slot: _ResultSlot = "element",
        value: object = None,
        frame: object = None,
    ) -> None:
        params = _evaluate_params(expression, value, selector=selector)
        self._probe_element(pending, frame or frame_of_call(pending.call), "evalOnSelectorAll", params, slot)

    def _probe_element(
        self, pending: PendingAction, target: object, method: str, params: dict[str, Any], slot: _ResultSlot
    ) -> None:
        def take(seen: ElementSnapshot | None) -> None:
            if seen is not None:
                self._store_result(pending, seen, slot)
            self._on_result(pending, seen if slot == "element" else None)

        self._send(pending, target, method, params, parse_element, take)

    def _send(
        self,
        pending: PendingAction,
        target: object,
        method: str,
        params: dict[str, Any],
        parse: Callable[[Mapping[str, Any] | None], _ReplyT | None],
        on_reply: Callable[[_ReplyT | None], None],
    ) -> bool:
        """Send a probe and pass on its reply, None if there is none; return whether it could be sent."""
        answer = self._interceptor.send(target, method, params)
        if answer is None:
            return False
        self._await_reply(pending, answer, lambda result: parse(decode_result(result)), on_reply)
        return True

    def _await_reply(
        self,
        pending: PendingAction,
        answer: asyncio.Future[Any],
        parse: Callable[[Any], _ReplyT | None],
        on_reply: Callable[[_ReplyT | None], None],
    ) -> None:
        """Pass on a reply when it arrives, None if there is none; the action is incomplete until then."""

        def arrive(done: asyncio.Future[Any]) -> None:
            pending.pending_replies -= 1
            on_reply(None if done.cancelled() or done.exception() is not None else parse(done.result()))

        pending.pending_replies += 1
        answer.add_done_callback(arrive)

    def _store_result(self, pending: PendingAction, snapshot: ElementSnapshot, slot: _ResultSlot) -> None:
        if slot == "second":
            pending.second = snapshot
        elif slot == "found":
            pending.selector_match = snapshot
        elif pending.is_on_handle and not snapshot.path and pending.element is not None:
            pending.element = replace(snapshot, path=pending.element.path)
        elif pending.method not in _KEYBOARD_TEXT_CALLS or snapshot.count:
            pending.element = snapshot
            self._redact_password(pending)
            if snapshot.path and snapshot.identity is None:
                self._evaluate_all(pending, snapshot.path, DESCRIBE_MATCHES)
        if snapshot.point is not None:
            pending.params = {**pending.params, "x": snapshot.point[0], "y": snapshot.point[1]}

    def _redact_password(self, pending: PendingAction) -> None:
        """Treat text typed into a password field, or one for a code or answer, as a secret from now on."""
        identity = pending.element.identity if pending.element is not None else None
        text = pending.params.get("value", pending.params.get("text"))
        if identity is not None and is_secret_field(identity.attributes) and isinstance(text, str):
            self._redact_lines(text)

    def redact_named_password(self, pending: PendingAction) -> None:
        """Treat text typed into a target whose selector names a password as a secret."""
        text, selector = pending.params.get("value", pending.params.get("text")), pending.params.get("selector")
        if isinstance(text, str) and isinstance(selector, str) and is_password_name(selector):
            self._redact_lines(text)

    def _redact_lines(self, text: str) -> None:
        """Register each line as a secret: fields take no line breaks, and a typed one is Enter."""
        for line in text.splitlines():
            self._session.redact_typed_secret(line)


def _evaluate_params(expression: str, value: object, **fields: str) -> dict[str, Any]:
    return {**fields, "expression": expression, "isFunction": True, "arg": serialize_argument(value)}
