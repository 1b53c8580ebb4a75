"""Version 1 of `events.jsonl`, replays only, brought to version 2.

`action_end` became `action` with an `observation` before it, `skill_end` became `skill` with its outputs beside its
outcome, and the end says how the run ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue


def from_v1(event: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """Yield the events of version 2 that stand for one of version 1; what is wrong with it is left as it is."""
    match event.get("type"):
        case "run_start":
            yield {**event, "events_version": 2, "kind": "bundle_replay"}
        case "action_end":
            yield from _action(event)
        case "skill_end":
            yield _skill(event)
        case "run_end":
            yield {**event, "how": "complete" if event.get("ended_early") is None else "stopped"}
        case _:
            yield dict(event)


def _action(event: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    outcome = event.get("outcome")
    if isinstance(outcome, dict) and outcome.get("observation") is not None:
        place = {"subgoal": event.get("subgoal"), "sequence": outcome.get("sequence")}
        yield {"type": "observation", **place, "observation": outcome["observation"]}
        outcome = {**outcome, "observation": None}
    yield {**event, "type": "action", "outcome": outcome}


def _skill(event: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    outcome = event.get("outcome")
    if not isinstance(outcome, dict):
        return {**event, "type": "skill"}
    outputs: dict[str, JsonValue] = {
        name: {"kind": "inline", "value": outcome.get(name)} for name in ("output", "expected_output")
    }
    return {**event, "type": "skill", "outcome": {**outcome, "output": None, "expected_output": None}, **outputs}
