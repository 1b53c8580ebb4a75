"""Compare a step of a scenario with the recorded one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from eikon_engine.divergence.json_diff import diff_json
from eikon_engine.scenario.nearest_call import format_changes

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.scenario.model import SkillStep
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import SkillUsage
    from eikon_engine.trace.redaction import Redactor

_RECORDER_FIELDS: Final = frozenset({"identity", "under", "alternatives"})
"""Fields of targets that the recorder adds."""


def action_difference(recorded: Action, asked: Action, redactor: Redactor) -> str | None:
    """Describe the differences between two actions; None if they are equal.

    A text recorded as a secret matches any text, because its value is not stored.
    """
    wanted = _without_recorder_fields(recorded.model_dump(mode="json"))
    found = _without_recorder_fields(redactor.redact_json(asked.model_dump(mode="json")))
    if isinstance(wanted, dict) and isinstance(found, dict):
        text = wanted.get("text")
        if isinstance(text, dict) and isinstance(found.get("text"), str):
            found["text"] = text
    return _difference(wanted, found)


def skill_difference(
    recorded: SkillUsage, asked: SkillStep, parameters: dict[str, JsonValue], redactor: Redactor
) -> str | None:
    """Describe the differences between two skill uses; None if they are equal."""
    frame = "" if recorded.source is None else recorded.source.frame
    wanted: JsonValue = {"skill": recorded.skill, "parameters": dict(recorded.parameters), "frame": frame}
    found: JsonValue = {
        "skill": asked.skill,
        "parameters": redactor.redact_json(parameters),
        "frame": asked.frame,
    }
    return _difference(wanted, found)


def _difference(wanted: JsonValue, found: JsonValue) -> str | None:
    changes = diff_json(wanted, found)
    return format_changes(changes) if changes else None


def _without_recorder_fields(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {
                name: _without_recorder_fields(each) for name, each in value.items() if name not in _RECORDER_FIELDS
            }
        case list():
            return [_without_recorder_fields(each) for each in value]
        case _:
            return cast("JsonValue", value)
