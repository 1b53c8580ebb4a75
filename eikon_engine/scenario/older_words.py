"""Words of older scenario files: `goal_prompt`, `assertions`, and tools as mappings with a name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from eikon_engine.files.yaml import ValuePath, YamlDocument

_CURRENT_WORDS: Final[Mapping[str, str]] = {"goal_prompt": "goal", "assertions": "gates"}

_Position = TypeVar("_Position")


def with_current_words(text: YamlDocument) -> YamlDocument:
    """Return a scenario with the words of this version, at the same positions.

    Raises:
        YamlError: it has an older word and the one that replaces it.
    """
    if not isinstance(text.data, dict):
        return text
    for older, current in _CURRENT_WORDS.items():
        if older in text.data and current in text.data:
            message = f"expected one of {current} and {older}, which mean the same, got both. Remove {older}."
            raise text.error_at((older,), message, at_key=True)
    data = {_CURRENT_WORDS.get(name, name): value for name, value in text.data.items()}
    is_listed = "assertions" in text.data and _is_list_of_single_gates(data["gates"])
    if is_listed:
        data["gates"] = _merge(data["gates"])
    if isinstance(tools := data.get("allowed_tools"), list):
        data["allowed_tools"] = [_tool_name(each) for each in tools]

    def move(path: ValuePath) -> ValuePath:
        if not path:
            return path
        first, others = _CURRENT_WORDS.get(str(path[0]), path[0]), path[1:]
        return (first, *(others[1:] if is_listed and first == "gates" else others))

    return replace(
        text, data=data, positions=_moved(text.positions, move), key_positions=_moved(text.key_positions, move)
    )


def _is_list_of_single_gates(value: JsonValue) -> bool:
    """Whether gates are a list of mappings with one name each, and no name twice."""
    if not isinstance(value, list) or not all(isinstance(each, dict) and len(each) == 1 for each in value):
        return False
    return bool(value) and len(_merge(value)) == len(value)


def _merge(value: JsonValue) -> dict[str, JsonValue]:
    mappings = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    return {name: limit for each in mappings for name, limit in each.items()}


def _tool_name(tool: JsonValue) -> JsonValue:
    match tool:
        case {"name": str(name), **others} if not others:
            return name
        case _:
            return tool


def _moved(
    positions: Mapping[ValuePath, _Position], move: Callable[[ValuePath], ValuePath]
) -> Mapping[ValuePath, _Position]:
    found: dict[ValuePath, _Position] = {}
    for path, position in positions.items():
        found.setdefault(move(path), position)
    return found
