"""Errors of actions and replays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors.root import EikonError

if TYPE_CHECKING:
    from pathlib import Path


class ActionError(EikonError):
    """The action could not be performed as requested; `code` is recorded in the trace."""

    code = "action-failed"
    exit_status = 1


class TargetMissingError(ActionError):
    """The selector matched no element before the deadline."""

    code = "target-missing"


class TargetAmbiguousError(ActionError):
    """The selector matched more than one element."""

    code = "target-ambiguous"


class TargetChangedError(ActionError):
    """The matched element is not the recorded one."""

    code = "target-changed"


class TargetNotActionableError(ActionError):
    """The element is hidden, disabled, read-only, covered or moving."""

    code = "target-not-actionable"


class OptionMissingError(ActionError):
    """The select box has no such option."""

    code = "option-missing"


class NavigationError(ActionError):
    """The navigation loaded no document."""

    code = "navigation-failed"


class WaitTimeoutError(ActionError):
    """The condition did not become true before the deadline."""

    code = "wait-timeout"


class DialogMissingError(ActionError):
    """No dialog opened for a recorded dialog answer."""

    code = "dialog-missing"


class DownloadMissingError(ActionError):
    """No download started during a download action."""

    code = "download-missing"


class PageMissingError(ActionError):
    """No page is open at the given ordinal."""

    code = "page-missing"


class AssertionFailedError(ActionError):
    """An assertion of the mission failed."""

    code = "assertion-failed"


class ActionRejectedError(ActionError):
    """The browser rejected the action for another reason."""

    code = "action-rejected"


class ReplayError(EikonError):
    """Base of everything that ends a replay without a faithful verdict."""

    code = "replay"
    exit_status = 1


class ReplayDivergenceError(ReplayError):
    """The first divergence of a replay, raised by `ReplayEngine.replay` once all files are written."""

    code = "replay-diverged"

    def __init__(  # noqa: PLR0913 - the fields of a finding
        self,
        subgoal_id: str,
        action_sequence: int,
        expected: str,
        observed: str,
        *,
        layer: str = "",
        divergence_code: str = "",
        summary_path: Path | None = None,
    ) -> None:
        """Store where the replay diverged and the path of its summary."""
        super().__init__(
            f"REPLAY_DIVERGENCE {divergence_code or 'unknown'} in subgoal {subgoal_id}, sequence {action_sequence}: "
            f"expected {expected}, observed {observed}"
        )
        self.subgoal_id = subgoal_id
        self.action_sequence = action_sequence
        self.expected = expected
        self.observed = observed
        self.layer = layer
        self.divergence_code = divergence_code
        self.summary_path = summary_path


class ToolCallsDivergedError(ReplayError):
    """A replay skipped recorded tool calls, or made them in a different order."""

    code = "tool-calls-diverged"


class ScenarioDivergedError(ReplayError):
    """A step of a scenario differs from the recorded one."""

    code = "scenario-diverged"
