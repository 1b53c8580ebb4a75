"""A mission on its way to being mended: what was proposed so far, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eikon_engine.trace.patch import AddRule, TracePatch, apply_patch

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.missions.mended_element import Mended
    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.fix.missions.proposers.proposer import Proposed
    from eikon_engine.fix.missions.report import Repair
    from eikon_engine.fix.missions.watched_replay import Tested
    from eikon_engine.outcome.explanation import Explanation
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.mask import Mask


class Refused(Exception):  # noqa: N818 - it is how a stage says no, and is caught where the report is made
    """Say why a mission is not mended."""


@dataclass(slots=True, kw_only=True)
class Way:
    """What is known on the way; it grows by proposals."""

    bundle: Bundle
    options: RepairOptions
    workshop: Path
    explanation: Explanation
    """Of what diverged first."""
    proposals: list[Proposed] = field(default_factory=list)
    accepted: tuple[str, ...] = ()
    """What else differs and was accepted, a sentence each."""
    mended: Path | None = None
    """The bundle with all proposals; None before there is one."""
    recorded_anew: bool = False
    visited: bool = False
    """Whether the site was visited to try a proposal."""
    compared: Tested | None = None
    """How the mended mission was compared with the old recording last."""

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Return what was proposed."""
        return tuple(each.repair for each in self.proposals)

    @property
    def patch(self) -> TracePatch:
        """Return all changes of the mission."""
        return TracePatch(operations=tuple(each for repair in self.repairs for each in repair.patch.operations))

    @property
    def comparing_patch(self) -> TracePatch:
        """Return the changes as they are made to compare: nothing that was recorded is dropped."""
        return TracePatch(operations=tuple(each for made in self.proposals for each in made.comparing.operations))

    @property
    def comparing(self) -> Bundle:
        """Return the old recording as it does what is proposed, with all that it saw to compare with."""
        return replace(self.bundle, trace=apply_patch(self.bundle.trace, self.comparing_patch))

    @property
    def elements(self) -> tuple[Mended, ...]:
        """Return the elements that took the place of lost ones."""
        return tuple(each.mended for each in self.proposals if each.mended is not None)

    @property
    def masks(self) -> tuple[Mask, ...]:
        """Return the elements that are mended, under names of their own."""
        masks = [each for mended in self.elements for each in mended.masks]
        return tuple(each.model_copy(update={"name": f"mended-{number}"}) for number, each in enumerate(masks, start=1))

    @property
    def keeps_network(self) -> bool:
        """Say whether the recorded network answers the mended mission: the site did not change, or is not asked."""
        operations = self.patch.operations
        rules_alone = bool(operations) and all(isinstance(each, AddRule) for each in operations)
        return self.options.against == "recording" or rules_alone

    def is_mended(self, step: str) -> bool:
        """Say whether something was proposed for a step."""
        return any(each.step == step for each in self.proposals)
