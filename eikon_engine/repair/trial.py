"""State of a repair, and the trial of a proposal: re-record the mission if the site changed, and compare."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ActionError, CompletionError, NoReplayDataError, SkillError, UsageError
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.rerecord import rerecord, with_recorded_environment
from eikon_engine.repair.diagnosis import diagnose
from eikon_engine.repair.diagnostic_replay import comparison_options, diagnostic_options, replay_until_divergence
from eikon_engine.repair.site_reset import reset_site
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.trace.base_urls import build_url_map, map_action_urls
from eikon_engine.trace.bundle import copy_bundle
from eikon_engine.trace.patch import AddRule, TracePatch, apply_patch

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.errors import EikonError
    from eikon_engine.outcome.divergence import Explanation
    from eikon_engine.repair.diagnosis import Diagnosis
    from eikon_engine.repair.diagnostic_replay import DiagnosticReplay
    from eikon_engine.repair.options import RepairOptions
    from eikon_engine.repair.proposers.proposer import ProposedRepair
    from eikon_engine.repair.replacement import ReplacedElement
    from eikon_engine.repair.report import Repair
    from eikon_engine.replay import ReplayOptions
    from eikon_engine.trace.base_urls import BaseUrlMap
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace
    from eikon_engine.trace.masks import Mask


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
        masks = [each for element in self.replacements for each in element.masks]
        return tuple(
            each.model_copy(update={"name": f"replaced-{number}"}) for number, each in enumerate(masks, start=1)
        )

    @property
    def uses_recorded_network(self) -> bool:
        """Return whether the recorded network serves the repaired mission: no visit to the live site is needed."""
        operations = self.patch.operations
        rules_alone = bool(operations) and all(isinstance(each, AddRule) for each in operations)
        return self.options.against == "recording" or rules_alone

    def has_repair_for(self, step: str) -> bool:
        """Return whether a change was proposed for a step."""
        return any(each.step == step for each in self.proposals)


async def rerecord_live(bundle: Bundle, trace: ExecutionTrace, folder: Path, options: RepairOptions) -> None:
    """Perform `trace` once, live, and record it into `folder`, with the same masks and rules.

    Raises:
        ActionError: an action failed.
        EikonError: the mission cannot be recorded, see `rerecord`.
    """
    chosen = RecordOptions(
        headless=options.headless,
        browser_path=options.browser_path,
        secrets=options.secrets,
        variables=options.variables,
        storage_state=options.storage_state,
        completion_client=options.client,
        now=options.now,
    )
    moved = _relocated(trace, build_url_map(options.base_urls))
    await rerecord(replace(bundle, trace=moved), folder, with_recorded_environment(bundle, chosen))


def _relocated(trace: ExecutionTrace, urls: BaseUrlMap) -> ExecutionTrace:
    if not urls:
        return trace
    return trace.model_copy(
        update={"subgoal_traces": tuple(_relocated_attempt(each, urls) for each in trace.subgoal_traces)}
    )


def _relocated_attempt(attempt: SubgoalTrace, urls: BaseUrlMap) -> SubgoalTrace:
    actions = tuple(
        each.model_copy(update={"action": map_action_urls(each.action, urls)}) for each in attempt.actions_taken
    )
    return attempt.model_copy(update={"actions_taken": actions})


EXPECTED_BETWEEN_VISITS: Final = frozenset({"storage-changed"})
"""Findings that differ between any two visits of a site: cookie values."""
SKILL_ERRORS: Final = (SkillError, CompletionError, NoReplayDataError, UsageError)
"""Errors of a skill that cannot run again: it failed, no model answers, or its page is missing."""


async def try_repairs(state: RepairState) -> Diagnosis | None:
    """Create the bundle with all proposals; return the remaining divergences from the old recording.

    Raises:
        Refused: it cannot be recorded or compared.
        EikonError: there is no browser, or a file cannot be written.
    """
    folder = state.work_folder / f"repaired-{len(state.proposals)}"
    if state.uses_recorded_network:
        copy_bundle(state.bundle.root, state.comparison_bundle.trace, folder)
        chosen = replace(diagnostic_options(state.options), masks=state.masks)
    else:
        failed = await _record(state, folder)
        if failed is not None:
            return await _diagnose_failure(state, failed)
        chosen = comparison_options(state.options, folder, state.masks)
    state.repaired, state.is_rerecorded = folder, not state.uses_recorded_network
    state.options.progress("comparing the repaired mission with the old recording")
    return await _compare(state, chosen)


async def _record(state: RepairState, folder: Path) -> ActionError | None:
    reset_site(state.options)
    state.has_visited_site = True
    state.options.progress("re-recording the repaired mission on the live site")
    try:
        await rerecord_live(state.bundle, apply_patch(state.bundle.trace, state.patch), folder, state.options)
    except SKILL_ERRORS as error:
        message = f"a skill of the mission fails on the live site: {_redacted_message(state, error)}"
        raise RepairRefused(message) from error
    except ActionError as error:
        return error
    return None


async def _diagnose_failure(state: RepairState, error: ActionError) -> Diagnosis:
    """Replay live to diagnose what stopped the recording."""
    reason = _redacted_message(state, error)
    state.options.progress(f"re-recording failed: {reason}")
    chosen = replace(diagnostic_options(state.options), masks=state.masks)
    left = await _compare(state, chosen)
    if left is None:
        message = f"the repaired mission replays, but could not be re-recorded: {reason}. Retry"
        raise RepairRefused(message)
    return left


async def _compare(state: RepairState, chosen: ReplayOptions) -> Diagnosis | None:
    bundle = state.comparison_bundle
    if chosen.network == "live":
        reset_site(state.options)
    tested = await replay_until_divergence(bundle, chosen)
    state.comparison = tested
    left = diagnose(bundle, tested, EXPECTED_BETWEEN_VISITS)
    if left is None and tested.outcome.verdict == "unverifiable":
        reasons = "; ".join(tested.outcome.reasons) or "no reason known"
        message = f"the repaired mission cannot be compared with the old recording: {reasons}"
        raise RepairRefused(message)
    return left


def _redacted_message(state: RepairState, error: EikonError) -> str:
    return Redactor(state.options.secrets).redact_text(error.message)
