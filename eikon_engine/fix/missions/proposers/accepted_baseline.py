"""Accept the current appearance of the site as the new baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.fix.missions.proposers.proposer import Proposed
from eikon_engine.fix.missions.refusal import LOST_TARGET, other_deed
from eikon_engine.fix.missions.report import Repair
from eikon_engine.trace.patch import TracePatch

if TYPE_CHECKING:
    from eikon_engine.fix.missions.diagnosis import Diagnosis
    from eikon_engine.fix.missions.options import RepairOptions


async def accepted_baseline(diagnosis: Diagnosis, options: RepairOptions) -> Proposed | None:
    """Propose to re-record the unchanged mission; None unless requested, or if more than appearance differs."""
    lost = any(found.code in LOST_TARGET for each in diagnosis.steps for found in each.found)
    if not options.accept_baseline or lost or other_deed(diagnosis) is not None:
        return None
    reason = f"--accept-baseline: {diagnosis.steps[0].explanation.sentence}"
    return Proposed(
        repair=Repair(proposer="accept-baseline", patch=TracePatch(), reason=reason), comparing=TracePatch()
    )
