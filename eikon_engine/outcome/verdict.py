"""Combine verdicts: `diverged` outweighs everything, and `unverifiable` is never a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.outcome.outcomes import Verdict


def combine_verdicts(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a whole from the verdicts of its parts; without parts it is unverifiable."""
    seen = set(verdicts)
    if "diverged" in seen:
        return "diverged"
    return "unverifiable" if "unverifiable" in seen or not seen else "faithful"
