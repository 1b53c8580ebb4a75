"""State of a repair in progress: proposals so far and their results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eikon_engine.trace.patch import AddRule, TracePatch, apply_patch

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.missions.mended_element import ReplacedElement
    from eikon_engine.fix.missions.options import RepairOptions
    from eikon_engine.fix.missions.proposers.proposer import ProposedRepair
    from eikon_engine.fix.missions.report import Repair
    from eikon_engine.fix.missions.watched_replay import DiagnosticReplay
    from eikon_engine.outcome.explanation import Explanation
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.mask import Mask


class RepairRefused(Exception):  # noqa: N818 - internal control flow, caught where the report is built
    """The mission is not repaired; the message says why."""


@dataclass(slots=True, kw_only=True)
class RepairState:
    """State of a repair; grows with each proposal."""

    bundle: Bundle
    options: RepairOptions
    work_folder: Path
    explanation: Explanation
    """Of the first divergence."""
    proposals: list[ProposedRepair] = field(default_factory=list)
    accepted: tuple[str, ...] = ()
    """Further differences that were accepted, one sentence each."""
    repaired: Path | None = None
    """The bundle with all proposals; None before it exists."""
    is_rerecorded: bool = False
    has_visited_site: bool = False
    """Whether the site was visited to try a proposal."""
    comparison: DiagnosticReplay | None = None
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
    def comparison_patch(self) -> TracePatch:
        """Return the changes for comparison: no recorded data is dropped."""
        return TracePatch(
            operations=tuple(each for made in self.proposals for each in made.comparison_patch.operations)
        )

    @property
    def comparison_bundle(self) -> Bundle:
        """Return the old recording with the proposed changes, including all observations to compare with."""
        return replace(self.bundle, trace=apply_patch(self.bundle.trace, self.comparison_patch))

    @property
    def replacements(self) -> tuple[ReplacedElement, ...]:
        """Return the elements that replaced lost ones."""
        return tuple(each.replacement for each in self.proposals if each.replacement is not None)

    @property
    def masks(self) -> tuple[Mask, ...]:
        """Return the masks of all replaced elements, uniquely named."""
        masks = [each for mended in self.replacements for each in mended.masks]
        return tuple(each.model_copy(update={"name": f"mended-{number}"}) for number, each in enumerate(masks, start=1))

    @property
    def uses_recorded_network(self) -> bool:
        """Return whether the recorded network serves the repaired mission: no visit to the live site is needed."""
        operations = self.patch.operations
        rules_alone = bool(operations) and all(isinstance(each, AddRule) for each in operations)
        return self.options.against == "recording" or rules_alone

    def has_repair_for(self, step: str) -> bool:
        """Return whether a change was proposed for a step."""
        return any(each.step == step for each in self.proposals)
