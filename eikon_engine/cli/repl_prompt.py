"""The prompt of `eikon repl`: parse and run the lines typed there."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click
from pydantic import ValidationError

from eikon_engine.cli.fix_loop import LoopCommandOptions, print_result, run_loop
from eikon_engine.errors import EikonError, OutputError, RequirementError, UsageError
from eikon_engine.files.extras import install_command
from eikon_engine.files.writing import write_error_message
from eikon_engine.fix.session import sessions_folder
from eikon_engine.fix.tasks import LOOP_TASK, STEP_SUMMARIES
from eikon_engine.outcome.terminal import safe_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eikon_engine.cli.debug_dir_options import DebugDirChoice
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
    """`/task NAME --parameter=value …`, or `/task NAME help`."""

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
        problem = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
        message = f"--{first['loc'][0]}: {problem}, got {_shorten(first['input'])}"
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
        RequirementError: no such task.
    """
    if name not in tasks:
        message = f"/task {name}: unknown task, expected {' or '.join(sorted(tasks))}; /tasks lists them"
        raise RequirementError(message, code="unknown-task")
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
        case "target_files" | "allow" | "protect":
            return parse_paths(name, text)
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


def parse_paths(name: str, text: str) -> tuple[str, ...]:
    """Parse a JSON list of paths.

    Raises:
        UsageError: it is not one.
    """
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


def _parse_number(name: str, text: str, kind: type[int | float], expected: str) -> float:
    try:
        return kind(text)
    except ValueError as error:
        message = f"--{name}: expected {expected}, got {_shorten(text)}"
        raise UsageError(message) from error


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


_PROMPT: Final = "eikon> "
_HISTORY_FILE: Final = "repl_history"
_TASKS: Final = {LOOP_TASK.name: LOOP_TASK}
_HELP_TEXT: Final = """\
/task NAME --parameter=value …   run a task; quote values as in a shell
/task NAME help                  show the parameters of a task
/tasks                           list the tasks
/help                            show this help
/quit                            leave; so does Ctrl-D

/task debug:loop --test_cmd="pytest -k price" --target_files='["src/price.py"]' --max_cycles=3"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplOptions:
    """Options for all tasks of a prompt."""

    model: str | None
    base_url: str | None
    debug: DebugDirChoice


def run_prompt(options: ReplOptions) -> int:
    """Run lines until the end of input; return the exit status.

    Raises:
        EikonError: a line from a non-interactive standard input failed.
        RequirementError: prompt-toolkit is not installed.
    """
    if not sys.stdin.isatty():
        return _run_script(sys.stdin, options)
    ask = _open_prompt()
    while True:
        try:
            line = ask()
        except EOFError:
            return 0
        except KeyboardInterrupt as stop:
            _continue_after(stop)
            continue
        try:
            if _run_line(line, options) is None:
                return 0
        except EikonError as error:
            click.echo(safe_line(f"{error.message} (code {error.code})"), err=True)
        except KeyboardInterrupt as stop:
            _continue_after(stop)
            click.echo("stopped; eikon fix sessions shows where", err=True)


def _continue_after(stop: KeyboardInterrupt) -> None:
    """Stay at the prompt after Ctrl-C, but leave after a signal, which the interrupt carries."""
    if stop.args:
        raise stop


def _run_script(lines: Iterable[str], repl_options: ReplOptions) -> int:
    """Run lines until the first failure."""
    for line in lines:
        status = _run_line(line, repl_options)
        if status is None:
            return 0
        if status:
            return status
    return 0


def _run_line(line: str, repl_options: ReplOptions) -> int | None:
    """Run one line; return its exit status, None to leave."""
    typed = parse_line(line)
    match typed:
        case None:
            return 0
        case SimpleCommand(name="/help"):
            click.echo(_HELP_TEXT)
        case SimpleCommand(name="/tasks"):
            click.echo(_list_tasks())
        case SimpleCommand():
            return None
        case TaskCall():
            return _run_task(typed, repl_options)
    return 0


def _run_task(call: TaskCall, repl_options: ReplOptions) -> int:
    task = require_task(call.name, _TASKS)
    if call.asks_help:
        click.echo(_describe_task(task))
        return 0
    choice = parse_arguments(task, call.arguments).model_copy(
        update={"model": repl_options.model, "base_url": repl_options.base_url}
    )
    try:
        return print_result(run_loop(choice, repl_options.debug), as_json=False)
    except UsageError as error:
        raise type(error)(with_parameter_names(task, error.message)) from error


def _list_tasks() -> str:
    steps = (f"{name:28} step of {LOOP_TASK.name}: {STEP_SUMMARIES[name]}" for name in LOOP_TASK.steps)
    return "\n".join((_describe_task(LOOP_TASK), "", *steps))


def _describe_task(task: LoopTask) -> str:
    taken = (
        f"  --{each.name + '=…':16} {each.summary}{' (required)' if each.required else ''}" for each in task.parameters
    )
    return "\n".join((f"{task.name:28} {task.summary}", *taken))


def _open_prompt() -> Callable[[], str]:
    """Open a prompt with completion and history.

    Raises:
        RequirementError: prompt-toolkit is not installed.
        OutputError: the history folder cannot be created.
    """
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import NestedCompleter
        from prompt_toolkit.history import FileHistory
    except ImportError as error:
        message = f'the prompt needs the extra "debug"; run {install_command("debug")}'
        raise RequirementError(message) from error
    home = sessions_folder(Path.home(), os.environ)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(write_error_message(home, error)) from error
    session: PromptSession[str] = PromptSession(
        completer=NestedCompleter.from_nested_dict(completion_tree()), history=FileHistory(str(home / _HISTORY_FILE))
    )
    return lambda: session.prompt(_PROMPT)


def completion_tree() -> dict[str, object]:
    """Return the nested completions of the prompt."""
    parameters = {task.name: {f"--{each.name}=": None for each in task.parameters} for task in _TASKS.values()}
    return {**dict.fromkeys(COMMANDS), "/task": {name: {**taken, "help": None} for name, taken in parameters.items()}}
