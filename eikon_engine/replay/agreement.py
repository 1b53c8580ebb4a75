"""Whether pages that went another way than recorded may still be behind: what is waited for after a divergence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.execution import Failed, Succeeded

if TYPE_CHECKING:
    from eikon_engine.browser.worker import Performed
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
"""Failures of actions that did nothing to a page, or were over when their time was."""


def has_happened(recorded: ActionTrace, performed: Performed) -> bool:
    """Say whether pages have asked for everything, and opened every page, that they did when it was recorded.

    What an action that worked when it was recorded, and did nothing now, brought about then does not come.
    """
    before, now = recorded.baseline, performed.observation
    if before is None or now is None:
        return True
    failed = performed.result
    if isinstance(failed, Failed) and failed.code in _WITHOUT_EFFECT and isinstance(recorded.result, Succeeded):
        return True
    missing = Counter(before.requests) - Counter(now.requests)
    return not missing and set(before.opened) <= set(now.opened)
