"""Result: whether an action succeeded or failed, and in which way; targets first of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.candidates import candidates
from eikon_engine.divergence.lifecycle import describe_dialog
from eikon_engine.trace.execution import Blocked, Failed, Succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Candidate, Divergence
    from eikon_engine.trace.execution import ActionTrace, Result

LOST: Final = frozenset({"target-missing", "target-ambiguous", "target-changed"})
"""Codes of failures after which nobody knows which element was meant."""
DIALOG_MISSING: Final = "dialog-missing"
"""Code of an action that was to open a dialog for an answer given before; the dialog is what was expected of it."""
UNKNOWN_FAILURE = "unknown"
"""Code of a failure that an older format did not describe: any failure matches it."""


def detect_result(comparison: Comparison) -> Iterator[Divergence]:
    """Compare the recorded result with the replayed one."""
    recorded, observed = comparison.recorded.result, comparison.result
    if isinstance(observed, Failed) and not isinstance(recorded, Failed):
        finding = comparison.diverged(
            "target" if observed.code.startswith("target-") else "result",
            observed.code,
            expected=_dialogs(comparison) if observed.code == DIALOG_MISSING else _expected(comparison),
            observed=f"{observed.code}: {observed.message}",
            message=f"{_before(comparison.recorded)}: {observed.message}.",
        )
        yield finding.model_copy(update={"candidates": _did_you_mean(comparison, observed.code)})
    elif isinstance(recorded, Failed) and isinstance(observed, Succeeded):
        yield comparison.diverged(
            "result",
            "unexpected-success",
            expected=_shown(recorded),
            observed="ok",
            message="The action failed when it was recorded and succeeds now.",
        )
    elif (
        isinstance(recorded, Failed)
        and isinstance(observed, Failed)
        and UNKNOWN_FAILURE != recorded.code != observed.code
    ):
        yield comparison.diverged(
            "result",
            "failure-changed",
            expected=_shown(recorded),
            observed=_shown(observed),
            message=f"The action failed when it was recorded too, but in another way: {recorded.code}.",
        )


def _before(recorded: ActionTrace) -> str:
    """Say what is known of an action that cannot be performed; on a changed way, nothing is."""
    if recorded.timing is not None and recorded.observation is None:
        return "The action cannot be performed, on a way of which nothing was recorded"
    return "The action succeeded when it was recorded and cannot be performed now"


def _did_you_mean(comparison: Comparison, code: str) -> tuple[Candidate, ...] | None:
    """Look for what became of an element that is not there, or not the only one, or another one."""
    target = getattr(comparison.recorded.action, "target", None)
    if code not in LOST or target is None or target.identity is None:
        return None
    page = comparison.observed_dom(comparison.recorded.action.page)
    return None if page is None else candidates(target.identity, page)


def _dialogs(comparison: Comparison) -> str:
    seen = comparison.recorded.observation
    return ", ".join(describe_dialog(each) for each in seen.dialogs) if seen is not None else "a dialog"


def _expected(comparison: Comparison) -> str:
    target = getattr(comparison.recorded.action, "target", None)
    if target is None:
        return "ok"
    if target.identity is None:
        return f"one element {target}"
    name = f" {target.identity.name!r}" if target.identity.name else ""
    return f"{target.identity.role or target.identity.tag}{name} at {target}"


def _shown(result: Result) -> str:
    match result:
        case Failed(code=code, message=message):
            return f"{code}: {message}" if message else code
        case Blocked(reason=reason):
            return f"not performed: {reason}"
        case _:
            return "ok"
