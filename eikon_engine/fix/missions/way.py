"""State of a repair in progress: proposals so far and their results."""

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


class Refused(Exception):  # noqa: N818 - internal control flow, caught where the report is built
    """The mission is not repaired; the message says why."""


@dataclass(slots=True, kw_only=True)
class Way:
    """State of a repair; grows with each proposal."""

    bundle: Bundle
    options: RepairOptions
    workshop: Path
    explanation: Explanation
    """Of the first divergence."""
    proposals: list[Proposed] = field(default_factory=list)
    accepted: tuple[str, ...] = ()
    """Further differences that were accepted, one sentence each."""
    mended: Path | None = None
    """The bundle with all proposals; None before it exists."""
    recorded_anew: bool = False
    visited: bool = False
    """Whether the site was visited to try a proposal."""
    compared: Tested | None = None
    """Last comparison of the repaired mission with the old recording."""

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Return the proposed repairs."""
        return tuple(each.repair for each in self.proposals)

    @property
    def patch(self) -> TracePatch:
        """Return all changes of the mission."""
        return TracePatch(operations=tuple(each for repair in self.repairs for each in repair.patch.operations))

    @property
    def comparing_patch(self) -> TracePatch:
        """Return the changes for comparison: no recorded data is dropped."""
        return TracePatch(operations=tuple(each for made in self.proposals for each in made.comparing.operations))

    @property
    def comparing(self) -> Bundle:
        """Return the old recording with the proposed changes, including all observations to compare with."""
        return replace(self.bundle, trace=apply_patch(self.bundle.trace, self.comparing_patch))

    @property
    def elements(self) -> tuple[Mended, ...]:
        """Return the elements that replaced lost ones."""
        return tuple(each.mended for each in self.proposals if each.mended is not None)

    @property
    def masks(self) -> tuple[Mask, ...]:
        """Return the masks of all replaced elements, uniquely named."""
        masks = [each for mended in self.elements for each in mended.masks]
        return tuple(each.model_copy(update={"name": f"mended-{number}"}) for number, each in enumerate(masks, start=1))

    @property
    def keeps_network(self) -> bool:
        """Return whether the recorded network serves the repaired mission: no visit to the live site is needed."""
        operations = self.patch.operations
        rules_alone = bool(operations) and all(isinstance(each, AddRule) for each in operations)
        return self.options.against == "recording" or rules_alone

    def is_mended(self, step: str) -> bool:
        """Return whether a change was proposed for a step."""
        return any(each.step == step for each in self.proposals)
