"""Bind an action to exactly one element, before it acts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.page_activity import dispatch_scroll_events
from eikon_engine.browser.page_calls import call_in_frame
from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.browser.playwright_errors import translate
from eikon_engine.browser.stabilizer import fast_forward
from eikon_engine.errors import ActionError
from eikon_engine.trace import actions
from eikon_engine.trace.observation import TargetState
from eikon_engine.trace.target import Identity, Target, target_differences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Locator, Page

    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Point
    from eikon_engine.trace.target import IsSameText

POLL_MS: Final = 50.0
"""Page time between two checks of a target that is not ready."""
_POLL_SLOWDOWN: Final = 10.0
"""A condition is evaluated again after one part in so many of the time so far."""
_OTHER_ENGINE: Final = re.compile(r"^\s*(?:[\w-]+(?::[\w-]+)*=|//|\.\.)|>>")
"""A selector that only Playwright can evaluate: of another engine than CSS, or a chain of several."""
_BEING_REPLACED: Final = r"Execution context was destroyed|[Ff]rame was detached|Cannot find context"
"""Playwright's errors for a document that is being replaced."""
_FRAME_TIMEOUT_MS: Final = 1_000.0
"""Wall time for finding a frame again that was counted a moment ago."""
_POINT_THROUGH_FRAME: Final = """(frame, [left, top]) => {
  const document = frame.ownerDocument;
  const box = frame.getBoundingClientRect(), style = document.defaultView.getComputedStyle(frame);
  const x = box.x + (frame.clientLeft + parseFloat(style.paddingLeft) + left) * box.width / (frame.offsetWidth || 1);
  const y = box.y + (frame.clientTop + parseFloat(style.paddingTop) + top) * box.height / (frame.offsetHeight || 1);
  let hit = document.elementFromPoint(x, y);
  while (hit && hit !== frame && hit.shadowRoot) {
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  const name = hit ? `<${hit.localName}${hit.id ? '#' + hit.id : ''}>` : 'nothing that can be hit';
  return { cover: hit === frame ? '' : name, x, y };
}"""
"""Convert a point in a frame's viewport to that of its parent, and name what covers the frame there."""
_INSPECT_NATIVE_CSS: Final = f"""([frames, selector, inspection]) => {{
  const found = window.__eikon__?.find?.(frames, selector);
  if (!found) return null;
  const seen = found.own.inspect(found.elements, inspection);
  const throughFrame = {_POINT_THROUGH_FRAME};
  seen.covers = [];
  for (const frame of seen.point && !seen.obstacle ? found.owners.reverse() : []) {{
    const {{ cover, x, y }} = throughFrame(frame, [seen.point.x, seen.point.y]);
    seen.point = {{ x, y }};
    seen.covers.push(cover);
  }}
  return seen;
}}"""
"""Inspect what a target matches in the frames that a document reaches; null if Playwright must look.

`covers` names what covers each frame, innermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """What an element must be before an action may act on it."""

    visible: bool = True
    rendered: bool = False
    """Whether it has a layout, even if it is empty or invisible."""
    enabled: bool = False
    editable: bool = False
    pointer: bool = False
    """Whether a pointer at its centre, or at `position`, would hit it."""
    may_be_covered: bool = False
    """Whether a pointer there may hit another element."""
    position: Point | None = None


_VISIBILITY_NOT_REQUIRED: Final = (
    actions.Assert,
    actions.Blur,
    actions.DispatchEvent,
    actions.Evaluate,
    actions.Expect,
    actions.Focus,
    actions.Read,
    actions.ScrollIntoViewIfNeeded,
    actions.SetInputFiles,
    actions.WaitFor,
)
"""Actions that do not require a visible target."""
_ENABLED_REQUIRED: Final = (
    actions.Check,
    actions.Click,
    actions.DoubleClick,
    actions.Download,
    actions.Fill,
    actions.SelectOption,
    actions.SetInputFiles,
    actions.SetValue,
    actions.Tap,
    actions.TypeText,
    actions.Uncheck,
)
"""Actions that require an enabled target, unless they are forced."""


def readiness_for(action: actions.Action) -> Readiness:
    """Return what an action requires of its target, except that a pointer reaches it."""
    is_forced = actions.is_forced(action)
    may_be_hidden = is_forced and isinstance(action, actions.Fill | actions.SelectOption | actions.SelectText)
    return Readiness(
        visible=not isinstance(action, _VISIBILITY_NOT_REQUIRED) and not may_be_hidden,
        rendered=isinstance(action, actions.ScrollIntoViewIfNeeded),
        enabled=isinstance(action, _ENABLED_REQUIRED) and not is_forced,
        editable=isinstance(action, actions.Fill | actions.TypeText) and not is_forced,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetInspection:
    """The result of evaluating a selector once."""

    count: int
    matches: tuple[str, ...]
    """Descriptions of the first five, for messages."""
    identity: Identity | None
    obstacle: str
    visible: bool
    text: str
    state: TargetState | None
    point: tuple[float, float] | None = None
    """Where a pointer would go, in the viewport of the page; None if not requested."""
    has_scrolled: bool = False
    """Whether the look scrolled to the element."""


def may_be_css(target: Target) -> bool:
    """Whether the browser may evaluate the selectors of a target without Playwright."""
    return not any(map(_OTHER_ENGINE.search, (*target.frames, target.selector)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTarget:
    """A target and its element."""

    target: Target
    locator: Locator = field(repr=False)
    identity: Identity
    point: tuple[float, float] | None = None
    """Where a pointer hits it, in the viewport of the page; None if not requested."""
    state: TargetState | None = None
    """Its form state before the action; None without one."""


def locate(page: Page, target: Target) -> Locator:
    """Build the locator of a target."""
    if not target.frames:
        return page.locator(target.selector)
    outer = page.frame_locator(target.frames[0])
    for selector in target.frames[1:]:
        outer = outer.frame_locator(selector)
    return outer.locator(target.selector)


async def inspect_locator(locator: Locator, readiness: Readiness) -> TargetInspection:
    """Evaluate a locator in one round trip.

    Raises:
        ActionError: the selector is invalid.
    """
    from playwright.async_api import Error

    try:
        answer = await locator.evaluate_all(load_script("inspect_elements.js"), _readiness_argument(readiness))
    except Error as error:
        if re.search(_BEING_REPLACED, error.message):
            return _NO_MATCH
        raise translate(error, "looking for the target") from error
    return _parse_inspection(answer)


async def _inspect_native_css(page: Page, target: Target, readiness: Readiness) -> TargetInspection | None:
    """Evaluate selectors that are plain CSS with the browser's engine; None if Playwright must parse them.

    Playwright's CSS differs only in that it pierces open shadow roots, and in selectors that the browser rejects. Its
    engine must be sent to each document first, which takes longer than the whole action.
    """
    if not may_be_css(target):
        return None
    asked = [target.frames, target.selector, _readiness_argument(readiness)]
    answer = await call_in_frame(page.main_frame, _INSPECT_NATIVE_CSS, asked)
    if answer is None:
        return None
    seen = _parse_inspection(answer)
    return _with_covers(seen, filter(None, answer["covers"]), readiness) if target.frames else seen


def _with_covers(seen: TargetInspection, covers: Iterable[str], readiness: Readiness) -> TargetInspection:
    """Return an inspection with what covers the frames of its element, innermost first."""
    if seen.obstacle or seen.point is None or readiness.may_be_covered:
        return seen
    return replace(seen, obstacle=next((f"covered by {each}" for each in covers), ""))


async def inspect_target(page: Page, target: Target, readiness: Readiness) -> TargetInspection:
    """Evaluate a target once; each of its frames must be unique, and not covered at the pointer's position.

    Raises:
        ActionError: one of its frames is ambiguous; a selector is invalid.
    """
    from playwright.async_api import Error

    try:
        plain = await _inspect_native_css(page, target, readiness)
        if plain is not None:
            return plain
        for depth, selector in enumerate(target.frames):
            outer = Target(selector=selector, frames=target.frames[:depth])
            count = await locate(page, outer).count()
            if count > 1:
                message = f"{outer}: expected one frame, found {count}"
                raise ActionError(message, code="target-ambiguous")
            if count == 0:
                return _NO_MATCH
        seen = await inspect_locator(locate(page, target), readiness)
        if seen.obstacle or seen.point is None or not target.frames:
            return seen
        covers, point = await _point_through_frames(page, target, seen.point)
        return _with_covers(replace(seen, point=point), covers, readiness)
    except Error as error:
        if re.search(_BEING_REPLACED, error.message):
            return _NO_MATCH
        raise translate(error, "looking for the frame of the target") from error


async def _point_through_frames(
    page: Page, target: Target, point: tuple[float, float]
) -> tuple[list[str], tuple[float, float]]:
    """Convert a point from the innermost frame to the page; also return what covers the frames, innermost first."""
    covers: list[str] = []
    for depth in reversed(range(len(target.frames))):
        frame = locate(page, Target(selector=target.frames[depth], frames=target.frames[:depth]))
        answer = await frame.evaluate(_POINT_THROUGH_FRAME, list(point), timeout=_FRAME_TIMEOUT_MS)
        covers += filter(None, [answer["cover"]])
        point = (answer["x"], answer["y"])
    return covers, point


def poll_step_ms(waited_ms: float) -> float:
    """Return the page time until a condition is evaluated again: more after a long wait."""
    return max(POLL_MS, waited_ms // _POLL_SLOWDOWN // POLL_MS * POLL_MS)


async def bind(page: Page, target: Target, session: Session, readiness: Readiness, timeout_ms: float) -> BoundTarget:
    """Wait, in page time, until the target is one element that is ready; verify that it is the recorded one.

    Raises:
        ActionError: nothing matched before the deadline; more than one element matched; the element is not the recorded
            one; it was not ready before the deadline.
    """
    locator = locate(page, target)
    waited = 0.0
    is_notified = False
    while True:
        seen = await inspect_target(page, target, readiness)
        if seen.has_scrolled and not is_notified:
            await dispatch_scroll_events(page)  # they come with the next frame, at no deterministic time
            is_notified = True
            continue
        if seen.count > 1:
            raise ActionError(ambiguity_message(target, seen), code="target-ambiguous")
        if seen.identity is not None and not seen.obstacle:
            _verify_identity(target, seen.identity, session.is_same_text)
            return BoundTarget(
                target=target, locator=locator, identity=seen.identity, point=seen.point, state=seen.state
            )
        if waited >= timeout_ms:
            raise _not_ready_error(target, seen, timeout_ms)
        step = await fast_forward(session.stabilizer, POLL_MS, timeout_ms - waited)
        await session.stabilizer.pass_time_waiting(step)
        waited += step


def ambiguity_message(target: Target, seen: TargetInspection) -> str:
    """Return the message for more than one match."""
    return f"{target}: expected one element, found {seen.count}: {', '.join(seen.matches)}"


def _verify_identity(target: Target, observed: Identity, is_same_text: IsSameText | None) -> None:
    if target.identity is None:
        return
    differences = target_differences(target, observed, is_same_text)
    if differences:
        message = f"{target}: the element is not the recorded one: {'; '.join(differences)}"
        raise ActionError(message, code="target-changed")


def _not_ready_error(target: Target, seen: TargetInspection, timeout_ms: float) -> ActionError:
    if seen.count == 0:
        return ActionError(
            f"{target}: expected one element, found none within {timeout_ms:.0f} ms of page time", code="target-missing"
        )
    return ActionError(
        f"{target}: {seen.matches[0]} is {seen.obstacle} after {timeout_ms:.0f} ms of page time",
        code="target-not-actionable",
    )


def _readiness_argument(readiness: Readiness) -> dict[str, Any]:
    position = readiness.position
    return {
        "visible": readiness.visible,
        "rendered": readiness.rendered,
        "enabled": readiness.enabled,
        "editable": readiness.editable,
        "pointer": readiness.pointer,
        "mayBeCovered": readiness.may_be_covered,
        "position": {"x": position.x, "y": position.y} if position else None,
    }


_NO_MATCH: Final = TargetInspection(count=0, matches=(), identity=None, obstacle="", visible=False, text="", state=None)


def _parse_inspection(answer: Any) -> TargetInspection:  # noqa: ANN401 - what a page's script returns has no type yet
    identity = answer["identity"]
    state, point = answer["state"], answer["point"]
    return TargetInspection(
        count=int(answer["count"]),
        matches=tuple(answer["matches"]),
        identity=Identity.model_validate(identity, strict=False) if identity else None,
        obstacle=answer["obstacle"],
        visible=answer["visible"],
        text=answer["text"],
        state=TargetState(value=state["value"], checked=state["checked"]) if state else None,
        point=(point["x"], point["y"]) if point else None,
        has_scrolled=answer["scrolled"],
    )
