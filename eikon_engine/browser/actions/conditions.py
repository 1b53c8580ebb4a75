"""Wait for a condition in page time, and check an assertion without waiting."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.browser.actions.effect import ActionEffect, require_page, translated_errors
from eikon_engine.browser.actions.reads import find_frame
from eikon_engine.browser.actions.targets import Readiness, ambiguity_message, inspect_target, locate
from eikon_engine.browser.stabilizer import fast_forward
from eikon_engine.errors import ActionError
from eikon_engine.trace.actions import (
    AssertCount,
    AssertText,
    AssertUrl,
    AssertVisible,
    FunctionCondition,
    LoadStateCondition,
    SelectorCondition,
    UrlCondition,
)

if TYPE_CHECKING:
    from playwright.async_api import Page

    from eikon_engine.browser.actions.targets import TargetInspection
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Assert, Condition, WaitFor
    from eikon_engine.trace.target import Target

_POLL_MS = 50.0
_POLL_SLOWDOWN = 10.0
"""Conditions are polled less and less often: after a tenth of the time so far."""
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


async def wait_for(session: Session, action: WaitFor) -> ActionEffect:
    """Let page time pass until the condition holds.

    Raises:
        ActionError: it did not hold before the deadline.
    """
    page = require_page(session, action.page)
    waited = 0.0
    while not (found := await _evaluate_condition(page, action.condition))[0]:
        if waited >= action.timeout_ms:
            message = f"waited {waited:.0f} ms of page time for {describe_condition(action.condition)}; {found[1]}"
            raise ActionError(message, code="wait-timeout")
        step_ms = max(_POLL_MS, waited // _POLL_SLOWDOWN // _POLL_MS * _POLL_MS)
        step = await fast_forward(session.stabilizer, step_ms, action.timeout_ms - waited)
        await session.stabilizer.pass_time_waiting(step)
        waited += step
    session.timeline.begin_acting_phase()
    return ActionEffect()


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


async def _evaluate_condition(page: Page, condition: Condition) -> tuple[bool, str]:
    """Return whether a condition holds now, and what was found."""
    match condition:
        case SelectorCondition(target=target, state=state):
            seen = await inspect_target(page, target, _NO_READINESS)
            if seen.count > 1 and state in {"visible", "attached"}:
                raise ActionError(ambiguity_message(target, seen), code="target-ambiguous")
            holds = {
                "attached": seen.count == 1,
                "detached": seen.count == 0,
                "visible": seen.visible,
                "hidden": seen.count == 0 or (seen.count == 1 and not seen.visible),
            }[state]
            return holds, f"found {seen.count} matching, {'visible' if seen.visible else 'not visible'}"
        case UrlCondition(url=url):
            return url_matches(url, page.url), f"the URL is {page.url}"
        case LoadStateCondition(state=state):
            async with translated_errors("reading the load state"):
                ready = await page.evaluate("document.readyState")
            return ready == "complete" or (state == "domcontentloaded" and ready == "interactive"), f"it is {ready}"
        case FunctionCondition():
            return await _evaluate_function(page, condition)
        case _:
            assert_never(condition)


async def _evaluate_function(page: Page, condition: FunctionCondition) -> tuple[bool, str]:
    expression, target = condition.expression, condition.target
    if target is not None:
        async with translated_errors(f"evaluating {expression} of {target}"):
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
    async with translated_errors(f"evaluating {expression}"):
        return bool(await frame.evaluate(_EVALUATE_TRUTH, [expression, condition.argument])), "it is not true"


def url_matches(pattern: str, url: str) -> bool:
    """Match a URL against a pattern in which `*` stands for any characters."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), url) is not None


def describe_condition(condition: Condition) -> str:
    """Describe a condition in a message."""
    match condition:
        case SelectorCondition(target=target, state=state):
            return f"{target} to be {state}"
        case UrlCondition(url=url):
            return f"the URL {url}"
        case LoadStateCondition(state=state):
            return f"load state {state}"
        case FunctionCondition(expression=expression, target=target):
            return f"{expression} to be true" + (f" of {target}" if target else "")
        case _:
            assert_never(condition)
