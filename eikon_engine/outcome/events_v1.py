"""Migrate version 1 of `events.jsonl` (replays only) to version 2.

`action_end` became `action` preceded by `observation`, `skill_end` became `skill` with its outputs next to its
outcome, and `run_end` has the field `how`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue


def migrate_v1(event: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """Yield the version 2 events for one version 1 event; invalid parts are left for validation."""
    match event.get("type"):
        case "run_start":
            yield {**event, "events_version": 2, "kind": "bundle_replay"}
        case "action_end":
            yield from _migrate_action(event)
        case "skill_end":
            yield _migrate_skill(event)
        case "run_end":
            yield {**event, "how": "complete" if event.get("ended_early") is None else "stopped"}
        case _:
            yield dict(event)


def _migrate_action(event: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    outcome = event.get("outcome")
    if isinstance(outcome, dict) and outcome.get("observation") is not None:
        place = {"subgoal": event.get("subgoal"), "sequence": outcome.get("sequence")}
        yield {"type": "observation", **place, "observation": outcome["observation"]}
        outcome = {**outcome, "observation": None}
    yield {**event, "type": "action", "outcome": outcome}


def _migrate_skill(event: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    outcome = event.get("outcome")
    if not isinstance(outcome, dict):
        return {**event, "type": "skill"}
    outputs: dict[str, JsonValue] = {
        name: {"kind": "inline", "value": outcome.get(name)} for name in ("output", "expected_output")
    }
    return {**event, "type": "skill", "outcome": {**outcome, "output": None, "expected_output": None}, **outputs}
