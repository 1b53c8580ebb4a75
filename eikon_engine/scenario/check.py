"""Check a scenario and resolve its inputs before it runs: variables, secrets, tools, names and references."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from pydantic import ValidationError

from eikon_engine.errors import EikonError, RequirementError, UsageError, YamlError
from eikon_engine.files.models import describe_fault, field_location
from eikon_engine.files.paths import escapes_bundle
from eikon_engine.files.yaml import ErrorList
from eikon_engine.gates import GateSet
from eikon_engine.gates.reading import parse_gates_at
from eikon_engine.scenario.model import ActionStep, CompletionStep, NoteStep, SkillStep, ToolStep
from eikon_engine.scenario.references import invalid_references, referenced_names
from eikon_engine.scenario.tools.browser import BROWSER_TOOL as BROWSER
from eikon_engine.scenario.tools.browser import read_action
from eikon_engine.scenario.tools.installed import installed_tools
from eikon_engine.scenario.tools.read_file import make_read_file_tool
from eikon_engine.scenario.tools.web_fetch import web_fetch
from eikon_engine.secrets.redaction import secret_names_in
from eikon_engine.skills.ask_page import AskPage
from eikon_engine.trace.variables import missing_secret_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.files.yaml import ValuePath as Place
    from eikon_engine.scenario.model import ScenarioFile, Step
    from eikon_engine.scenario.tool_box import ToolBox
    from eikon_engine.skills.registry import SkillRegistry


def check_scenario(file: ScenarioFile, box: ToolBox | None, skills: Callable[[], SkillRegistry]) -> None:
    """Check everything that is known before the run; a replay calls no tools and is checked without a box.

    Raises:
        YamlError: a name is duplicated, a reference is unknown, or an action is invalid.
        RequirementError: a tool does not exist; a step calls a tool that is not in `allowed_tools`; a skill does not
            exist.
        ToolArgumentsError: a tool does not accept the arguments of a step.
    """
    faults = ErrorList()
    with faults.collecting():
        _check_ids(file)
    with faults.collecting():
        _check_folder(file)
    for number, name in enumerate(file.scenario.allowed_tools):
        if box is not None and name != BROWSER:
            with faults.collecting():
                _run_check_at(file, ("allowed_tools", number), partial(box.get, name))
    known = dict.fromkeys(file.scenario.variables, "a variable")
    with faults.collecting():
        _check_references(file, ("start_url",), file.scenario.start_url, known)
    for place, step in scenario_steps(file):
        with faults.collecting():
            _check_references(file, place, file.text.value_at(place), known)
        with faults.collecting():
            _check_step(file, place, step, box, skills)
        if isinstance(step, NoteStep) or step.save_as is None:
            continue
        with faults.collecting():
            _check_new_name(file, place, step.save_as, known)
        known.setdefault(step.save_as, f"the output of {file.text.position_of(place)}")
    faults.raise_any()


def _check_new_name(file: ScenarioFile, place: Place, name: str, known: Mapping[str, str]) -> None:
    if name in known:
        raise file.text.error_at((*place, "as"), f"expected a new name, got {known[name]}")


def scenario_steps(file: ScenarioFile) -> Iterator[tuple[Place, Step]]:
    """Yield all steps with their paths in the file."""
    for number, subgoal in enumerate(file.scenario.subgoals):
        for place, step in enumerate(subgoal.steps):
            yield ("subgoals", number, "steps", place), step


def needs_browser(file: ScenarioFile) -> bool:
    """Return whether any step uses a page."""
    return file.scenario.start_url is not None or any(
        isinstance(step, ActionStep | SkillStep) or (isinstance(step, ToolStep) and step.tool == BROWSER)
        for _, step in scenario_steps(file)
    )


def may_call_model(file: ScenarioFile) -> bool:
    """Return whether a step or a skill may call a model."""
    return any(isinstance(step, CompletionStep | SkillStep) for _, step in scenario_steps(file))


def asks_model(file: ScenarioFile) -> bool:
    """Return whether a step certainly calls a model, unless an earlier one fails."""
    return any(
        isinstance(step, CompletionStep) or (isinstance(step, SkillStep) and step.skill == AskPage.name)
        for _, step in scenario_steps(file)
    )


def scenario_gates(file: ScenarioFile) -> GateSet:
    """Return the gates of a scenario.

    Raises:
        YamlError: a gate is unknown, its limit is invalid, or it limits a tool that is not allowed.
    """
    if not file.scenario.gates:
        return GateSet(())
    gates = parse_gates_at(file.text, ("gates",))
    for place, tool in _gated_tools(file):
        if tool not in file.scenario.allowed_tools:
            allowed = ", ".join(file.scenario.allowed_tools) or "none"
            message = f"expected a tool of allowed_tools ({allowed}), got {tool!r}, which is never called"
            raise YamlError(file.text.error_at(place, message).message, code="gates")
    return gates


def _gated_tools(file: ScenarioFile) -> Iterator[tuple[Place, JsonValue]]:
    """Yield the tools that gates name, with their paths in the file."""
    for name, value in file.scenario.gates.items():
        for number, fields in enumerate(value if isinstance(value, list) else [value]):
            place: Place = ("gates", name, number) if isinstance(value, list) else ("gates", name)
            match fields:
                case {"tool": tool} | {"of": "tool", "name": tool} if tool is not None:
                    yield (*place, "tool" if "tool" in fields else "name"), tool
                case _:
                    pass


def _check_ids(file: ScenarioFile) -> None:
    counts = Counter(each.id for each in file.scenario.subgoals)
    for number, subgoal in enumerate(file.scenario.subgoals):
        if counts[subgoal.id] > 1:
            raise file.text.error_at(("subgoals", number, "id"), f"expected unique ids, got {subgoal.id!r} twice")


def _check_folder(file: ScenarioFile) -> None:
    """Confine `read_file` to the folder of the scenario, because scenarios may be untrusted."""
    files, root = file.scenario.files, file.folder.resolve()
    if escapes_bundle(files) or not (root / files).resolve().is_relative_to(root):
        message = f"expected a folder below that of the scenario, got {files!r}. Move the files there."
        raise file.text.error_at(("files",), message)


def _check_references(file: ScenarioFile, place: Place, value: JsonValue, known: dict[str, str]) -> None:
    for path, invalid in invalid_references(value):
        message = (
            f"expected a reference {{{{name}}}} or {{{{name.path.0}}}}, got {invalid}. "
            "Use a variable for text with double braces."
        )
        raise file.text.error_at((*place, *path), message)
    for path, name in referenced_names(value):
        if name not in known:
            names = ", ".join(known) or "none"
            message = f"expected a variable or an output of an earlier step ({names}), got {{{{{name}}}}}"
            raise file.text.error_at((*place, *path), message)


def _check_step(
    file: ScenarioFile, place: Place, step: Step, box: ToolBox | None, skills: Callable[[], SkillRegistry]
) -> None:
    match step:
        case ActionStep(action=action):
            _check_action(file, (*place, "action"), action)
        case ToolStep():
            _check_tool(file, place, step, box)
        case SkillStep(skill=name):
            _run_check_at(file, (*place, "skill"), lambda: skills().get(name))
        case _:
            pass


def _check_tool(file: ScenarioFile, place: Place, step: ToolStep, box: ToolBox | None) -> None:
    if step.tool not in file.scenario.allowed_tools:
        allowed = ", ".join(file.scenario.allowed_tools) or "none"
        where = file.text.position_of((*place, "tool"))
        message = (
            f"{file.path}: {where}: tool {step.tool!r} is not allowed: expected one of allowed_tools ({allowed}). "
            "Add it there."
        )
        raise RequirementError(message, code="tool-not-allowed")
    if step.tool == BROWSER:
        action = step.args.get("action")
        if set(step.args) != {"action"} or not isinstance(action, dict):
            raise file.text.error_at((*place, "args"), "expected one argument, action, an object (docs/actions.md)")
        _check_action(file, (*place, "args", "action"), action)
    elif box is not None and not any(True for _ in referenced_names(step.args)):
        _run_check_at(file, (*place, "args"), lambda: box.get(step.tool).bind(step.args))


def _check_action(file: ScenarioFile, place: Place, action: dict[str, JsonValue]) -> None:
    """Check an action; one with references is checked at run time, when they are resolved."""
    if action.get("type") == "set_input_files" or (action.get("type") == "drop" and action.get("files")):
        what = "set_input_files" if action["type"] == "set_input_files" else "a drop of files"
        message = f"{what} is not supported in scenarios, because its files lie in a bundle. Record it in Python."
        raise file.text.error_at((*place, "type"), message)
    if any(True for _ in referenced_names(action)):
        return
    try:
        read_action(action)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        parts = field_location(faults[0], action)
        here = [fault for fault in faults if field_location(fault, action) == parts]
        is_key = faults[0]["type"] == "extra_forbidden"
        raise file.text.error_at((*place, *parts), describe_fault(here), at_key=is_key) from error


def _run_check_at(file: ScenarioFile, place: Place, check: Callable[[], object]) -> None:
    """Run a check, and add the place in the file to its error."""
    try:
        check()
    except EikonError as error:
        raise type(error)(f"{file.path}: {file.text.position_of(place)}: {error.message}") from error


def resolve_variables(
    file: ScenarioFile, given: Mapping[str, str], recorded: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the values of variables: supplied ones, else recorded ones, else the defaults of the scenario.

    Raises:
        UsageError: a supplied variable is not declared.
        RequirementError: a variable has no value.
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
            raise RequirementError(message, code="variable-missing")
        values[name] = chosen
    return values


def require_secrets(file: ScenarioFile, given: Mapping[str, str]) -> None:
    """Check that a value is supplied for every secret that the scenario names.

    Raises:
        RequirementError: one is missing.
    """
    for name in (*secret_names_in(json.dumps(file.text.data)), *_secret_references(file.text.data)):
        if name not in given:
            raise RequirementError(missing_secret_message(name), code="secret-missing")


def available_tools(file: ScenarioFile, box: ToolBox) -> ToolBox:
    """Return the tools available to the scenario: those in `box`, built-in ones, and those of installed packages."""
    known = box
    for tool in (make_read_file_tool(file.folder / file.scenario.files), web_fetch):
        name = tool.__name__ if callable(tool) else tool.name
        known = known if name in known.names else known.extended(tool)
    missing = set(file.scenario.allowed_tools) - {*known.names, BROWSER}
    return known.extended(*installed_tools(missing))


def _secret_references(value: JsonValue) -> Iterator[str]:
    """Yield the names in `{secret: NAME}`, which may replace the text of an action."""
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
