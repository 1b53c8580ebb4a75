"""The digest of a plan: equal for plans that perform the same steps, whatever was observed."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from eikon_engine.trace.execution import ActionTrace, Blocked

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.replay.plan import Plan, PlannedStep


def plan_digest(plan: Plan) -> str:
    """Return the SHA-256, in hex, of a plan: its ordered steps, start state and environment.

    Secrets count by name, variables by value. Recorded effects, descriptions, masks and rules do not count. The
    digested text is JSON with sorted keys and no spaces.
    """
    trace = plan.trace
    environment = None if trace.environment is None else trace.environment.model_dump(mode="json")
    content: JsonValue = {
        "plan": 1,
        "mission": trace.mission_id,
        "start": trace.start.model_dump(mode="json"),
        "environment": environment,
        "steps": [_digested_step(planned) for subgoal in plan.subgoals for planned in subgoal.steps],
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _digested_step(planned: PlannedStep) -> JsonValue:
    step = planned.step
    place: dict[str, JsonValue] = {"attempt": planned.subgoal.id, "sequence": step.sequence}
    if isinstance(step, ActionTrace):
        is_done = not isinstance(step.result, Blocked)
        return {**place, "action": step.action.model_dump(mode="json"), "done": is_done}
    source = None if step.source is None else step.source.model_dump(mode="json")
    return {**place, "skill": step.skill, "version": step.version, "parameters": step.parameters, "source": source}
