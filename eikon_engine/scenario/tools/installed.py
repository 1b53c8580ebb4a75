"""Tools of other packages: the entry-point group `eikon_engine.tools`."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UnknownToolError
from eikon_engine.scenario.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUP: Final = "eikon_engine.tools"


def installed_tools(names: Iterable[str]) -> tuple[Tool, ...]:
    """Load those of the named tools that some installed package offers; the others are left alone, and not imported.

    Raises:
        UnknownToolError: two packages offer a tool of one name, or one cannot be loaded.
    """
    wanted = set(names)
    found: dict[str, Tool] = {}
    for entry in metadata.entry_points(group=GROUP) if wanted else ():
        if entry.name not in wanted:
            continue
        if entry.name in found:
            message = f"tool {entry.name!r} is offered by two installed packages; remove one of them"
            raise UnknownToolError(message)
        found[entry.name] = _loaded(entry)
    return tuple(found.values())


def _loaded(entry: metadata.EntryPoint) -> Tool:
    try:
        function = entry.load()
    except (Exception, SystemExit) as error:
        message = (
            f"tool {entry.name!r} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}; mend its package"
        )
        raise UnknownToolError(message) from error
    if not callable(function):
        message = f"tool {entry.name!r} ({entry.value}): wanted a function, found {type(function).__name__}"
        raise UnknownToolError(message)
    return Tool(function, name=entry.name)
