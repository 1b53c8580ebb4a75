"""Say why a tool call has no fixture: the nearest one that has, and the argument that differs."""

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
"""Fixtures that are compared with a call that has none."""
_SHOWN: Final = 160
_CHANGES: Final = 3


def called(tool: str, args: dict[str, JsonValue]) -> str:
    """Write a call in one line."""
    return f"{tool} {_text(args)}"


def explain_miss(folder: FixtureFolder, made: CallMade) -> str:
    """Say what was asked, what was recorded nearest to it, and what differs."""
    asked = f"no fixture for call {made.order}, {called(made.tool, made.args)}"
    keys = folder.keys(made.tool)
    same = sorted(occurrence for _, digest, occurrence in keys if digest == made.args_hash)
    if same and same[-1] > made.occurrence:
        lost = folder.folder / made.tool / fixture_name(made.args_hash, made.occurrence)
        return f"{asked}: {lost} is missing, and occurrence {same[-1]} is there; restore it, or record again"
    if same:
        times = "once" if len(same) == 1 else f"{len(same)} times"
        return f"{asked}: it was recorded {times}, and is asked once more; record again"
    if not keys:
        return f"{asked}: {_other_tools(folder, made.tool)}; record again"
    nearest, changes = min(
        ((each, _differences(each, made)) for each in map(folder.read, islice(keys, _LOOKED_AT))),
        key=lambda pair: (len(pair[1]), -_likeness(pair[0], made), pair[0].order),
    )
    return f"{asked}: nearest is {_path(nearest)}, {told_changes(changes)}; call it as recorded, or record again"


def _differences(fixture: Fixture, made: CallMade) -> tuple[OutputChange, ...]:
    return compare_outputs(fixture.args, made.args)


def _likeness(fixture: Fixture, made: CallMade) -> float:
    return difflib.SequenceMatcher(None, _text(fixture.args), _text(made.args), autojunk=False).quick_ratio()


def told_changes(changes: tuple[OutputChange, ...]) -> str:
    """Say in one line what was recorded and what is asked, place by place."""
    more = f" and {len(changes) - _CHANGES} more" if len(changes) > _CHANGES else ""
    return f"where {'; '.join(map(_change, changes[:_CHANGES]))}{more}"


def _change(change: OutputChange) -> str:
    recorded, asked = _text(change.expected), _text(change.observed)
    match change.kind:
        case ChangeKind.ADDED:
            return f"{change.path} was not recorded, asked {asked}"
        case ChangeKind.REMOVED:
            return f"{change.path} was recorded {recorded}, and is not asked"
        case ChangeKind.CHANGED:
            return f"{change.path} was recorded {recorded}, asked {asked}"
        case _:
            assert_never(change.kind)


def _other_tools(folder: FixtureFolder, tool: str) -> str:
    if not folder.tools:
        return f"no tool call was recorded in {folder.folder}"
    close = difflib.get_close_matches(tool, folder.tools, n=1)
    hint = f", nearest is {close[0]}" if close else ""
    return f"no call of this tool was recorded in {folder.folder}, only of {', '.join(sorted(folder.tools))}{hint}"


def _path(fixture: Fixture) -> str:
    return f"{fixture.tool}/{fixture.args_hash[:12]}….json (call {fixture.order})"


def _text(value: JsonValue) -> str:
    text = canonical_json(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
