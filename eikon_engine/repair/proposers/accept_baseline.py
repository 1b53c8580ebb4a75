"""Accept the current appearance of the site as the new baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import LOST_TARGET_CODES
from eikon_engine.repair.proposers.proposer import ProposedRepair
from eikon_engine.repair.refusal import changed_write_request
from eikon_engine.repair.report import Repair
from eikon_engine.trace.patch import TracePatch

if TYPE_CHECKING:
    from eikon_engine.repair.diagnosis import Diagnosis
    from eikon_engine.repair.options import RepairOptions


async def accept_baseline(diagnosis: Diagnosis, options: RepairOptions) -> ProposedRepair | None:
    """Propose to re-record the unchanged mission; None unless requested, or if more than appearance differs."""
    lost = any(found.code in LOST_TARGET_CODES for each in diagnosis.steps for found in each.findings)
    if not options.accept_baseline or lost or changed_write_request(diagnosis) is not None:
        return None
    reason = f"--accept-baseline: {diagnosis.steps[0].explanation.sentence}"
    return ProposedRepair(
        repair=Repair(proposer="accept-baseline", patch=TracePatch(), reason=reason), comparison_patch=TracePatch()
    )
