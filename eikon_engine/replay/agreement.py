"""What a replay still waits for after a divergence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.execution import Failed, Succeeded

if TYPE_CHECKING:
    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.trace.execution import ActionTrace

_WITHOUT_EFFECT: Final = frozenset(
    {
        "assertion-failed",
        "option-missing",
        "page-missing",
        "target-ambiguous",
        "target-changed",
        "target-missing",
        "target-not-actionable",
        "wait-timeout",
    }
)
"""Failures of actions that had no effect on the page, or that already used up their timeout."""


def has_recorded_effects(recorded: ActionTrace, performed: PerformedAction) -> bool:
    """Return whether the pages have issued every recorded request and opened every recorded page.

    An action that succeeded in the recording and has no effect now cannot cause its recorded requests.
    """
    before, now = recorded.baseline, performed.observation
    if before is None or now is None:
        return True
    failed = performed.result
    if isinstance(failed, Failed) and failed.code in _WITHOUT_EFFECT and isinstance(recorded.result, Succeeded):
        return True
    missing = Counter(before.requests) - Counter(now.requests)
    return not missing and set(before.opened) <= set(now.opened)
