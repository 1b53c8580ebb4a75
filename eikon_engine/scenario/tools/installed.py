"""Tools of other packages: the entry-point group `eikon_engine.tools`."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import RequirementError
from eikon_engine.scenario.tool_box import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

ENTRY_POINT_GROUP: Final = "eikon_engine.tools"


def installed_tools(names: Iterable[str]) -> tuple[Tool, ...]:
    """Load the named tools from installed packages; names that no package provides are skipped.

    Raises:
        RequirementError: two packages provide the same name, or a tool cannot be loaded.
    """
    expected = set(names)
    found: dict[str, Tool] = {}
    for entry in metadata.entry_points(group=ENTRY_POINT_GROUP) if expected else ():
        if entry.name not in expected:
            continue
        if entry.name in found:
            message = f"tool {entry.name!r} is provided by two installed packages. Remove one of them."
            raise RequirementError(message, code="unknown-tool")
        found[entry.name] = _load_tool(entry)
    return tuple(found.values())


def _load_tool(entry: metadata.EntryPoint) -> Tool:
    try:
        function = entry.load()
    except (Exception, SystemExit) as error:
        message = (
            f"tool {entry.name!r} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}. Fix its package."
        )
        raise RequirementError(message, code="unknown-tool") from error
    if not callable(function):
        message = f"tool {entry.name!r} ({entry.value}): expected a function, got {type(function).__name__}"
        raise RequirementError(message, code="unknown-tool")
    return Tool(function, name=entry.name)
