"""Detect a different result: whether the action succeeded, and how it failed, including lost targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.detectors.lifecycle import describe_dialog
from eikon_engine.errors import LOST_TARGET_CODES, PageMissingError
from eikon_engine.trace.actions import Expect, WaitFor
from eikon_engine.trace.execution import Blocked, Failed, Succeeded
from eikon_engine.trace.labels import action_label, condition_label, expectation_label
from eikon_engine.trace.read_values import value_text
from eikon_engine.trace.steps import is_failed_wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Candidate, Divergence
    from eikon_engine.trace.execution import ActionTrace, Result
    from eikon_engine.trace.observation import Observation

DIALOG_MISSING: Final = "dialog-missing"
"""Code of an action that did not open the dialog that a prepared answer was waiting for."""
UNKNOWN_FAILURE = "unknown"
"""Code of a recorded failure that an older format did not describe; it matches any failure."""
_ARIA_EXPRESSION: Final = "to.match.aria"
WHOLE_SECONDS: Final = 10
"""Seconds from which on no fractions of a second are printed."""
PAGE_CLOSED_MESSAGE: Final = "Target page, context or browser has been closed"
"""Playwright's message of an action whose page was closed."""


def detect_result(comparison: Comparison) -> Iterator[Divergence]:
    """Compare the recorded result with the replayed one."""
    recorded, observed = comparison.recorded.result, comparison.result
    if isinstance(observed, Failed) and not isinstance(recorded, Failed):
        finding = comparison.make_divergence(
            "target" if observed.code.startswith("target-") else "result",
            observed.code,
            expected=_expected_dialogs(comparison) if observed.code == DIALOG_MISSING else _expected_target(comparison),
            observed=_observed_value(comparison) or f"{observed.code}: {observed.message}",
            message=f"{_describe_failure(comparison.recorded)}: {observed.message}.",
        )
        yield finding.model_copy(update={"candidates": _target_candidates(comparison, observed.code)})
    elif isinstance(recorded, Failed) and isinstance(observed, Succeeded):
        if failed_by_closing_its_page(comparison.recorded, comparison.observed):
            return
        if is_failed_wait(comparison.recorded):
            yield _held_condition(comparison)
            return
        yield comparison.make_divergence(
            "result",
            "unexpected-success",
            expected=_describe_result(recorded),
            observed="ok",
            message="The action failed in the recording but succeeded now.",
        )
    elif (
        isinstance(recorded, Failed)
        and isinstance(observed, Failed)
        and UNKNOWN_FAILURE != recorded.code != observed.code
    ):
        yield comparison.make_divergence(
            "result",
            "failure-changed",
            expected=_describe_result(recorded),
            observed=_describe_result(observed),
            message=f"The action failed with {observed.code}; in the recording it failed with {recorded.code}.",
        )


def _held_condition(comparison: Comparison) -> Divergence:
    """Return the divergence of a wait that timed out in the recording, and whose condition holds now."""
    action = comparison.recorded.action
    what = condition_label(action.condition) if isinstance(action, WaitFor) else action_label(action)
    deadline = f"{action.timeout_ms / 1000:g} s"
    when = _describe_held(comparison.waited_ms or 0.0)
    return comparison.make_divergence(
        "result",
        "unexpected-success",
        expected=f"the condition does not hold within {deadline}: {what}",
        observed=f"it {when}",
        message=f"The agent waited {deadline} in the recording, and the wait timed out; now its condition {when}.",
    )


def _describe_held(waited_ms: float) -> str:
    """Describe after which page time a condition held: in whole seconds from 10 on, else with two digits."""
    if waited_ms < 1:
        return "held at once"
    seconds = waited_ms / 1000
    return f"held after {seconds:.0f} s" if seconds >= WHOLE_SECONDS else f"held after {seconds:.2g} s"


def failed_by_closing_its_page(recorded: ActionTrace, observed: Observation | None) -> bool:
    """Return whether an action failed in the recording only because it closed its page, as it did now.

    The page of a popup may close before it reports that it was clicked; tools then record a failure.
    """
    result = recorded.result
    reported = isinstance(result, Failed) and (
        result.code == PageMissingError.code
        or (result.code == UNKNOWN_FAILURE and PAGE_CLOSED_MESSAGE in result.message)
    )
    return reported and observed is not None and recorded.action.page in observed.closed


def _describe_failure(recorded: ActionTrace) -> str:
    """Describe a failed action; steps after a change of the mission have no recorded result."""
    if recorded.timing is not None and recorded.observation is None:
        return "The action failed, and it has no recorded result because the steps before it were changed"
    return "The action succeeded in the recording but failed now"


def _target_candidates(comparison: Comparison, code: str) -> tuple[Candidate, ...] | None:
    """Find candidates for a target that is missing, ambiguous or changed."""
    target = getattr(comparison.recorded.action, "target", None)
    if code not in LOST_TARGET_CODES or target is None or target.identity is None:
        return None
    from eikon_engine.divergence.candidates import find_candidates  # noqa: PLC0415 - a faithful replay loses no target

    page = comparison.observed_dom(comparison.recorded.action.page)
    return None if page is None else find_candidates(target.identity, page)


def _expected_dialogs(comparison: Comparison) -> str:
    seen = comparison.recorded.observation
    return ", ".join(describe_dialog(each) for each in seen.dialogs) if seen is not None else "a dialog"


def _observed_value(comparison: Comparison) -> str:
    """Return what the page had instead of what an assertion expects; empty if unknown."""
    seen = comparison.observed.value if comparison.observed is not None else None
    if not isinstance(comparison.recorded.action, Expect) or seen is None or seen.value is None:
        return ""
    if comparison.recorded.action.expression == _ARIA_EXPRESSION and isinstance(seen.value, dict):
        return value_text(seen.value.get("raw"))  # the other part is the same as a template
    return value_text(seen.value)


def _expected_target(comparison: Comparison) -> str:
    if isinstance(comparison.recorded.action, Expect):
        return expectation_label(comparison.recorded.action)
    target = getattr(comparison.recorded.action, "target", None)
    if target is None:
        return "ok"
    if target.identity is None:
        return f"one element at {target}"
    name = f" {target.identity.name!r}" if target.identity.name else ""
    return f"{target.identity.role or target.identity.tag}{name} at {target}"


def _describe_result(result: Result) -> str:
    match result:
        case Failed(code=code, message=message):
            return f"{code}: {message}" if message else code
        case Blocked(reason=reason):
            return f"not performed: {reason}"
        case _:
            return "ok"
