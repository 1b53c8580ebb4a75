"""Try what was proposed on a copy: record the mission anew where the site changed, and compare it with the old one."""

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
"""What differs between any two visits of a site: the values of its cookies."""
SKILL_FAILS: Final = (SkillError, CompletionError, NoReplayDataError, UsageError)
"""What a skill ends with that cannot be used again: it failed, nobody answers it, or its page is not known."""


async def try_on_a_copy(way: Way) -> Diagnosis | None:
    """Make the mended bundle with all proposals; return in what the old recording still differs from it.

    Raises:
        Refused: it cannot be recorded, or cannot be compared.
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
    way.options.progress("comparing it with the old recording")
    return await _compare(way, chosen)


async def _record(way: Way, folder: Path) -> ActionError | None:
    reset_site(way.options)
    way.visited = True
    way.options.progress("recording the mended mission on the site of today")
    try:
        await record_anew(way.bundle, apply_patch(way.bundle.trace, way.patch), folder, way.options)
    except SKILL_FAILS as error:
        message = f"a skill of the mission cannot be used on the site of today: {_told(way, error)}"
        raise Refused(message) from error
    except ActionError as error:
        return error
    return None


async def _after_failure(way: Way, error: ActionError) -> Diagnosis:
    """Look on the site at what stopped the recording."""
    told = _told(way, error)
    way.options.progress(f"recording anew stopped: {told}")
    chosen = replace(options_of_test(way.options), masks=way.masks)
    left = await _compare(way, chosen)
    if left is None:
        message = f"the mended mission replays, and could not be recorded anew: {told}; try again"
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
        reasons = "; ".join(tested.outcome.reasons) or "nothing says why"
        message = f"the mended mission cannot be compared with the old recording: {reasons}"
        raise Refused(message)
    return left


def _told(way: Way, error: EikonError) -> str:
    return Redactor(way.options.secrets).text(error.message)
