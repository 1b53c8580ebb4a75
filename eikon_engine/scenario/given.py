"""Resolve the inputs of a run: variables, secrets and tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eikon_engine.errors import SecretMissingError, UsageError, VariableMissingError
from eikon_engine.scenario.tools.browser import BROWSER_TOOL as BROWSER
from eikon_engine.scenario.tools.installed import installed_tools
from eikon_engine.scenario.tools.read_file import make_read_file_tool
from eikon_engine.scenario.tools.web_fetch import web_fetch
from eikon_engine.trace.redaction import secret_names_in
from eikon_engine.trace.secret_text import missing_secret_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.scenario.read import ScenarioFile
    from eikon_engine.scenario.tool_box import ToolBox


def resolve_variables(
    file: ScenarioFile, given: Mapping[str, str], recorded: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the values of variables: supplied ones, else recorded ones, else the defaults of the scenario.

    Raises:
        UsageError: a supplied variable is not declared.
        VariableMissingError: a variable has no value.
    """
    declared = file.scenario.variables
    for name in given:
        if name not in declared:
            known = ", ".join(declared) or "none"
            message = f"--var {name}: unknown variable: expected one of {file.path} ({known})"
            raise UsageError(message)
    values: dict[str, str] = {}
    for name, value in declared.items():
        chosen = given.get(name, (recorded or {}).get(name, value))
        if chosen is None:
            where = file.text.position_of(("variables", name))
            message = f"{file.path}: {where}: variable {name} has no value. Use --var {name}=…"
            raise VariableMissingError(message)
        values[name] = chosen
    return values


def require_secrets(file: ScenarioFile, given: Mapping[str, str]) -> None:
    """Check that a value is supplied for every secret that the scenario names.

    Raises:
        SecretMissingError: one is missing.
    """
    for name in (*secret_names_in(json.dumps(file.text.data)), *_secret_references(file.text.data)):
        if name not in given:
            raise SecretMissingError(missing_secret_message(name))


def available_tools(file: ScenarioFile, box: ToolBox) -> ToolBox:
    """Return the tools available to the scenario: those in `box`, built-in ones, and those of installed packages."""
    known = box
    for tool in (make_read_file_tool(file.folder / file.scenario.files), web_fetch):
        name = tool.__name__ if callable(tool) else tool.name
        known = known if name in known.names else known.extended(tool)
    missing = set(file.scenario.allowed_tools) - {*known.names, BROWSER}
    return known.extended(*installed_tools(missing))


def _secret_references(value: JsonValue) -> Iterator[str]:
    """Yield the names in `{secret: BROWSER_TOOL}`, which may replace the text of an action."""
    match value:
        case {"secret": str(name), **others} if not others:
            yield name
        case dict():
            for each in value.values():
                yield from _secret_references(each)
        case list():
            for each in value:
                yield from _secret_references(each)
        case _:
            pass
