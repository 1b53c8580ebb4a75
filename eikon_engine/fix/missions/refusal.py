"""What must not be mended by a change of the recording, and why not."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.missions.disguise import disguised
from eikon_engine.fix.missions.watched_replay import SHOWN_OTHERWISE
from eikon_engine.network.kinds import SAFE
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
_METHOD: Final = re.compile(r"([A-Z]+) \S")
LOST_TARGET: Final = frozenset({"target-missing", "target-changed", "target-ambiguous"})


def refusal_of(diagnosis: Diagnosis) -> str | None:
    """Say why a mission must not be mended; None where it may."""
    return next((why for each in diagnosis.steps if (why := _of_cause(diagnosis, each) or _of_step(each))), None)


def other_deed(diagnosis: Diagnosis) -> str | None:
    """Name a request that changes something on the site and differs: that is what a mission does, not what it sees."""
    for each in diagnosis.steps:
        for found in each.found:
            for key in (found.expected, found.observed) if found.layer == "network" else ():
                method = _METHOD.match(key)
                if method is not None and method[1] not in SAFE:
                    return f"{found.message.rstrip('.')} (recorded: {found.expected}; today: {found.observed})"
    return None


def _of_cause(diagnosis: Diagnosis, diverged: Diverged) -> str | None:
    explanation = diverged.explanation
    why = explanation.why if explanation.cause != "unknown" else explanation.sentence.rstrip(".")
    cause = explanation.cause
    if cause not in NOT_MENDED or cause == "unknown":
        cause, why = disguised(diagnosis, diverged) or (cause, why)
    told = NOT_MENDED.get(cause)
    return None if told is None else f"the cause is {cause} ({why}): {told}"


def _of_step(diverged: Diverged) -> str | None:
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
