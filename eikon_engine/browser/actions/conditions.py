"""Wait for a condition in page time, and check an assertion without waiting."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.browser.actions.effect import ActionEffect, require_page, translated_errors
from eikon_engine.browser.actions.reads import find_frame
from eikon_engine.browser.actions.targets import Readiness, ambiguity_message, inspect_target, locate, poll_step_ms
from eikon_engine.browser.page_calls import answer_timeout
from eikon_engine.browser.playwright_internals import glob_matches
from eikon_engine.browser.request_keys import recorded_or_own_key
from eikon_engine.browser.stabilizer import fast_forward
from eikon_engine.errors import ActionError
from eikon_engine.files.patterns import is_in_text
from eikon_engine.network.keys import BODY_MARK, canonical_method, canonical_url
from eikon_engine.trace.actions import (
    AssertCount,
    AssertText,
    AssertUrl,
    AssertVisible,
    FunctionCondition,
    LoadStateCondition,
    RequestCondition,
    ResponseCondition,
    SelectorCondition,
    TrafficCondition,
    UrlCondition,
    UrlMatchCondition,
)
from eikon_engine.trace.labels import matcher_label

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page

    from eikon_engine.browser.actions.targets import TargetInspection
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Assert, Condition, UrlMatcher, WaitFor
    from eikon_engine.trace.target import Target

_EVALUATE_TRUTH: Final = r"""([expression, ...parameters]) => {
  const source = /^\s*function[\s(*]/.test(expression) ? `(${expression})` : expression;
  const given = globalThis.eval(source);
  const value = typeof given === "function" ? given(...parameters) : given;
  if (typeof value?.then === "function") throw new TypeError("it returns a promise, which is always truthy");
  return !!value;
}"""
"""The current value of a condition, evaluated as Playwright does; a function is called, since it is always truthy."""
_EVALUATE_TRUTH_OF_ELEMENT: Final = f"""(elements, [expression, argument]) => {{
  const holds = elements.length === 1 && ({_EVALUATE_TRUTH})([expression, elements[0], argument]);
  return {{ count: elements.length, holds }};
}}"""
_NO_READINESS = Readiness(visible=False)


@dataclass(frozen=True, slots=True)
class _Found:
    """Whether a condition holds now, and what was found."""

    holds: bool
    text: str
    is_tolerable: bool = False
    """Whether a live page may leave it at that: its server may respond less often than in the recording, or with a
    similar status."""
    held_after_ms: float | None = None
    """Page time after which it came to hold, since the wait began; None if the time is that of the poll."""


_NO_FRAME: Final = _Found(holds=False, text="found no such iframe")
_WITHOUT_LOCATING: Final = (
    LoadStateCondition,
    RequestCondition,
    ResponseCondition,
    TrafficCondition,
    UrlCondition,
    UrlMatchCondition,
)
"""Conditions that may hold before what fulfils them has completely arrived: that is recorded in the phase after."""


async def wait_for(session: Session, action: WaitFor) -> ActionEffect:
    """Let page time pass until the condition holds.

    Raises:
        ActionError: it did not hold before the deadline.
    """
    page = require_page(session, action.page)
    if isinstance(action.condition, _WITHOUT_LOCATING):
        session.timeline.begin_acting_phase()
    waited = action.elapsed_ms
    while not (found := await _evaluate_condition(session, page, action)).holds:
        if waited >= action.timeout_ms:
            if found.is_tolerable and not session.follows_schedule:
                break
            message = f"waited {waited:.0f} ms of page time for {describe_condition(action.condition)}; {found.text}"
            raise ActionError(message, code="wait-timeout")
        step_ms = poll_step_ms(waited)
        step = await fast_forward(session.stabilizer, step_ms, action.timeout_ms - waited)
        await session.stabilizer.pass_time_waiting(step)
        waited += step
    session.timeline.begin_acting_phase()
    return ActionEffect(waited_ms=waited if found.held_after_ms is None else found.held_after_ms)


async def check_assertion(session: Session, action: Assert) -> ActionEffect:
    """Check the assertion once.

    Raises:
        ActionError: it does not hold.
    """
    page = require_page(session, action.page)
    match action.expectation:
        case AssertUrl(url=expected_state):
            _require_expectation(url_matches(expected_state, page.url), f"the URL {expected_state}", page.url)
        case AssertCount(target=target, count=count):
            seen = await inspect_target(page, target, _NO_READINESS)
            _require_expectation(seen.count == count, f"{count} of {target}", str(seen.count))
        case AssertVisible(target=target):
            seen = await _inspect_unique(page, target)
            _require_expectation(seen.visible, f"{target} visible", "hidden" if seen.count else "no such element")
        case AssertText(target=target, text=text, contains=contains):
            seen = await _inspect_unique(page, target)
            holds = text in seen.text if contains else text == seen.text
            expected_state = f"{target} {'with' if contains else 'reading'} {text!r}"
            _require_expectation(
                bool(seen.count) and holds, expected_state, repr(seen.text) if seen.count else "no such element"
            )
        case _:
            assert_never(action.expectation)
    return ActionEffect()


async def _inspect_unique(page: Page, target: Target) -> TargetInspection:
    seen = await inspect_target(page, target, _NO_READINESS)
    if seen.count > 1:
        raise ActionError(ambiguity_message(target, seen), code="target-ambiguous")
    return seen


def _require_expectation(holds: bool, expected: str, found: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        message = f"expected {expected}, found {found}"
        raise ActionError(message, code="assertion-failed")


URL_FLAGS: Final = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
"""Flags of regular expressions for URLs, by their letters."""


def matches_url(matcher: UrlMatcher, url: str) -> bool:
    """Return whether a URL matches a pattern of an agent, as Playwright for Python does."""
    if matcher.syntax == "glob":
        return glob_matches(matcher.escaped_glob, url)
    return is_in_text(matcher.text, url, matcher.compiled_flags)


def _matches_shown(session: Session, matcher: UrlMatcher, url: str) -> bool:
    """Return whether a URL matches as it is, or as the recording has it: with its tokens for those of the live site."""
    return matches_url(matcher, url) or matches_url(matcher, session.redactor.redact_text(url))


def _evaluate_url(session: Session, expected: str, url: str) -> _Found:
    """Return whether a URL matches; a token of the live site stands for the recorded one."""
    shown = session.redactor.redact_text(url)
    return _Found(url_matches(expected, url) or url_matches(expected, shown), f"the URL is {shown}")


async def _evaluate_condition(session: Session, page: Page, action: WaitFor) -> _Found:  # noqa: PLR0911 - one case a kind
    """Return whether the condition of a wait holds now, and what was found."""
    match action.condition:
        case SelectorCondition() as condition:
            return await _evaluate_selector(page, condition)
        case UrlCondition(url=url, frames=frames):
            frame = await _find_frame(page, frames)
            return _NO_FRAME if frame is None else _evaluate_url(session, url, frame.url)
        case UrlMatchCondition(matcher=matcher, frames=frames):
            frame = await _find_frame(page, frames)
            if frame is None:
                return _NO_FRAME
            return _Found(_matches_shown(session, matcher, frame.url), f"the URL is {frame.url}")
        case LoadStateCondition(state=state, frames=frames):
            frame = await _find_frame(page, frames)
            if frame is None:
                return _NO_FRAME
            async with translated_errors("reading the load state"):
                ready = await frame.evaluate("document.readyState")
            holds = ready == "complete" or (state == "domcontentloaded" and ready == "interactive")
            return _Found(holds, f"it is {ready}")
        case FunctionCondition() as condition:
            return _Found(*await _evaluate_function(page, condition))
        case RequestCondition() | ResponseCondition() as condition:
            return _evaluate_traffic(session, page, condition)
        case TrafficCondition() as condition:
            return _evaluate_matching_traffic(session, page, action, condition)
        case _:
            assert_never(action.condition)


async def _evaluate_selector(page: Page, condition: SelectorCondition) -> _Found:
    seen = await inspect_target(page, condition.target, _NO_READINESS)
    if seen.count > 1 and condition.state in {"visible", "attached"}:
        raise ActionError(ambiguity_message(condition.target, seen), code="target-ambiguous")
    holds = {
        "attached": seen.count == 1,
        "detached": seen.count == 0,
        "visible": seen.visible,
        "hidden": seen.count == 0 or (seen.count == 1 and not seen.visible),
    }[condition.state]
    return _Found(holds, f"found {seen.count} matching, {'visible' if seen.visible else 'not visible'}")


async def _find_frame(page: Page, frames: tuple[str, ...]) -> Frame | None:
    """Return the frame that iframes lead to; None if one of them is missing."""
    try:
        return await find_frame(page, frames)
    except ActionError as error:
        if error.code != "target-missing":
            raise
        return None


def _evaluate_traffic(session: Session, page: Page, condition: RequestCondition | ResponseCondition) -> _Found:
    """Count the equal requests or responses of a page since the first step that may have caused them."""
    wanted = f"{canonical_method(condition.method)} {canonical_url(session.redactor.redact_text(condition.url))}"
    is_response = isinstance(condition, ResponseCondition)
    statuses = [
        each.status
        for each in session.traffic_log.since(session.timeline.steps_begun - condition.steps)
        if (each.status is not None) == is_response
        and each.page is page
        and recorded_or_own_key(session, each.request).partition(BODY_MARK)[0] == wanted
    ]
    status = condition.status if isinstance(condition, ResponseCondition) else None
    count = statuses.count(status)
    others = sorted({each for each in statuses if each is not None} - {status})
    found = [f"found {count} of {condition.count}"] if count else []
    found += [f"the response had status {', '.join(map(str, others))}"] if others else []
    text = "; ".join(found) or f"the page {'received no such response' if is_response else 'sent no such request'}"
    alike = [each for each in statuses if each == status or _is_alike(each, status)]
    is_ahead = status == HTTPStatus.ACCEPTED and not session.follows_schedule and len(alike) >= condition.count
    return _Found(count >= condition.count or is_ahead, text, is_tolerable=0 < len(alike) == len(statuses))


def _evaluate_matching_traffic(session: Session, page: Page, action: WaitFor, condition: TrafficCondition) -> _Found:
    """Count the requests or responses of a page whose URLs match, from the beginning of a wait to its deadline."""
    timeline, is_response = session.timeline, condition.event == "response"
    begun_ms = timeline.begun_ms - action.elapsed_ms
    found = [
        each.at_ms - begun_ms
        for each in session.traffic_log.since_wait(timeline.steps_begun - condition.steps, begun_ms)
        if (each.status is not None) == is_response
        and each.page is page
        and each.at_ms <= begun_ms + action.timeout_ms
        and _matches_shown(session, condition.matcher, each.request.url)
    ]
    holds = len(found) >= condition.count
    return _Found(
        holds,
        f"found {len(found)} of {condition.count}",
        held_after_ms=max(0.0, found[condition.count - 1]) if holds else None,
    )


def _is_alike(live: int | None, recorded: int | None) -> bool:
    """Return whether both statuses are errors or neither is; a live 202 says that what was recorded is yet to come."""
    if live is None or recorded is None or live == HTTPStatus.ACCEPTED:
        return False
    return (live >= HTTPStatus.BAD_REQUEST) == (recorded >= HTTPStatus.BAD_REQUEST)


async def _evaluate_function(page: Page, condition: FunctionCondition) -> tuple[bool, str]:
    expression, target = condition.expression, condition.target
    if target is not None:
        async with translated_errors(f"evaluating {expression} of {target}"), answer_timeout(page, page.url):
            given = [expression, condition.argument]
            found = await locate(page, target).evaluate_all(_EVALUATE_TRUTH_OF_ELEMENT, given)
        if found["count"] > 1:
            message = f"{target}: expected one element, found {found['count']}"
            raise ActionError(message, code="target-ambiguous")
        return found["holds"], "it is not true" if found["count"] else "found no element"
    try:
        frame = await find_frame(page, condition.frames)
    except ActionError as error:
        if error.code != "target-missing":
            raise
        return False, error.message
    async with translated_errors(f"evaluating {expression}"), answer_timeout(page, frame.url):
        return bool(await frame.evaluate(_EVALUATE_TRUTH, [expression, condition.argument])), "it is not true"


def url_matches(pattern: str, url: str) -> bool:
    """Match a URL against a pattern in which `*` stands for any characters."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), url) is not None


def describe_condition(condition: Condition) -> str:  # noqa: PLR0911 - one case a kind
    """Describe a condition in a message."""
    match condition:
        case SelectorCondition(target=target, state=state):
            return f"{target} to be {state}"
        case UrlCondition(url=url):
            return f"the URL {url}"
        case UrlMatchCondition(matcher=matcher):
            return f"a URL that matches {matcher_label(matcher)}"
        case TrafficCondition(event=event, matcher=matcher):
            return f"a {event} whose URL matches {matcher_label(matcher)}"
        case LoadStateCondition(state=state):
            return f"load state {state}"
        case FunctionCondition(expression=expression, target=target):
            return f"{expression} to be true" + (f" of {target}" if target else "")
        case RequestCondition(method=method, url=url):
            return f"a request {method} {url}"
        case ResponseCondition(method=method, url=url, status=status):
            return f"a response with status {status} to {method} {url}"
        case _:
            assert_never(condition)
