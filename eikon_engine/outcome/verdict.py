"""The verdict of a step, and of a whole of steps: `diverged` outweighs everything, `unverifiable` is never a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import Verdict


def step_verdict(divergences: Collection[Divergence], unverifiable: Collection[str]) -> Verdict:
    """Return the verdict of a step from its divergences and the notes on what could not be compared."""
    if divergences:
        return "diverged"
    return "unverifiable" if unverifiable else "faithful"


def combine_verdicts(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a whole from the verdicts of its parts; without parts it is unverifiable."""
    seen = set(verdicts)
    if "diverged" in seen:
        return "diverged"
    return "unverifiable" if "unverifiable" in seen or not seen else "faithful"


def run_verdict(steps: Iterable[Verdict], *, is_whole: bool) -> Verdict:
    """Return the verdict of a run from those of its steps; a run that is not whole is never faithful."""
    found = combine_verdicts(steps)
    return "unverifiable" if found == "faithful" and not is_whole else found
