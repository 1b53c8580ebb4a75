"""Compare a step that a scenario makes with the one that was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from eikon_engine.divergence.json_diff import compare_outputs
from eikon_engine.scenario.nearest_call import told_changes

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.scenario.model import SkillStep
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import SkillUsage
    from eikon_engine.trace.redaction import Redactor

_KNOWN_BY_RECORDING: Final = frozenset({"identity", "under", "alternatives"})
"""Fields of targets that a recorder adds to what was asked of it."""


def action_difference(recorded: Action, asked: Action, redactor: Redactor) -> str | None:
    """Say what differs between two actions; None where they are the same.

    A text that was recorded as a secret is written nowhere, so that any text may stand for it.
    """
    wanted = _plain(recorded.model_dump(mode="json"))
    found = _plain(redactor.redact_texts(asked.model_dump(mode="json")))
    if isinstance(wanted, dict) and isinstance(found, dict):
        text = wanted.get("text")
        if isinstance(text, dict) and isinstance(found.get("text"), str):
            found["text"] = text
    return _difference(wanted, found)


def skill_difference(
    recorded: SkillUsage, asked: SkillStep, parameters: dict[str, JsonValue], redactor: Redactor
) -> str | None:
    """Say what differs between two uses of skills; None where they are the same."""
    frame = "" if recorded.source is None else recorded.source.frame
    wanted: JsonValue = {"skill": recorded.skill, "parameters": dict(recorded.parameters), "frame": frame}
    found: JsonValue = {
        "skill": asked.skill,
        "parameters": redactor.redact_texts(parameters),
        "frame": asked.frame,
    }
    return _difference(wanted, found)


def _difference(wanted: JsonValue, found: JsonValue) -> str | None:
    changes = compare_outputs(wanted, found)
    return told_changes(changes) if changes else None


def _plain(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items() if name not in _KNOWN_BY_RECORDING}
        case list():
            return [_plain(each) for each in value]
        case _:
            return cast("JsonValue", value)
