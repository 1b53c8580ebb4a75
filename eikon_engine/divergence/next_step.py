"""What a reader may do about a replay that diverged, by the cause of its first divergence."""

from __future__ import annotations

import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.dependents import is_lost_target
from eikon_engine.divergence.detectors.read import READ_CHANGED
from eikon_engine.outcome.acceptance import ERROR_CODES, MISSION_LAYERS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eikon_engine.outcome.divergence import Cause, Divergence, Explanation, Refusal
    from eikon_engine.outcome.outcomes import ReplayOutcome

_STEPS: Final[Mapping[Cause, str]] = MappingProxyType(
    {
        "site-error": "look for the error in the log of the server",
        "timing": "replay again; if the site is slow every time, raise --timeout",
        "session-expired": (
            "check that the account can still sign in; a mission that starts signed in needs a new --storage-state"
        ),
        "environment": "replay where the recorded environment is available, or record the mission again in this one",
        "trace-invalid": "correct the selector of the step (docs/editing.md), or record the mission again",
    }
)
"""By causes after which it does not depend on how the mission was replayed."""
_REFUSED: Final[Mapping[Refusal, str]] = MappingProxyType(
    {
        "sign-in": "check the secrets that the mission signs in with, and that the account may sign in",
        "address": "restore what was at this address, or correct what leads there; if it moved on purpose, record the "
        "mission again",
    }
)
"""By what the site refused."""
_RESET: Final = (
    "reset the site and replay again: it was reset before each run of its live certification (--reset-cmd), "
    "and a replay resets nothing"
)
_CAUSES_OF_LEFT_DATA: Final[frozenset[Cause]] = frozenset({"site-changed", "test-data", "trace-invalid", "unknown"})
"""Causes that data of an earlier run may look like."""


def next_step(outcome: ReplayOutcome, folder: Path) -> str:
    """Return what to do about the first divergence; empty if nothing diverged, or if its cause is still to be found.

    `folder` has the artifacts of the replay.
    """
    found, first = outcome.explanation, next(iter(outcome.divergences), None)
    if found is None or first is None:
        return ""
    follows = "" if found.settle else _after_cause(outcome, found, first, folder)
    if not outcome.certified_with_reset or found.cause not in _CAUSES_OF_LEFT_DATA:
        return follows
    if found.cause == "test-data" or not follows:
        return "; ".join(filter(None, (_RESET, follows)))
    return f"{follows}; if an earlier run left data behind, {_RESET}"


def _after_cause(outcome: ReplayOutcome, found: Explanation, first: Divergence, folder: Path) -> str:
    if found.refusal is not None:
        return _REFUSED[found.refusal]
    bundle = shlex.quote(outcome.trace_path)
    match found.cause:
        case "site-changed" | "test-data":
            return _after_change(outcome, first, bundle, shlex.quote(str(folder)))
        case "network" if outcome.network_mode in {"live", "recorded-api"}:
            return "check that the site is running and can be reached from here, and replay again"
        case "skill-changed":
            return f"if the change is intended, `eikon skills rerun {bundle} --accept`; otherwise fix the skill"
        case _:
            return _STEPS.get(found.cause, "")


def _after_change(outcome: ReplayOutcome, first: Divergence, bundle: str, folder: str) -> str:
    """Return what to do about a change that may be intended."""
    if first.code in ERROR_CODES:
        return "fix the site: no baseline should contain an error"
    otherwise = "otherwise fix the site"
    if outcome.network_mode != "live":
        return f"if the change is intended, record the mission again; {otherwise}"
    if first.layer in MISSION_LAYERS and first.code != READ_CHANGED:
        return f"if the change is intended, {_fixes(bundle)}; {otherwise}"
    lost = next(filter(is_lost_target, outcome.explanation.consequences if outcome.explanation else ()), None)
    if lost is not None:
        place = f"step {lost.sequence} of {lost.subgoal_id}, {lost.label}"
        return (
            f"if the change is intended, {_fixes(bundle)}, since {place}, is expected to lose its target; {otherwise}"
        )
    accepts = f"if the change is intended, `eikon accept {bundle} {folder}`"
    learns = f"if the site varies there by itself, `eikon certify {bundle} --network live`"
    if outcome.explanation is None or outcome.explanation.cause != "test-data":
        return f"{accepts}; {learns}; {otherwise}"
    resets = () if outcome.certified_with_reset else ("if an earlier run left data behind, reset the site",)
    return "; ".join((*resets, learns, accepts, otherwise))


def _fixes(bundle: str) -> str:
    return f"`eikon fix trace {bundle} --output NEW`"
