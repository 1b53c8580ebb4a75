"""What a gate found: a limit that a run was to keep to, and what the run did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.record import FiniteJson, Record

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import Verdict


class GateResult(Record):
    """The result of one gate."""

    gate: str
    """Its name; where it is about some things only, with them in brackets: `latency_ms[tool=web_fetch]`."""
    passed: bool | None
    """None where it cannot be known from what is there, which is not a pass."""
    limit: FiniteJson
    observed: FiniteJson
    """In the unit of the limit; None where nothing was observed."""
    message: str
    """One sentence for a person."""
    while_running: bool = False
    """Whether it was exceeded before the run was over, which ends the run."""

    @property
    def verdict(self) -> Verdict:
        """Return what it counts as beside the verdicts of steps."""
        if self.passed is None:
            return "unverifiable"
        return "faithful" if self.passed else "diverged"

    @property
    def word(self) -> str:
        """Say it in one word."""
        return {True: "passed", False: "failed", None: "unverifiable"}[self.passed]
