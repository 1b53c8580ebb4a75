"""The result of a gate: a limit, and the value that the run reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.record import FileModel, FiniteJson

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import Verdict


class GateResult(FileModel):
    """The result of one gate."""

    gate: str
    """Name of the gate, with its scope in brackets if it has one: `latency_ms[tool=web_fetch]`."""
    passed: bool | None
    """None if the data is not sufficient to decide, which is not a pass."""
    limit: FiniteJson
    observed: FiniteJson
    """In the unit of the limit; None if nothing was observed."""
    message: str
    """One sentence that explains the result."""
    while_running: bool = False
    """Whether the limit was exceeded during the run, which stops the run."""

    @property
    def verdict(self) -> Verdict:
        """Return the result as a verdict, to combine it with the verdicts of steps."""
        if self.passed is None:
            return "unverifiable"
        return "faithful" if self.passed else "diverged"

    @property
    def word(self) -> str:
        """Return `passed`, `failed` or `unverifiable`."""
        return {True: "passed", False: "failed", None: "unverifiable"}[self.passed]
