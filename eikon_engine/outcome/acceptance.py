"""The result of accepting what a live replay showed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.files.models import FileModel

if TYPE_CHECKING:
    from eikon_engine.outcome.divergence import Layer

AcceptanceStatus: TypeAlias = Literal["accepted", "acceptable", "refused"]

ACCEPTANCE_EXIT_STATUS: Final[dict[AcceptanceStatus, int]] = {"accepted": 0, "acceptable": 3, "refused": 1}
ERROR_CODES: Final = frozenset({"page-error-changed", "resource-failed", "response-failed", "status-changed"})
"""Differences that no baseline should contain."""
MISSION_LAYERS: Final[frozenset[Layer]] = frozenset({"environment", "result", "skill", "target"})
"""Layers in which a difference, except of what is read, means that the mission cannot continue as recorded."""


class AcceptableStep(FileModel):
    """One step of the reviewed replay that diverged."""

    step: int
    """Its number in the mission, from 1."""
    action: str
    """Id of the action."""
    label: str
    differences: tuple[str, ...]
    """Its divergences, in a sentence each."""
    refusal: str = ""
    """Why they cannot be accepted; empty if they can."""


class AcceptanceReport(FileModel):
    """What of a reviewed replay becomes the baseline of live replays."""

    status: AcceptanceStatus
    """`acceptable`: nothing was written yet; `refused`: a step or the whole replay cannot be accepted, and nothing is
    written."""
    mission_id: str
    trace_path: str
    outcome_path: str
    steps: tuple[AcceptableStep, ...] = ()
    refusals: tuple[str, ...] = ()
    """Why nothing is accepted; empty otherwise."""
    remaining: tuple[int, ...] = ()
    """Numbers of steps that diverged and were not chosen."""
    warnings: tuple[str, ...] = ()
    """What the mission needs besides: later steps whose targets are no longer on an accepted page."""

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command."""
        return ACCEPTANCE_EXIT_STATUS[self.status]
