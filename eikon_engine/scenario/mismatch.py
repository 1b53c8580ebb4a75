"""Explain how a tool call or step differs from the recording."""

from __future__ import annotations

import difflib
from itertools import islice
from typing import TYPE_CHECKING, Final, assert_never, cast

from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.text import shorten, shorten_pair
from eikon_engine.outcome.json_diff import JsonChangeKind, diff_json
from eikon_engine.scenario.fixtures import fixture_name

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.outcome.json_diff import JsonChange
    from eikon_engine.scenario.calls import ToolCallStart
    from eikon_engine.scenario.fixtures import Fixture, FixtureFolder
    from eikon_engine.scenario.model import SkillStep
    from eikon_engine.secrets.redaction import Redactor
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import SkillUsage

_MAX_COMPARED: Final = 2000
"""Maximum number of fixtures compared with a call."""
_MAX_JSON: Final = 160
_MAX_CHANGES: Final = 3


def format_call(tool: str, args: dict[str, JsonValue]) -> str:
    """Format a call as one line."""
    return f"{tool} {_short_json(args)}"


def explain_miss(folder: FixtureFolder, made: ToolCallStart) -> str:
    """Describe the call, the nearest recorded one, and the differences."""
    requested = f"no fixture for call {made.order} ({format_call(made.tool, made.args)})"
    keys = folder.keys(made.tool)
    same = sorted(occurrence for _, digest, occurrence in keys if digest == made.args_hash)
    if same and same[-1] > made.occurrence:
        lost = folder.folder / made.tool / fixture_name(made.args_hash, made.occurrence)
        return f"{requested}: {lost} is missing, but occurrence {same[-1]} exists. Restore it, or record again."
    if same:
        times = "once" if len(same) == 1 else f"{len(same)} times"
        return f"{requested}: it was recorded {times} and called once more. Record again."
    if not keys:
        return f"{requested}: {_describe_recorded_tools(folder, made.tool)}. Record again."
    nearest, changes = min(
        ((each, _differences(each, made)) for each in map(folder.read, islice(keys, _MAX_COMPARED))),
        key=lambda pair: (len(pair[1]), -_similarity(pair[0], made), pair[0].order),
    )
    return (
        f"{requested}: the nearest is {_short_path(nearest)}: {format_changes(changes)}. Call it as recorded, "
        "or record again."
    )


def _differences(fixture: Fixture, made: ToolCallStart) -> tuple[JsonChange, ...]:
    return diff_json(fixture.args, made.args)


def _similarity(fixture: Fixture, made: ToolCallStart) -> float:
    return difflib.SequenceMatcher(
        None, _short_json(fixture.args), _short_json(made.args), autojunk=False
    ).quick_ratio()


def format_changes(changes: tuple[JsonChange, ...]) -> str:
    """Format the differences between a recorded and an actual value as one line."""
    more = f" and {len(changes) - _MAX_CHANGES} more" if len(changes) > _MAX_CHANGES else ""
    return f"{'; '.join(map(_format_change, changes[:_MAX_CHANGES]))}{more}"


def _format_change(change: JsonChange) -> str:
    recorded, requested = _short_json(change.expected), _short_json(change.observed)
    if change.kind is JsonChangeKind.CHANGED:
        sides = (canonical_json(each) for each in (change.expected, change.observed))
        recorded, requested = shorten_pair(next(sides), next(sides), _MAX_JSON)
    match change.kind:
        case JsonChangeKind.ADDED:
            return f"{change.path}: expected nothing, got {requested}"
        case JsonChangeKind.REMOVED:
            return f"{change.path}: expected {recorded}, got nothing"
        case JsonChangeKind.CHANGED:
            return f"{change.path}: expected {recorded}, got {requested}"
        case _:
            assert_never(change.kind)


def _describe_recorded_tools(folder: FixtureFolder, tool: str) -> str:
    if not folder.tools:
        return f"{folder.folder} holds no tool calls"
    close = difflib.get_close_matches(tool, folder.tools, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"{folder.folder} holds no calls of this tool, only of {', '.join(sorted(folder.tools))}{hint}"


def _short_path(fixture: Fixture) -> str:
    return f"{fixture.tool}/{fixture.args_hash[:12]}….json (call {fixture.order})"


def _short_json(value: JsonValue) -> str:
    return shorten(canonical_json(value), _MAX_JSON)


_RECORDER_FIELDS: Final = frozenset({"identity", "under", "alternatives"})
"""Fields of targets that the recorder adds."""


def action_difference(recorded: Action, requested: Action, redactor: Redactor) -> str | None:
    """Describe the differences between two actions; None if they are equal.

    A text recorded as a secret matches any text, because its value is not stored.
    """
    recorded_value = _without_recorder_fields(recorded.model_dump(mode="json"))
    found = _without_recorder_fields(redactor.redact_json(requested.model_dump(mode="json")))
    if isinstance(recorded_value, dict) and isinstance(found, dict):
        text = recorded_value.get("text")
        if isinstance(text, dict) and isinstance(found.get("text"), str):
            found["text"] = text
    return _difference(recorded_value, found)


def skill_difference(
    recorded: SkillUsage, requested: SkillStep, parameters: dict[str, JsonValue], redactor: Redactor
) -> str | None:
    """Describe the differences between two skill uses; None if they are equal."""
    frame = "" if recorded.source is None else recorded.source.frame
    recorded_value: JsonValue = {"skill": recorded.skill, "parameters": dict(recorded.parameters), "frame": frame}
    found: JsonValue = {
        "skill": requested.skill,
        "parameters": redactor.redact_json(parameters),
        "frame": requested.frame,
    }
    return _difference(recorded_value, found)


def _difference(recorded_value: JsonValue, found: JsonValue) -> str | None:
    changes = diff_json(recorded_value, found)
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
