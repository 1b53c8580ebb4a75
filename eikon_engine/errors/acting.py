"""Errors of actions, and of replays that left their recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors.root import EikonError

if TYPE_CHECKING:
    from pathlib import Path


class ActionError(EikonError):
    """Report an action that could not be performed exactly as asked; `code` is what a trace records."""

    code = "action-failed"
    exit_status = 1


class TargetMissingError(ActionError):
    """Report a selector that matched nothing before its deadline."""

    code = "target-missing"


class TargetAmbiguousError(ActionError):
    """Report a selector that matched more than one element."""

    code = "target-ambiguous"


class TargetChangedError(ActionError):
    """Report an element that is not the one that was recorded."""

    code = "target-changed"


class TargetNotActionableError(ActionError):
    """Report an element that is hidden, disabled, read-only, covered or moving."""

    code = "target-not-actionable"


class OptionMissingError(ActionError):
    """Report a select box without the option to choose."""

    code = "option-missing"


class NavigationError(ActionError):
    """Report a navigation that brought no document."""

    code = "navigation-failed"


class WaitTimeoutError(ActionError):
    """Report a condition that did not come true before its deadline."""

    code = "wait-timeout"


class DialogMissingError(ActionError):
    """Report a dialog answer that no dialog asked for."""

    code = "dialog-missing"


class DownloadMissingError(ActionError):
    """Report a download action during which nothing was downloaded."""

    code = "download-missing"


class PageMissingError(ActionError):
    """Report a page ordinal at which no page is open."""

    code = "page-missing"


class AssertionFailedError(ActionError):
    """Report an assertion of the mission that does not hold."""

    code = "assertion-failed"


class ActionRejectedError(ActionError):
    """Report an action that the browser refused for another reason."""

    code = "action-rejected"


class ReplayError(EikonError):
    """Stand above everything that ends a replay without a faithful verdict."""

    code = "replay"
    exit_status = 1


class ReplayDivergenceError(ReplayError):
    """Carry the first divergence of a replay out of `ReplayEngine.replay`."""

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
        """Keep where the run left its recording, and what stands in the summary."""
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
    """Report a replay that did not call all recorded tools, or called them in another order."""

    code = "tool-calls-diverged"


class ScenarioDivergedError(ReplayError):
    """Report a step of a scenario that is another one than was recorded."""

    code = "scenario-diverged"
