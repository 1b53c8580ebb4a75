"""What must not be mended by a change of the recording, and why not."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.missions.watched_replay import SHOWN_OTHERWISE
from eikon_engine.trace.actions import Assert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.fix.missions.diagnosis import Diagnosis, Diverged
    from eikon_engine.outcome.explanation import Cause

NOT_MENDED: Final[Mapping[Cause, str]] = MappingProxyType(
    {
        "site-error": "the recording is right, and the site is not; mend the site",
        "session-expired": "the mission has to be logged in; give --storage-state, or record the login with it",
        "network": "the site could not be reached; try again when it can be",
        "environment": "the replay was set up otherwise than the recording; replay where it was recorded",
        "timing": "the site was late, which says nothing of the mission; try again, or with a longer --timeout",
        "skill-changed": "the site is as recorded, the skill is not; see `eikon skills rerun`",
        "unknown": "nobody knows why, and a change would hide it",
    }
)
"""By the class of the cause (docs/causes.md): what is right about the recording, and what to do instead."""
LOST_TARGET: Final = frozenset({"target-missing", "target-changed", "target-ambiguous"})


def refusal_of(diagnosis: Diagnosis) -> str | None:
    """Say why a mission must not be mended; None where it may."""
    for each in diagnosis.steps:
        why = _of_step(each)
        if why is not None:
            return why
    return None


def _of_step(diverged: Diverged) -> str | None:
    explanation = diverged.explanation
    told = NOT_MENDED.get(explanation.cause)
    if told is not None:
        why = explanation.why if explanation.cause != "unknown" else explanation.sentence.rstrip(".")
        return f"the cause is {explanation.cause} ({why}): {told}"
    where = f"at step {diverged.sequence} of {diverged.first.subgoal_id}"
    if diverged.step is not None and isinstance(diverged.step.action, Assert):
        failed = [each for each in diverged.found if each.layer not in SHOWN_OTHERWISE]
        if failed:
            said = f"{failed[0].code}: {failed[0].observed.splitlines()[0]}"
            return f"an assertion of the mission does not hold {where} ({said}): what it asserts is what it is for"
    unmade = [each for each in diverged.found if each.layer == "result"]
    if unmade and diverged.first.code not in LOST_TARGET:
        said = f"{unmade[0].code}: {unmade[0].observed.splitlines()[0]}"
        return f"the action could not be done {where} ({said}), and no other target does it: look at the site"
    return None
