"""The result of comparing two deployments of a site with one mission."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from eikon_engine.files.models import FileModel
from eikon_engine.outcome.certification import CertificationFinding
from eikon_engine.outcome.outcomes import ReplayOutcome

ComparisonStatus: TypeAlias = Literal["same", "different", "unverifiable"]

COMPARISON_EXIT_STATUS: Final[dict[ComparisonStatus, int]] = {"same": 0, "different": 1, "unverifiable": 3}


class DeploymentComparison(FileModel):
    """What a mission meets on one deployment and not on another."""

    status: ComparisonStatus
    """Whether head does what base does; unverifiable if the mission fails on base, or base differs from itself first.
    """
    mission_id: str
    base: str
    """URL of the deployment that is compared with."""
    head: str
    """URL of the deployment that is compared."""
    runs: int
    """Number of replays on base that measured what varies without a change."""
    learned: tuple[str, ...] = ()
    """What varies on base and is therefore not compared: rules and masks."""
    noise: tuple[CertificationFinding, ...] = ()
    """How base differs from itself in what neither rules nor masks cover."""
    reasons: tuple[str, ...] = ()
    """Reasons for the status, most important first."""
    outcome: ReplayOutcome | None = None
    """The replay on head, with base as the recording; None if the mission fails on base."""

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command."""
        return COMPARISON_EXIT_STATUS[self.status]
