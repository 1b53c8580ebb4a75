"""Interface of proposers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eikon_engine.repair.diagnosis import Diagnosis
    from eikon_engine.repair.options import RepairOptions
    from eikon_engine.repair.replacement import ReplacedElement
    from eikon_engine.repair.report import Repair
    from eikon_engine.trace.patch import TracePatch


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedRepair:
    """One change of a mission, not proved yet."""

    repair: Repair
    comparison_patch: TracePatch
    """The change for comparison with the old recording: no recorded data is dropped."""
    replacement: ReplacedElement | None = None
    """The replaced element; None if no element is replaced."""

    @property
    def step(self) -> str:
        """Return the id of the repaired action; empty if there is none."""
        return "" if self.replacement is None else self.replacement.step


class Proposer(Protocol):
    """Propose one change, or none."""

    async def __call__(self, diagnosis: Diagnosis, options: RepairOptions) -> ProposedRepair | None:
        """Examine a diverged mission whose cause may be repaired."""
