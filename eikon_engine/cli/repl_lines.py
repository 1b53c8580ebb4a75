"""Run the lines typed at the prompt."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from eikon_engine.cli.fix_loop import print_result, run_loop
from eikon_engine.cli.repl_words import (
    COMMANDS,
    SimpleCommand,
    TaskCall,
    parse_arguments,
    parse_line,
    require_task,
    with_parameter_names,
)
from eikon_engine.errors import EikonError, OutputError, RequirementError, UsageError
from eikon_engine.fix.default_tasks import LOOP_TASK, STEP_SUMMARIES
from eikon_engine.fix.session import sessions_folder
from eikon_engine.outcome.printable import escape_control_characters
from eikon_engine.trace.whole_file import write_error_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eikon_engine.completions.debug_options import DebugDirChoice
    from eikon_engine.fix.tasks import LoopTask

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
            click.echo(escape_control_characters(f"{error.message} (code {error.code})"), err=True)
        except KeyboardInterrupt as stop:
            _continue_after(stop)
            click.echo("stopped; eikon fix sessions shows where", err=True)


def _continue_after(stop: KeyboardInterrupt) -> None:
    """Stay at the prompt after Ctrl-C, but leave after a signal, which the interrupt carries."""
    if stop.args:
        raise stop


def _run_script(lines: Iterable[str], surroundings: ReplOptions) -> int:
    """Run lines until the first failure."""
    for line in lines:
        status = _run_line(line, surroundings)
        if status is None:
            return 0
        if status:
            return status
    return 0


def _run_line(line: str, surroundings: ReplOptions) -> int | None:
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
            return _run_task(typed, surroundings)
    return 0


def _run_task(call: TaskCall, surroundings: ReplOptions) -> int:
    task = require_task(call.name, _TASKS)
    if call.asks_help:
        click.echo(_describe_task(task))
        return 0
    choice = parse_arguments(task, call.arguments).model_copy(
        update={"model": surroundings.model, "base_url": surroundings.base_url}
    )
    try:
        return print_result(run_loop(choice, surroundings.debug), as_json=False)
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
        message = "the prompt needs the extra \"debug\"; run pip install 'eikon-engine[debug]'"
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
