"""Parse the lines typed at the prompt."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import ValidationError

from eikon_engine.cli.fix_loop import LoopCommandOptions
from eikon_engine.errors import UnknownTaskError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.fix.tasks import LoopTask

_TASK: Final = "/task"
_SIMPLE_COMMANDS: Final[Mapping[str, str]] = {
    "/help": "Show the commands.",
    "/tasks": "List the tasks and their parameters.",
    "/quit": "Leave; so does Ctrl-D.",
}
COMMANDS: Final = (*_SIMPLE_COMMANDS, _TASK)
_MAX_SHOWN: Final = 100
_BOOLEANS: Final[Mapping[str, bool]] = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """`/help`, `/tasks` or `/quit`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCall:
    """`/task BROWSER_TOOL --parameter=value …`, or `/task BROWSER_TOOL help`."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    asks_help: bool = False


ReplCommand: TypeAlias = SimpleCommand | TaskCall


def parse_line(line: str) -> ReplCommand | None:
    """Parse one line like a shell; None if it is empty.

    Raises:
        UsageError: unknown command or malformed line.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        message = (
            f"{_shorten(line.strip())}: cannot be split like a shell command: {_lower_first(str(error))}; close it"
        )
        raise UsageError(message) from error
    match words:
        case []:
            return None
        case [word] if word in _SIMPLE_COMMANDS:
            return SimpleCommand(word)
        case ["/task"]:
            message = "/task: missing task name; /tasks lists them"
            raise UsageError(message)
        case ["/task", name, "help"]:
            return TaskCall(name=name, asks_help=True)
        case ["/task", name, *arguments]:
            return TaskCall(name=name, arguments=_split_arguments(arguments))
        case _:
            message = f"expected one of {', '.join(COMMANDS)}, got {_shorten(words[0])}; see /help"
            raise UsageError(message)


def parse_arguments(task: LoopTask, arguments: Mapping[str, str]) -> LoopCommandOptions:
    """Parse the parameters of a task.

    Raises:
        UsageError: a parameter is missing, unknown or invalid.
    """
    known = tuple(parameter.name for parameter in task.parameters)
    for name in arguments:
        if name not in known:
            message = f"/task {task.name}: expected one of --{', --'.join(known)}, got --{name}"
            raise UsageError(message)
    for parameter in task.parameters:
        if parameter.required and not arguments.get(parameter.name, "").strip():
            message = f"/task {task.name}: missing --{parameter.name}=… ({parameter.summary})"
            raise UsageError(message)
    values = {name: _parse_value(name, text) for name, text in arguments.items()}
    try:
        return LoopCommandOptions.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        told = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
        message = f"--{first['loc'][0]}: {told}, got {_shorten(first['input'])}"
        raise UsageError(message) from error


def with_parameter_names(task: LoopTask, message: str) -> str:
    """Return a message with command-line options replaced by task parameters."""
    for parameter in task.parameters:
        option = parameter.name.replace("_", "-").removesuffix("s" if parameter.name == "target_files" else "")
        message = re.sub(rf"--{option}(?![\w-])", f"--{parameter.name}", message)
    return message


def require_task(name: str, tasks: Mapping[str, LoopTask]) -> LoopTask:
    """Return a task by name.

    Raises:
        UnknownTaskError: no such task.
    """
    if name not in tasks:
        message = f"/task {name}: unknown task, expected {' or '.join(sorted(tasks))}; /tasks lists them"
        raise UnknownTaskError(message)
    return tasks[name]


def _split_arguments(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not equals or not name:
            message = f"expected --name=value, got {_shorten(word)}; join them with ="
            raise UsageError(message)
        if name in found:
            message = f"--{name}: given twice; remove one"
            raise UsageError(message)
        found[name] = value
    return found


def _parse_value(name: str, text: str) -> object:
    match name:
        case "target_files":
            return _parse_paths(name, text)
        case "max_cycles":
            return _parse_number(name, text, int, "a whole number")
        case "timeout":
            return _parse_number(name, text, float, "a number of seconds")
        case "keep" | "allow_dirty":
            if text not in _BOOLEANS:
                message = f"--{name}: expected true or false, got {_shorten(text)}"
                raise UsageError(message)
            return _BOOLEANS[text]
        case _:
            return text


def _parse_paths(name: str, text: str) -> tuple[str, ...]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid_list_error(name, text) from error
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _invalid_list_error(name, text)
    return tuple(value)


def _invalid_list_error(name: str, text: str) -> UsageError:
    return UsageError(
        f"--{name}: expected a JSON list of paths, got {_shorten(text)}; write it as '[\"src/logic.py\"]'"
    )


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _parse_number(name: str, text: str, kind: type[int | float], wanted: str) -> float:
    try:
        return kind(text)
    except ValueError as error:
        message = f"--{name}: expected {wanted}, got {_shorten(text)}"
        raise UsageError(message) from error


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
