"""Try the proposed changes on a copy: re-record the mission if the site changed, and compare it with the recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.edit.changed_copy import copy_bundle
from eikon_engine.errors import ActionError, CompletionError, NoReplayDataError, SkillError, UsageError
from eikon_engine.fix.missions.diagnosis import diagnose
from eikon_engine.fix.missions.record_anew import rerecord_live
from eikon_engine.fix.missions.reset import reset_site
from eikon_engine.fix.missions.watched_replay import (
    comparison_options,
    diagnostic_options,
    replay_until_divergence,
)
from eikon_engine.fix.missions.way import RepairRefused
from eikon_engine.trace.patch import apply_patch
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.errors import EikonError
    from eikon_engine.fix.missions.diagnosis import Diagnosis
    from eikon_engine.fix.missions.way import RepairState
    from eikon_engine.replay import ReplayOptions

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
    folder = state.work_folder / f"mended-{len(state.proposals)}"
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
