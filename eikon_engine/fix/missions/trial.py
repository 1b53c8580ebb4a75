"""Try the proposed changes on a copy: re-record the mission if the site changed, and compare it with the recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.edit.changed_copy import write_changed_copy
from eikon_engine.errors import ActionError, CompletionError, NoReplayDataError, SkillError, UsageError
from eikon_engine.fix.missions.diagnosis import diagnose
from eikon_engine.fix.missions.record_anew import record_anew
from eikon_engine.fix.missions.reset import reset_site
from eikon_engine.fix.missions.watched_replay import (
    options_of_comparison,
    options_of_test,
    replay_to_the_first_loss,
)
from eikon_engine.fix.missions.way import Refused
from eikon_engine.trace.patch import apply_patch
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.errors import EikonError
    from eikon_engine.fix.missions.diagnosis import Diagnosis
    from eikon_engine.fix.missions.way import Way
    from eikon_engine.replay import ReplayOptions

VISIT: Final = frozenset({"storage-changed"})
"""Findings that differ between any two visits of a site: cookie values."""
SKILL_FAILS: Final = (SkillError, CompletionError, NoReplayDataError, UsageError)
"""Errors of a skill that cannot run again: it failed, no model answers, or its page is missing."""


async def try_on_a_copy(way: Way) -> Diagnosis | None:
    """Create the bundle with all proposals; return the remaining divergences from the old recording.

    Raises:
        Refused: it cannot be recorded or compared.
        EikonError: there is no browser, or a file cannot be written.
    """
    folder = way.workshop / f"mended-{len(way.proposals)}"
    if way.keeps_network:
        write_changed_copy(way.bundle.root, way.comparing.trace, folder)
        chosen = replace(options_of_test(way.options), masks=way.masks)
    else:
        failed = await _record(way, folder)
        if failed is not None:
            return await _after_failure(way, failed)
        chosen = options_of_comparison(way.options, folder, way.masks)
    way.mended, way.recorded_anew = folder, not way.keeps_network
    way.options.progress("comparing the repaired mission with the old recording")
    return await _compare(way, chosen)


async def _record(way: Way, folder: Path) -> ActionError | None:
    reset_site(way.options)
    way.visited = True
    way.options.progress("re-recording the repaired mission on the live site")
    try:
        await record_anew(way.bundle, apply_patch(way.bundle.trace, way.patch), folder, way.options)
    except SKILL_FAILS as error:
        message = f"a skill of the mission fails on the live site: {_told(way, error)}"
        raise Refused(message) from error
    except ActionError as error:
        return error
    return None


async def _after_failure(way: Way, error: ActionError) -> Diagnosis:
    """Replay live to diagnose what stopped the recording."""
    reason = _told(way, error)
    way.options.progress(f"re-recording failed: {reason}")
    chosen = replace(options_of_test(way.options), masks=way.masks)
    left = await _compare(way, chosen)
    if left is None:
        message = f"the repaired mission replays, but could not be re-recorded: {reason}. Retry"
        raise Refused(message)
    return left


async def _compare(way: Way, chosen: ReplayOptions) -> Diagnosis | None:
    bundle = way.comparing
    if chosen.network == "live":
        reset_site(way.options)
    tested = await replay_to_the_first_loss(bundle, chosen)
    way.compared = tested
    left = diagnose(bundle, tested, VISIT)
    if left is None and tested.outcome.verdict == "unverifiable":
        reasons = "; ".join(tested.outcome.reasons) or "no reason known"
        message = f"the repaired mission cannot be compared with the old recording: {reasons}"
        raise Refused(message)
    return left


def _told(way: Way, error: EikonError) -> str:
    return Redactor(way.options.secrets).text(error.message)
