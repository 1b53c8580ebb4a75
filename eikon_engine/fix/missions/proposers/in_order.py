"""The proposers in the order they are tried: those without a model first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.fix.missions.proposers.accepted_baseline import accept_baseline
from eikon_engine.fix.missions.proposers.ask_model import ask_model
from eikon_engine.fix.missions.proposers.did_you_mean import did_you_mean
from eikon_engine.fix.missions.proposers.volatile_rule import volatile_rule

if TYPE_CHECKING:
    from eikon_engine.fix.missions.diagnosis import Diagnosis
    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.fix.missions.proposers.proposer import ProposedRepair, Proposer

PROPOSERS: Final[tuple[Proposer, ...]] = (did_you_mean, volatile_rule, accept_baseline, ask_model)


async def first_proposal(diagnosis: Diagnosis, options: RepairOptions) -> ProposedRepair | None:
    """Return the first proposal; None if there is none."""
    for proposer in PROPOSERS:
        proposed = await proposer(diagnosis, options)
        if proposed is not None:
            return proposed
    return None
