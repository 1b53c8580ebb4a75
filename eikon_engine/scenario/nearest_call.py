"""Explain why a tool call has no fixture: the nearest recorded call, and the arguments that differ."""

from __future__ import annotations

import difflib
from itertools import islice
from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.divergence.json_diff import ChangeKind, compare_outputs
from eikon_engine.scenario.fixture import fixture_name
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.divergence.json_diff import OutputChange
    from eikon_engine.scenario.calls import CallMade
    from eikon_engine.scenario.fixture import Fixture
    from eikon_engine.scenario.fixture_folder import FixtureFolder

_LOOKED_AT: Final = 2000
"""Maximum number of fixtures compared with a call."""
_SHOWN: Final = 160
_CHANGES: Final = 3


def called(tool: str, args: dict[str, JsonValue]) -> str:
    """Format a call as one line."""
    return f"{tool} {_text(args)}"


def explain_miss(folder: FixtureFolder, made: CallMade) -> str:
    """Describe the call, the nearest recorded one, and the differences."""
    asked = f"no fixture for call {made.order} ({called(made.tool, made.args)})"
    keys = folder.keys(made.tool)
    same = sorted(occurrence for _, digest, occurrence in keys if digest == made.args_hash)
    if same and same[-1] > made.occurrence:
        lost = folder.folder / made.tool / fixture_name(made.args_hash, made.occurrence)
        return f"{asked}: {lost} is missing, but occurrence {same[-1]} exists. Restore it, or record again."
    if same:
        times = "once" if len(same) == 1 else f"{len(same)} times"
        return f"{asked}: it was recorded {times} and called once more. Record again."
    if not keys:
        return f"{asked}: {_other_tools(folder, made.tool)}. Record again."
    nearest, changes = min(
        ((each, _differences(each, made)) for each in map(folder.read, islice(keys, _LOOKED_AT))),
        key=lambda pair: (len(pair[1]), -_likeness(pair[0], made), pair[0].order),
    )
    return f"{asked}: the nearest is {_path(nearest)}: {told_changes(changes)}. Call it as recorded, or record again."


def _differences(fixture: Fixture, made: CallMade) -> tuple[OutputChange, ...]:
    return compare_outputs(fixture.args, made.args)


def _likeness(fixture: Fixture, made: CallMade) -> float:
    return difflib.SequenceMatcher(None, _text(fixture.args), _text(made.args), autojunk=False).quick_ratio()


def told_changes(changes: tuple[OutputChange, ...]) -> str:
    """Format the differences between a recorded and an actual value as one line."""
    more = f" and {len(changes) - _CHANGES} more" if len(changes) > _CHANGES else ""
    return f"{'; '.join(map(_change, changes[:_CHANGES]))}{more}"


def _change(change: OutputChange) -> str:
    recorded, asked = _text(change.expected), _text(change.observed)
    match change.kind:
        case ChangeKind.ADDED:
            return f"{change.path}: expected nothing, got {asked}"
        case ChangeKind.REMOVED:
            return f"{change.path}: expected {recorded}, got nothing"
        case ChangeKind.CHANGED:
            return f"{change.path}: expected {recorded}, got {asked}"
        case _:
            assert_never(change.kind)


def _other_tools(folder: FixtureFolder, tool: str) -> str:
    if not folder.tools:
        return f"{folder.folder} holds no tool calls"
    close = difflib.get_close_matches(tool, folder.tools, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"{folder.folder} holds no calls of this tool, only of {', '.join(sorted(folder.tools))}{hint}"


def _path(fixture: Fixture) -> str:
    return f"{fixture.tool}/{fixture.args_hash[:12]}….json (call {fixture.order})"


def _text(value: JsonValue) -> str:
    text = canonical_json(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
