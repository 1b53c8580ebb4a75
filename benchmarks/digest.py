"""The digest of an outcome: equal for two replays that observed, compared and found the same.

It omits wall times (`started_at`, `ended_at`, `duration_ms`, `request_times`), `trace_path`, the folder of the bundle,
and `timer_requests`, which no sealed replay compares: whether a request counts as sent by a timer depends on how busy
the machine is. It covers all else: every observation with the DOM digests of all frames and its page times, results,
outputs of skills, divergences, masks, the environment, counts and verdicts; and, in a separate digest, how requests
matched the recording, notes included.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from eikon_engine.files.json_text import canonical_json
from eikon_engine.outcome.json_diff import diff_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.outcome.outcomes import ReplayOutcome

LEFT_OUT: Final = frozenset({"started_at", "ended_at", "duration_ms", "request_times", "trace_path", "timer_requests"})
FOREIGN: Final = frozenset({"output", "expected_output"})
"""Fields with skill outputs, whose keys come from pages."""
SHOWN: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Digests:
    """The digests that two equal replays have in common."""

    observed: str
    """Digest of everything except the network."""
    network: str
    """Digest of served, missed and unused requests, rules, violations and notes."""
    subgoals: Mapping[str, str]
    """Digests of each subgoal, by its id in the mission."""


def digests_of(outcome: ReplayOutcome) -> Digests:
    """Return the digests of an outcome."""
    kept = what_counts(outcome)
    subgoals = {subgoal.subgoal_id: _digest(_kept(subgoal.model_dump(mode="json"))) for subgoal in outcome.subgoals}
    network = kept.pop("network")
    return Digests(observed=_digest(kept), network=_digest(network), subgoals=subgoals)


def what_counts(outcome: ReplayOutcome) -> dict[str, JsonValue]:
    """Return everything that the digest covers."""
    kept = _kept(outcome.model_dump(mode="json"))
    assert isinstance(kept, dict)
    return kept


def differences(first: JsonValue, second: JsonValue) -> tuple[str, ...]:
    """Return the paths at which two values differ, with both values."""
    return tuple(
        f"{change.path}: {_short(change.expected)} and {_short(change.observed)}" for change in diff_json(first, second)
    )


def _kept(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: each if name in FOREIGN else _kept(each) for name, each in value.items() if name not in LEFT_OUT}
    return [_kept(each) for each in value] if isinstance(value, list) else value


def _digest(value: JsonValue) -> str:
    return sha256(canonical_json(value).encode()).hexdigest()


def _short(value: JsonValue) -> str:
    text = canonical_json(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
