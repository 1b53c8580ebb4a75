"""What a proposer is given, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eikon_engine.fix.missions.diagnosis import Diagnosis
    from eikon_engine.fix.missions.mended_element import Mended
    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.fix.missions.report import Repair
    from eikon_engine.trace.patch import TracePatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """One change of a mission, not yet proved."""

    repair: Repair
    comparing: TracePatch
    """The change as it is made to compare with the old recording: nothing that was recorded is dropped."""
    mended: Mended | None = None
    """The element that is mended, where it was and where it is; None where none is."""

    @property
    def step(self) -> str:
        """Return the id of the action that is mended; empty where none is."""
        return "" if self.mended is None else self.mended.step


class Proposer(Protocol):
    """Propose one change, or none."""

    async def __call__(self, diagnosis: Diagnosis, options: RepairOptions) -> Proposed | None:
        """Look at a mission that diverged for a cause that may be mended."""
