"""Divergences that must not be repaired by changing the recording, and why."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.missions.disguise import disguised_cause
from eikon_engine.fix.missions.watched_replay import APPEARANCE_LAYERS
from eikon_engine.network.kinds import SAFE_METHODS
from eikon_engine.trace.actions import Assert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.fix.missions.diagnosis import Diagnosis, DivergedStep
    from eikon_engine.outcome.explanation import Cause

REFUSED_CAUSES: Final[Mapping[Cause, str]] = MappingProxyType(
    {
        "site-error": "the recording is right, the site is broken. Fix the site",
        "session-expired": "the mission needs a login. Pass --storage-state, or record the login with it",
        "network": "the site is unreachable. Retry later",
        "environment": "the replay environment differs from the recorded one. Replay in the recorded environment",
        "timing": "the site was slow, which is not a fault of the mission. Retry, or raise --timeout",
        "skill-changed": "the site is as recorded, the skill changed. Run `eikon skills rerun`",
        "unknown": "the cause is unknown, and a change would hide it",
    }
)
"""By cause (docs/causes.md): why the recording is right, and what to do instead."""
_METHOD: Final = re.compile(r"([A-Z]+) \S")
LOST_TARGET_CODES: Final = frozenset({"target-missing", "target-changed", "target-ambiguous"})


def refusal_reason(diagnosis: Diagnosis) -> str | None:
    """Return why a mission must not be repaired; None if it may be."""
    return next(
        (why for each in diagnosis.steps if (why := _cause_refusal(diagnosis, each) or _step_refusal(each))), None
    )


def changed_write_request(diagnosis: Diagnosis) -> str | None:
    """Return a differing request that writes to the site: that is an effect of the mission, not something it sees."""
    for each in diagnosis.steps:
        for found in each.findings:
            for key in (found.expected, found.observed) if found.layer == "network" else ():
                method = _METHOD.match(key)
                if method is not None and method[1] not in SAFE_METHODS:
                    return f"{found.message.rstrip('.')} (recorded: {found.expected}; now: {found.observed})"
    return None


def _cause_refusal(diagnosis: Diagnosis, diverged: DivergedStep) -> str | None:
    explanation = diverged.explanation
    why = explanation.why if explanation.cause != "unknown" else explanation.sentence.rstrip(".")
    cause = explanation.cause
    if cause not in REFUSED_CAUSES or cause == "unknown":
        cause, why = disguised_cause(diagnosis, diverged) or (cause, why)
    advice = REFUSED_CAUSES.get(cause)
    return None if advice is None else f"the cause is {cause} ({why}): {advice}"


def _step_refusal(diverged: DivergedStep) -> str | None:
    where = f"at step {diverged.sequence} of {diverged.first.subgoal_id}"
    if diverged.step is not None and isinstance(diverged.step.action, Assert):
        failed = [each for each in diverged.findings if each.layer not in APPEARANCE_LAYERS]
        if failed:
            detail = f"{failed[0].code}: {failed[0].observed.splitlines()[0]}"
            return f"an assertion of the mission fails {where} ({detail}), and assertions are never changed"
    unmade = [each for each in diverged.findings if each.layer == "result"]
    if unmade and diverged.first.code not in LOST_TARGET_CODES:
        detail = f"{unmade[0].code}: {unmade[0].observed.splitlines()[0]}"
        return f"the action failed {where} ({detail}), and another target would not help. Check the site"
    return None
